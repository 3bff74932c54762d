// Exact sums of integer signals, every product added: some outputs of a row at a time.
#pragma once

#include <cstddef>
#include <vector>

#include "cpu/integer/integer_epilogue.hpp"
#include "cpu/integer/integer_kernels.hpp"
#include "cpu/integer/integer_levels.hpp"
#include "cpu/integer/integer_limbs.hpp"

namespace tapline::cpu {

// Outputs of a tile and taps of one pass over it. A pass converts kTile + kPass samples to the accumulator's form (about 2
// cycles each) for kTile * kPass multiply-adds (at best 32 a cycle): 6% at the most. The window (32 KiB at 8 bytes) and
// the sums stay in the L2 cache, the part of the window that a register block sweeps in L1.
inline constexpr std::int64_t kIntegerTile = 2048;
inline constexpr std::int64_t kIntegerPass = 2048;  // even: pairs of taps are not divided
inline constexpr std::int64_t kIntegerWindow = kIntegerTile + kIntegerPass + kOutputBlock;

/// Scratch of one thread, large enough for the widest types.
struct IntegerScratch {
    alignas(64) std::byte window[kIntegerWindow * sizeof(std::int64_t)];   // samples in the accumulator's form
    alignas(64) std::byte samples[kIntegerWindow * sizeof(std::int64_t)];  // in their own type, when they must be gathered
    alignas(64) std::byte sums[kIntegerTile * sizeof(core::Int192)];
};

/// T: the C++ type of the signal, std::uint8_t for bool.
template <class T>
class IntegerSums {
public:
    /// `problem` has to outlive this.
    IntegerSums(const core::Resolved& problem, const std::int64_t* taps);

    /// What sums of samples with these or_bits take with the filter of a row.
    [[nodiscard]] Level level(std::int64_t row, std::uint64_t or_bits) const { return filter_of(row).level(or_bits); }
    /// Computes at most kIntegerTile outputs of a row, unless one before them is known to overflow.
    void tile(const core::Output& output, const core::Input& input, std::int64_t row, std::int64_t first, std::int64_t count,
              IntegerScratch& scratch, OverflowLog& log) const;
    [[nodiscard]] std::string describe() const;

private:
    // One call of tile().
    struct Call {
        const core::Output& output;
        const core::Input& input;
        IntegerScratch& scratch;
        OverflowLog& log;
    };
    struct TapRange {
        std::int64_t first, last;
    };

    [[nodiscard]] const IntegerTaps& filter_of(std::int64_t row) const {
        return filters_[static_cast<std::size_t>(row % problem_.filters)];
    }
    [[nodiscard]] TapRange tap_range(const Call& call, std::int64_t first, std::int64_t count) const;
    const T* samples(const Call& call, std::int64_t row, std::int64_t first, std::int64_t count) const;
    [[nodiscard]] Level level_of(const Call& call, const IntegerTaps& filter, std::int64_t row, std::int64_t position,
                                 std::int64_t count) const;
    template <Level kLevel, class Acc>
    void sum(const Call& call, const IntegerTaps& filter, TapRange range, std::int64_t row, std::int64_t first,
             std::int64_t count) const;
    template <Level kLevel, class Acc>
    void pass(Acc* sums, const IntegerTaps& filter, const T* in, std::int64_t t, std::int64_t needed, std::int64_t outputs,
              std::int64_t taps, IntegerScratch& scratch) const;

    const core::Resolved& problem_;
    const IntegerKernels& kernels_;
    const LimbKernels& limbs_;
    IntegerEpilogue epilogue_;
    std::vector<IntegerTaps> filters_;
};

}  // namespace tapline::cpu
