#include "tapline/passes.hpp"

#include <algorithm>

#include "gpu_host/library.hpp"
#include "tapline/error.hpp"

namespace tapline {
namespace {

constexpr std::int64_t kMostWeights = 128;

cuda_abi::RoundedPass to_abi(const RoundedPass& pass) {
    const auto taps = static_cast<std::int64_t>(pass.weights.size());
    if (taps > kMostWeights || pass.origin < 0 || pass.origin >= std::max(taps, std::int64_t{1})) {
        throw Error(ErrorCode::unsupported, "rounded passes: at most 128 weights, one of which sits on the output");
    }
    return {.weights = pass.weights.data(),
            .taps = static_cast<std::int32_t>(taps),
            .origin = static_cast<std::int32_t>(pass.origin),
            .boundary = pass.boundary,
            .divisor = pass.divisor};
}

}  // namespace

RoundedPassesPlan::RoundedPassesPlan(const RoundedPasses& p, int device) {
    const cuda_abi::Passes& table = gpu_host::passes_for(device);
    const cuda_abi::RoundedPasses abi{.dtype = p.dtype,
                                      .images = p.images,
                                      .rows = p.rows,
                                      .columns = p.columns,
                                      .in_image = p.input_image_stride,
                                      .in_row = p.input_row_stride,
                                      .out_image = p.output_image_stride,
                                      .out_row = p.output_row_stride,
                                      .down = to_abi(p.down),
                                      .along = to_abi(p.along),
                                      .constant = p.constant};
    auto* const prepared = gpu_host::call(table.prepare, device, &abi, &seconds_);
    prepared_ = std::shared_ptr<void>(prepared, [&table](void* it) { table.release(static_cast<cuda_abi::PreparedPasses*>(it)); });
}

void RoundedPassesPlan::execute(void* out, const void* in, void* stream) const {
    const auto* const prepared = static_cast<const cuda_abi::PreparedPasses*>(prepared_.get());
    gpu_host::call(gpu_host::library().passes->execute, prepared, out, in, static_cast<cuda_abi::Stream*>(stream));
}

}  // namespace tapline
