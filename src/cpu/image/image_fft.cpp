#include "cpu/image/image_fft.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/plan/parallel.hpp"
#include "cpu/algorithms.hpp"
#include "cpu/element_types.hpp"
#include "cpu/image/image_cost.hpp"
#include "cpu/image/pixel_algorithm.hpp"
#include "cpu/overlap_save/overlap_save_shape.hpp"

namespace tapline::cpu {
namespace {

using core::Request;
using core::Resolved;

// Transforms from this size on share one buffer and all threads, as in one dimension (overlap_save_shape.cpp).
constexpr int kAlwaysLog2Shared = 20;
constexpr int kMinLog2Shared = 17;

// Rows of a tile are too short for the hardware to see what comes next; so many further ones are asked for.
constexpr std::int64_t kRowsAhead = 6;

std::size_t whole_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// The masks as filters of the flat tile: their rows `pitch` apart, their taps `step` apart.
template <class T>
OverlapSaveTaps<T> spectra(const Resolved& p, const ImageFftShape& shape, const BlockFft<T>& fft, const T* taps, int threads) {
    core::Resolved flat;
    flat.x.k = (p.y.k - 1) * shape.pitch + shape.halo + 1;
    flat.filters = p.filters;
    flat.dtype = p.sum_dtype;
    flat.taps_dtype = p.taps_dtype;
    flat.complex_taps = p.complex_taps;
    OverlapSaveShape flat_shape;
    flat_shape.log2_size = shape.log2_size;
    const std::int64_t parts = p.complex_taps ? 2 : 1;
    std::vector<T> filters(static_cast<std::size_t>(p.filters * flat.x.k * parts), T{0});
    for (std::int64_t row = 0; row < p.filters * p.y.k; ++row) {
        const std::int64_t start = row / p.y.k * flat.x.k + row % p.y.k * shape.pitch;
        for (std::int64_t j = 0; j < p.x.k; ++j) {
            for (std::int64_t part = 0; part < parts; ++part) {
                filters[static_cast<std::size_t>((start + j * shape.step) * parts + part)] = taps[(row * p.x.k + j) * parts + part];
            }
        }
    }
    OverlapSaveTaps<T> prepared = prepare_taps(flat, flat_shape, fft, filters.data(), threads);
    prepared.taps = {};  // repairs use the masks as they are
    return prepared;
}

}  // namespace

template <class T>
ImageFft<T>::ImageFft(const Resolved& problem, const ImageFftShape& shape, const void* taps, const Request& request)
    : problem_(problem),
      shape_(shape),
      target_(current_target()),
      kernels_(image_kernels(target_).of<T>()),
      lines_(problem_, kernels_),
      patch_(problem_, lines_, kernels_),
      fft_(target_, shape.log2_size),
      taps_(spectra(problem, shape, fft_, static_cast<const T*>(taps), request.threads)),
      mask_(static_cast<const T*>(taps),
            static_cast<const T*>(taps) + problem.filters * problem.taps() * (problem.complex_taps ? 2 : 1)),
      threads_(core::worthwhile_threads(shape.seconds, request.threads)),
      shared_(shape.log2_size >= kAlwaysLog2Shared ||
              (shape.log2_size >= kMinLog2Shared && shape.planes * shape.units() < 2 * threads_)) {}

template <class T>
std::size_t ImageFft<T>::slot_elements() const {
    const FftTables<T>& t = fft_.tables();
    const std::int64_t data = t.extent + kImagePadding;
    const std::int64_t line = shape_.pitch * parts() + 2 * kImagePadding;
    return static_cast<std::size_t>(whole_lines(static_cast<std::size_t>(data) * sizeof(T)) / sizeof(T)) +
           static_cast<std::size_t>(line + t.scratch_extent * (shared_ ? threads_ : 1));
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
typename ImageFft<T>::Tile ImageFft<T>::tile(std::int64_t index) const {
    if (index >= shape_.tiles()) { return {}; }
    const std::int64_t y = index / shape_.across * shape_.out_rows, x = index % shape_.across * shape_.out_samples;
    return {y, x, std::min(shape_.out_rows, problem_.y.outputs - y),
            std::min(shape_.out_samples, problem_.x.outputs * shape_.step - x)};
}

template <class T>
void ImageFft<T>::execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void*) const {
    const bool stream = image_goes_past_caches(problem_, threads_);
    const auto body = [&](std::int64_t task, int slot) {
        std::byte* const patch = workspace.data() + static_cast<std::size_t>(slot) * slot_bytes();
        std::byte* const base = patch + patch_.bytes();
        const std::size_t data_bytes = whole_lines(static_cast<std::size_t>(fft_.tables().extent + kImagePadding) * sizeof(T));
        const std::int64_t index = task % shape_.units();
        Unit unit{};
        unit.plane = lines_.plane(task / shape_.units());
        const ImageFftShape::Pair pair = shape_.pairs ? shape_.pair(index) : ImageFftShape::Pair{index, index};
        unit.tile[0] = tile(pair.first);
        if (shape_.pairs) { unit.tile[1] = tile(pair.second); }
        unit.patch = patch;
        unit.out = output.data;
        unit.in = input.main.data;
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
    load(unit, 0, false);
    const std::int64_t wanted = (unit.tile[0].rows - 1) * shape_.pitch + unit.tile[0].samples;
    const std::int64_t other =
        shape_.pairs ? std::max<std::int64_t>((unit.tile[1].rows - 1) * shape_.pitch + unit.tile[1].samples, 0) : wanted;
    const T* const spectrum = taps_.spectrum(fft_, 1, lines_.mask(unit.plane), 0);
    const bool finite =
        fft_.convolve(unit.data, spectrum, unit.scratch, unit.threads, fft_.source(unit.data), fft_.sink(unit.data, wanted, other));
    if (!finite) {
        repair(unit);
    } else if (taps_.unscale_exponent != 0) {
        scale(unit, taps_.unscale_exponent);
    }
    store(unit, stream);
    if (stream) { kernels_.flush(); }
}

// The windows of a unit's tiles and zeros around them; `clean`: non-finite values as zeros, all others times 2^-exponent.
template <class T>
void ImageFft<T>::load(const Unit& unit, int exponent, bool clean) const {
    const FftTables<T>& t = fft_.tables();
    for (int part = 0; part < 2; ++part) {
        T* const to = unit.data + part * t.im_offset;
        const Tile& tile = unit.tile[shape_.pairs ? part : 0];
        const auto zero = [&](std::int64_t first, std::int64_t last) {
            visit_runs(to, first, last - first, [](T* run, std::int64_t, std::int64_t count) { std::fill_n(run, count, T{0}); });
        };
        const std::int64_t rows = tile.rows == 0 ? 0 : tile.rows + problem_.y.k - 1;
        zero(rows * shape_.pitch, t.size);
        if (part == 1 && !shape_.pairs) {  // filled with the real parts
            break;
        }
        const std::int64_t samples = tile.samples + shape_.halo;
        const auto put = [&](std::int64_t row, T* line) {
            if (clean) {
                for (std::int64_t e = 0; e < samples * parts(); ++e) {
                    line[e] = std::isfinite(line[e]) ? std::ldexp(line[e], -exponent) : T{0};
                }
            }
            visit_runs(to, row * shape_.pitch, samples, [&](T* run, std::int64_t offset, std::int64_t count) {
                if (shape_.pairs) {
                    std::copy_n(line + offset, count, run);
                } else {
                    fft_.kernels().split(run, run + t.im_offset, line + 2 * offset, count);
                }
            });
            zero(row * shape_.pitch + samples, (row + 1) * shape_.pitch);
        };
        if (shape_.pairs && t.rows == 1 && !clean && tile.rows > 0) {  // straight to its place
            const std::int64_t first = tile.x - problem_.x.origin * shape_.step;
            for (std::int64_t row = 0, some = 0; row < rows; row += some) {
                const std::int64_t y = tile.y - problem_.y.origin + row;
                some = lines_.rows_at_once(y, rows - row);
                lines_.prefetch(unit.in, unit.plane, y + kRowsAhead, first, samples);
                lines_.gather_rows(to + row * shape_.pitch, shape_.pitch, unit.in, unit.plane, y, some, first, samples);
            }
            for (std::int64_t row = 0; row < rows; ++row) {
                std::fill_n(to + row * shape_.pitch + samples, shape_.pitch - samples, T{0});
            }
            continue;
        }
        visit_rows(unit, tile, put);
    }
    if (shape_.pairs) { return; }
    T* const im = unit.data + t.im_offset;
    const Tile& tile = unit.tile[0];
    for (std::int64_t row = 0; row < tile.rows + problem_.y.k - 1; ++row) {
        const std::int64_t samples = tile.samples + shape_.halo;
        visit_runs(im, row * shape_.pitch + samples, shape_.pitch - samples,
                   [](T* run, std::int64_t, std::int64_t count) { std::fill_n(run, count, T{0}); });
    }
}

template <class T>
void ImageFft<T>::store(const Unit& unit, bool stream) const {
    const FftTables<T>& t = fft_.tables();
    for (int side = 0; side < sides(unit); ++side) {
        const Tile& tile = unit.tile[side];
        T* const from = unit.data + side * t.im_offset;
        for (std::int64_t r = 0; r < tile.rows; ++r) {
            if (shape_.pairs && t.rows == 1) {
                lines_.store(unit.out, unit.plane, tile.y + r, tile.x, tile.samples, from + r * shape_.pitch, stream);
                continue;
            }
            visit_runs(from, r * shape_.pitch, tile.samples, [&](T* run, std::int64_t offset, std::int64_t count) {
                if (shape_.pairs) {
                    std::copy_n(run, count, unit.line + offset);
                } else {
                    fft_.kernels().join(unit.line + 2 * offset, run, run + t.im_offset, count);
                }
            });
            lines_.store(unit.out, unit.plane, tile.y + r, tile.x * parts(), tile.samples * parts(), unit.line, stream);
        }
    }
}

template <class T>
void ImageFft<T>::scale(const Unit& unit, int exponent) const {
    for (int part = 0; part < 2; ++part) {
        visit_runs(unit.data + part * fft_.tables().im_offset, 0, fft_.size(), [&](T* run, std::int64_t, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i) { run[i] = std::ldexp(run[i], exponent); }
        });
    }
}

template <class T>
std::int64_t ImageFft<T>::inner_granularity() const {
    const std::int64_t samples = (shape_.pairs ? 2 : 1) * shape_.out_samples;  // tiles may begin within a pixel
    return samples / std::gcd(samples, shape_.step);
}

template <class T>
std::string ImageFft<T>::describe() const {
    return std::string(to_string(target_)) + ", FFT of 2^" + std::to_string(shape_.log2_size) + " points, tiles of " +
           std::to_string(shape_.out_rows) + " x " + std::to_string(shape_.out_samples) + " outputs";
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
        if (request.accuracy == Accuracy::strict) { return core::Support::no("accuracy strict allows direct summation only"); }
        if (!request.facts.finite) { return core::Support::no("a tap is not finite"); }
        if (image_fft_shape(p).log2_size == 0) { return core::Support::no("the mask is larger than the largest transform"); }
        return core::Support::yes();
    }
    [[nodiscard]] double estimate_seconds(const Resolved& p, const Request& request) const override {
        return image_seconds(p, image_fft_shape(p).seconds, request.threads);
    }
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const Resolved& p, const void* taps,
                                                            const Request& request) const override {
        return with_real_type(p.sum_dtype, [&]<class T>(T) -> std::unique_ptr<core::Executable> {
            const ImageFftShape shape =
                request.whole == nullptr ? image_fft_shape(p) : image_fft_part_shape(image_fft_shape(*request.whole), p);
            return std::make_unique<ImageFft<T>>(p, shape, taps, request);
        });
    }
};

}  // namespace

const core::Algorithm& image_fft_algorithm() {
    static const FftAlgorithm kInner;
    static const PixelAlgorithm kAlgorithm(kInner);
    return kAlgorithm;
}

}  // namespace tapline::cpu
