#include "cli/image/mask_source.hpp"

#include "cli/commands.hpp"
#include "design/mask.hpp"
#include "io/image/image.hpp"

namespace tapline::cli {
namespace {

constexpr std::int64_t kMaxMaskBytes = std::int64_t{1} << 30;

MaskSet designed(const std::string& text) {
    design::Mask mask;
    try {
        mask = design::parse_mask(text);
    } catch (const Error& error) { throw usage_error(error.what()); }
    MaskSet set;
    set.height = mask.height;
    set.width = mask.width;
    set.adapts = true;
    set.data = Bytes(mask.taps.size() * sizeof(double));
    std::memcpy(set.data.data(), mask.taps.data(), set.data.size());
    set.description = text.size() <= 60 ? text : text.substr(0, 57) + "...";
    return set;
}

// An array of three dimensions is read as an image whose rows are the masks.
MaskSet loaded(const std::string& path) {
    const io::Image array = io::read_image(path, {.max_bytes = kMaxMaskBytes});
    if (array.format != io::ImageFormat::npy) {
        throw Error(ErrorCode::argument,
                    "mask: '" + path + "' is a picture; give a NumPy array, in which taps may be negative and fractions");
    }
    MaskSet set;
    set.dtype = array.dtype;
    set.masks = array.channel_axis ? array.height : 1;
    set.height = array.channel_axis ? array.width : array.height;
    set.width = array.channel_axis ? array.channels : array.width;
    set.data = Bytes(array.bytes());
    std::memcpy(set.data.data(), array.pixels.get(), array.bytes());
    set.description = path;
    return set;
}

}  // namespace

MaskSet load_mask(const std::string& text) {
    if (design::is_mask(text)) return designed(text);
    check_is_file(text, design::mask_advice(text));
    return loaded(text);
}

}  // namespace tapline::cli
