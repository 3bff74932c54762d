// Times from events around replays of a captured graph: no launch from the host lies between the two.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "cuda/engine_state.hpp"

namespace tapline::cuda {
namespace {

// Executions in one warm graph: events tick in half microseconds, and gaps between graphs are not the kernel's.
constexpr int kWarmExecutions = 20;
constexpr double kWarmGraphSeconds = 2e-3;  // a graph need not be longer
constexpr int kLeastRuns = 7;
constexpr int kMostRuns = 400;
constexpr int kFlushedCaches = 3;  // the L2 cache is overwritten so many times over

struct Resources {
    cudaStream_t stream = nullptr;
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    void* flush = nullptr;
    std::int64_t flush_bytes = 0;
    int device = 0;

    Resources() = default;
    Resources(const Resources&) = delete;
    Resources& operator=(const Resources&) = delete;
    ~Resources() {
        if (executable != nullptr) { cudaGraphExecDestroy(executable); }
        if (graph != nullptr) { cudaGraphDestroy(graph); }
        if (begin != nullptr) { cudaEventDestroy(begin); }
        if (end != nullptr) { cudaEventDestroy(end); }
        if (stream != nullptr) { cudaStreamDestroy(stream); }
        free_device(device, flush);
    }
};

template <class Body>
void capture(Resources& r, const Body& body) {
    if (r.executable != nullptr) { check(cudaGraphExecDestroy(r.executable), "cudaGraphExecDestroy"); }
    if (r.graph != nullptr) { check(cudaGraphDestroy(r.graph), "cudaGraphDestroy"); }
    r.executable = nullptr;
    r.graph = nullptr;
    check(cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    try {
        body();
    } catch (...) {
        cudaStreamEndCapture(r.stream, &r.graph);
        cudaGetLastError();
        throw;
    }
    check(cudaStreamEndCapture(r.stream, &r.graph), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&r.executable, r.graph, 0), "cudaGraphInstantiate");
}

double milliseconds(const Resources& r) {
    float elapsed = 0;
    check(cudaEventElapsedTime(&elapsed, r.begin, r.end), "cudaEventElapsedTime");
    return elapsed;
}

// What is timed: an execution, or one of the ways to copy.
enum class What { execution, memcpy_in_graph, memcpy_on_stream, copy_kernel };

/// 16 bytes a thread and turn, streaming: what a kernel can do at best.
__global__ void __launch_bounds__(256) copy_kernel(uint4* to, const uint4* from, std::int64_t vectors) {
    const std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * (256 * 4) + threadIdx.x;
    uint4 held[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (base + 256 * i < vectors) { held[i] = __ldcs(from + base + 256 * i); }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (base + 256 * i < vectors) { __stcs(to + base + 256 * i, held[i]); }
    }
}

struct Timed {
    std::function<void(cudaStream_t)> launch;
    void* out = nullptr;  // of the copy
    const void* in = nullptr;
    std::int64_t copy_bytes = 0;
};

void run_once(What what, const Timed& t, cudaStream_t stream) {
    if (what == What::execution) {
        t.launch(stream);
    } else if (what == What::copy_kernel) {
        const std::int64_t vectors = t.copy_bytes / 16;
        copy_kernel<<<static_cast<unsigned>((vectors + 1023) / 1024), 256, 0, stream>>>(static_cast<uint4*>(t.out),
                                                                                        static_cast<const uint4*>(t.in), vectors);
        check_launch("copy kernel");
    } else {
        check(cudaMemcpyAsync(t.out, t.in, static_cast<std::size_t>(t.copy_bytes), cudaMemcpyDeviceToDevice, stream), "copy");
    }
}

cuda_abi::Measurement measure_one(Resources& r, What what, const Timed& timed, bool cold, double seconds) {
    const bool in_graph = what != What::memcpy_on_stream;
    int executions = 1;
    const auto replay = [&]() -> double {
        const bool events_inside = cold && in_graph;
        if (cold && !in_graph) {
            check(cudaMemsetAsync(r.flush, 1, static_cast<std::size_t>(r.flush_bytes), r.stream), "cudaMemsetAsync");
        }
        if (!events_inside) { check(cudaEventRecord(r.begin, r.stream), "cudaEventRecord"); }
        if (in_graph) {
            check(cudaGraphLaunch(r.executable, r.stream), "cudaGraphLaunch");
        } else {
            for (int i = 0; i < executions; ++i) { run_once(what, timed, r.stream); }
        }
        if (!events_inside) { check(cudaEventRecord(r.end, r.stream), "cudaEventRecord"); }
        check(cudaStreamSynchronize(r.stream), "cudaStreamSynchronize");
        return milliseconds(r) * 1e-3;
    };
    const auto capture_executions = [&] {
        if (!in_graph) { return; }
        capture(r, [&] {
            if (cold) {
                check(cudaMemsetAsync(r.flush, 1, static_cast<std::size_t>(r.flush_bytes), r.stream), "cudaMemsetAsync");
                check(cudaEventRecordWithFlags(r.begin, r.stream, cudaEventRecordExternal), "cudaEventRecord");
            }
            for (int i = 0; i < executions; ++i) { run_once(what, timed, r.stream); }
            if (cold) { check(cudaEventRecordWithFlags(r.end, r.stream, cudaEventRecordExternal), "cudaEventRecord"); }
        });
    };
    capture_executions();
    for (int warm_up = 0; warm_up < 2; ++warm_up) { replay(); }
    if (!cold) {
        executions = static_cast<int>(std::clamp(kWarmGraphSeconds / std::max(replay(), 1e-7), 1.0, double{kWarmExecutions}));
        if (executions > 1) { capture_executions(); }
    }
    replay();
    std::vector<double> times;
    double spent = 0;
    while ((spent < seconds && times.size() < kMostRuns) || times.size() < kLeastRuns) {
        const double elapsed = replay();
        times.push_back(elapsed / executions);
        spent += elapsed;
        if (spent > 4 * seconds && times.size() >= 3) { break; }  // a slow rung is not timed for minutes
    }
    std::sort(times.begin(), times.end());
    return {times[times.size() / 2], times.front(), times.back(), static_cast<std::int32_t>(times.size())};
}

void start(Resources& r, int device, bool cold) {
    r.device = device;
    check(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreate(&r.begin), "cudaEventCreate");
    check(cudaEventCreate(&r.end), "cudaEventCreate");
    if (cold) {
        int l2 = 0;
        check(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device), "L2 size");
        r.flush_bytes = static_cast<std::int64_t>(l2) * kFlushedCaches;
        r.flush = allocate_device(device, r.flush_bytes);
    }
}

}  // namespace

cuda_abi::Measurement measure_launches(int device, const std::function<void(cudaStream_t)>& launch, bool cold, double seconds) {
    const DeviceScope scope(device);
    Resources r;
    start(r, device, cold);
    Timed timed;
    timed.launch = launch;
    return measure_one(r, What::execution, timed, cold, seconds);
}

cuda_abi::Measurement measure_copy(int device, void* out, const void* in, std::int64_t bytes, bool cold, double seconds) {
    const DeviceScope scope(device);
    Resources r;
    start(r, device, cold);
    Timed timed;
    timed.out = out;
    timed.in = in;
    timed.copy_bytes = bytes;
    // The copy is the fastest of three: inside a graph the driver copies large blocks with its copy engines, at two thirds of the
    // speed of a kernel (H200), and small ones faster than any kernel.
    cuda_abi::Measurement best = measure_one(r, What::memcpy_on_stream, timed, cold, seconds / 3);
    std::vector<What> others{What::memcpy_in_graph};
    const auto address = reinterpret_cast<std::uintptr_t>(in) | reinterpret_cast<std::uintptr_t>(out);
    if (address % 16 == 0 && bytes % 16 == 0) { others.push_back(What::copy_kernel); }
    for (const What what : others) {
        const cuda_abi::Measurement other = measure_one(r, what, timed, cold, seconds / 3);
        if (other.median_seconds < best.median_seconds) { best = other; }
    }
    return best;
}

}  // namespace tapline::cuda
