#include "cpu/overlap_save/overlap_save_taps.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <new>
#include <string>
#include <type_traits>

#include "core/plan/host_memory.hpp"
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
    core::prefer_large_pages(p, bytes);
    return {p, [](T* q) { ::operator delete(q, kAlignment); }};
}

// The largest finite magnitude. Magnitudes compare as their bits do, which the compiler can do in lanes.
template <class T>
T largest_of(const T* taps, std::int64_t count, bool finite) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    if (finite) {
        Bits most = 0;
        for (std::int64_t t = 0; t < count; ++t) {
            most = std::max<Bits>(most, std::bit_cast<Bits>(taps[t]) & std::numeric_limits<Bits>::max());
        }
        return std::bit_cast<T>(most);
    }
    T largest = 0;
    for (std::int64_t t = 0; t < count; ++t) {
        if (std::isfinite(taps[t])) { largest = std::max(largest, std::abs(taps[t])); }
    }
    return largest;
}

struct Facts {
    bool finite = true;
    int exponent = 0;  ///< of the largest finite tap; 0 if there is none but zeros
};

// What the taps' values decide; and prepared.one_sign.
template <class T>
Facts look_at(OverlapSaveTaps<T>& prepared, std::int64_t filters, std::int64_t k, const FftKernels<T>& kernels, int threads) {
    constexpr double kTapSeconds = 0.5e-9;
    const std::int64_t elements = k * (prepared.complex_taps ? 2 : 1);
    struct OfFilter {
        T largest;
        bool finite, one_sign;
    };
    std::vector<OfFilter> each(static_cast<std::size_t>(filters));
    core::parallel_for(
        filters, threads,
        [&](std::int64_t f, int) {
            const T* const row = prepared.taps.data() + f * elements;
            OfFilter& it = each[static_cast<std::size_t>(f)];
            it.finite = kernels.all_finite(row, elements);
            it.largest = largest_of(row, elements, it.finite);
            it.one_sign = std::all_of(row, row + elements, [&](T v) { return row[0] > 0 ? v > 0 : v < 0; });
        },
        kTapSeconds * static_cast<double>(filters) * static_cast<double>(elements));
    Facts facts;
    T largest = 0;
    for (const OfFilter& it : each) {
        facts.finite = facts.finite && it.finite;
        largest = std::max(largest, it.largest);
        if (!prepared.complex_taps) { prepared.one_sign.push_back(it.one_sign); }
    }
    facts.exponent = largest == 0 ? 0 : std::ilogb(largest);
    return facts;
}

// The taps [first, last) of one filter at minus their index, which makes the circular convolution a correlation.
template <class To, class T>
void place(const BlockFft<To>& fft, To* data, const T* taps, std::int64_t first, std::int64_t last, int parts, int exponent,
           bool finite) {
    const FftTables<To>& t = fft.tables();
    std::fill(data, data + t.extent, To{0});
    // A normal power of two scales as ldexp does, which takes a call for each tap.
    const bool is_normal = std::abs(exponent) < std::numeric_limits<To>::max_exponent - 2;
    const To power = is_normal ? std::ldexp(To{1}, exponent) : To{0};
    if (finite && is_normal && parts == 1) {
        // Row by row, against the taps' order; the first tap is at 0.
        if (first < last) { data[0] = static_cast<To>(taps[first]) * power; }
        for (std::int64_t tap = first + 1; tap < last;) {
            const std::int64_t at = t.size - (tap - first);
            const std::int64_t count = std::min(at % t.columns + 1, last - tap);
            To* const to = data + at / t.columns * t.pitch + at % t.columns - (count - 1);
            const T* const from = taps + tap + (count - 1);
            for (std::int64_t i = 0; i < count; ++i) { to[i] = static_cast<To>(from[-i]) * power; }
            tap += count;
        }
        return;
    }
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
        const FftTables<double>& w = wide_.tables();
        std::vector<std::int32_t> order(static_cast<std::size_t>(w.size));  // where the wide transform leaves a frequency
        for (std::int64_t r = 0; r < w.rows; ++r) {
            for (std::int64_t c = 0; c < w.columns; ++c) {
                order[static_cast<std::size_t>(frequency_at(w, r, c))] = static_cast<std::int32_t>(r * w.pitch + c);
            }
        }
        places_.reserve(static_cast<std::size_t>(t.size));
        for (std::int64_t r = 0; r < t.rows; ++r) {
            for (std::int64_t c = 0; c < t.columns; ++c) {
                places_.push_back(order[static_cast<std::size_t>(frequency_at(t, r, c))]);
            }
        }
    }

    /// Of the scratch memory that run() needs.
    [[nodiscard]] std::int64_t extent() const { return wide_.extent() + kScratch * wide_.tables().scratch_extent; }

    void run(double* data, float* spectrum, const float* taps, std::int64_t first, std::int64_t last, int parts, int exponent,
             bool finite) const {
        const FftTables<float>& t = fft_.tables();
        const FftTables<double>& w = wide_.tables();
        place(wide_, data, taps, first, last, parts, exponent, finite);
        wide_.forward(data, data + w.extent, kScratch);
        const std::int32_t* from = places_.data();
        for (std::int64_t r = 0; r < t.rows; ++r, from += t.columns) {
            float* const re = spectrum + r * t.pitch;
            float* const im = re + t.im_offset;
            for (std::int64_t c = 0; c < t.columns; ++c) { re[c] = static_cast<float>(data[from[c]]); }
            for (std::int64_t c = 0; c < t.columns; ++c) { im[c] = static_cast<float>(data[from[c] + w.im_offset]); }
            // Nobody's points, in the spectrum as in the data.
            const std::int64_t next = r + 1 < t.rows ? t.pitch : t.im_offset - r * t.pitch;
            std::fill(re + t.columns, re + next, 0.0F);
            std::fill(im + t.columns, im + (r + 1 < t.rows ? t.pitch : t.extent - t.im_offset - r * t.pitch), 0.0F);
        }
    }

private:
    static constexpr int kScratch = 1;  // threads
    const BlockFft<float>& fft_;
    BlockFft<double> wide_;
    std::vector<std::int32_t> places_;  ///< where the wide transform leaves each point of the spectrum
};

template <class T>
void note_special(OverlapSaveTaps<T>& prepared, std::int64_t filters, std::int64_t k) {
    const int parts = prepared.complex_taps ? 2 : 1;
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
    const Facts facts = look_at(prepared, problem.filters, problem.x.k, fft.kernels(), threads);
    if (!facts.finite) { note_special(prepared, problem.filters, problem.x.k); }
    prepared.spectra = allocate<T>(problem.filters * shape.partitions * fft.extent());
    prepared.unscale_exponent = std::abs(facts.exponent) <= kPlainExponent<T> ? 0 : facts.exponent;
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
                wide->run(wide_scratch.get() + slot * wide_extent, data, filter, first, last, parts, place_exponent, facts.finite);
                return;
            }
        }
        place(fft, data, filter, first, last, parts, place_exponent, facts.finite);
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
