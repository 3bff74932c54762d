// A CUDA engine without CUDA: the whole of cuda_abi::Api on host memory, so that the core library's side (loading, choice, the host
// pipeline, streams, errors) is tested on machines without a GPU and under the sanitizers.
//
// Its devices share the host's memory, up to TAPLINE_CUDA_MEMORY_LIMIT bytes each. Streams are threads (streams.hpp), new memory is
// all ones (NaN), and what no device would forgive is an error: a job in memory that is not the device's or beyond an allocation's
// end, a copy whose host side is not pinned, a piece given to a rung that takes whole problems, a sample that is needed but not
// there.
//
// inject(device, what): "fail NAME COUNT" lets the COUNTth call of a function from now fail (NAME as in Api, "kernel" for a launch
// whose failure shows later), "lose" the next launch, with the context lost; "reset" ends a life of the device: its memory, pinned
// memory, streams and events are gone. `tapline_emulated_cuda_live` counts what was
// allocated or made and not yet freed.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "support/emulated_cuda/kernel.hpp"
#include "support/emulated_cuda/rungs.hpp"
#include "support/emulated_cuda/world.hpp"

namespace tapline::cuda_abi {

struct Prepared {
    std::int32_t rung;
    std::int32_t device;
    std::uint64_t life;
    Problem problem;
    std::vector<std::byte> taps;
    Policy policy;
    bool without_taps = false;
};

}  // namespace tapline::cuda_abi

namespace tapline::emulated {
namespace {

using namespace cuda_abi;
using cuda_abi::Problem;

constexpr std::int64_t kWorkspaceBytes = 1000;
constexpr std::int64_t kImageWorkspaceBytes = 500;

constexpr std::int32_t kRefusedThreads = 1024;
constexpr std::int32_t kWrongThreads = 512;

std::int64_t workspace_bytes_of(const Prepared& prepared) {
    if (prepared.rung == kImage) { return kImageWorkspaceBytes; }
    return prepared.rung == kWithWorkspace || prepared.without_taps ? kWorkspaceBytes : 0;
}

std::int64_t bytes_of(Dtype dtype) { return static_cast<std::int64_t>(size_of(dtype)); }

// Whether all that a job touches, as seen from `first`, lies within one allocation of the device.
bool is_all_inside(const void* first, const Reach& reach, Dtype dtype, std::int32_t device) {
    const std::int64_t elements = reach.high - reach.low + 1;
    return is_inside(static_cast<const std::byte*>(first) + reach.low * bytes_of(dtype), elements * bytes_of(dtype), device, false);
}

std::int64_t granularity_of(const Prepared* prepared) {
    return is_of_images(prepared->rung) ? 3 : prepared->rung == kWithWorkspace ? 7 : 1;
}

std::string refusal(const Prepared& prepared, const Job& job, const void* workspace, std::int64_t workspace_bytes) {
    const Problem& p = prepared.problem;
    if (job.count < 1 || job.batch < 1 || job.batch_first < 0 || job.batch_first + job.batch > p.batch.length) {
        return "job: no such items or outputs";
    }
    if (p.rank > 1 && (job.first < 0 || job.first + job.count > p.cut().outputs)) { return "job: no such outputs"; }
    if (!is_all_inside(job.out, reach_of_output(p, job), p.output_dtype, prepared.device)) {
        return "out: is not memory of the plan's device";
    }
    if (!is_all_inside(job.in, reach_of_input(p, job), p.dtype, prepared.device)) {
        return "in: is not memory of the plan's device";
    }
    const std::int64_t needed = workspace_bytes_of(prepared);
    if (needed > 0 && (workspace_bytes < needed || !is_inside(workspace, workspace_bytes, prepared.device, false))) {
        return "workspace: is not memory of the plan's device";
    }
    const core::Axis& cut = p.cut();
    const bool whole = job.first == 0 && job.count == cut.outputs && job.in_first == 0 && job.in_last == cut.n && job.n == cut.n &&
                       job.batch_first == 0 && job.batch == p.batch.length;
    // What the pipeline may break where memory is short.
    const std::int64_t block = std::getenv("TAPLINE_EMULATED_BLOCKS") == nullptr ? 1 : granularity_of(&prepared);
    if (job.first % block != 0 || (job.count % block != 0 && job.first + job.count != cut.outputs)) {
        return "job: not whole blocks of " + std::to_string(block);
    }
    if (takes_whole(prepared.rung) && !whole) { return "job: this rung takes whole problems"; }
    return {};
}

Job without_last(Job job) {
    --job.count;
    return job;
}

bool execute_with_taps(const Prepared* prepared, const Job* job, const DeviceTaps* taps, void* workspace,
                       std::int64_t workspace_bytes, Stream* stream, Status* status) {
    if (goes_wrong("execute", status)) { return false; }
    if (prepared->without_taps != (taps != nullptr)) {
        return fail(status, Code::argument, "taps: asked for and not given, or not");
    }
    const Problem& p = prepared->problem;
    const std::int64_t taps_count = p.taps() + (p.filters > 1 ? (p.filters - 1) * p.batch.taps_stride : 0);
    if (taps != nullptr && !is_inside(taps->data, taps_count * bytes_of(taps->dtype), prepared->device, false)) {
        return fail(status, Code::argument, "taps: is not memory of the plan's device");
    }
    if (prepared->life != world().life) { return fail(status, Code::device, "plan: the device was reset after the plan was made"); }
    if (goes_wrong("lose", status)) { return fail(status, Code::device, "execute: the device was lost", true); }
    const std::string wrong = refusal(*prepared, *job, workspace, workspace_bytes);
    if (!wrong.empty()) { return fail(status, Code::argument, wrong); }
    Status injected;
    const bool breaks = goes_wrong("kernel", &injected);
    const DeviceTaps given = taps == nullptr ? DeviceTaps{} : *taps;
    enqueue(stream, [prepared, job = *job, given, workspace, workspace_bytes, breaks] {
        if (workspace_bytes_of(*prepared) > 0) { std::memset(workspace, 0xAB, static_cast<std::size_t>(workspace_bytes)); }
        const std::vector<std::byte> there = prepared->without_taps ? ordered(given, prepared->problem) : prepared->taps;
        const bool misses = prepared->policy.threads_per_block == kWrongThreads;  // the last output
        if (misses && job.count == 1) { return; }
        const std::string failure =
            breaks ? "kernel: failed as injected" : run_job(prepared->problem, there.data(), misses ? without_last(job) : job);
        if (failure.empty()) { return; }
        const std::lock_guard lock(world().mutex);
        world().failure = failure;
    });
    return true;
}

bool execute(const Prepared* prepared, const Job* job, void* workspace, std::int64_t workspace_bytes, Stream* stream,
             Status* status) {
    return execute_with_taps(prepared, job, nullptr, workspace, workspace_bytes, stream, status);
}

bool copy(std::int32_t device, void* to, const void* from, std::int64_t bytes, Stream* stream, Status* status) {
    if (goes_wrong("copy", status)) { return false; }
    for (const void* side : {static_cast<const void*>(to), from}) {
        if (!is_inside(side, bytes, device, false) && !is_inside(side, bytes, device, true)) {
            return fail(status, Code::argument, "copy: neither pinned memory nor the device's");
        }
    }
    enqueue(stream, [=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
    return true;
}

bool record(std::int32_t, Event* event, Stream* stream, Status* status) {
    if (goes_wrong("record", status)) { return false; }
    std::uint64_t ticket = 0;
    {
        const std::lock_guard lock(event->state->mutex);
        ticket = ++event->state->recorded;
    }
    enqueue(stream, [state = event->state, ticket] { state->finish(ticket); });
    return true;
}

bool wait(std::int32_t, Stream* stream, Event* event, Status* status) {
    if (goes_wrong("wait", status)) { return false; }
    enqueue(stream, [state = event->state, ticket = event->state->ticket()] { state->wait(ticket); });
    return true;
}

bool synchronize(std::int32_t, Event* event, Status* status) {
    if (goes_wrong("synchronize", status)) { return false; }
    event->state->wait(event->state->ticket());
    return !goes_wrong("synchronize_after", status);
}

bool synchronize_stream(std::int32_t, Stream* stream, Status* status) {
    if (stream == nullptr) {
        enqueue(nullptr, [] {});
    } else {
        stream->wait_until_idle();
    }
    return !goes_wrong("synchronize_stream", status);
}

void reset() {
    World& w = world();
    enqueue(nullptr, [] {});
    const std::lock_guard lock(w.mutex);
    w.live -= static_cast<int>(w.allocations.size() + w.streams.size() + w.events.size());
    for (const auto& [address, allocation] : w.allocations) { std::free(reinterpret_cast<void*>(address)); }
    for (Stream* stream : w.streams) { delete stream; }
    for (Event* event : w.events) { delete event; }
    w.allocations.clear();
    w.streams.clear();
    w.events.clear();
    std::fill(std::begin(w.used), std::end(w.used), 0);
    ++w.life;
}

bool inject(std::int32_t, const char* what, Status*) {
    if (std::strcmp(what, "reset") == 0) { reset(); }
    World& w = world();
    const std::lock_guard lock(w.mutex);
    std::istringstream words(what);
    std::string verb;
    std::string name;
    int count = 1;
    words >> verb >> name >> count;
    w.failure.clear();
    w.to_fail.clear();
    if (verb == "fail") { w.to_fail[name] = count; }
    if (verb == "lose") { w.to_fail["lose"] = 1; }
    return true;
}

bool supports(std::int32_t number, std::int32_t, const Problem* p, Status* status) {
    if (p->rank != rung(number).rank) { return fail(status, Code::unsupported, "it takes another number of filtered axes"); }
    if (p->taps_come_later && number != kPieces) { return fail(status, Code::unsupported, "it takes its taps from host memory"); }
    const bool real_sums = is_integer(p->dtype) && !is_integer(p->taps_dtype);
    if (p->is_exact()) {
        const bool takes = number == kPieces || number == kImageAnyhow || number == kVolume;
        return takes || fail(status, Code::unsupported, "its sums of integers are not exact");
    }
    if (number != kVolume && number != kImageAnyhow && is_of_images(number)) {
        if (!p->has_packed_pixels()) { return fail(status, Code::unsupported, "takes pixels that lie side by side"); }
        const bool takes = p->dtype == Dtype::f32 || p->dtype == Dtype::f16 || p->dtype == Dtype::u8 || p->dtype == Dtype::u16;
        return takes || fail(status, Code::unsupported, "takes only f32, f16, u8 and u16");
    }
    if (number == kWhole && !p->has_packed_pixels()) { return fail(status, Code::unsupported, "it takes unit strides"); }
    return (p->dtype >= Dtype::f32 && p->dtype <= Dtype::complex128) || p->dtype == Dtype::f16 || p->dtype == Dtype::bf16 ||
           real_sums || fail(status, Code::unsupported, "not a floating-point type");
}

Prepared* prepare(std::int32_t number, std::int32_t device, const Problem* problem, const HostTaps* host_taps, const Policy* policy,
                  Status* status) {
    if (goes_wrong("prepare", status)) { return nullptr; }
    if (policy->threads_per_block == kRefusedThreads) {
        fail(status, Code::unsupported, "policy: so many threads do not fit");
        return nullptr;
    }
    const auto* taps = static_cast<const std::byte*>(host_taps->taps);
    if ((taps == nullptr) != problem->taps_come_later || (taps == nullptr && !supports(number, device, problem, status))) {
        fail(status, Code::unsupported, "it takes its taps from host memory");
        return nullptr;
    }
    const bool factors = host_taps->columns != nullptr && host_taps->rows != nullptr;
    if (problem->separable > 0 && !factors) {
        fail(status, Code::argument, "taps: a separable mask without its factors");
        return nullptr;
    }
    ++world().live;
    if (taps == nullptr) { return new Prepared{number, device, world().life, *problem, {}, *policy, true}; }
    const std::int64_t count = problem->filters * problem->taps() * bytes_of(problem->taps_dtype);
    return new Prepared{number, device, world().life, *problem, {taps, taps + count}, *policy};
}

// One rung has a choice: its default, a faster policy, a slower one, one that cannot be prepared, and, where
// TAPLINE_EMULATED_WRONG is set, the fastest of all whose output is wrong.
std::int32_t policies(std::int32_t number, std::int32_t, const Problem*, Policy* to, std::int32_t capacity) {
    if (number != kPieces) { return 0; }
    std::vector<Policy> all{{1, 128, 1, 0}, {3, 256, -1, 0}, {5, 64, 2, 0}, {1, kRefusedThreads, 1, 0}};
    if (std::getenv("TAPLINE_EMULATED_WRONG") != nullptr) { all.push_back({1, kWrongThreads, 4, 0}); }
    for (std::size_t i = 0; i < all.size() && i < static_cast<std::size_t>(capacity); ++i) { to[i] = all[i]; }
    return static_cast<std::int32_t>(all.size());
}

double seconds_of(const Prepared& prepared) {
    // The one with a workspace is the fastest, against what the estimates say.
    if (prepared.rung == kWithWorkspace) { return 1e-6; }
    const std::int32_t threads = prepared.policy.threads_per_block;
    return threads == kWrongThreads ? 1e-7 : threads == 256 ? 1.5e-6 : threads == 64 ? 3e-6 : 2e-6;
}

bool measure(std::int32_t device, const Prepared* prepared, const Job* job, void* workspace, std::int64_t workspace_bytes,
             std::int64_t copy_bytes, bool, double, Measurement* measurement, Status* status) {
    if (prepared == nullptr) {
        if (!copy(device, job->out, job->in, copy_bytes, nullptr, status)) { return false; }
        *measurement = {.median_seconds = 5e-7, .least_seconds = 5e-7, .most_seconds = 5e-7, .runs = 1};
        return synchronize_stream(device, nullptr, status);
    }
    if (!execute(prepared, job, workspace, workspace_bytes, nullptr, status)) { return false; }
    const double seconds = seconds_of(*prepared);
    *measurement = {.median_seconds = seconds, .least_seconds = seconds, .most_seconds = seconds, .runs = 1};
    return synchronize_stream(device, nullptr, status);
}

// Bytes of x, y and taps.
struct DepthwiseBytes {
    std::int64_t x, y, taps;
};
DepthwiseBytes bytes_of(const Depthwise& p) {
    const std::int64_t element = bytes_of(p.dtype);
    return {p.batch * p.channels * p.n * element, p.batch * p.channels * p.length * element, p.channels * p.k * element};
}

bool depthwise_forward(std::int32_t device, const Depthwise* problem, void* y, const void* x, const void* taps, Stream* stream,
                       Status* status) {
    const DepthwiseBytes bytes = bytes_of(*problem);
    if (goes_wrong("depthwise_forward", status)) { return false; }
    if (!is_inside(y, bytes.y, device, false) || !is_inside(x, bytes.x, device, false) ||
        !is_inside(taps, bytes.taps, device, false)) {
        return fail(status, Code::argument, "depthwise: not memory of the device");
    }
    enqueue(stream, [=, p = *problem] { run_depthwise(p, y, x, taps); });
    return true;
}

bool depthwise_backward(std::int32_t device, const Depthwise* problem, void* grad_x, void* grad_taps, const void* grad_y,
                        const void* x, const void* taps, void* workspace, std::int64_t workspace_bytes, Stream* stream,
                        Status* status) {
    const DepthwiseBytes bytes = bytes_of(*problem);
    if (goes_wrong("depthwise_backward", status)) { return false; }
    const bool of_x =
        grad_x == nullptr || (is_inside(grad_x, bytes.x, device, false) && is_inside(taps, bytes.taps, device, false));
    if (!of_x || !is_inside(grad_taps, bytes.taps, device, false) || !is_inside(grad_y, bytes.y, device, false) ||
        !is_inside(x, bytes.x, device, false) || !is_inside(workspace, kWorkspaceBytes, device, false) ||
        workspace_bytes < kWorkspaceBytes) {
        return fail(status, Code::argument, "depthwise: not memory of the device");
    }
    enqueue(stream, [=, p = *problem] {
        std::memset(workspace, 0xAB, static_cast<std::size_t>(kWorkspaceBytes));
        run_depthwise_gradients(p, grad_x, grad_taps, grad_y, x, taps);
    });
    return true;
}

bool sum_rows(std::int32_t device, const RowSum* sum, Stream* stream, Status* status) {
    if (goes_wrong("sum_rows", status)) { return false; }
    const std::int64_t from = sum->count * bytes_of(sum->from_dtype);
    if (!is_inside(sum->to, sum->count * bytes_of(sum->to_dtype), device, false) ||
        !is_inside(sum->from, sum->rows * from, device, false) ||
        (sum->before != nullptr && !is_inside(sum->before, from, device, false))) {
        return fail(status, Code::argument, "sum_rows: not memory of the device");
    }
    enqueue(stream, [s = *sum] { run_row_sum(s); });
    return true;
}

template <class T>
void destroy(std::set<T*>& known, T* it) {
    {
        const std::lock_guard lock(world().mutex);
        known.erase(it);
    }
    --world().live;
    delete it;
}

const Api kApi = {
    .abi_version = kAbiVersion,
    .api_bytes = sizeof(Api),
    .version = "emulated",
    .compute_capabilities = "none",
    .device_count = [](Status*) { return device_count(); },
    .device =
        [](std::int32_t index, Device* device, Status*) {
            *device = {.index = index, .major = 9, .minor = 0, .multiprocessors = 1, .memory_bytes = memory_limit()};
            device->copy_bytes_per_second = 4e12;
            device->driver_version = 13020;
            const bool is_other = index == 1 && std::getenv("TAPLINE_EMULATED_OTHER_MODEL") != nullptr;
            std::snprintf(device->name, sizeof device->name, is_other ? "Another GPU" : "Emulated GPU");
            return true;
        },
    .rung_count = []() -> std::int32_t { return takes_any_layout() ? kRungs : kImageAnyhow; },
    .rung = rung,
    .supports = supports,
    .estimate_seconds = [](std::int32_t number, std::int32_t,
                           const Problem*) { return 1e-6 * (is_of_images(number) ? number - kImage + 1 : number + 1); },
    .policies = policies,
    .prepare = prepare,
    .release =
        [](Prepared* prepared) {
            --world().live;
            delete prepared;
        },
    .workspace_bytes = [](const Prepared* prepared) { return workspace_bytes_of(*prepared); },
    .describe =
        [](const Prepared* prepared, char* text, std::size_t bytes) {
            std::snprintf(text, bytes, "one thread%s", prepared->problem.narrow_taps ? ", narrow taps" : "");
        },
    .granularity = granularity_of,
    .execute = execute,
    .allocate = [](std::int32_t device, std::int64_t bytes, Status* status) { return new_memory(device, bytes, false, status); },
    .free = free_memory,
    .allocate_pinned = [](std::int32_t device, std::int64_t bytes,
                          Status* status) { return new_memory(device, bytes, true, status); },
    .free_pinned = free_memory,
    .free_bytes =
        [](std::int32_t device) {
            const std::lock_guard lock(world().mutex);
            return memory_limit() - world().used[device];
        },
    .make_stream = [](std::int32_t, Status* status) { return new_stream(status); },
    .free_stream = [](std::int32_t, Stream* stream) { destroy(world().streams, stream); },
    .make_event =
        [](std::int32_t, Status* status) {
            Event* const event = made<Event>("make_event", status);
            const std::lock_guard lock(world().mutex);
            if (event != nullptr) { world().events.insert(event); }
            return event;
        },
    .free_event = [](std::int32_t, Event* event) { destroy(world().events, event); },
    .record = record,
    .wait = wait,
    .synchronize = synchronize,
    .synchronize_stream = synchronize_stream,
    .copy = copy,
    .fill =
        [](std::int32_t, void* to, std::int32_t byte, std::int64_t bytes, Stream* stream, Status*) {
            enqueue(stream, [=] { std::memset(to, byte, static_cast<std::size_t>(bytes)); });
            return true;
        },
    .measure = measure,
    .inject = inject,
    .life = [](std::int32_t) -> std::uint64_t { return world().life; },
    .depthwise_forward = depthwise_forward,
    .depthwise_workspace_bytes = [](std::int32_t, const Depthwise*, Status*) { return kWorkspaceBytes; },
    .depthwise_backward = depthwise_backward,
    .execute_with_taps = execute_with_taps,
    .sum_rows = sum_rows,
};

// The lessons' numbers begin behind those of what ships.
template <auto kMember>
constexpr auto kOfLessons = [](std::int32_t number, auto... others) { return (kApi.*kMember)(kRungs + number, others...); };

const Api kLessonsApi = [] {
    Api api = kApi;
    api.rung_count = []() -> std::int32_t { return kAll - kRungs; };
    api.rung = kOfLessons<&Api::rung>;
    api.supports = kOfLessons<&Api::supports>;
    api.estimate_seconds = kOfLessons<&Api::estimate_seconds>;
    api.policies = kOfLessons<&Api::policies>;
    api.prepare = kOfLessons<&Api::prepare>;
    return api;
}();

}  // namespace
}  // namespace tapline::emulated

extern "C" __attribute__((visibility("default"))) const tapline::cuda_abi::Api* tapline_cuda_entry(std::uint32_t) {
    return &tapline::emulated::kApi;
}

// What libtapline_lessons.so beside this file gives away (lessons.cpp).
extern "C" __attribute__((visibility("default"))) const tapline::cuda_abi::Api* tapline_emulated_lessons() {
    return &tapline::emulated::kLessonsApi;
}

extern "C" __attribute__((visibility("default"))) int tapline_emulated_cuda_live() { return tapline::emulated::world().live; }

// The device's memory for tests in Python; null if there is none left.
extern "C" __attribute__((visibility("default"))) void* tapline_emulated_cuda_allocate(std::int32_t device, std::int64_t bytes) {
    tapline::cuda_abi::Status status;
    return tapline::emulated::new_memory(device, bytes, false, &status);
}
extern "C" __attribute__((visibility("default"))) void tapline_emulated_cuda_free(std::int32_t device, void* memory) {
    tapline::emulated::free_memory(device, memory);
}
