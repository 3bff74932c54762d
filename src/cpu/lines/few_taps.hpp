// Lines under few taps that are not packed: the way there and back would take longer than their sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "cpu/lines/line_layout.hpp"
#include "cpu/lines/line_moves.hpp"
#include "cpu/lines/line_store.hpp"
#include "cpu/lines/simd_few.hpp"

namespace tapline::cpu {

class FewTaps {
public:
    /// None.
    FewTaps() = default;
    /// Of tiles of `rows` lines in a layout whose outputs follow each other; `lines`: problem_of_lines() of it.
    FewTaps(const LineLayout& layout, const core::Resolved& lines, std::int64_t rows, Target target);

    [[nodiscard]] bool any() const { return sums_; }
    /// `whole`: no outputs at their ends are left to another way.
    [[nodiscard]] bool takes(std::int64_t lines, std::int64_t count, bool whole) const;
    /// Whether lines are summed together, under one filter; else each by itself.
    [[nodiscard]] bool together() const { return turned_; }
    /// Beside the lines of a tile.
    [[nodiscard]] std::int64_t scratch_bytes() const { return scratch_elements_ * unit_bytes_; }

    struct Block {
        std::byte* to = nullptr;
        std::int64_t to_line = 0;  ///< outputs from line to line
        const std::byte* from = nullptr;
        Strides strides;  ///< of samples
        const void* taps = nullptr;
        std::int64_t lines = 0, count = 0;
        bool past_caches = false;
    };
    /// Outputs whose samples all lie in one piece of memory, of which the first is `from`.
    void run(const Block& block, std::byte* scratch) const;

private:
    void sum(const Block& block, std::byte* to, std::int64_t to_line, bool past_caches) const;

    FewSums<float> f32_ = nullptr;
    FewSums<double> f64_ = nullptr;
    std::optional<RunStore<float>> put_f32_;  // none where outputs are sums
    std::optional<RunStore<double>> put_f64_;
    Target target_ = Target::scalar;
    std::int64_t k_ = 1, in_bytes_ = 1, unit_bytes_ = 1, out_bytes_ = 1;
    std::int64_t piece_ = 0, scratch_elements_ = 0;  // outputs of a line that are summed in scratch memory
    bool sums_ = false, turned_ = false;
};

}  // namespace tapline::cpu
