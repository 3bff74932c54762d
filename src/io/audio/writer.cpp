#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "io/audio/sound_file.hpp"
#include "io/block_sizes.hpp"
#include "io/system.hpp"
#include "io/writers.hpp"
#include "tapline/error.hpp"

namespace tapline::io {

namespace {

constexpr std::int64_t kMostChannels = 1024;  // libsndfile's own limit
// RIFF, AIFF and AU count bytes in 32 bits; 64 KiB stay for headers.
constexpr std::int64_t kMax32BitBytes = (std::int64_t{1} << 32) - (64 << 10);

// How far a sample of -1..1 is scaled to fill an integer subtype; 0 for the others.
int integer_bits(int subtype) {
    constexpr std::pair<int, int> kBits[] = {{SF_FORMAT_PCM_S8, 8},   {SF_FORMAT_PCM_U8, 8},   {SF_FORMAT_PCM_16, 16},
                                             {SF_FORMAT_ALAC_16, 16}, {SF_FORMAT_ALAC_20, 20}, {SF_FORMAT_PCM_24, 24},
                                             {SF_FORMAT_ALAC_24, 24}, {SF_FORMAT_PCM_32, 32},  {SF_FORMAT_ALAC_32, 32}};
    const auto* const found = std::ranges::find(kBits, subtype, &std::pair<int, int>::first);
    return found == std::end(kBits) ? 0 : found->second;
}

std::int64_t bytes_per_sample(int subtype) {
    if (subtype == SF_FORMAT_FLOAT) return 4;
    if (subtype == SF_FORMAT_DOUBLE) return 8;
    return std::max(1, integer_bits(subtype) / 8);  // the others are compressed: at most 1
}

bool counts_in_32_bits(int container) {
    return container == SF_FORMAT_WAV || container == SF_FORMAT_WAVEX || container == SF_FORMAT_AIFF || container == SF_FORMAT_AU;
}

bool writable(int code, const WriteOptions& options) {
    if (options.channels > kMostChannels) { return false; }
    SF_INFO info{};
    info.format = code;
    info.channels = static_cast<int>(options.channels);
    info.samplerate = options.sample_rate;
    return SoundFile::can_write(info);
}

// The container that the name tells, else the input's, else WAV; subtype and byte order as in the input where the container can.
int choose_code(const std::string& path, const WriteOptions& options) {
    const int kept_container = options.audio.code & SF_FORMAT_TYPEMASK, kept_subtype = options.audio.code & SF_FORMAT_SUBMASK;
    int container = audio_container_of_name(naming(path, options));
    if (container == 0) container = kept_container != 0 ? kept_container : SF_FORMAT_WAV;
    if (container == SF_FORMAT_WAV && (kept_container == SF_FORMAT_WAVEX || options.channels > 2)) container = SF_FORMAT_WAVEX;
    const int only_subtype = container & SF_FORMAT_SUBMASK;
    container &= SF_FORMAT_TYPEMASK;
    if (only_subtype == 0 && kept_subtype != 0) {
        const int order = container == kept_container ? options.audio.code & SF_FORMAT_ENDMASK : 0;
        if (writable(container | kept_subtype | order, options)) return container | kept_subtype | order;
    }
    const int floating = options.dtype == Dtype::f64 ? SF_FORMAT_DOUBLE : SF_FORMAT_FLOAT;
    for (const int subtype : {only_subtype, floating, int{SF_FORMAT_PCM_24}, int{SF_FORMAT_VORBIS}, int{SF_FORMAT_PCM_16}}) {
        if (subtype != 0 && writable(container | subtype, options)) return container | subtype;
    }
    throw Error(ErrorCode::unsupported, path + ": " + describe_audio(container | only_subtype) + " cannot be written with " +
                                            std::to_string(options.channels) + " channels at " +
                                            std::to_string(options.sample_rate) + " Hz; write .wav or .npy");
}

class AudioWriter final : public Writer {
public:
    AudioWriter(const std::string& path, const WriteOptions& options) : Writer(options) {
        if (options.dtype != Dtype::f32 && options.dtype != Dtype::f64) {
            throw Error(ErrorCode::type, path + ": audio takes f32 or f64 samples between -1 and 1, not " +
                                             to_string(options.dtype) + "; convert them or write .npy");
        }
        if (options.sample_rate < 1) {
            throw Error(ErrorCode::argument, path + ": audio needs a sample rate and the input has none; give one or write .npy");
        }
        code_ = choose_code(path, options);
        limit_size(path);
        subtype_ = code_ & SF_FORMAT_SUBMASK;
        file_.create(path, true);
        open();
        description_ = describe_audio(code_);
    }

private:
    // A WAV that is known to be long becomes RF64, which every reader of large WAV files knows.
    void limit_size(const std::string& path) {
        const int container = code_ & SF_FORMAT_TYPEMASK;
        if (!counts_in_32_bits(container)) return;
        frame_limit_ = kMax32BitBytes / (options_.channels * bytes_per_sample(code_ & SF_FORMAT_SUBMASK));
        if (options_.frames == kUnknownLength || options_.frames <= frame_limit_) return;
        const int rf64 = SF_FORMAT_RF64 | (code_ & SF_FORMAT_SUBMASK);
        const bool is_wav = container == SF_FORMAT_WAV || container == SF_FORMAT_WAVEX;
        if (!is_wav || !writable(rf64, options_)) fail_size(path);
        code_ = rf64;
        frame_limit_ = kNoLimit;
    }

    [[noreturn]] void fail_size(const std::string& path) const {
        throw Error(ErrorCode::io, path + ": " + describe_audio(code_) + " ends at 4 GiB, which is " +
                                       std::to_string(frame_limit_) + " frames here; write .w64, .rf64, .caf or .npy");
    }

    void open() {
        SF_INFO info{};
        info.format = code_;
        info.channels = static_cast<int>(options_.channels);
        info.samplerate = options_.sample_rate;
        if (!sound_.open(file_.fd(), SFM_WRITE, info, 0, 0)) {
            if (sound_.system_error() != 0) file_.fail(sound_.system_error());
            throw Error(ErrorCode::unsupported,
                        file_.name() + ": " + describe_audio(code_) + " cannot be written: " + sound_.message());
        }
        // A PEAK chunk would cost a pass over the samples and hold the time of day: the same result would not be the same bytes.
        // (RF64 cannot be told.)
        sf_command(sound_.get(), SFC_SET_ADD_PEAK_CHUNK, nullptr, SF_FALSE);
        std::vector<int> map = options_.audio.channel_map;
        if (static_cast<std::int64_t>(map.size()) == options_.channels) {  // containers without a map refuse it
            sf_command(sound_.get(), SFC_SET_CHANNEL_MAP_INFO, map.data(), static_cast<int>(map.size() * sizeof(int)));
        }
    }

    void write_frames(const void* in, std::int64_t frames) override {
        if (frames > frame_limit_ - frames_written_) fail_size(file_.name());
        if (options_.dtype == Dtype::f32) {
            write_samples(static_cast<const float*>(in), frames);
        } else {
            write_samples(static_cast<const double*>(in), frames);
        }
    }

    template <class T>
    void write_samples(const T* in, std::int64_t frames) {
        if (subtype_ == SF_FORMAT_FLOAT || subtype_ == SF_FORMAT_DOUBLE) return put(in, frames);
        const int bits = integer_bits(subtype_);
        const std::int64_t block = std::max<std::int64_t>(1, kBlockElements / options_.channels);
        for (std::int64_t done = 0; done < frames; done += block) {
            const std::int64_t now = std::min(block, frames - done), samples = now * options_.channels;
            const T* from = in + done * options_.channels;
            if (bits > 0) {
                integers_.resize(static_cast<std::size_t>(samples));
                std::transform(from, from + samples, integers_.begin(),
                               [&](T x) { return quantise(static_cast<double>(x), bits); });
                put(integers_.data(), now);
            } else {
                limited_.resize(static_cast<std::size_t>(samples));
                std::transform(from, from + samples, limited_.begin(), [&](T x) { return limit(static_cast<float>(x)); });
                put(limited_.data(), now);
            }
        }
    }

    // To the nearest of `bits` bits, in the upper bits of the result. libsndfile's own conversion scales by 2^15 - 1 (so that
    // reading and writing a 16-bit file would change it) or truncates.
    int quantise(double value, int bits) {
        const double scale = std::ldexp(1.0, bits - 1);
        double whole = std::nearbyint(value * scale);
        if (!(whole >= -scale && whole <= scale - 1)) {
            ++clipped_samples_;
            whole = std::isnan(whole) ? 0 : std::clamp(whole, -scale, scale - 1);
        }
        return static_cast<int>(static_cast<std::uint32_t>(static_cast<std::int32_t>(whole)) << (32 - bits));
    }

    // Compressing encoders index tables with the sample: never give them one outside.
    float limit(float value) {
        if (value >= -1 && value <= 1) return value;
        ++clipped_samples_;
        return std::isnan(value) ? 0 : std::clamp(value, -1.0F, 1.0F);
    }

    sf_count_t call(const float* in, std::int64_t frames) { return sf_writef_float(sound_.get(), in, frames); }
    sf_count_t call(const double* in, std::int64_t frames) { return sf_writef_double(sound_.get(), in, frames); }
    sf_count_t call(const int* in, std::int64_t frames) { return sf_writef_int(sound_.get(), in, frames); }

    template <class T>
    void put(const T* in, std::int64_t frames) {
        const sf_count_t done = call(in, frames);
        if (sound_.system_error() != 0) file_.fail(sound_.system_error());
        if (done != frames) throw Error(ErrorCode::io, "cannot write " + file_.name() + ": " + sound_.message());
    }

    void finish() override {
        if (sound_.close()) return;
        if (sound_.system_error() != 0) file_.fail(sound_.system_error());
        throw Error(ErrorCode::io, "cannot complete " + file_.name() + ": libsndfile failed to close it");
    }

    static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

    int code_ = 0;
    int subtype_ = 0;
    std::int64_t frame_limit_ = kNoLimit;
    std::vector<int> integers_;
    std::vector<float> limited_;
    SoundFile sound_;  // last: it still writes to file_ when it goes
};

}  // namespace

std::unique_ptr<Writer> create_audio(const std::string& path, const WriteOptions& options) {
    return std::make_unique<AudioWriter>(path, options);
}

}  // namespace tapline::io
