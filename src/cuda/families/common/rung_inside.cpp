#include "cuda/families/common/rung_inside.hpp"

#include "cuda/check.hpp"

namespace tapline::cuda {

BestRung best_rung(const Problem& problem, const cuda_abi::Device& device, bool local) {
    BestRung best;
    for (std::size_t i = 0; i < ladder().size(); ++i) {
        const Rung& rung = *ladder()[i];
        if (rung.info().rank != problem.rank || (local && rung.info().is_local == 0) || !refusal(rung, problem, device).empty()) {
            continue;
        }
        const double seconds = rung.estimate_seconds(problem, device);
        if (seconds < best.seconds) { best = {static_cast<std::int32_t>(i), seconds}; }
    }
    return best;
}

RungInside prepare_inside(const Problem& problem, const void* taps, const cuda_abi::Device& device, bool local) {
    return prepare_rung_inside(best_rung(problem, device, local).rung, problem, taps, device);
}

RungInside prepare_rung_inside(std::int32_t rung, const Problem& problem, const void* taps, const cuda_abi::Device& device) {
    const cuda_abi::HostTaps given{taps, nullptr, nullptr};
    const cuda_abi::Policy policy;
    cuda_abi::Status status;
    RungInside inside(prepare(rung, device.index, &problem, &given, &policy, &status));
    if (inside == nullptr) { throw CudaError(status.code, status.message); }
    return inside;
}

double making_seconds_of(std::int32_t rung, const Problem& problem, const cuda_abi::Device& device) {
    const auto* const maker = dynamic_cast<const TakesTapsOnDevice*>(&rung_of(rung));
    return maker == nullptr ? 0 : maker->making_seconds(problem, device);
}

MadeTables made_inside(const RungInside& inside, const GivenFilters& given, void* own) {
    auto* const memory = static_cast<char*>(own);
    return {given, memory + inside->made_tables_at, memory + inside->made_taps_at};
}

}  // namespace tapline::cuda
