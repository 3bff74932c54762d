// Loading the windows of segments and storing their outputs, for all overlap-save algorithms.
#pragma once

#include <functional>

#include "core/choice/engine.hpp"
#include "cpu/fft/fft.hpp"
#include "cpu/lines/line_store.hpp"
#include "cpu/overlap_save/overlap_save_shape.hpp"

namespace tapline::cpu {

/// What one transform computes: segments of one or two rows. For complex signals only side 0, which is both parts.
struct Unit {
    std::int64_t row[2];
    std::int64_t segment[2];
    bool both;  ///< side 1 holds outputs
};

/// What an execution reads and writes.
struct Call {
    const core::Output& output;
    const core::Input& input;
    std::int64_t total;       ///< outputs of the whole signal; a large number while n is unknown
    std::int64_t needed_end;  ///< no output of the whole signal reads position needed_end: windows are zero from there on
    bool stream;              ///< outputs go past the caches
};

/// The units of an execution: `chains` runs of units whose windows follow each other.
struct Chains {
    std::int64_t first_segment, last_segment;  ///< [first, last) of every row
    std::int64_t pairs_of_rows, chains;
};

/// How a window lies in memory: position r * columns + c of a part at r * pitch + c, the im part im_offset elements further on.
struct WindowLayout {
    std::int64_t size = 0, rows = 1, columns = 0, pitch = 0, im_offset = 0;
};
template <class T>
WindowLayout window_layout(const FftTables<T>& t) {
    return {t.size, t.rows, t.columns, t.pitch, t.im_offset};
}

template <class T>
class SegmentIo {
public:
    SegmentIo(const core::Resolved& problem, const OverlapSaveShape& shape, const BlockFft<T>& fft)
        : SegmentIo(problem, shape, window_layout(fft.tables()), fft.kernels()) {}
    SegmentIo(const core::Resolved& problem, const OverlapSaveShape& shape, const WindowLayout& layout,
              const FftKernels<T>& kernels)
        : problem_(problem),
          block_(shape.block),
          pairing_(shape.pairing),
          layout_(layout),
          kernels_(kernels),
          store_(problem, current_target()) {}

    [[nodiscard]] Call call(const core::Output& output, const core::Input& input, int threads) const;
    [[nodiscard]] Chains chains(const Call& call) const;
    [[nodiscard]] std::int64_t chain_length(const Chains& chains, std::int64_t chain) const;
    /// Segments from one unit of a chain to the next: 1 or 2.
    [[nodiscard]] std::int64_t chain_step(const Chains& chains, std::int64_t chain) const;
    [[nodiscard]] Unit unit(const Call& call, const Chains& chains, std::int64_t chain, std::int64_t index) const;

    /// Position of the first sample of a side's window.
    [[nodiscard]] std::int64_t window_begin(const Unit& unit, int side) const {
        return unit.segment[side] * block_ - problem_.x.origin;
    }
    /// Wanted outputs of a side: [first, first + count) counted from the segment's first.
    struct Wanted {
        std::int64_t first, count;
    };
    [[nodiscard]] Wanted wanted(const Call& call, const Unit& unit, int side) const;

    /// Where the windows already lie split in memory as the transform reads them; re is null if they do not.
    [[nodiscard]] FftSource<T> direct_source(const Call& call, const Unit& unit) const;
    /// Where the outputs may be written by the transform itself; re is null if they may not.
    [[nodiscard]] FftSink<T> direct_sink(const Call& call, const Unit& unit) const;

    /// The windows, `offset` samples on, to the natural order of the transform; zeros past needed_end.
    void load(const Call& call, const Unit& unit, std::int64_t offset, T* data, int threads) const;
    /// Whether load would find nothing but zeros outside the signal.
    [[nodiscard]] bool is_outside(const Call& call, const Unit& unit, std::int64_t offset) const;
    /// The wanted outputs from natural order, with the epilogue. `data` may be modified.
    void store(const Call& call, const Unit& unit, T* data, int threads) const;
    /// The wanted of outputs [first, first + count) of a side, of a layout with one row.
    void store_some(const Call& call, const Unit& unit, int side, std::int64_t first, std::int64_t count, T* data) const;
    /// Whether the wanted outputs in `data` are finite.
    [[nodiscard]] bool is_finite(const Call& call, const Unit& unit, const T* data) const;

    [[nodiscard]] bool is_complex_signal() const { return pairing_ == Pairing::complex_signal; }
    /// Parts of the transform that hold outputs: 2 for complex signals and full pairs.
    [[nodiscard]] int parts(const Unit& unit) const { return is_complex_signal() || unit.both ? 2 : 1; }

private:
    void load_row(const Call& call, const Unit& unit, std::int64_t offset, std::int64_t from, std::int64_t count, T* re,
                  T* im) const;
    void store_row(const Call& call, const Unit& unit, std::int64_t from, std::int64_t count, T* re, T* im) const;
    [[nodiscard]] const T* pairs_view(const Call& call, const Unit& unit, std::int64_t first, std::int64_t count) const;
    [[nodiscard]] T* pairs_target(const Call& call, const Unit& unit, std::int64_t first) const;

    const core::Resolved& problem_;
    std::int64_t block_;
    Pairing pairing_;
    WindowLayout layout_;
    const FftKernels<T>& kernels_;
    LineStore<T> store_;
};

/// Calls run(unit, slot) for every unit of an execution, on up to shape.slots threads (one where a transform is shared).
template <class T>
void for_each_unit(const SegmentIo<T>& io, const Call& call, const OverlapSaveShape& shape,
                   const std::function<void(const Unit& unit, int slot)>& run);

}  // namespace tapline::cpu
