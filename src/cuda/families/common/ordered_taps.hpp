// Taps that lie in GPU memory are put into the order, type and padding that kernels read.
#pragma once

#include "cuda/rung.hpp"

namespace tapline::cuda {

/// What of a rung's tables is ready before the taps come, copied in front of what is made of them.
struct ReadyTables {
    const void* from = nullptr;
    void* to = nullptr;
    std::int64_t bytes = 0;  // a multiple of 16
};

struct OrderJob {
    void* to;  // (count, pitch)
    const void* given;
    std::int64_t pitch_bytes, given_stride;
    std::int64_t k, slots, last_slots;  // taps; with the zeros behind them; of the last filter
    std::int64_t first, count, filters;
    int reversed, conjugated;
    ReadyTables ready;
};
using OrderKernel = void (*)(OrderJob job);

/// Loaded where taps come later.
struct OrderPlan {
    OrderKernel kernel = nullptr;
    OrderKernel of_f16 = nullptr, of_bf16 = nullptr;  // given, where the plan's taps are f32
    std::int64_t tap_bytes = 0;
};
OrderPlan load_order(const Prepared& prepared);
void launch_order(const OrderPlan& plan, const Prepared& prepared, void* taps, const GivenFilters& given, const ReadyTables& ready,
                  cudaStream_t stream);
/// That launch's, beside its start.
double ordering_seconds(const Problem& p, const cuda_abi::Device& device);

/// What a DirectRung chooses in any case.
struct OrderedTaps : Chosen {
    explicit OrderedTaps(const Prepared& prepared) : order(load_order(prepared)) {}

    OrderPlan order;
};

/// A rung whose kernels can read taps in device memory. It has no tables; its Chosen is an OrderedTaps.
class DirectRung : public Rung, public MakesTables {
public:
    using Rung::Rung;

    [[nodiscard]] std::int64_t made_table_bytes(const Prepared&) const final { return 0; }
    [[nodiscard]] double making_seconds(const Problem& p, const cuda_abi::Device& device) const final {
        return ordering_seconds(p, device);
    }
    void load_tables(const Prepared&) const final {}
    void launch_tables(const Prepared& prepared, void* tables, void* taps, const GivenFilters& given,
                       cudaStream_t stream) const final;
};

}  // namespace tapline::cuda
