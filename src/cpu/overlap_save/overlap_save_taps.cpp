#include "cpu/overlap_save/overlap_save_taps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <string>
#include <type_traits>

namespace tapline::cpu {
namespace {

constexpr std::align_val_t kAlignment{64};

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
    for (std::int64_t tap = first; tap < last; ++tap) {
        const std::int64_t at = (t.size - (tap - first)) & (t.size - 1);
        for (int part = 0; part < parts; ++part) {
            const T value = taps[tap * parts + part];
            data[part * t.im_offset + at / t.columns * t.pitch + at % t.columns] =
                std::isfinite(value) ? std::ldexp(static_cast<To>(value), exponent) : To{0};
        }
    }
}

// Spectra of f32 filters come from a transform in double and are rounded once: the error of a convolution falls by 10%. Not
// for large ones, whose double buffer would count against the memory bound.
class WideTransform {
public:
    static constexpr int kMaxLog2 = 18;

    explicit WideTransform(const BlockFft<float>& fft, Target target)
        : fft_(fft),
          wide_(target, fft.tables().log2_size),
          data_(allocate<double>(wide_.extent() + kScratch * wide_.tables().scratch_extent)) {
        const FftTables<float>& t = fft.tables();
        order_.resize(static_cast<std::size_t>(t.size));
        for (std::int64_t r = 0; r < t.rows; ++r) {
            for (std::int64_t c = 0; c < t.columns; ++c) {
                order_[static_cast<std::size_t>(frequency_at(t, r, c))] = static_cast<std::int32_t>(r * t.pitch + c);
            }
        }
    }

    void run(float* spectrum, const float* taps, std::int64_t first, std::int64_t last, int parts, int exponent) const {
        const FftTables<double>& w = wide_.tables();
        place(wide_, data_.get(), taps, first, last, parts, exponent);
        wide_.forward(data_.get(), data_.get() + w.extent, kScratch);
        std::fill(spectrum, spectrum + fft_.extent(), 0.0F);
        for (std::int64_t r = 0; r < w.rows; ++r) {
            for (std::int64_t c = 0; c < w.columns; ++c) {
                const std::int64_t to = order_[static_cast<std::size_t>(frequency_at(w, r, c))];
                spectrum[to] = static_cast<float>(data_[r * w.pitch + c]);
                spectrum[to + fft_.tables().im_offset] = static_cast<float>(data_[r * w.pitch + c + w.im_offset]);
            }
        }
    }

private:
    static constexpr int kScratch = 1;  // threads
    const BlockFft<float>& fft_;
    BlockFft<double> wide_;
    std::unique_ptr<double[], void (*)(double*)> data_;
    std::vector<std::int32_t> order_;  ///< where the spectrum keeps a frequency
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
    const auto scratch = allocate<T>(std::max<std::int64_t>(fft.tables().scratch_extent * threads, 1));
    const int exponent = exponent_of(prepared.taps);
    prepared.unscale_exponent = std::abs(exponent) <= kPlainExponent<T> ? 0 : exponent;
    std::unique_ptr<const WideTransform> wide;
    if constexpr (std::is_same_v<T, float>) {
        if (shape.log2_size <= WideTransform::kMaxLog2) { wide = std::make_unique<const WideTransform>(fft, current_target()); }
    }
    const int place_exponent = -prepared.unscale_exponent - shape.log2_size;
    for (std::int64_t f = 0; f < problem.filters; ++f) {
        const T* const filter = prepared.taps.data() + f * problem.x.k * parts;
        for (std::int64_t p = 0; p < shape.partitions; ++p) {
            T* const data = prepared.spectra.get() + (f * shape.partitions + p) * fft.extent();
            const std::int64_t first = shape.partitions == 1 ? 0 : p * shape.block;
            const std::int64_t last = shape.partitions == 1 ? problem.x.k : std::min(first + shape.block, problem.x.k);
            if constexpr (std::is_same_v<T, float>) {
                if (wide != nullptr) {
                    wide->run(data, filter, first, last, parts, place_exponent);
                    continue;
                }
            }
            place(fft, data, filter, first, last, parts, place_exponent);
            fft.forward(data, scratch.get(), threads);
        }
    }
    return prepared;
}

template OverlapSaveTaps<float> prepare_taps<float>(const core::Resolved&, const OverlapSaveShape&, const BlockFft<float>&,
                                                    const void*, int);
template OverlapSaveTaps<double> prepare_taps<double>(const core::Resolved&, const OverlapSaveShape&, const BlockFft<double>&,
                                                      const void*, int);
template struct PowerOfTwo<float>;
template struct PowerOfTwo<double>;

}  // namespace tapline::cpu
