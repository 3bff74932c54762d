// Which outputs of one transform can keep their bound beside which samples: a loud passage spoils a quiet one in its block, one NaN
// all of it. What is spoilt gets a transform of its own, without the samples that spoil it, or is summed directly.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/overlap_save/checked_bound.hpp"

namespace tapline::cpu {

inline constexpr int kMaxChunks = 128;

/// A window's samples in chunks of `chunk`, and the outputs of a segment in cells of as many.
struct CellShape {
    std::int64_t size = 0;   ///< of the window
    std::int64_t block = 0;  ///< outputs of a segment
    std::int64_t chunk = 0;
    int chunks = 0, cells = 0;
    int span = 0;        ///< chunks under the filter at the outputs of cell c: c, ... c + span - 1
    bool joint = false;  ///< both parts of a window are of one complex segment; else two real ones, each with cells of its own
    bool parts_apart = false;  ///< each component of an output depends on one part only: taps are real

    CellShape(const core::Resolved& problem, std::int64_t size, std::int64_t block);
};

/// The sums of the squares of each chunk, in both parts of a window.
struct Energies {
    double at[2][kMaxChunks];
    double total = 0, least = 0;  ///< sum and smallest of all
};

/// How far the outputs of a window are settled.
class Cells {
public:
    enum class State : std::uint8_t {
        silent,  ///< all samples are zero
        waiting,
        now,  ///< picked, not settled yet
        done,
    };

    /// `sides`: segments that have outputs.
    Cells(const CellShape& shape, const Energies& energies, int sides);

    /// Picks outputs with a NaN or an infinity among their samples; false if there are none.
    bool pick_spoilt();
    /// Picks those that one transform of all samples under waiting outputs can give; false if there are none.
    bool pick(const CheckedBound& bound, std::int64_t filter);
    /// Picks what waits; false if nothing does.
    bool pick_rest();
    /// What was picked is done.
    void settle();

    /// Of the last pick(): the energy of the samples that its transform takes, how many outputs it gives, and whether it takes all
    /// samples for all outputs but silent ones.
    [[nodiscard]] double energy() const { return energy_; }
    [[nodiscard]] std::int64_t outputs() const { return outputs_; }
    [[nodiscard]] bool takes_all() const { return takes_all_; }
    [[nodiscard]] bool takes(int part, int chunk) const { return taken_[shape_.joint ? 0 : part][chunk]; }
    [[nodiscard]] bool is_now(int side, std::int64_t output) const { return state_[side][output / shape_.chunk] == State::now; }
    /// Whether a component of a complex output is a sum of zeros.
    [[nodiscard]] bool is_silent_part(int part, std::int64_t output) const {
        return shape_.joint && shape_.parts_apart && local_[part][output / shape_.chunk] == 0;
    }

    /// Calls visit(side, first, count) for runs of outputs in this state.
    template <class Visit>
    void for_each_run(State state, const Visit& visit) const {
        for (int side = 0; side < sides_; ++side) {
            for (int c = 0; c < shape_.cells;) {
                const int first = c;
                while (c < shape_.cells && state_[side][c] == state) { ++c; }
                if (c > first) {
                    const std::int64_t begin = first * shape_.chunk;
                    visit(side, begin, std::min(c * shape_.chunk, shape_.block) - begin);
                } else {
                    ++c;
                }
            }
        }
    }

private:
    template <class Is>
    bool pick_where(const Is& is);
    void take_waiting();
    [[nodiscard]] bool is_hopeful(const CheckedBound& bound, std::int64_t filter, int side, int cell) const;

    const CellShape& shape_;
    const Energies& energies_;
    int sides_;                    ///< with cells of their own
    double local_[2][kMaxChunks];  ///< energy of each part's samples under a cell
    State state_[2][kMaxChunks];
    bool taken_[2][kMaxChunks];
    double energy_ = 0;
    std::int64_t outputs_ = 0;
    bool takes_all_ = false;
};

}  // namespace tapline::cpu
