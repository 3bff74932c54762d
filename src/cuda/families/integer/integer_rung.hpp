// What rungs for exact sums of integers have in common: overflows are found on the way, and reported once the stream is done.
#pragma once

#include <memory>

#include "core/problem/elements.hpp"
#include "cuda/families/integer/integer_any.hpp"
#include "cuda/rung.hpp"

namespace tapline::cuda::integer {

/// What such a rung knows of a plan's sums, and the kernels that find an overflow.
struct ChosenInteger : Chosen {
    explicit ChosenInteger(const Prepared& prepared);

    /// Before a launch: where an overflow goes, or null where there can be none.
    [[nodiscard]] Found* begin(void* workspace, cudaStream_t stream) const;
    /// After it: what the output is that was found.
    void end(const Prepared& prepared, const Job& job, const OnDevice& on_device, Found* found, cudaStream_t stream) const;

    Bound bound;
    bool reports;  // an output might not fit

private:
    ClearKernel clear_ = nullptr;
    AnyKernel found_ = nullptr;
};

class IntegerRung : public Rung {
public:
    using Rung::Rung;

    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const final {
        if (core::is_half(p.output_dtype)) { return "gives no f16 and bf16"; }
        return refuse_sums(p, device);
    }
    /// Why this rung does not make such sums, or nothing.
    [[nodiscard]] virtual Refusal refuse_sums(const Problem& p, const cuda_abi::Device& device) const = 0;
    [[nodiscard]] bool takes_exact() const final { return true; }
    [[nodiscard]] bool takes_filters_in_turn() const final { return true; }
    [[nodiscard]] bool reports(const Prepared& prepared) const final { return prepared.chosen_as<ChosenInteger>().reports; }
    void report(const Prepared& prepared, const void* workspace, cudaStream_t stream) const final {
        integer::report(prepared.problem, workspace, stream);
    }
    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        return reports(prepared) ? kFoundBytes : 0;
    }
};

}  // namespace tapline::cuda::integer
