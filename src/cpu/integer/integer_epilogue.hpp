// From exact integer sums to outputs: scale, bias, clamp, and the range of the output type.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>

#include "core/problem/int_range.hpp"
#include "core/problem/resolved.hpp"
#include "core/problem/window.hpp"

namespace tapline::cpu {

/// Remembers the first output that does not fit its type, in the order of (row, output), whoever finds it when. Of images and
/// volumes a row is a channel of an item, its outputs are counted along all filtered axes, the last one fastest.
class OverflowLog {
public:
    /// A cheap hint: whether an overflow before (row, output) is known, so that work there is of no use.
    [[nodiscard]] bool before(std::int64_t row, std::int64_t output);
    void report(std::int64_t row, std::int64_t output, std::string value);
    /// Throws Error (argument) if anything was reported.
    void check(const core::Resolved& problem) const;

private:
    std::atomic<bool> any_ = false;
    std::mutex mutex_;
    std::int64_t row_ = std::numeric_limits<std::int64_t>::max();
    std::int64_t output_ = std::numeric_limits<std::int64_t>::max();
    std::string value_;
};

/// cast(clamp(scale * sum + bias)) of exact sums:
/// - scale 1, bias 0: everything is exact. An integer output takes limits rounded half to even, as the cast of a limit would;
///   a floating output is the sum rounded once, or the limit.
/// - otherwise scale * sum + bias in long double (64 significant bits on x86), then clamp, then half to even; 0 * infinity
///   counts as 0 in an integer output.
/// - an integer that its type cannot hold is reported to the log, or keeps its low bits under Overflow::wrap; an infinity
///   has none and is always reported. bool is "not zero".
class IntegerEpilogue {
public:
    explicit IntegerEpilogue(const core::Resolved& problem);

    /// 32 or 64 if only so many low bits of a sum reach the output, else 0.
    [[nodiscard]] int modulo_bits() const { return modulo_bits_; }

    /// Stores `count` sums (std::int32_t, std::int64_t, Int128 or Int192) as outputs [first, first + count) of a row. `sums`
    /// may be modified.
    template <class Acc>
    void store(const core::Output& output, std::int64_t row, std::int64_t first, std::int64_t count, Acc* sums,
               OverflowLog& log) const;

private:
    template <class Out, class Acc>
    void store_as(const core::Output& output, std::int64_t row, std::int64_t first, std::int64_t count, Acc* sums,
                  OverflowLog& log) const;
    template <class Out, class Acc>
    void store_wide(const core::Output& output, std::int64_t row, std::int64_t first, std::int64_t count, const Acc* sums,
                    OverflowLog& log) const;
    template <class Out, class Acc>
    void store_scaled(Out* out, std::int64_t stride, std::int64_t row, std::int64_t first, std::int64_t count, const Acc* sums,
                      OverflowLog& log) const;
    template <class Out, class Acc>
    bool finish_all(Out* out, std::int64_t stride, std::int64_t row, std::int64_t first, std::int64_t count, const Acc* sums,
                    OverflowLog& log) const;
    template <class Out>
    bool finish(const core::Int192& sum, Out& result, std::string* value) const;
    template <class Out>
    bool finish_scaled(const core::Int192& sum, Out& result, std::string* value) const;
    template <class Acc>
    [[nodiscard]] bool clamp_first(Acc* sums, std::int64_t count) const;
    [[nodiscard]] long double scaled(const core::Int192& sum) const;
    template <class Acc>
    [[nodiscard]] bool round_scaled(std::int64_t* rounded, const Acc* sums, std::int64_t count) const;

    Dtype output_dtype_;
    bool wrap_;
    bool scaled_;
    bool clamped_;
    int modulo_bits_ = 0;
    double scale_, bias_;
    double doubt_;                     // relative error of scale * sum + bias in double
    double low_, high_;                // the limits as given
    core::Int192 low_int_, high_int_;  // rounded half to even; of a floating output: the least and greatest integer inside
    bool integral_limits_;
};

}  // namespace tapline::cpu
