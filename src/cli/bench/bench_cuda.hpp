// A benchmark case on a GPU: checked like one on the CPU, timed by events around graph replays.
#pragma once

#include <functional>

#include "cli/bench/bench_case.hpp"
#include "cli/shared/cuda_device.hpp"
#include "tapline/plan.hpp"

namespace tapline::cli {

struct CudaTimes {
    Timing cold;  ///< the L2 cache is overwritten before each run
    Timing warm;
    Timing copy_cold;  ///< of the signal, device to device
    Timing copy_warm;
};

/// Host to host, ordinary (pageable) memory in and out, beside what bounds it.
struct HostTimes {
    Timing convolution;
    double upload_seconds = 0;    ///< of the signal from pinned memory, median
    double download_seconds = 0;  ///< of the output to pinned memory
    double copy_seconds = 0;      ///< of the signal into pinned memory and of the output out of it, by all threads
    std::size_t signal_bytes = 0;
    std::size_t output_bytes = 0;
    [[nodiscard]] double slowest_seconds() const;
};

/// Executes once into an output full of NaN, downloads and compares.
CheckResult check(const Plan& plan, const CudaProblem& on_device, const BenchData& data, const ReferenceBlocks& expected);

/// Measures once, with a cold L2 cache or a warm one, for so many seconds.
using Measure = std::function<Timing(bool cold, double seconds)>;

/// Convolution and copy take turns for about `seconds`.
CudaTimes time_in_turns(const Measure& run, const Measure& copy, double seconds);
CudaTimes time_case(const Plan& plan, const CudaProblem& on_device, double seconds);

/// The same for host buffers: data.signal and data.output, both touched before.
CheckResult check_host(const Plan& plan, const BenchData& data, const ReferenceBlocks& expected);
HostTimes time_host(const Plan& plan, const CudaDevice& device, const BenchData& data, double seconds);

}  // namespace tapline::cli
