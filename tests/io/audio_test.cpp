#include <sndfile.h>

#include <complex>
#include <limits>

#include "files.hpp"
#include "io/writer.hpp"

namespace tapline::io::test {
namespace {

std::vector<float> ramp(std::int64_t count) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i) { values.push_back(static_cast<float>((i * 7919 % 60000) - 30000) / 32768.0F); }
    return values;
}

void write_audio(const std::string& path, const std::vector<float>& values, const WriteOptions& options) {
    const auto writer = Writer::create(path, options);
    const std::int64_t frames = static_cast<std::int64_t>(values.size()) / options.channels;
    writer->write(values.data(), frames / 3);
    writer->write(values.data() + frames / 3 * options.channels, frames - frames / 3);
    writer->commit();
}

WriteOptions stereo(int subtype = 0) {
    WriteOptions options{.channels = 2, .sample_rate = 44100};
    if (subtype != 0) options.audio.code = SF_FORMAT_WAV | subtype;
    return options;
}

TEST(IoAudio, LosslessFormatsKeepSixteenBitSamplesExactly) {
    const Folder folder;
    const std::vector<float> values = ramp(2 * 20011);
    for (const char* name : {"a.wav", "a.flac", "a.aiff", "a.au", "a.caf", "a.w64", "a.rf64"}) {
        for (const int subtype : {SF_FORMAT_PCM_16, SF_FORMAT_PCM_24}) {
            write_audio(folder.file(name), values, stereo(subtype));
            const auto reader = Reader::open(folder.file(name));
            const Info& info = reader->info();
            EXPECT_EQ(info.audio.code & SF_FORMAT_SUBMASK, subtype) << name;
            EXPECT_EQ(info.format, Format::audio);
            EXPECT_EQ(info.frames, 20011);
            EXPECT_EQ(info.channels, 2);
            EXPECT_EQ(info.sample_rate, 44100);
            EXPECT_EQ(read_values<float>(*reader, 4096), values) << name << subtype;
            reader->seek(20000);
            EXPECT_EQ(read_values<float>(*reader), std::vector<float>(values.end() - 22, values.end())) << name;
        }
    }
}

TEST(IoAudio, FloatAndDoubleAreNotTouched) {
    const Folder folder;
    std::vector<float> values = ramp(2 * 1000);
    values[3] = 7.5F;
    values[4] = -std::numeric_limits<float>::infinity();
    write_audio(folder.file("a.wav"), values, stereo());
    const auto reader = Reader::open(folder.file("a.wav"));
    EXPECT_EQ(reader->info().audio.code & SF_FORMAT_SUBMASK, SF_FORMAT_FLOAT);
    EXPECT_EQ(read_values<float>(*reader, 333), values);

    const std::vector<double> wide{0.1, -1.0 / 3, 2.5};
    const auto writer = Writer::create(folder.file("b.wav"), {.dtype = Dtype::f64, .sample_rate = 8000});
    writer->write(wide.data(), 3);
    writer->commit();
    const auto back = Reader::open(folder.file("b.wav"));
    EXPECT_EQ(back->info().dtype, Dtype::f64);
    EXPECT_EQ(read_values<double>(*back), wide);
}

TEST(IoAudio, IntegerSubtypesClipAndCount) {
    const Folder folder;
    const std::vector<float> values{0.5F,    1.0F, -1.0F, 1.5F, -2.0F, std::nanf(""), std::numeric_limits<float>::infinity(),
                                    0.99999F};
    WriteOptions options{.sample_rate = 8000};
    options.audio.code = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
    const auto writer = Writer::create(folder.file("a.wav"), options);
    writer->write(values.data(), 8);
    EXPECT_EQ(writer->clipped_samples(), 6);  // 1.0 and 0.99999 (which rounds to 1.0) lie above 32767/32768; -1.0 fits
    writer->commit();
    const float top = 32767.0F / 32768.0F;
    EXPECT_EQ(read_values<float>(*Reader::open(folder.file("a.wav"))), (std::vector<float>{0.5F, top, -1, top, -1, 0, top, top}));
}

TEST(IoAudio, CompressedFormatsClipAndComeBackSimilar) {
    const Folder folder;
    std::vector<float> values;
    for (int i = 0; i < 48000; ++i) { values.push_back(0.5F * std::sin(static_cast<float>(i) * 0.05F)); }
    values[100] = 40;
    for (const char* name : {"a.ogg", "a.opus"}) {
        const auto writer = Writer::create(folder.file(name), {.sample_rate = 48000});
        writer->write(values.data(), 48000);
        EXPECT_EQ(writer->clipped_samples(), 1);
        writer->commit();
        const auto reader = Reader::open(folder.file(name));
        const std::vector<float> back = read_values<float>(*reader, 5000);
        ASSERT_EQ(back.size(), values.size()) << name;
        double error = 0;
        for (std::size_t i = 1000; i < back.size(); ++i) { error += std::pow(back[i] - values[i], 2); }
        EXPECT_LE(std::sqrt(error / 47000), 0.05) << name;
    }
}

TEST(IoAudio, SubtypeThatTheContainerLacksIsReplaced) {
    const Folder folder;
    WriteOptions options{.sample_rate = 44100};
    options.audio.code = SF_FORMAT_WAV | SF_FORMAT_FLOAT;
    write_audio(folder.file("a.flac"), ramp(100), options);
    EXPECT_EQ(Reader::open(folder.file("a.flac"))->info().audio.code & SF_FORMAT_SUBMASK, SF_FORMAT_PCM_24);
    for (const int code : {SF_FORMAT_OGG | SF_FORMAT_VORBIS, SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III}) {
        options.audio.code = code;
        write_audio(folder.file("a.wav"), ramp(100), options);
        EXPECT_EQ(Reader::open(folder.file("a.wav"))->info().audio.code, SF_FORMAT_WAV | SF_FORMAT_FLOAT);
    }
}

TEST(IoAudio, SurroundKeepsItsChannelMap) {
    const Folder folder;
    WriteOptions options{.channels = 3, .sample_rate = 48000};
    options.audio.channel_map = {SF_CHANNEL_MAP_LEFT, SF_CHANNEL_MAP_RIGHT, SF_CHANNEL_MAP_LFE};
    write_audio(folder.file("a.wav"), ramp(30), options);
    const auto reader = Reader::open(folder.file("a.wav"));
    EXPECT_EQ(reader->info().audio.channel_map, options.audio.channel_map);
    EXPECT_EQ(layout_along(reader->info(), 0).inner, 3);
}

TEST(IoAudio, SameSamplesGiveTheSameBytes) {
    const Folder folder;
    for (const char* name : {"a.wav", "b.wav"}) { write_audio(folder.file(name), ramp(200), stereo()); }
    EXPECT_EQ(bytes_of(folder.file("a.wav")), bytes_of(folder.file("b.wav")));
    EXPECT_EQ(bytes_of(folder.file("a.wav")).find("PEAK"), std::string::npos);
}

TEST(IoAudio, UnknownLengthIsFilledIn) {
    const Folder folder;
    write_audio(folder.file("a.wav"), ramp(200), stereo());
    EXPECT_EQ(bytes_of(folder.file("a.wav")).substr(0, 4), "RIFF");
    const auto reader = Reader::open(folder.file("a.wav"));
    EXPECT_EQ(reader->info().frames, 100);
    EXPECT_EQ(reader->info().audio.code & SF_FORMAT_SUBMASK, SF_FORMAT_FLOAT);
}

TEST(IoAudio, FilesPastFourGibibytes) {
    const Folder folder;
    WriteOptions options{.sample_rate = 48000, .frames = (std::int64_t{1} << 30) + 1};
    EXPECT_NE(Writer::create(folder.file("a.wav"), options)->description().find("RF64"), std::string::npos);
    EXPECT_EQ(Writer::create(folder.file("a.w64"), options)->description().find("RF64"), std::string::npos);
    expect_error(ErrorCode::io, "ends at 4 GiB", [&] { Writer::create(folder.file("a.aiff"), options); });
    options.frames = 1000;
    EXPECT_EQ(Writer::create(folder.file("a.wav"), options)->description().find("RF64"), std::string::npos);
    EXPECT_EQ(folder.count(), 0U);
}

TEST(IoAudio, RefusesWhatAudioCannotHold) {
    const Folder folder;
    expect_error(ErrorCode::argument, "sample rate", [&] { Writer::create(folder.file("a.wav"), {}); });
    expect_error(ErrorCode::type, "complex64",
                 [&] { Writer::create(folder.file("a.wav"), {.dtype = Dtype::complex64, .sample_rate = 8000}); });
    expect_error(ErrorCode::unsupported, "cannot be written with 9 channels",
                 [&] { Writer::create(folder.file("a.flac"), {.channels = 9, .sample_rate = 8000}); });
    expect_error(ErrorCode::unsupported, "cannot be written",
                 [&] { Writer::create(folder.file("a.wav"), {.channels = 5000, .sample_rate = 8000}); });
    expect_error(ErrorCode::unsupported, "cannot be written with 4611686018427387904 channels",
                 [&] { Writer::create(folder.file("a.wav"), {.channels = std::int64_t{1} << 62, .sample_rate = 8000}); });
    EXPECT_EQ(folder.count(), 0U);
}

TEST(IoAudio, TruncatedFilesNameWhatIsMissing) {
    const Folder folder;
    for (const char* name : {"a.wav", "a.aiff", "a.au", "a.caf", "a.rf64"}) {
        WriteOptions options = stereo(SF_FORMAT_PCM_16);
        options.frames = 1000;
        write_audio(folder.file(name), ramp(2000), options);
        const std::string bytes = bytes_of(folder.file(name));
        EXPECT_EQ(Reader::open(folder.file(name))->info().frames, 1000);
        const std::string path = folder.put(name, bytes.substr(0, bytes.size() - 1500));
        expect_error(ErrorCode::io, "truncated: its header promises", [&] { Reader::open(path); });
    }
    // What a pipe's writer leaves where it does not know the length.
    write_audio(folder.file("a.wav"), ramp(2000), stereo(SF_FORMAT_PCM_16));
    std::string bytes = bytes_of(folder.file("a.wav"));
    const std::size_t data = bytes.find("data");
    for (std::size_t i = 4; i < 8; ++i) { bytes[i] = bytes[data + i] = '\xff'; }
    EXPECT_EQ(Reader::open(folder.put("b.wav", bytes))->info().frames, 1000);
}

TEST(IoAudio, DamagedFilesAreErrorsOrShorter) {
    const Folder folder;
    expect_error(ErrorCode::io, "cannot be read as audio", [&] { Reader::open(folder.put("a.wav", "RIFF\4\0\0\0WAVE")); });
    expect_error(ErrorCode::io, "cannot be read as audio", [&] { Reader::open(folder.put("a.wav", "")); });
    expect_error(ErrorCode::io, "cannot be read as audio", [&] { Reader::open(folder.put("a.flac", std::string(500, 'x'))); });
    write_audio(folder.file("b.flac"), ramp(2 * 100000), stereo(SF_FORMAT_PCM_16));
    const std::string bytes = bytes_of(folder.file("b.flac"));
    const std::string path = folder.put("b.flac", bytes.substr(0, bytes.size() / 2));
    expect_error(ErrorCode::io, "b.flac", [&] { read_all(path, 1 << 30); });
}

}  // namespace
}  // namespace tapline::io::test
