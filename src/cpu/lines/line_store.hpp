// Sums to outputs, with the epilogue.
#pragma once

#include <type_traits>

#include "core/problem/epilogue.hpp"
#include "cpu/lines/simd_lines.hpp"

namespace tapline::cpu {

/// core::store(), by vectors where outputs side by side are of the sums' type, integers of 8 and 16 bits, or truncated ones.
/// T: float, double or a complex type.
template <class T>
class LineStore {
public:
    LineStore(const core::Resolved& problem, Target target) {
        if constexpr (std::is_floating_point_v<T>) {
            const bool truncates = problem.overflow == Overflow::truncate;
            by_vectors_ = line_kernels(target).of<T>().finishing(problem.output_dtype, truncates);
            bytes_ = static_cast<std::int64_t>(size_of(problem.output_dtype));
            finish_ = {.scale = static_cast<T>(problem.scale),
                       .bias = problem.scale == 1 && problem.bias == 0 ? T{-0.0} : static_cast<T>(problem.bias),  // changes nothing
                       .low = static_cast<T>(problem.clamp.low),
                       .high = static_cast<T>(problem.clamp.high),
                       .limits = problem.has_clamp,
                       .truncates = truncates};
        }
    }

    /// `problem`: the one that this was made of.
    void operator()(const core::Resolved& problem, const core::Output& output, std::int64_t row, std::int64_t first,
                    std::int64_t count, T* sums) const {
        if constexpr (std::is_floating_point_v<T>) {
            const std::int64_t offset = row * output.batch_stride + (first - output.first) * output.stride;
            if (by_vectors_ != nullptr && output.stride == 1) {
                return by_vectors_(static_cast<std::byte*>(output.data) + offset * bytes_, sums, count, finish_);
            }
            if (by_vectors_ != nullptr && problem.output_dtype == problem.sum_dtype) {
                by_vectors_(sums, sums, count, finish_);
                T* const to = static_cast<T*>(output.data) + offset;
                for (std::int64_t i = 0; i < count; ++i) { to[i * output.stride] = sums[i]; }
                return;
            }
        }
        core::store(problem, output, row, first, count, sums);
    }

private:
    using Real = std::conditional_t<std::is_floating_point_v<T>, T, float>;
    FinishSums<Real> by_vectors_ = nullptr;
    std::int64_t bytes_ = 1;
    SumsFinish<Real> finish_;
};

/// The same for outputs side by side of any type, also those of 16 bits that sums are rounded to. T: float, double or
/// complex<float>.
template <class T>
class RunStore {
public:
    /// `lines`: problem_of_lines() of the problem.
    RunStore(const core::Resolved& problem, const core::Resolved& lines, Target target) : lines_(lines), store_(lines_, target) {
        if (lines.output_dtype != problem.output_dtype) { narrow_ = line_kernels(target).narrowing(problem.output_dtype); }
    }

    /// Sums are outputs.
    [[nodiscard]] bool as_made() const { return narrow_ == nullptr && lines_.trivial_epilogue; }

    /// Changes the sums. `spare`: room for as many.
    void operator()(std::byte* to, T* sums, T* spare, std::int64_t count) const {
        core::Output packed{.data = to, .first = 0, .count = count, .batch_stride = 0, .stride = 1};
        if (narrow_ == nullptr) { return store_(lines_, packed, 0, 0, count, sums); }
        if (lines_.trivial_epilogue) { return narrow_(to, sums, count); }
        packed.data = spare;
        store_(lines_, packed, 0, 0, count, sums);
        narrow_(to, spare, count);
    }

private:
    core::Resolved lines_;
    LineStore<T> store_;
    Convert narrow_ = nullptr;
};

}  // namespace tapline::cpu
