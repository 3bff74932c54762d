#include "cpu/overlap_save/overlap_save_taps.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <new>
#include <string>
#include <type_traits>

#include "core/plan/parallel.hpp"

namespace tapline::cpu {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr std::int64_t kLeastSpectraSideBySide = 8;

// Taps within 2^+-kPlainExponent need no correction of the outputs: the spectrum's values stay far from overflow.
template <class T>
constexpr int kPlainExponent = sizeof(T) == 4 ? 24 : 200;

template <class T>
std::unique_ptr<T[], void (*)(T*)> allocate(std::int64_t elements) {
    const auto bytes = static_cast<std::size_t>(elements) * sizeof(T);
    T* p = static_cast<T*>(::operator new(bytes, kAlignment, std::nothrow));
    if (p == nullptr) {
        throw Error(ErrorCode::memory, "taps: " + std::to_string(bytes) + " bytes for the filter's spectra could not be allocated");
    }
    return {p, [](T* q) { ::operator delete(q, kAlignment); }};
}

// Exponent of the largest finite tap; 0 if there is none but zeros.
template <class T>
int exponent_of(const std::vector<T>& taps) {
    T largest = 0;
    for (const T tap : taps) {
        if (std::isfinite(tap)) { largest = std::max(largest, std::abs(tap)); }
    }
    return largest == 0 ? 0 : std::ilogb(largest);
}

// The taps [first, last) of one filter at minus their index, which makes the circular convolution a correlation.
template <class To, class T>
void place(const BlockFft<To>& fft, To* data, const T* taps, std::int64_t first, std::int64_t last, int parts, int exponent) {
    const FftTables<To>& t = fft.tables();
    std::fill(data, data + t.extent, To{0});
    // A normal power of two scales as ldexp does, which takes a call for each tap.
    const bool is_normal = std::abs(exponent) < std::numeric_limits<To>::max_exponent - 2;
    const To power = is_normal ? std::ldexp(To{1}, exponent) : To{0};
    const std::int64_t mask = t.columns - 1;  // columns are a power of two, as the size is
    const int columns_log2 = std::countr_zero(static_cast<std::uint64_t>(t.columns));
    for (std::int64_t tap = first; tap < last; ++tap) {
        const std::int64_t at = (t.size - (tap - first)) & (t.size - 1);
        To* const to = data + (at >> columns_log2) * t.pitch + (at & mask);
        for (int part = 0; part < parts; ++part) {
            const T value = taps[tap * parts + part];
            const auto wide = static_cast<To>(value);
            to[part * t.im_offset] = !std::isfinite(value) ? To{0} : is_normal ? wide * power : std::ldexp(wide, exponent);
        }
    }
}

// Spectra of f32 filters come from a transform in double and are rounded once: the error of a convolution falls by 10%. Not
// for large ones, whose double buffer would count against the memory bound.
class WideTransform {
public:
    static constexpr int kMaxLog2 = 18;

    WideTransform(const BlockFft<float>& fft, Target target) : fft_(fft), wide_(target, fft.tables().log2_size) {
        const FftTables<float>& t = fft.tables();
        std::vector<std::int32_t> order(static_cast<std::size_t>(t.size));  // where the spectrum keeps a frequency
        for (std::int64_t r = 0; r < t.rows; ++r) {
            for (std::int64_t c = 0; c < t.columns; ++c) {
                order[static_cast<std::size_t>(frequency_at(t, r, c))] = static_cast<std::int32_t>(r * t.pitch + c);
            }
        }
        const FftTables<double>& w = wide_.tables();
        for (std::int64_t r = 0; r < w.rows; ++r) {
            for (std::int64_t c = 0; c < w.columns; ++c) {
                places_.push_back(order[static_cast<std::size_t>(frequency_at(w, r, c))]);
            }
        }
    }

    /// Of the scratch memory that run() needs.
    [[nodiscard]] std::int64_t extent() const { return wide_.extent() + kScratch * wide_.tables().scratch_extent; }

    void run(double* data, float* spectrum, const float* taps, std::int64_t first, std::int64_t last, int parts,
             int exponent) const {
        const FftTables<double>& w = wide_.tables();
        place(wide_, data, taps, first, last, parts, exponent);
        wide_.forward(data, data + w.extent, kScratch);
        std::fill(spectrum, spectrum + fft_.extent(), 0.0F);
        const std::int32_t* to = places_.data();
        const std::int64_t im_offset = fft_.tables().im_offset;
        for (std::int64_t r = 0; r < w.rows; ++r) {
            const double* const row = data + r * w.pitch;
            for (std::int64_t c = 0; c < w.columns; ++c, ++to) {
                spectrum[*to] = static_cast<float>(row[c]);
                spectrum[*to + im_offset] = static_cast<float>(row[c + w.im_offset]);
            }
        }
    }

private:
    static constexpr int kScratch = 1;  // threads
    const BlockFft<float>& fft_;
    BlockFft<double> wide_;
    std::vector<std::int32_t> places_;  ///< where the spectrum keeps each point of the wide one
};

template <class T>
void note_special(OverlapSaveTaps<T>& prepared, std::int64_t filters, std::int64_t k) {
    const int parts = prepared.complex_taps ? 2 : 1;
    if (std::all_of(prepared.taps.begin(), prepared.taps.end(), [](T v) { return std::isfinite(v); })) { return; }
    prepared.special.resize(static_cast<std::size_t>(filters));
    for (std::int64_t f = 0; f < filters; ++f) {
        auto& list = prepared.special[static_cast<std::size_t>(f)];
        const T* const row = prepared.taps.data() + f * k * parts;
        for (const bool nan : {true, false}) {
            for (std::int64_t t = 0; t < k; ++t) {
                const bool finite = std::isfinite(row[t * parts]) && std::isfinite(row[t * parts + parts - 1]);
                const bool is_nan = std::isnan(row[t * parts]) || std::isnan(row[t * parts + parts - 1]);
                if (!finite && is_nan == nan) { list.push_back(t); }
            }
        }
    }
}

}  // namespace

template <class T>
PowerOfTwo<T>::PowerOfTwo(int exponent) {
    const int half = std::clamp(exponent, std::numeric_limits<T>::min_exponent, std::numeric_limits<T>::max_exponent - 1);
    first = std::ldexp(T{1}, half);
    second = std::ldexp(T{1}, exponent - half);
}

template <class T>
OverlapSaveTaps<T> prepare_taps(const core::Resolved& problem, const OverlapSaveShape& shape, const BlockFft<T>& fft,
                                const void* taps, int threads) {
    OverlapSaveTaps<T> prepared;
    prepared.complex_taps = is_complex(problem.taps_dtype);
    const int parts = prepared.complex_taps ? 2 : 1;
    const T* const given = static_cast<const T*>(taps);
    try {
        prepared.taps.assign(given, given + problem.filters * problem.x.k * parts);
    } catch (const std::bad_alloc&) {
        throw Error(ErrorCode::memory,
                    "taps: a copy of " + std::to_string(problem.filters * problem.x.k) + " taps could not be allocated");
    }
    note_special(prepared, problem.filters, problem.x.k);
    for (std::int64_t f = 0; f < problem.filters && !prepared.complex_taps; ++f) {
        const T* const row = prepared.taps.data() + f * problem.x.k;
        prepared.one_sign.push_back(std::all_of(row, row + problem.x.k, [&](T v) { return row[0] > 0 ? v > 0 : v < 0; }));
    }
    prepared.spectra = allocate<T>(problem.filters * shape.partitions * fft.extent());
    const int exponent = exponent_of(prepared.taps);
    prepared.unscale_exponent = std::abs(exponent) <= kPlainExponent<T> ? 0 : exponent;
    std::unique_ptr<const WideTransform> wide;
    if constexpr (std::is_same_v<T, float>) {
        if (shape.log2_size <= WideTransform::kMaxLog2) { wide = std::make_unique<const WideTransform>(fft, current_target()); }
    }
    const int place_exponent = -prepared.unscale_exponent - shape.log2_size;
    // Many spectra side by side, each by one thread; few one after the other, each by all.
    const std::int64_t spectra = problem.filters * shape.partitions;
    const bool side_by_side = spectra >= kLeastSpectraSideBySide;
    const int makers = side_by_side ? threads : 1;
    const int of_each = side_by_side ? 1 : threads;
    const std::int64_t narrow_extent = fft.tables().scratch_extent * of_each;
    const auto narrow_scratch = allocate<T>(std::max<std::int64_t>(narrow_extent * makers, 1));
    const std::int64_t wide_extent = wide != nullptr ? wide->extent() : 0;
    const auto wide_scratch = allocate<double>(std::max<std::int64_t>(wide_extent * makers, 1));
    core::parallel_for(spectra, makers, [&](std::int64_t spectrum, int slot) {
        const T* const filter = prepared.taps.data() + spectrum / shape.partitions * problem.x.k * parts;
        const std::int64_t p = spectrum % shape.partitions;
        T* const data = prepared.spectra.get() + spectrum * fft.extent();
        const std::int64_t first = shape.partitions == 1 ? 0 : p * shape.block;
        const std::int64_t last = shape.partitions == 1 ? problem.x.k : std::min(first + shape.block, problem.x.k);
        if constexpr (std::is_same_v<T, float>) {
            if (wide != nullptr) {
                wide->run(wide_scratch.get() + slot * wide_extent, data, filter, first, last, parts, place_exponent);
                return;
            }
        }
        place(fft, data, filter, first, last, parts, place_exponent);
        fft.forward(data, narrow_scratch.get() + slot * narrow_extent, of_each);
    });
    return prepared;
}

template OverlapSaveTaps<float> prepare_taps<float>(const core::Resolved&, const OverlapSaveShape&, const BlockFft<float>&,
                                                    const void*, int);
template OverlapSaveTaps<double> prepare_taps<double>(const core::Resolved&, const OverlapSaveShape&, const BlockFft<double>&,
                                                      const void*, int);
template struct PowerOfTwo<float>;
template struct PowerOfTwo<double>;

}  // namespace tapline::cpu
