// Direct summation with taps that lie in GPU memory: they are put into the order and padding that kernels read.
#pragma once

#include "cuda/rung.hpp"

namespace tapline::cuda {

/// A rung whose kernels can read one filter's taps in device memory. It has no tables.
class DirectRung : public Rung, public MakesTables {
public:
    [[nodiscard]] std::int64_t made_table_bytes(const Prepared&) const final { return 0; }
    void load_tables(const Prepared& prepared) const final;
    void launch_tables(const Prepared& prepared, void* tables, void* taps, const cuda_abi::DeviceTaps& given,
                       cudaStream_t stream) const final;
};

}  // namespace tapline::cuda
