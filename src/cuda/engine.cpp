// The library's one entry: the table of functions of abi.hpp, over the rungs of ladder().
#include <algorithm>
#include <array>
#include <cmath>

#include "core/problem/arrange.hpp"
#include "cuda/api_functions.hpp"
#include "cuda/engine_state.hpp"
#include "cuda/prepared.hpp"

namespace tapline::cuda {

using cuda_abi::Api;
using cuda_abi::Code;
using cuda_abi::Device;
using cuda_abi::Status;

const Rung& rung_of(std::int32_t index) { return *ladder().at(static_cast<std::size_t>(index)); }

namespace {

// What no rung solves yet; empty: nothing of it.
std::string unsolved_part(const Problem& problem) {
    if (problem.changes_rate()) { return "up, down or dilation other than 1"; }
    return {};
}

}  // namespace

Refusal refusal(const Rung& rung, const Problem& problem, const Device& device) {
    if (const std::string part = unsolved_part(problem); !part.empty()) { return "no CUDA kernel takes " + part + " yet"; }
    if (problem.is_exact() != rung.takes_exact()) {
        return problem.is_exact() ? "its sums are not exact, as those of integers must be"
                                  : "takes integers with integer taps only";
    }
    if (problem.overflow == Overflow::truncate && rung.info().truncates == 0) { return "rounds sums on their way to integers"; }
    if (problem.has_outer() && rung.info().takes_outer == 0) { return "takes one batch axis at a time"; }
    if (rung.info().takes_outer != 2 && core::filter_sets(problem) != 1) { return "takes filters of one batch axis"; }
    if (rung.info().rank != problem.rank) {
        constexpr std::array<const char*, 4> kNames{"", "signals", "images", "volumes"};
        const auto name = [&](int rank) { return std::string(kNames.at(static_cast<std::size_t>(rank))); };
        return "takes " + name(rung.info().rank) + ", not " + name(problem.rank);
    }
    if (problem.taps_come_later && dynamic_cast<const TakesTapsOnDevice*>(&rung) == nullptr) {
        return "what it makes of the taps is made on the host";
    }
    if (problem.taps_come_later && problem.filters > 1 && problem.rank > 1) {
        return "a mask for each channel must be known when the plan is made";
    }
    return rung.supports(problem, device);
}

namespace {

bool device(std::int32_t index, Device* to, Status* status) {
    return guarded(status, false, [&] {
        *to = device_of(index);
        return true;
    });
}

std::int32_t rung_count() { return static_cast<std::int32_t>(ladder().size()); }

cuda_abi::RungInfo rung(std::int32_t index) { return rung_of(index).info(); }

bool supports(std::int32_t index, std::int32_t device, const Problem* problem, Status* status) {
    return guarded(status, false, [&] {
        const Refusal reason = refusal(rung_of(index), *problem, device_of(device));
        if (!reason.empty()) { throw CudaError(Code::unsupported, reason); }
        return true;
    });
}

double estimate_seconds(std::int32_t index, std::int32_t device, const Problem* problem) {
    // What is made of taps that come later, mostly a launch: 9 to 64 taps, H200, 2.2 to 3.3 us.
    constexpr double kMakingSeconds = 2.5e-6;
    return guarded(nullptr, HUGE_VAL, [&] {
        const Rung& rung = rung_of(index);
        const Device& on = device_of(device);
        const double seconds = rung.estimate_seconds(*problem, on);
        if (!problem->taps_come_later) { return seconds; }
        return seconds + kMakingSeconds + dynamic_cast<const TakesTapsOnDevice&>(rung).making_seconds(*problem, on);
    });
}

std::int32_t policies(std::int32_t index, std::int32_t device, const Problem* problem, Policy* to, std::int32_t capacity) {
    return guarded<std::int32_t>(nullptr, 0, [&] {
        const std::vector<Policy> all = rung_of(index).policies(*problem, device_of(device));
        for (std::size_t i = 0; i < all.size() && i < static_cast<std::size_t>(std::max(capacity, 0)); ++i) { to[i] = all[i]; }
        return static_cast<std::int32_t>(all.size());
    });
}

const Api& api() {
    static const Api all = [] {
        Api made{
            .abi_version = cuda_abi::kAbiVersion,
            .api_bytes = sizeof(Api),
            .version = TAPLINE_VERSION,
            .compute_capabilities = TAPLINE_CUDA_BUILT_FOR,
            .device_count = device_count,
            .device = device,
            .rung_count = rung_count,
            .rung = rung,
            .supports = supports,
            .estimate_seconds = estimate_seconds,
            .policies = policies,
            .prepare = prepare,
            .release = release,
            .workspace_bytes = workspace_bytes,
            .describe = describe,
            .granularity = granularity,
            .execute = execute,
            .allocate = allocate,
            .free = free_memory,
            .allocate_pinned = allocate_pinned,
            .free_pinned = free_pinned,
            .free_bytes = free_bytes,
            .make_stream = make_stream,
            .free_stream = free_stream,
            .make_event = make_event,
            .free_event = free_event,
            .record = record,
            .wait = wait,
            .synchronize = synchronize,
            .synchronize_stream = synchronize_stream,
            .copy = copy,
            .fill = fill,
            .measure = measure,
            .inject = inject,
            .life = life,
            .execute_with_taps = execute_with_taps,
        };
        add_own_functions(made);
        return made;
    }();
    return all;
}

}  // namespace
}  // namespace tapline::cuda

/// The library's table, or null for a caller of another version.
extern "C" __attribute__((visibility("default"))) const tapline::cuda_abi::Api* tapline_cuda_entry(std::uint32_t version) {
    return version == tapline::cuda_abi::kAbiVersion ? &tapline::cuda::api() : nullptr;
}
