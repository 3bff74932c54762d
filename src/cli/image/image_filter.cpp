#include "cli/image/image_filter.hpp"

#include <algorithm>

#include "cli/shared/shared_options.hpp"

namespace tapline::cli {
namespace {

bool is_pixel_integer(Dtype dtype) { return dtype == Dtype::u8 || dtype == Dtype::u16; }

// u8 and u16 stay what they are. Else the wider floating type of image and mask, except that masks which are written in place take
// the image's, and an --dtype that is wider is computed in.
void set_types(ImageProblem& problem, const ImageJob& job, const io::Image& image, const MaskSet& mask) {
    problem.output_dtype = job.dtype;
    problem.complex_taps = is_complex(mask.dtype);
    const bool complex = is_complex(image.dtype) || problem.complex_taps || (job.dtype && is_complex(*job.dtype));
    const bool deep = job.dtype && size_of(real_part_of(*job.dtype)) > 4;
    if (is_pixel_integer(image.dtype) && !complex && !deep) {
        problem.dtype = image.dtype;
        return;
    }
    Dtype real = floating_of(image.dtype);
    if (!mask.adapts && !is_integer(image.dtype)) { real = wider(real, floating_of(mask.dtype)); }
    if (deep) { real = Dtype::f64; }
    problem.dtype = complex ? complex_of(real) : real;
}

void set_masks(ImageProblem& problem, const ImageJob& job, const io::Image& image, const MaskSet& mask) {
    problem.mask_height = mask.height;
    problem.mask_width = mask.width;
    if (mask.masks == 1) { return; }
    problem.masks = Masks::per_channel;
    const bool kept = image.alpha && job.alpha == Alpha::keep;  // its mask does not matter
    if (mask.masks == image.channels || (kept && mask.masks == image.channels - 1)) { return; }
    throw Error(ErrorCode::argument, "mask: '" + mask.description + "' holds " + std::to_string(mask.masks) +
                                         " masks, the image has " + std::to_string(image.channels) +
                                         (image.channels == 1 ? " channel" : " channels") +
                                         "; give one mask for all or one for each");
}

bool same_kind(const ImageProblem& a, const ImageProblem& b) {
    return a.height == b.height && a.width == b.width && a.channels == b.channels && a.dtype == b.dtype &&
           a.output_dtype == b.output_dtype;
}

// A mask of nothing for an alpha that is kept.
Bytes taps_for(const ImageProblem& problem, const MaskSet& mask) {
    const Dtype dtype = taps_dtype(problem);
    const std::int64_t given = mask.masks * mask.height * mask.width;
    const std::int64_t wanted = taps_extent(problem);
    Bytes taps(static_cast<std::size_t>(wanted) * size_of(dtype));
    convert(taps.data(), dtype, mask.data.data(), mask.dtype, given);
    std::memset(taps.data() + static_cast<std::size_t>(given) * size_of(dtype), 0,
                static_cast<std::size_t>(wanted - given) * size_of(dtype));
    return taps;
}

template <class To, class From>
To converted_alpha(From value) {
    constexpr int kWider = 257;  // 255 * 257 = 65535
    if constexpr (std::is_same_v<To, From>) {
        return value;
    } else if constexpr (std::is_same_v<To, std::uint16_t>) {
        return static_cast<To>(value * kWider);
    } else if constexpr (std::is_same_v<To, std::uint8_t>) {
        return static_cast<To>((value + kWider / 2) / kWider);
    } else {
        return static_cast<To>(value);
    }
}

// Each output's alpha is that of the pixel under the middle of its window; beyond the edges, that of the nearest pixel.
template <class To, class From>
void keep_alpha(To* out, const From* in, const io::Image& image, const ImageProblem& p) {
    const ImageSize origin = image_origin(p), size = image_output_size(p);
    const std::int64_t shift_y = p.mask_height / 2 - origin.height, shift_x = p.mask_width / 2 - origin.width;
    for (std::int64_t y = 0; y < size.height; ++y) {
        const std::int64_t from_y = std::clamp<std::int64_t>(y + shift_y, 0, image.height - 1);
        for (std::int64_t x = 0; x < size.width; ++x) {
            const std::int64_t from_x = std::clamp<std::int64_t>(x + shift_x, 0, image.width - 1);
            out[(y * size.width + x + 1) * image.channels - 1] =
                converted_alpha<To>(in[(from_y * image.width + from_x + 1) * image.channels - 1]);
        }
    }
}

void keep_alpha(io::Image& out, const io::Image& image, const ImageProblem& problem) {
    const auto from = [&](auto* to) {
        const std::byte* pixels = image.pixels.get();
        if (image.dtype == Dtype::u8) { return keep_alpha(to, reinterpret_cast<const std::uint8_t*>(pixels), image, problem); }
        keep_alpha(to, reinterpret_cast<const std::uint16_t*>(pixels), image, problem);
    };
    visit_dtype(out.dtype, [&]<class T>(T) { from(reinterpret_cast<T*>(out.pixels.get())); });
}

}  // namespace

ImageProblem image_problem(const ImageJob& job, const io::Image& image, const MaskSet& mask) {
    ImageProblem problem;
    problem.height = image.height;
    problem.width = image.width;
    problem.channels = image.channels;
    apply_rules(problem, job);
    if (job.origin) {
        problem.origin_y = job.origin->height;
        problem.origin_x = job.origin->width;
    }
    set_masks(problem, job, image, mask);
    set_types(problem, job, image, mask);
    validate(problem);
    return problem;
}

Plan ImagePlans::plan_for(const ImageProblem& problem) {
    constexpr std::size_t kMostKept = 8;
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find_if(kept_, [&](const Kept& kept) { return same_kind(kept.problem, problem); });
    if (found != kept_.end()) { return found->plan; }
    const Bytes taps = taps_for(problem, mask_);
    if (kept_.size() == kMostKept) { kept_.erase(kept_.begin()); }
    kept_.push_back({problem, make_plan(problem, taps.data(), plan_options(job_))});
    return kept_.back().plan;
}

io::Image output_shape(const io::Image& image, const ImageProblem& problem) {
    const ImageSize size = image_output_size(problem);
    io::Image out;
    out.format = image.format;
    out.height = size.height;
    out.width = size.width;
    out.channels = problem.channels;
    out.dtype = output_dtype(problem);
    out.alpha = image.alpha;
    out.channel_axis = image.channel_axis;
    return out;
}

void drop_alpha(io::Image& image) {
    const std::size_t element = size_of(image.dtype), colours = static_cast<std::size_t>(image.channels - 1) * element;
    const auto pixels = static_cast<std::size_t>(image.height * image.width);
    for (std::size_t i = 0; i < pixels; ++i) {
        std::memmove(image.pixels.get() + i * colours, image.pixels.get() + i * (colours + element), colours);
    }
    image.channels -= 1;
    image.alpha = false;
}

void filter_image(io::Image& out, io::Image& image, const ImageProblem& problem, const Plan& plan, Alpha alpha) {
    const bool keep = image.alpha && alpha == Alpha::keep;
    out.pixels = core::allocate(out.bytes(), "output");
    Bytes converted;
    if (image.dtype != problem.dtype) {
        converted = Bytes(static_cast<std::size_t>(image.elements()) * size_of(problem.dtype));
        convert(converted.data(), problem.dtype, image.pixels.get(), image.dtype, image.elements());
        if (!keep) { image.pixels.reset(); }
    }
    plan.execute_host(out.pixels.get(), converted.size() > 0 ? converted.data() : image.pixels.get());
    if (keep) { keep_alpha(out, image, problem); }
}

}  // namespace tapline::cli
