#include "io/audio/extent.hpp"
#include "io/audio/sound_file.hpp"
#include "io/readers.hpp"
#include "io/shape.hpp"
#include "io/system.hpp"
#include "tapline/error.hpp"

namespace tapline::io {

namespace {

// f32 holds 8 to 24 bits a sample exactly, and float; wider samples are read as f64.
Dtype dtype_for(int subtype) {
    return subtype == SF_FORMAT_DOUBLE || subtype == SF_FORMAT_PCM_32 || subtype == SF_FORMAT_ALAC_32 ? Dtype::f64 : Dtype::f32;
}

class AudioReader final : public Reader {
public:
    explicit AudioReader(std::unique_ptr<ByteSource> source) : Reader(source->name()), source_(std::move(source)) {
        SF_INFO sf{};
        if (!sound_.open(source_->fd(), SFM_READ, sf, source_->base(), source_->size())) {
            if (sound_.system_error() != 0) fail_errno("read", name_, sound_.system_error());
            fail_content(name_, std::string("cannot be read as audio: ") + sound_.message());
        }
        check_audio_extent(*source_);
        if (sf.channels < 1) fail_content(name_, "cannot be read as audio: " + std::to_string(sf.channels) + " channels");
        info_.format = Format::audio;
        info_.dtype = info_.stored = dtype_for(sf.format & SF_FORMAT_SUBMASK);
        info_.channels = sf.channels;
        info_.sample_rate = sf.samplerate;
        info_.seekable = sf.seekable != 0;
        info_.audio.code = sf.format;
        info_.audio.channel_map.resize(static_cast<std::size_t>(sf.channels));
        if (sf_command(sound_.get(), SFC_GET_CHANNEL_MAP_INFO, info_.audio.channel_map.data(),
                       static_cast<int>(sizeof(int)) * sf.channels) == SF_FALSE) {
            info_.audio.channel_map.clear();
        }
        // MPEG files tell their length only roughly, some others not at all (SF_COUNT_MAX).
        if ((sf.format & SF_FORMAT_TYPEMASK) != SF_FORMAT_MPEG && sf.frames >= 0 && sf.frames < SF_COUNT_MAX) {
            checked_product({sf.frames, sf.channels, static_cast<std::int64_t>(size_of(info_.dtype))}, ErrorCode::io,
                            name_ + ": bytes of all samples", "the file is damaged, get it again");
            info_.frames = sf.frames;
            info_.shape = {info_.frames};
            if (info_.channels > 1) info_.shape.push_back(info_.channels);
        }
        info_.description = describe_audio(sf.format) + ", " + std::to_string(sf.channels) +
                            (sf.channels == 1 ? " channel, " : " channels, ") + std::to_string(sf.samplerate) + " Hz";
    }

private:
    std::int64_t read_frames(void* out, std::int64_t max_frames) override {
        const sf_count_t got = info_.dtype == Dtype::f64 ? sf_readf_double(sound_.get(), static_cast<double*>(out), max_frames)
                                                         : sf_readf_float(sound_.get(), static_cast<float*>(out), max_frames);
        if (sound_.system_error() != 0) fail_errno("read", name_, sound_.system_error());
        if (got == max_frames) return got;
        if (sf_error(sound_.get()) != SF_ERR_NO_ERROR) fail_content(name_, std::string("damaged audio: ") + sound_.message());
        if (info_.frames != kUnknownLength) {
            fail_content(name_, "truncated: its header promises " + std::to_string(info_.frames) + " frames, it holds " +
                                    std::to_string(position_ + got));
        }
        return got;
    }

    void seek_frame(std::int64_t frame) override {
        if (sf_seek(sound_.get(), frame, SEEK_SET) != frame) {
            fail_content(name_, "cannot seek to frame " + std::to_string(frame) + ": " + sound_.message());
        }
    }

    std::unique_ptr<ByteSource> source_;
    SoundFile sound_;
};

}  // namespace

std::unique_ptr<Reader> open_audio(std::unique_ptr<ByteSource> source) { return std::make_unique<AudioReader>(std::move(source)); }

}  // namespace tapline::io
