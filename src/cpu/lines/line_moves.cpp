#include "cpu/lines/line_moves.hpp"

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <cstring>

namespace tapline::cpu {
namespace {

// Elements that are converted at once on their way: they stay in the L1 cache.
constexpr std::int64_t kWidened = 512;
constexpr std::int64_t kCacheLine = 64;
// Bytes of lines that are joined before they are stored past the caches: they stay in the L1 cache.
constexpr std::int64_t kJoinedBytes = 8192;

/// f(T{}) for a type of so many bytes: elements are moved by their size.
template <class F>
void with_size(std::size_t bytes, const F& f) {
    switch (bytes) {
        case 1:
            return f(std::uint8_t{});
        case 2:
            return f(std::uint16_t{});
        case 4:
            return f(float{});
        case 8:
            return f(double{});
        default:
            return f(std::complex<double>{});
    }
}

template <class T>
constexpr bool kHasKernels = std::is_floating_point_v<T>;

// Element p of line l from `from` to `to`, each with strides of its own; the nearer axis inside.
template <class T>
void move(T* to, Strides into, const T* from, Strides out_of, std::int64_t lines, std::int64_t count) {
    const Strides apart = out_of.step == 1 ? into : out_of;
    if (std::abs(apart.line_stride) < std::abs(apart.step)) {
        for (std::int64_t p = 0; p < count; ++p) {
            for (std::int64_t l = 0; l < lines; ++l) {
                copy_element(to + l * into.line_stride + p * into.step, from + l * out_of.line_stride + p * out_of.step);
            }
        }
        return;
    }
    for (std::int64_t l = 0; l < lines; ++l) {
        for (std::int64_t p = 0; p < count; ++p) {
            copy_element(to + l * into.line_stride + p * into.step, from + l * out_of.line_stride + p * out_of.step);
        }
    }
}

template <class T>
void gather_as_is(const LineTable& kernels, T* to, std::int64_t pitch, const T* from, Strides strides, std::int64_t lines,
                  std::int64_t count) {
    if (strides.step == 1) {
        for (std::int64_t l = 0; l < lines; ++l) {
            std::memcpy(to + l * pitch, from + l * strides.line_stride, static_cast<std::size_t>(count) * sizeof(T));
        }
        return;
    }
    if constexpr (kHasKernels<T>) {
        if (strides.line_stride == 1 && lines > 1) { return kernels.of<T>().split(to, pitch, from, strides.step, lines, count); }
        if (strides.step == -1 || strides.step == 2) {
            const auto copy = strides.step == 2 ? kernels.of<T>().every_second : kernels.of<T>().reverse;
            for (std::int64_t l = 0; l < lines; ++l) { copy(to + l * pitch, from + l * strides.line_stride, count); }
            return;
        }
    }
    move(to, {pitch, 1}, from, strides, lines, count);
}

template <class T>
void scatter_as_is(const LineTable& kernels, T* to, Strides strides, const T* from, std::int64_t pitch, std::int64_t lines,
                   std::int64_t count) {
    if (strides.step == 1) {
        for (std::int64_t l = 0; l < lines; ++l) {
            std::memcpy(to + l * strides.line_stride, from + l * pitch, static_cast<std::size_t>(count) * sizeof(T));
        }
        return;
    }
    if constexpr (kHasKernels<T>) {
        if (strides.line_stride == 1 && lines > 1) { return kernels.of<T>().join(to, strides.step, from, pitch, lines, count); }
    }
    move(to, strides, from, {pitch, 1}, lines, count);
}

}  // namespace

LineMoves::LineMoves(Target target, Dtype in, Dtype sum, Dtype made, Dtype out)
    : kernels_(line_kernels(target)), in_(in), sum_(sum), out_(out) {
    if (in != sum) {
        widen_ = kernels_.widening(in, sum == Dtype::f64);
        split_widened_ = kernels_.split_widened(in, sum == Dtype::f64);
        if (sum == Dtype::f32) {
            widen_reversed_ = few_kernels(target).f32.along(in, false, -1);
            widen_every_second_ = few_kernels(target).f32.along(in, false, 2);
        }
    }
    if (made != out) { narrow_ = kernels_.narrowing(out); }
}

void LineMoves::gather(std::byte* to, std::int64_t pitch, const std::byte* from, Strides strides, std::int64_t lines,
                       std::int64_t count) const {
    if (pitch == count && strides.line_stride == strides.step * count) {  // one line after the other
        count *= lines;
        lines = 1;
    }
    if (widen_ != nullptr) { return gather_widened(to, pitch, from, strides, lines, count); }
    with_size(size_of(in_), [&]<class T>(T) {
        gather_as_is(kernels_, reinterpret_cast<T*>(to), pitch, reinterpret_cast<const T*>(from), strides, lines, count);
    });
}

// Neighbours in memory are widened first, whichever axis they lie along, and then moved as samples of the sum's type.
void LineMoves::gather_widened(std::byte* to, std::int64_t pitch, const std::byte* from, Strides strides, std::int64_t lines,
                               std::int64_t count) const {
    const auto narrow = static_cast<std::int64_t>(size_of(in_)), wide = static_cast<std::int64_t>(size_of(sum_));
    if (strides.step == 1) {
        for (std::int64_t l = 0; l < lines; ++l) { widen_(to + l * pitch * wide, from + l * strides.line_stride * narrow, count); }
        return;
    }
    if (strides.line_stride == 1 && lines > 1) { return split_widened_(to, pitch, from, strides.step, lines, count); }
    if (strides.step == -1 || strides.step == 2) {
        if (const auto as_read = strides.step == 2 ? widen_every_second_ : widen_reversed_) {
            constexpr float kOne = 1;
            return as_read({.out = reinterpret_cast<float*>(to),
                            .in = from,
                            .taps = &kOne,
                            .k = 1,
                            .count = count,
                            .lines = lines,
                            .step = strides.step,
                            .line = strides.line_stride,
                            .out_line = pitch});
        }
        for (std::int64_t l = 0; l < lines; ++l) {
            gather_line(to + l * pitch * wide, from + l * strides.line_stride * narrow, strides.step, count);
        }
        return;
    }
    alignas(64) std::byte packed[kWidened * sizeof(std::int64_t)];
    for (std::int64_t l = 0; l < lines; ++l) {
        for (std::int64_t p = 0; p < count; p += kWidened) {
            const std::int64_t some = std::min(kWidened, count - p);
            const std::byte* const line = from + (l * strides.line_stride + p * strides.step) * narrow;
            with_size(static_cast<std::size_t>(narrow), [&]<class T>(T) {
                move(reinterpret_cast<T*>(packed), {0, 1}, reinterpret_cast<const T*>(line), {0, strides.step}, 1, some);
            });
            widen_(to + (l * pitch + p) * wide, packed, some);
        }
    }
}

// A line that is read backwards, or of which every second sample is: those between are widened, too, by whole vectors.
void LineMoves::gather_line(std::byte* to, const std::byte* from, std::int64_t step, std::int64_t count) const {
    const auto narrow = static_cast<std::int64_t>(size_of(in_));
    const auto move_wide = [&]<class T>(T) {
        alignas(64) T packed[kWidened];
        constexpr std::int64_t kMost = kWidened / 2;
        for (std::int64_t p = 0; p < count; p += kMost) {
            const std::int64_t some = std::min(kMost, count - p), last = step < 0 ? some - 1 : 2 * (some - 1);
            const std::byte* const first = from + p * step * narrow;
            widen_(packed, step < 0 ? first - last * narrow : first, last + 1);
            T* const line = reinterpret_cast<T*>(to) + p;
            step < 0 ? kernels_.of<T>().reverse(line, packed + last, some) : kernels_.of<T>().every_second(line, packed, some);
        }
    };
    sum_ == Dtype::f64 ? move_wide(double{}) : move_wide(float{});
}

void LineMoves::scatter(std::byte* to, Strides strides, const std::byte* from, std::int64_t pitch, std::int64_t lines,
                        std::int64_t count, bool past_caches) const {
    const auto fills_cache_lines = [&] {
        const auto made = static_cast<std::int64_t>(size_of(out_));
        return reinterpret_cast<std::uintptr_t>(to) % kCacheLine == 0 && strides.step * made % kCacheLine == 0 &&
               lines * made % kCacheLine == 0 && lines * made <= kJoinedBytes;
    };
    if (past_caches && narrow_ == nullptr && strides.line_stride == 1 && fills_cache_lines()) {
        return scatter_past_caches(to, strides.step, from, pitch, lines, count);
    }
    if (narrow_ == nullptr) { return scatter_as_made(to, strides, from, pitch, lines, count); }
    const auto narrow = static_cast<std::int64_t>(size_of(out_));
    if (strides.line_stride == 1 && lines > 1 && lines <= kWidened) {
        alignas(64) float joined[kWidened];
        const std::int64_t most = kWidened / lines;
        for (std::int64_t p = 0; p < count; p += most) {
            const std::int64_t some = std::min(most, count - p);
            const float* const block = reinterpret_cast<const float*>(from) + p;
            kernels_.f32.join(joined, lines, block, pitch, lines, some);
            if (strides.step == lines) {  // without gaps: whole vectors, however few the lines
                narrow_(to + p * lines * narrow, joined, some * lines);
                continue;
            }
            for (std::int64_t i = 0; i < some; ++i) { narrow_(to + (p + i) * strides.step * narrow, joined + i * lines, lines); }
        }
        return;
    }
    alignas(64) std::byte packed[kWidened * sizeof(std::uint16_t)];
    for (std::int64_t l = 0; l < lines; ++l) {
        for (std::int64_t p = 0; p < count; p += kWidened) {
            const std::int64_t some = std::min(kWidened, count - p);
            const std::byte* const line = from + (l * pitch + p) * static_cast<std::int64_t>(sizeof(float));
            std::byte* const target = to + (l * strides.line_stride + p * strides.step) * narrow;
            if (strides.step == 1) {
                narrow_(target, line, some);
            } else {
                narrow_(packed, line, some);
                scatter_as_made(target, {0, strides.step}, packed, some, 1, some);
            }
        }
    }
}

// Whole lines of the cache: joined in the L1 cache, so that what was there is not read first.
void LineMoves::scatter_past_caches(std::byte* to, std::int64_t step, const std::byte* from, std::int64_t pitch, std::int64_t lines,
                                    std::int64_t count) const {
    with_size(size_of(out_), [&]<class T>(T) {
        if constexpr (kHasKernels<T>) {
            constexpr std::int64_t kBytes = sizeof(T);
            alignas(64) T joined[kJoinedBytes / kBytes];
            const std::int64_t most = kJoinedBytes / kBytes / lines;
            for (std::int64_t p = 0; p < count; p += most) {
                const std::int64_t some = std::min(most, count - p);
                kernels_.of<T>().join(joined, lines, reinterpret_cast<const T*>(from) + p, pitch, lines, some);
                kernels_.stream(to + p * step * kBytes, step * kBytes, joined, lines * kBytes, lines * kBytes, some);
            }
        } else {
            scatter_as_is(kernels_, reinterpret_cast<T*>(to), {1, step}, reinterpret_cast<const T*>(from), pitch, lines, count);
        }
    });
}

void LineMoves::scatter_as_made(std::byte* to, Strides strides, const std::byte* from, std::int64_t pitch, std::int64_t lines,
                                std::int64_t count) const {
    with_size(size_of(out_), [&]<class T>(T) {
        scatter_as_is(kernels_, reinterpret_cast<T*>(to), strides, reinterpret_cast<const T*>(from), pitch, lines, count);
    });
}

}  // namespace tapline::cpu
