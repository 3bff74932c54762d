#include "cpu/overlap_save/checked_cells.hpp"

#include <cmath>

#include "cpu/overlap_save/overlap_save_shape.hpp"

namespace tapline::cpu {
namespace {

// Of fewer samples a chunk is hardly cheaper to sum directly than of so many.
constexpr std::int64_t kMinChunk = 64;

}  // namespace

CellShape::CellShape(const core::Resolved& problem, std::int64_t window, std::int64_t outputs)
    : size(window),
      block(outputs),
      chunk(std::max(kMinChunk, window / kMaxChunks)),
      chunks(static_cast<int>(size / chunk)),
      cells(static_cast<int>((block + chunk - 1) / chunk)),
      span(static_cast<int>((chunk + problem.x.k - 2) / chunk) + 1),
      joint(pairing_of(problem) == Pairing::complex_signal),
      parts_apart(!problem.complex_taps) {}

Cells::Cells(const CellShape& shape, const Energies& energies, int sides) : shape_(shape), energies_(energies), sides_(sides) {
    for (int part = 0; part < 2; ++part) {
        for (int c = 0; c < shape.cells; ++c) {
            double sum = 0;
            for (int m = c; m < std::min(c + shape.span, shape.chunks); ++m) { sum += energies.at[part][m]; }
            local_[part][c] = sum;
        }
    }
    for (int side = 0; side < sides; ++side) {
        for (int c = 0; c < shape.cells; ++c) {
            const double local = shape.joint ? local_[0][c] + local_[1][c] : local_[side][c];
            state_[side][c] = local == 0 ? State::silent : State::waiting;
        }
    }
}

template <class Is>
bool Cells::pick_where(const Is& is) {
    bool any = false;
    for (int side = 0; side < sides_; ++side) {
        for (int c = 0; c < shape_.cells; ++c) {
            if (state_[side][c] != State::waiting || !is(side, c)) { continue; }
            state_[side][c] = State::now;
            any = true;
        }
    }
    return any;
}

bool Cells::pick_spoilt() {
    return pick_where([&](int side, int c) {
        return shape_.joint ? !std::isfinite(local_[0][c] + local_[1][c]) : !std::isfinite(local_[side][c]);
    });
}

bool Cells::pick_rest() {
    return pick_where([](int, int) { return true; });
}

// The samples under waiting cells, and their energy.
void Cells::take_waiting() {
    energy_ = 0;
    takes_all_ = true;
    for (int side = 0; side < sides_; ++side) {
        std::fill_n(taken_[side], shape_.chunks, false);
        for (int c = 0; c < shape_.cells; ++c) {
            if (state_[side][c] == State::waiting) {
                std::fill(taken_[side] + c, taken_[side] + std::min(c + shape_.span, shape_.chunks), true);
            }
        }
    }
    for (int part = 0; part < (shape_.joint ? 2 : sides_); ++part) {
        for (int m = 0; m < shape_.chunks; ++m) {
            if (takes(part, m)) { energy_ += energies_.at[part][m]; }
            takes_all_ = takes_all_ && (takes(part, m) || energies_.at[part][m] == 0);
        }
    }
}

bool Cells::is_hopeful(const CheckedBound& bound, std::int64_t filter, int side, int cell) const {
    if (!shape_.joint) { return !bound.is_hopeless(filter, local_[side][cell], energy_); }
    if (!shape_.parts_apart) { return !bound.is_hopeless(filter, local_[0][cell] + local_[1][cell], energy_); }
    return std::all_of(local_, local_ + 2,
                       [&](const double* part) { return part[cell] == 0 || !bound.is_hopeless(filter, part[cell], energy_); });
}

bool Cells::pick(const CheckedBound& bound, std::int64_t filter) {
    take_waiting();
    if (!pick_where([&](int side, int c) { return is_hopeful(bound, filter, side, c); })) { return false; }
    outputs_ = 0;
    for_each_run(State::now, [&](int, std::int64_t, std::int64_t count) { outputs_ += count; });
    for (int side = 0; side < sides_; ++side) {
        const auto is_all = [](State state) { return state == State::now || state == State::silent; };
        takes_all_ = takes_all_ && std::all_of(state_[side], state_[side] + shape_.cells, is_all);
    }
    return true;
}

void Cells::settle() {
    for (int side = 0; side < sides_; ++side) { std::replace(state_[side], state_[side] + shape_.cells, State::now, State::done); }
}

}  // namespace tapline::cpu
