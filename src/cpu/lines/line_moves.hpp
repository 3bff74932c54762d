// Blocks of samples between memory of any layout and lines of packed elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/lines/simd_few.hpp"
#include "cpu/lines/simd_lines.hpp"

namespace tapline::cpu {

/// Where `lines` lines of `count` elements lie: element p of line l is `line_stride` l + `step` p elements further on.
struct Strides {
    std::int64_t line_stride = 0, step = 1;
};

class LineMoves {
public:
    /// Samples of type `in` become ones of `sum`; outputs that are made as `made` become ones of `out`, which is `made` or 16 bits
    /// of it.
    LineMoves(Target target, Dtype in, Dtype sum, Dtype made, Dtype out);

    /// to[l * pitch + p], packed elements of the sum's type, from samples at `from`.
    void gather(std::byte* to, std::int64_t pitch, const std::byte* from, Strides strides, std::int64_t lines,
                std::int64_t count) const;
    /// Outputs to `to` from packed ones, line after line.
    void scatter(std::byte* to, Strides strides, const std::byte* from, std::int64_t pitch, std::int64_t lines, std::int64_t count,
                 bool past_caches) const;

private:
    void scatter_past_caches(std::byte* to, std::int64_t step, const std::byte* from, std::int64_t pitch, std::int64_t lines,
                             std::int64_t count) const;
    void scatter_as_made(std::byte* to, Strides strides, const std::byte* from, std::int64_t pitch, std::int64_t lines,
                         std::int64_t count) const;
    void gather_widened(std::byte* to, std::int64_t pitch, const std::byte* from, Strides strides, std::int64_t lines,
                        std::int64_t count) const;
    void gather_line(std::byte* to, const std::byte* from, std::int64_t step, std::int64_t count) const;

    const LineTable& kernels_;
    Dtype in_, sum_, out_;
    Convert widen_ = nullptr, narrow_ = nullptr;
    SplitWidened split_widened_ = nullptr;
    FewSums<float> widen_reversed_ = nullptr, widen_every_second_ = nullptr;  ///< under one tap of 1
};

}  // namespace tapline::cpu
