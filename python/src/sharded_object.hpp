// tapline._core.ShardedPlan: the plan of a whole array that is computed in parts, for tapline._parts.
#pragma once

#include <nanobind/nanobind.h>

#include "call.hpp"
#include "tapline/shard.hpp"

namespace tapline::python {

/// A part of an array (before, filtered axes, after): rows before the filtered axes and behind them, and along each filtered axis
/// (first and last position of the input, first and last output).
struct PartOfArray {
    std::int64_t before = 1, after = 1;
    std::vector<std::array<std::int64_t, 4>> axes;
};

class ShardedObject {
public:
    /// A signal of `lengths[0]` samples under 1-D taps, an image of `lengths` under 2-D ones (3-D: (after, rows, columns), a mask
    /// for each channel). `request`: all but sizes and types.
    ShardedObject(const Request& request, Dtype signal, std::int64_t before, const std::vector<std::int64_t>& lengths,
                  std::int64_t after, PyObject* taps, const std::vector<std::optional<std::int64_t>>& origins);

    [[nodiscard]] const Problem& problem() const { return problem_; }
    [[nodiscard]] const Types& types() const { return types_; }
    [[nodiscard]] const ShardedPlan& plan() const { return *plan_; }
    [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }
    [[nodiscard]] PartPlan part(const PartOfArray& part) const;

private:
    Types types_{};
    Problem problem_;
    std::uint64_t fingerprint_ = 0;
    std::optional<ShardedPlan> plan_;
};

/// The problem of a packed array (before, filtered axis, after) of signals, from that of one of them.
Problem packed_signal(const Problem& one, std::int64_t before, std::int64_t after);

/// The classes ShardedPlan and PartPlan and the function shard.
void add_shards(nanobind::module_& module);

}  // namespace tapline::python
