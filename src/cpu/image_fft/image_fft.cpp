#include "cpu/image_fft/image_fft.hpp"

#include <algorithm>
#include <cmath>

#include "core/plan/parallel.hpp"
#include "cpu/algorithms.hpp"
#include "cpu/element_types.hpp"
#include "cpu/engine.hpp"
#include "cpu/image/image_cost.hpp"
#include "cpu/image/line_masks.hpp"
#include "cpu/image/pixel_algorithm.hpp"
#include "cpu/image_fft/checked_image_fft.hpp"
#include "cpu/overlap_save/overlap_save_shape.hpp"

namespace tapline::cpu {
namespace {

using core::Request;
using core::Resolved;

std::size_t whole_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

template <class T>
ImageFft<T>::ImageFft(const Resolved& problem, const ImageFftShape& shape, const T* taps, const Request& request)
    : problem_(problem),
      shape_(shape),
      target_(current_target()),
      kernels_(image_kernels(target_).of<T>()),
      lines_(problem_, kernels_),
      patch_(problem_, lines_, kernels_),
      fft_(target_, shape.log2_size),
      tiles_(problem_, shape_, lines_, kernels_, fft_.kernels(), window_layout(fft_.tables())),
      taps_(spectra_of_masks(problem, shape, fft_, taps, request.threads)),
      mask_(taps, taps + problem.filters * problem.taps() * (problem.complex_taps ? 2 : 1)),
      threads_(core::worthwhile_threads(shape.seconds, request.threads)),
      shared_(shares_transforms(shape, threads_)) {
    if (shape_.halves) { halves_.emplace(fft_); }
}

template <class T>
std::size_t ImageFft<T>::slot_elements() const {
    const FftTables<T>& t = fft_.tables();
    const std::int64_t data = t.extent + kImagePadding;
    return static_cast<std::size_t>(whole_lines(static_cast<std::size_t>(data) * sizeof(T)) / sizeof(T)) +
           static_cast<std::size_t>(tiles_.line_elements() + t.scratch_extent * (shared_ ? threads_ : 1));
}

template <class T>
std::size_t ImageFft<T>::slot_bytes() const {
    return patch_.bytes() + whole_lines(whole_lines(slot_elements() * sizeof(T)) +
                                        static_cast<std::size_t>(shape_.out_samples) * sizeof(std::int64_t));
}

template <class T>
std::size_t ImageFft<T>::workspace_bytes() const {
    return static_cast<std::size_t>(slots()) * slot_bytes();
}

template <class T>
void ImageFft<T>::execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void*) const {
    const bool stream = image_goes_past_caches(problem_, threads_);
    const auto body = [&](std::int64_t task, int slot) {
        std::byte* const patch = workspace.data() + static_cast<std::size_t>(slot) * slot_bytes();
        std::byte* const base = patch + patch_.bytes();
        const std::size_t data_bytes = whole_lines(static_cast<std::size_t>(fft_.tables().extent + kImagePadding) * sizeof(T));
        Unit unit{tiles_.unit(task, output.data, input.main.data)};
        unit.patch = patch;
        unit.data = reinterpret_cast<T*>(base);
        unit.scratch = reinterpret_cast<T*>(base + data_bytes);
        unit.line = unit.scratch + fft_.tables().scratch_extent * (shared_ ? threads_ : 1);
        unit.last = reinterpret_cast<std::int64_t*>(base + whole_lines(slot_elements() * sizeof(T)));
        unit.threads = shared_ ? threads_ : 1;
        run(unit, stream);
    };
    core::parallel_for(shape_.planes * shape_.units(), shared_ ? 1 : threads_, std::cref(body), shape_.seconds);
}

template <class T>
void ImageFft<T>::run(const Unit& unit, bool stream) const {
    tiles_.load(unit, unit.data, unit.line, 0, false);
    const std::int64_t wanted = tiles_.wanted(unit.tile[0]), other = shape_.pairs ? tiles_.wanted(unit.tile[1]) : wanted;
    const bool finite = convolve(unit, wanted, other);
    if (!finite) {
        repair(unit);
    } else if (taps_.unscale_exponent != 0) {
        scale(unit, taps_.unscale_exponent);
    }
    tiles_.store(unit, unit.data, unit.line, stream);
}

template <class T>
bool ImageFft<T>::convolve(const Unit& unit, std::int64_t re_count, std::int64_t im_count) const {
    const T* const spectrum = taps_.spectrum(fft_, 1, lines_.mask(unit.plane), 0);
    if (halves_) {  // of a point both parts are turned
        re_count = im_count = std::min(re_count, fft_.size());
        halves_->turn(unit.data, unit.threads);
    }
    const bool finite = fft_.convolve(unit.data, spectrum, unit.scratch, unit.threads, fft_.source(unit.data),
                                      fft_.sink(unit.data, re_count, im_count));
    if (halves_) { halves_->turn_back(unit.data, unit.threads); }
    return finite;
}

template <class T>
void ImageFft<T>::scale(const Unit& unit, int exponent) const {
    for (int part = 0; part < 2; ++part) {
        tiles_.visit_runs(unit.data + part * fft_.tables().im_offset, 0, fft_.size(),
                          [&](T* run, std::int64_t, std::int64_t count) {
                              for (std::int64_t i = 0; i < count; ++i) { run[i] = std::ldexp(run[i], exponent); }
                          });
    }
}

template class ImageFft<float>;
template class ImageFft<double>;

namespace {

class FftAlgorithm final : public core::Algorithm {
public:
    [[nodiscard]] std::string_view name() const override { return "overlap_save"; }
    [[nodiscard]] std::string_view summary() const override { return "tiles of the image by fast Fourier transforms"; }
    [[nodiscard]] bool is_local() const override { return false; }
    [[nodiscard]] bool takes_rank(int rank) const override { return rank == 2; }
    [[nodiscard]] core::Support supports(const Resolved& p, const Request& request) const override {
        if (!request.facts.finite) { return core::Support::no("a tap is not finite"); }
        if (shape_of(p, request).log2_size == 0) { return core::Support::no("the mask is larger than the largest transform"); }
        return core::Support::yes();
    }
    [[nodiscard]] double estimate_seconds(const Resolved& p, const Request& request) const override {
        const double seconds = image_seconds(p, shape_of(p, request).seconds, request.threads);
        return has_few_passes(p, request) ? kWorthLocalErrors * seconds : seconds;
    }
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const Resolved& p, const void* taps,
                                                            const Request& request) const override {
        const ImageFftShape shape = shape_of(p, request);
        return with_real_type(p.sum_dtype, [&]<class T>(T) -> std::unique_ptr<core::Executable> {
            const T* const given = static_cast<const T*>(taps);
            std::vector<T> busy(given, given + p.filters * p.taps() * (p.complex_taps ? 2 : 1));
            const Resolved problem = without_idle_taps(p, whole_of(p, request), busy);
            if (is_checked(request)) { return prepare_checked_image(problem, busy.data(), request, shape); }
            return std::make_unique<ImageFft<T>>(problem, shape, busy.data(), request);
        });
    }

private:
    // The outer product of a row and a column, which passes sum by so few products that their errors stay as local as those of as
    // many taps do: nothing is left of an impulse where no tap reaches. Transforms are taken where they are much sooner.
    static constexpr double kWorthLocalErrors = 2;
    static bool has_few_passes(const Resolved& p, const Request& request) {
        return p.rank == 2 && request.accuracy == Accuracy::standard && request.facts.rank() == 1 &&
               p.y.k + p.x.k <= engine().local_taps(p.rank);
    }
    static bool is_checked(const Request& request) { return request.accuracy == Accuracy::strict; }
    // Of images that are made in parts each has the whole's bits.
    static bool is_part(const Request& request) { return request.whole != nullptr || request.rows_alone; }
    static const Resolved& whole_of(const Resolved& p, const Request& request) {
        return request.whole == nullptr ? p : *request.whole;
    }
    static ImageFftShape shape_of(const Resolved& p, const Request& request) {
        const ImageFftKinds kinds{.checked = is_checked(request), .planes = !is_part(request)};
        const Resolved& whole = whole_of(p, request);
        const ImageFftShape shape = image_fft_shape(without_idle_taps(whole, whole), kinds);
        return request.whole == nullptr ? shape : image_fft_part_shape(shape, p);
    }
};

// Lines have transforms as long as they need, and checked ones, which keep strict accuracy. Parts, whose bits are the whole's,
// would need the whole's blocks.
Lines goes_by_lines(const Resolved& /*images*/, const Request& request) {
    return request.rows_alone ? Lines::never : Lines::if_sooner;
}

}  // namespace

const core::Algorithm& image_fft_algorithm() {
    static const FftAlgorithm kInner;
    static const PixelAlgorithm kImages(kInner);
    static const LineMaskAlgorithm kAlgorithm(kImages, overlap_save_algorithm(), goes_by_lines);
    return kAlgorithm;
}

}  // namespace tapline::cpu
