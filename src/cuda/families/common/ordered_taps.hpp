// Direct summation with taps that lie in GPU memory: they are put into the order and padding that kernels read.
#pragma once

#include "cuda/rung.hpp"

namespace tapline::cuda {

using OrderKernel = void (*)(void* to, const void* given, std::int64_t k, std::int64_t slots, int reversed, int conjugated);

/// What a DirectRung chooses in any case.
struct OrderedTaps : Chosen {
    /// Loads the kernel where taps come later.
    explicit OrderedTaps(const Prepared& prepared);

    OrderKernel order_taps = nullptr;
    std::int64_t slots = 0;  // taps and the zeros behind them
};

/// A rung whose kernels can read one filter's taps in device memory. It has no tables; its Chosen is an OrderedTaps.
class DirectRung : public Rung, public MakesTables {
public:
    [[nodiscard]] std::int64_t made_table_bytes(const Prepared&) const final { return 0; }
    void load_tables(const Prepared&) const final {}
    void launch_tables(const Prepared& prepared, void* tables, void* taps, const cuda_abi::DeviceTaps& given,
                       cudaStream_t stream) const final;
};

}  // namespace tapline::cuda
