// Making good a unit whose outputs came out infinite or NaN, and filters with such taps.
//
// A transform spreads one NaN over all its outputs. The repair runs it again with those samples zeroed and all others
// scaled to at most 1 (finite input may have overflowed on the way), then adds the zeroed samples' terms, each only to the
// outputs whose window holds it. Taps that are not finite are not in the spectrum; their terms are added likewise.
#pragma once

#include "cpu/overlap_save/overlap_save_blocks.hpp"
#include "cpu/overlap_save/overlap_save_taps.hpp"

namespace tapline::cpu {

template <class T>
class Repair {
public:
    Repair(const core::Resolved& problem, const SegmentIo<T>& io, const BlockFft<T>& fft, const OverlapSaveTaps<T>& taps)
        : problem_(problem), io_(io), fft_(fft), taps_(taps) {}

    /// e such that 2^-e brings the windows' largest finite sample into [1, 2); 0 for zeros.
    [[nodiscard]] int exponent(const Call& call, const Unit& unit) const;
    /// Zeroes what is not finite and multiplies by 2^-exponent.
    void clean(T* data, int exponent) const;
    /// Multiplies by 2^exponent and the taps' own scale, then adds the terms left out. `data` is in natural order.
    void finish(const Call& call, const Unit& unit, T* data, int exponent) const;

private:
    /// Outputs of a part that further terms of non-finite samples cannot change. Without it a signal of nothing but
    /// infinities would cost block * k.
    struct Settled {
        std::int64_t nan_until = 0;       ///< all outputs below, whose windows are not past, are NaN
        T infinity = 0;                   ///< the last infinity, and below which output its windows reached:
        std::int64_t infinity_until = 0;  ///< with taps of one sign another one like it adds nothing there
    };
    void add_sample_terms(const Call& call, const Unit& unit, T* data) const;
    void add_tap_terms(const Call& call, const Unit& unit, T* data) const;
    void add_sample(const Unit& unit, int from_part, std::int64_t position, T value, std::int64_t outputs, T* data,
                    Settled* settled) const;
    template <class Visit>
    void visit_runs(T* part, std::int64_t first, std::int64_t last, const Visit& visit) const;
    [[nodiscard]] const T* filter(const Unit& unit, int side) const;

    const core::Resolved& problem_;
    const SegmentIo<T>& io_;
    const BlockFft<T>& fft_;
    const OverlapSaveTaps<T>& taps_;
};

}  // namespace tapline::cpu
