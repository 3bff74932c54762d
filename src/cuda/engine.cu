// libtapline_cuda.so's one entry: the table of functions of abi.hpp.
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "cuda/families/depthwise/depthwise_engine.hpp"
#include "cuda/engine_state.hpp"
#include "cuda/rung.hpp"
#include "cuda/primitives/arguments.cuh"
#include "tapline/types.hpp"

namespace tapline::cuda_abi {

struct Prepared : cuda::Prepared {
    std::int64_t made_tables_at = 0, made_taps_at = 0;  // bytes into the workspace, of a plan without taps
};

}  // namespace tapline::cuda_abi

namespace tapline::cuda {
namespace {

using cuda_abi::Api;
using cuda_abi::Code;
using cuda_abi::Device;
using cuda_abi::DeviceTaps;
using cuda_abi::Event;
using cuda_abi::Measurement;
using cuda_abi::Status;
using cuda_abi::Stream;

static_assert(static_cast<int>(Boundary::zero) == kZero && static_cast<int>(Boundary::wrap) == kWrap);
static_assert(static_cast<int>(Dtype::f32) == kF32 && static_cast<int>(Dtype::complex128) == kComplex128 &&
              static_cast<int>(Dtype::boolean) == kBoolean && static_cast<int>(Dtype::u64) == kU64 &&
              static_cast<int>(Dtype::f16) == kF16 && static_cast<int>(Dtype::bf16) == kBf16);

static_assert(static_cast<int>(Accuracy::strict) == kStrict);

constexpr int kLeastMajor = 7;
constexpr int kLeastMinor = 5;
// Datasheet bandwidth times this is what a large copy reaches: 0.87 to 0.9 on an H200 and an H100.
constexpr double kCopyShareOfBandwidth = 0.89;

std::string cuda_version(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

int driver_version() {
    int version = 0;
    check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
    return version;
}

std::int32_t device_count(Status* status) {
    return guarded<std::int32_t>(status, 0, [&]() -> std::int32_t {
        int count = 0;
        const cudaError_t error = cudaGetDeviceCount(&count);
        if (error == cudaSuccess && count > 0) { return count; }
        cudaGetLastError();
        int version = 0;
        cudaDriverGetVersion(&version);
        if (version == 0) { throw CudaError(Code::device, "no NVIDIA driver is installed"); }
        if (error == cudaErrorInsufficientDriver) {
            throw CudaError(Code::device, "the NVIDIA driver is for CUDA " + cuda_version(version) + "; this engine needs CUDA " +
                                              cuda_version(CUDART_VERSION / 1000 * 1000) + " or later: update the driver");
        }
        if (error == cudaSuccess || error == cudaErrorNoDevice) { throw CudaError(Code::device, "no NVIDIA GPU is visible"); }
        throw CudaError(Code::device, std::string("the GPU cannot be used: ") + cudaGetErrorString(error));
    });
}

Device read_device(int index) {
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    if (index < 0 || index >= count) {
        throw CudaError(Code::device, "device: cuda:" + std::to_string(index) + " does not exist; there " +
                                          (count == 1 ? "is cuda:0" : "are cuda:0 to cuda:" + std::to_string(count - 1)));
    }
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
    Device d;
    d.index = index;
    d.major = properties.major;
    d.minor = properties.minor;
    if (d.major < kLeastMajor || (d.major == kLeastMajor && d.minor < kLeastMinor)) {
        throw CudaError(Code::device, std::string(properties.name) + " has compute capability " + std::to_string(d.major) + "." +
                                          std::to_string(d.minor) + "; 7.5 or later is needed");
    }
    d.multiprocessors = properties.multiProcessorCount;
    d.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
    d.l2_bytes = properties.l2CacheSize;
    int memory_khz = 0;
    int clock_khz = 0;
    check(cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, index), "memory clock");
    check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, index), "clock");
    d.copy_bytes_per_second = kCopyShareOfBandwidth * 2e3 * memory_khz * (properties.memoryBusWidth / 8.0);
    const int lanes = d.major == 7 || (d.major == 8 && d.minor == 0) ? 64 : 128;  // f32 units of a multiprocessor
    d.peak_flops = 2e3 * clock_khz * lanes * d.multiprocessors;
    d.driver_version = driver_version();
    std::snprintf(d.name, sizeof d.name, "%.*s", static_cast<int>(sizeof d.name) - 1, properties.name);
    return d;
}

}  // namespace

// Asking takes a millisecond and the answer does not change.
Device device_of(int index) {
    static std::mutex mutex;
    static std::map<int, Device> known;
    const std::lock_guard lock(mutex);
    const auto found = known.find(index);
    return found != known.end() ? found->second : known.emplace(index, read_device(index)).first->second;
}

namespace {

bool device(std::int32_t index, Device* to, Status* status) {
    return guarded(status, false, [&] {
        *to = device_of(index);
        return true;
    });
}

std::int32_t rung_count() { return static_cast<std::int32_t>(ladder().size()); }

RungInfo rung(std::int32_t index) { return ladder().at(static_cast<std::size_t>(index))->info(); }

Refusal refusal(const Rung& rung, const Problem& problem, const Device& device) {
    if (rung.info().ladder_only != 0 && problem.ladder == 0) { return "it runs in `tapline ladder` only"; }
    if (problem.taps_come_later && dynamic_cast<const TakesTapsOnDevice*>(&rung) == nullptr) {
        return "what it makes of the taps is made on the host";
    }
    if (problem.taps_come_later && problem.filters > 1) { return "several filters must be known when the plan is made"; }
    return rung.supports(problem, device);
}

bool supports(std::int32_t index, std::int32_t device, const Problem* problem, Status* status) {
    return guarded(status, false, [&] {
        const Refusal reason = refusal(*ladder().at(static_cast<std::size_t>(index)), *problem, device_of(device));
        if (!reason.empty()) { throw CudaError(Code::unsupported, reason); }
        return true;
    });
}

double estimate_seconds(std::int32_t index, std::int32_t device, const Problem* problem) {
    // What is made of taps that come later, mostly a launch: 9 to 64 taps, H200, 2.2 to 3.3 us.
    const double making_seconds = problem->taps_come_later ? 2.5e-6 : 0;
    return guarded(nullptr, HUGE_VAL, [&] {
        return making_seconds + ladder().at(static_cast<std::size_t>(index))->estimate_seconds(*problem, device_of(device));
    });
}

std::int32_t policies(std::int32_t index, std::int32_t device, const Problem* problem, Policy* to, std::int32_t capacity) {
    return guarded<std::int32_t>(nullptr, 0, [&] {
        const std::vector<Policy> all = ladder().at(static_cast<std::size_t>(index))->policies(*problem, device_of(device));
        for (std::size_t i = 0; i < all.size() && i < static_cast<std::size_t>(std::max(capacity, 0)); ++i) { to[i] = all[i]; }
        return static_cast<std::int32_t>(all.size());
    });
}

}  // namespace

std::int64_t bytes_of_tap(Dtype type) {
    switch (type) {
        case kComplex128:
            return 16;
        case kF64:
        case kComplex64:
            return 8;
        default:
            return 4;
    }
}

bool all_finite(const std::byte* taps, std::int64_t bytes, Dtype type) {
    const bool is_double = type == kF64 || type == kComplex128;
    for (std::int64_t i = 0; i < bytes; i += is_double ? 8 : 4) {
        double value = 0;
        if (is_double) {
            std::memcpy(&value, taps + i, 8);
        } else {
            float single = 0;
            std::memcpy(&single, taps + i, 4);
            value = single;
        }
        if (!std::isfinite(value)) { return false; }
    }
    return true;
}

namespace {

// Device memory that is given back unless released.
struct DeviceMemory {
    DeviceMemory(int its_device, std::int64_t bytes)
        : device(its_device), pointer(bytes > 0 ? allocate_device(its_device, bytes) : nullptr) {}
    ~DeviceMemory() {
        if (pointer != nullptr) { free_device(device, pointer); }
    }
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;
    void* release() { return std::exchange(pointer, nullptr); }
    int device;
    void* pointer;
};

// Copies to the current device and waits, without touching the caller's streams.
void upload(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) { return; }
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    const cudaError_t copied = cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream);
    const cudaError_t finished = cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    check(copied, "copying the taps");
    check(finished, "copying the taps");
}

// Kernels that take taps by value read so many bytes of host_taps whatever k is.
constexpr std::size_t kLeastHostTapsBytes = 2048;

// Room for what is made of taps that come later, behind the rung's own workspace.
void add_made_tables(cuda_abi::Prepared& prepared, std::int64_t taps_bytes) {
    constexpr std::int64_t kAlignment = 256;
    const auto& maker = dynamic_cast<const TakesTapsOnDevice&>(*prepared.rung);
    maker.load_tables(prepared);
    prepared.made_tables_at = (prepared.workspace_bytes + kAlignment - 1) / kAlignment * kAlignment;
    prepared.made_taps_at = prepared.made_tables_at + maker.made_table_bytes(prepared);
    prepared.workspace_bytes = prepared.made_taps_at + taps_bytes;
}

void launch_with_taps(const cuda_abi::Prepared& prepared, const Job& job, const DeviceTaps& taps, void* workspace,
                      cudaStream_t stream) {
    const MadeTables made{taps, static_cast<char*>(workspace) + prepared.made_tables_at,
                          static_cast<char*>(workspace) + prepared.made_taps_at};
    dynamic_cast<const TakesTapsOnDevice&>(*prepared.rung).launch_with_taps(prepared, job, workspace, made, stream);
}

cuda_abi::Prepared* prepare(std::int32_t index, std::int32_t device, const Problem* problem, const void* taps, const Policy* policy,
                            Status* status) {
    return guarded<cuda_abi::Prepared*>(status, nullptr, [&]() -> cuda_abi::Prepared* {
        const Rung& rung = *ladder().at(static_cast<std::size_t>(index));
        auto made = std::make_unique<cuda_abi::Prepared>();
        made->device = device_of(device);
        const Refusal reason = refusal(rung, *problem, made->device);
        if (!reason.empty()) { throw CudaError(Code::unsupported, reason); }
        if ((taps == nullptr) != (problem->taps_come_later)) {
            throw CudaError(Code::argument, "taps: they come now or later");
        }
        const DeviceScope scope(device);
        const RelaxedCapture relaxed;
        check(cudaFree(nullptr), "starting the device");  // the context exists from here on
        made->rung = &rung;
        made->problem = *problem;
        if (problem->filters > 1 && !rung.takes_filters_in_turn()) { made->problem.filters = problem->batch.length; }
        if (policy != nullptr) { made->policy = *policy; }
        made->context = context_id();
        const std::int64_t row = problem->x.k * bytes_of_tap(problem->taps_dtype);
        made->taps_pitch_bytes = (row + 15) / 16 * 16;
        const std::int64_t filters = made->problem.filters;
        const std::int64_t bytes = made->taps_pitch_bytes * filters;
        made->host_taps.resize(std::max(static_cast<std::size_t>(bytes), kLeastHostTapsBytes));
        for (std::int64_t f = 0; f < filters && taps != nullptr; ++f) {
            std::memcpy(made->host_taps.data() + f * made->taps_pitch_bytes,
                        static_cast<const std::byte*>(taps) + f % problem->filters * row, static_cast<std::size_t>(row));
        }
        // Of taps that come later transforms make sums again that are not finite; direct summation looks (kExactUnlessFinite).
        made->taps_finite =
            taps == nullptr || all_finite(static_cast<const std::byte*>(taps), row * problem->filters, problem->taps_dtype);
        made->workspace_bytes = rung.workspace_bytes(*made);
        rung.load(*made);
        if (taps == nullptr) { add_made_tables(*made, bytes + kTapSlackBytes); }
        const std::vector<std::byte> tables = rung.tables(*made);
        DeviceMemory on_device(device, taps == nullptr ? 0 : bytes + kTapSlackBytes);
        DeviceMemory tables_on_device(device, static_cast<std::int64_t>(tables.size()));
        upload(on_device.pointer, made->host_taps.data(), taps == nullptr ? 0 : static_cast<std::size_t>(bytes));
        upload(tables_on_device.pointer, tables.data(), tables.size());
        made->taps = on_device.release();
        made->tables = tables_on_device.release();
        // Long filters are not kept twice.
        if (made->host_taps.size() > kLeastHostTapsBytes) {
            made->host_taps.resize(kLeastHostTapsBytes);
            made->host_taps.shrink_to_fit();
        }
        return made.release();
    });
}

void release(cuda_abi::Prepared* prepared) {
    if (prepared == nullptr) { return; }
    guarded(nullptr, false, [&] {
        const DeviceScope scope(prepared->device.index);
        if (context_id() != prepared->context) { return true; }
        free_device(prepared->device.index, const_cast<void*>(prepared->taps));
        if (prepared->tables != nullptr) { free_device(prepared->device.index, const_cast<void*>(prepared->tables)); }
        return true;
    });
    delete prepared;
}

std::int64_t workspace_bytes(const cuda_abi::Prepared* prepared) { return prepared->workspace_bytes; }

std::int64_t granularity(const cuda_abi::Prepared* prepared) {
    return guarded<std::int64_t>(nullptr, 1, [&] { return prepared->rung->granularity(*prepared); });
}

void describe(const cuda_abi::Prepared* prepared, char* text, std::size_t bytes) {
    const std::string description = guarded(nullptr, std::string(), [&] { return prepared->rung->describe(*prepared); });
    std::snprintf(text, bytes, "%s", description.c_str());
}

}  // namespace

void check_pointer(const char* name, const void* pointer, int device) {
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, pointer), "cudaPointerGetAttributes");
    if (attributes.type == cudaMemoryTypeManaged) { return; }
    if (attributes.type != cudaMemoryTypeDevice) {
        throw CudaError(Code::argument, std::string(name) +
                                            ": the address is not in GPU memory; a CUDA plan's execute takes device "
                                            "pointers: use execute_host for host buffers");
    }
    if (attributes.device != device) {
        throw CudaError(Code::argument, std::string(name) + ": the address is on cuda:" + std::to_string(attributes.device) +
                                            ", the plan on cuda:" + std::to_string(device));
    }
}

void check_stream(cudaStream_t stream, int device) {
#if CUDART_VERSION >= 12080
    if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) { return; }
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream, &capture), "stream");
    if (capture != cudaStreamCaptureStatusNone) { return; }  // which device it is on may not be asked then
    int of_stream = device;
    check(cudaStreamGetDevice(stream, &of_stream), "stream");
    if (of_stream != device) {
        throw CudaError(Code::argument,
                        "stream: it belongs to cuda:" + std::to_string(of_stream) + ", the plan to cuda:" + std::to_string(device));
    }
#else
    static_cast<void>(stream);
    static_cast<void>(device);  // an older runtime cannot tell; the launch itself then fails
#endif
}

namespace {

// taps: nullptr for what was prepared with taps.
bool execute_with_taps(const cuda_abi::Prepared* prepared, const Job* job, const DeviceTaps* taps, void* workspace,
                       std::int64_t workspace_size, Stream* stream, Status* status) {
    return guarded(status, false, [&] {
        const int device = prepared->device.index;
        const DeviceScope scope(device);
        if (context_id() != prepared->context) {
            throw CudaError(Code::device,
                            "plan: cuda:" + std::to_string(device) + " was reset after the plan was made; make it again");
        }
        if ((prepared->taps == nullptr) != (taps != nullptr)) {
            throw CudaError(Code::argument, taps == nullptr ? "taps: the plan was made without; give an address in GPU memory"
                                                            : "taps: the plan has its own");
        }
        if (job->count < 1 || job->batch < 1) { return true; }
        check_pointer("out", job->out, device);
        if (taps != nullptr) { check_pointer("taps", taps->data, device); }
        if (job->in_last > job->in_first) { check_pointer("in", job->in, device); }
        if (prepared->workspace_bytes > 0) {
            if (workspace == nullptr || workspace_size < prepared->workspace_bytes) {
                throw CudaError(Code::argument, "workspace: " + std::to_string(workspace_size) + " bytes; the plan needs " +
                                                    std::to_string(prepared->workspace_bytes));
            }
            check_pointer("workspace", workspace, device);
        }
        check_stream(reinterpret_cast<cudaStream_t>(stream), device);
        if (take_injected_loss(device)) {
            throw CudaError(Code::device,
                            "launch: the device was lost (injected); this process cannot use the GPU any more: the CPU "
                            "engine goes on",
                            true);
        }
        auto* const on = reinterpret_cast<cudaStream_t>(stream);
        if (taps == nullptr) {
            prepared->rung->launch(*prepared, *job, workspace, on);
        } else {
            launch_with_taps(*prepared, *job, *taps, workspace, on);
        }
        check_launch(prepared->rung->info().name);
        return true;
    });
}

bool execute(const cuda_abi::Prepared* prepared, const Job* job, void* workspace, std::int64_t workspace_size, Stream* stream,
             Status* status) {
    return execute_with_taps(prepared, job, nullptr, workspace, workspace_size, stream, status);
}

void* allocate(std::int32_t device, std::int64_t bytes, Status* status) {
    return guarded<void*>(status, nullptr, [&] { return allocate_device(device, bytes); });
}

void free_memory(std::int32_t device, void* pointer) {
    guarded(nullptr, false, [&] {
        free_device(device, pointer);
        return true;
    });
}

void* allocate_pinned(std::int32_t device, std::int64_t bytes, Status* status) {
    return guarded<void*>(status, nullptr, [&] {
        const DeviceScope scope(device);
        const RelaxedCapture relaxed;
        void* pointer = nullptr;
        check(cudaHostAlloc(&pointer, static_cast<std::size_t>(bytes), cudaHostAllocPortable),
              ("pinned memory: allocating " + std::to_string(bytes) + " bytes").c_str());
        return pointer;
    });
}

void free_pinned(std::int32_t device, void* pointer) {
    guarded(nullptr, false, [&] {
        const DeviceScope scope(device);
        const RelaxedCapture relaxed;
        cudaFreeHost(pointer);
        return true;
    });
}

std::int64_t free_bytes(std::int32_t device) {
    return guarded<std::int64_t>(nullptr, 0, [&] { return free_device_bytes(device); });
}

Stream* make_stream(std::int32_t device, Status* status) {
    cudaStream_t stream = nullptr;
    on_device(device, status, [&] { check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate"); });
    return reinterpret_cast<Stream*>(stream);
}
void free_stream(std::int32_t device, Stream* stream) {
    on_device(device, nullptr, [&] { cudaStreamDestroy(native(stream)); });
}
Event* make_event(std::int32_t device, Status* status) {
    cudaEvent_t event = nullptr;
    on_device(device, status, [&] { check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate"); });
    return reinterpret_cast<Event*>(event);
}
void free_event(std::int32_t device, Event* event) {
    on_device(device, nullptr, [&] { cudaEventDestroy(native(event)); });
}
bool record(std::int32_t device, Event* event, Stream* stream, Status* status) {
    return on_device(device, status, [&] { check(cudaEventRecord(native(event), native(stream)), "cudaEventRecord"); });
}
bool wait(std::int32_t device, Stream* stream, Event* event, Status* status) {
    return on_device(device, status, [&] { check(cudaStreamWaitEvent(native(stream), native(event), 0), "cudaStreamWaitEvent"); });
}
bool synchronize(std::int32_t device, Event* event, Status* status) {
    return on_device(device, status, [&] { check(cudaEventSynchronize(native(event)), "cudaEventSynchronize"); });
}
bool synchronize_stream(std::int32_t device, Stream* stream, Status* status) {
    return on_device(device, status, [&] {
        check(stream == nullptr ? cudaDeviceSynchronize() : cudaStreamSynchronize(native(stream)), "synchronising");
    });
}
bool copy(std::int32_t device, void* to, const void* from, std::int64_t bytes, Stream* stream, Status* status) {
    return on_device(device, status, [&] {
        check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, native(stream)), "cudaMemcpyAsync");
    });
}
bool fill(std::int32_t device, void* to, std::int32_t byte, std::int64_t bytes, Stream* stream, Status* status) {
    return on_device(device, status,
                     [&] { check(cudaMemsetAsync(to, byte, static_cast<std::size_t>(bytes), native(stream)), "cudaMemsetAsync"); });
}

bool measure_job(std::int32_t device, const cuda_abi::Prepared* prepared, const Job* job, void* workspace,
                 std::int64_t workspace_size, std::int64_t copy_bytes, bool cold, double seconds, Measurement* to, Status* status) {
    return guarded(status, false, [&] {
        if (prepared != nullptr && workspace_size < prepared->workspace_bytes) {
            throw CudaError(Code::argument, "workspace: smaller than the plan needs");
        }
        if (prepared != nullptr && prepared->taps == nullptr) {
            throw CudaError(Code::argument, "taps: the plan was made without");
        }
        *to = measure(device, prepared, *job, workspace, copy_bytes, cold, seconds);
        return true;
    });
}

bool inject(std::int32_t device, const char* what, Status* status) {
    return on_device(device, status, [&] {
        if (std::strcmp(what, "reset") == 0) {
            check(cudaDeviceReset(), "cudaDeviceReset");
        } else if (std::strcmp(what, "lose") == 0) {
            inject_loss(device);
        } else {
            throw CudaError(Code::argument, std::string("inject: '") + what + "' is neither reset nor lose");
        }
    });
}

std::uint64_t life(std::int32_t device) {
    return guarded<std::uint64_t>(nullptr, 0, [&]() -> std::uint64_t {
        const DeviceScope scope(device);
        return context_id();
    });
}

constexpr Api kApi{
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
    .measure = measure_job,
    .inject = inject,
    .life = life,
    .depthwise_forward = depthwise_forward,
    .depthwise_workspace_bytes = depthwise_workspace_bytes,
    .depthwise_backward = depthwise_backward,
    .execute_with_taps = execute_with_taps,
};

}  // namespace
}  // namespace tapline::cuda

/// The engine's table, or null for a caller of another version.
extern "C" __attribute__((visibility("default"))) const tapline::cuda_abi::Api* tapline_cuda_entry(std::uint32_t version) {
    return version == tapline::cuda_abi::kAbiVersion ? &tapline::cuda::kApi : nullptr;
}
