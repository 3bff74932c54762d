// Launches of what was prepared, once or measured.
#include <algorithm>

#include "cuda/api_functions.hpp"
#include "cuda/engine_state.hpp"
#include "cuda/prepared.hpp"

namespace tapline::cuda {
namespace {

using cuda_abi::Code;
using cuda_abi::DeviceTaps;
using cuda_abi::Measurement;
using cuda_abi::Status;
using cuda_abi::Stream;

// Throws CudaError for a plan of an earlier life of the device, and for memory that is not the device's.
void check_job(const cuda_abi::Prepared& prepared, const Job& job, const DeviceTaps* taps, const void* workspace,
               std::int64_t workspace_size) {
    const int device = prepared.device.index;
    if (context_id() != prepared.context) {
        throw CudaError(Code::device, "plan: cuda:" + std::to_string(device) + " was reset after the plan was made; make it again");
    }
    if (prepared.problem.taps_come_later != (taps != nullptr)) {
        throw CudaError(Code::argument, taps == nullptr ? "taps: the plan was made without; give an address in GPU memory"
                                                        : "taps: the plan has its own");
    }
    if (is_empty(job)) { return; }
    check_pointer("out", job.out, device);
    if (taps != nullptr) { check_pointer("taps", taps->data, device); }
    if (job.in_last > job.in_first) { check_pointer("in", job.in, device); }
    if (prepared.workspace_bytes == 0) { return; }
    if (workspace == nullptr || workspace_size < prepared.workspace_bytes) {
        throw CudaError(Code::argument, "workspace: " + std::to_string(workspace_size) + " bytes; the plan needs " +
                                            std::to_string(prepared.workspace_bytes));
    }
    check_pointer("workspace", workspace, device);
}

// Rows first, first + step, ... of a job, `count` of them.
Job rows_of_job(const Problem& p, const Job& job, std::int64_t first, std::int64_t step, std::int64_t count) {
    Job rows = job;
    rows.out = static_cast<char*>(job.out) + first * job.out_batch * static_cast<std::int64_t>(size_of(p.output_dtype));
    rows.in = static_cast<const char*>(job.in) + first * job.in_batch * static_cast<std::int64_t>(size_of(p.dtype));
    rows.out_batch = step * job.out_batch;
    rows.in_batch = step * job.in_batch;
    rows.batch = count;
    return rows;
}

// Filter after filter, of each all the rows that have it.
void launch_filters(const cuda_abi::Prepared& prepared, const TakesTapsOnDevice& maker, const Job& job, MadeTables made,
                    void* workspace, cudaStream_t stream) {
    const Groups& groups = prepared.groups;
    const auto* const taps = static_cast<const char*>(made.given.data);
    const std::int64_t bytes = made.given.stride * static_cast<std::int64_t>(size_of(made.given.dtype));
    made.given.filters = made.given.count = 1;
    for (std::int64_t filter = 0; filter < std::min(groups.filters, groups.rows); ++filter) {
        made.given.data = taps + filter % groups.given * bytes;
        const std::int64_t count = (groups.rows - filter + groups.filters - 1) / groups.filters;
        const Job rows = rows_of_job(prepared.problem, job, filter, groups.filters, count);
        maker.launch_with_taps(prepared, rows, workspace, made, stream);
    }
}

// One group of filters after the other, of each the rows that have them.
void launch_groups(const cuda_abi::Prepared& prepared, const TakesTapsOnDevice& maker, const Job& job, MadeTables made,
                   void* workspace, cudaStream_t stream) {
    const Groups& groups = prepared.groups;
    const std::int64_t at_once = prepared.problem.filters;
    for (std::int64_t first = 0; first < std::min(groups.filters, groups.rows); first += at_once) {
        made.given.first = first;
        made.given.count = std::min(at_once, groups.filters - first);
        for (std::int64_t row = first; row < groups.rows; row += groups.filters) {
            const Job rows = rows_of_job(prepared.problem, job, row, 1, std::min(made.given.count, groups.rows - row));
            if (row == first) {
                maker.launch_with_taps(prepared, rows, workspace, made, stream);
            } else {
                prepared.rung->launch(prepared, rows, {made.taps, made.tables}, workspace, stream);
            }
        }
    }
}

}  // namespace

void launch_with_taps(const cuda_abi::Prepared& prepared, const Job& job, const DeviceTaps& taps, void* workspace,
                      cudaStream_t stream) {
    const auto& maker = dynamic_cast<const TakesTapsOnDevice&>(*prepared.rung);
    const Groups& groups = prepared.groups;
    MadeTables made{
        {}, static_cast<char*>(workspace) + prepared.made_tables_at, static_cast<char*>(workspace) + prepared.made_taps_at};
    static_cast<DeviceTaps&>(made.given) = taps;
    made.given.filters = groups.given;
    made.given.stride = groups.stride;
    made.given.count = prepared.problem.filters;
    if (groups.whole) { return maker.launch_with_taps(prepared, job, workspace, made, stream); }
    if (job.batch_first != 0 || job.batch != groups.rows) {
        throw CudaError(Code::unsupported, "taps: a plan without takes all rows at once");
    }
    if (prepared.problem.filters == 1) { return launch_filters(prepared, maker, job, made, workspace, stream); }
    launch_groups(prepared, maker, job, made, workspace, stream);
}

namespace {

// Nobody would read what a graph's launches find.
void refuse_capture(cudaStream_t stream) {
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream, &capturing), "cudaStreamIsCapturing");
    if (capturing == cudaStreamCaptureStatusNone) { return; }
    throw CudaError(
        Code::unsupported,
        "stream: is being captured, and an output may not fit its type, which the call reports; ask for Overflow::wrap, "
        "a clamp or a wider output_dtype");
}

// taps: nullptr for what was prepared with taps.
bool launch_job(const cuda_abi::Prepared* prepared, const Job* job, const DeviceTaps* taps, void* workspace,
                std::int64_t workspace_size, Stream* stream, Status* status) {
    return on_device(prepared->device.index, status, [&] {
        const int device = prepared->device.index;
        check_job(*prepared, *job, taps, workspace, workspace_size);
        if (is_empty(*job)) { return; }
        check_stream(native(stream), device);
        if (take_injected_loss(device)) {
            throw CudaError(Code::device,
                            "launch: the device was lost (injected); this process cannot use the GPU any more: the CPU "
                            "engine goes on",
                            true);
        }
        const bool reports = prepared->rung->reports(*prepared);
        if (reports) { refuse_capture(native(stream)); }
        if (taps == nullptr) {
            prepared->rung->launch(*prepared, *job, prepared->on_device, workspace, native(stream));
        } else {
            launch_with_taps(*prepared, *job, *taps, workspace, native(stream));
        }
        check_launch(prepared->rung->info().name);
        if (reports) { prepared->rung->report(*prepared, workspace, native(stream)); }
    });
}

}  // namespace

bool execute(const cuda_abi::Prepared* prepared, const Job* job, void* workspace, std::int64_t workspace_size, Stream* stream,
             Status* status) {
    return launch_job(prepared, job, nullptr, workspace, workspace_size, stream, status);
}

bool execute_with_taps(const cuda_abi::Prepared* prepared, const Job* job, const DeviceTaps* taps, void* workspace,
                       std::int64_t workspace_size, Stream* stream, Status* status) {
    return launch_job(prepared, job, taps, workspace, workspace_size, stream, status);
}

bool measure(std::int32_t device, const cuda_abi::Prepared* prepared, const Job* job, void* workspace, std::int64_t workspace_size,
             std::int64_t copy_bytes, bool cold, double seconds, Measurement* to, Status* status) {
    return on_device(device, status, [&] {
        if (prepared == nullptr) {
            *to = measure_copy(device, job->out, job->in, copy_bytes, cold, seconds);
            return;
        }
        check_job(*prepared, *job, nullptr, workspace, workspace_size);
        const auto launch = [&](cudaStream_t stream) {
            prepared->rung->launch(*prepared, *job, prepared->on_device, workspace, stream);
        };
        *to = measure_launches(device, launch, cold, seconds);
    });
}

}  // namespace tapline::cuda
