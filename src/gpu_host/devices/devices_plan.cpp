// The plan for parts on several GPUs: the whole's choice, prepared on each, with room for windows and workspaces.
#include <algorithm>
#include <numeric>

#include "core/choice/choice.hpp"
#include "core/plan/plan_parts.hpp"
#include "core/plan/taps_order.hpp"
#include "core/problem/arrange.hpp"
#include "gpu_host/devices/devices_state.hpp"
#include "gpu_host/devices/names.hpp"
#include "gpu_host/devices/several_engine.hpp"
#include "gpu_host/engine.hpp"

namespace tapline::gpu_host {
namespace {

using core::Axis;
using core::Resolved;

// Edges with a workspace of at most so many bytes have one of their own, and are computed beside the inner outputs and each other:
// their kernels are short, and begin where those of the inner outputs end. On two and four H100s an edge behind the inner outputs
// took 17 us of 127 taps, 50 us of 65,535; a part between two others has two.
constexpr std::int64_t kMostWorkspaceBeside = std::int64_t{256} << 20;
// What an execution on several devices takes beside its share: two events and a copy between neighbours.
constexpr double kExchangeSeconds = 2e-5;

std::vector<int> devices_of(const std::string& name) {
    if (names_several(name)) { return devices_named(name); }
    const std::optional<int> one = device_index(name);
    if (!one) { throw Error(ErrorCode::argument, "device: '" + name + "' names no GPUs; write cuda:0,1 or cuda:all"); }
    return {*one};
}

[[noreturn]] void refuse_layout() {
    throw Error(
        ErrorCode::unsupported,
        "strides: parts on several devices are packed, batch axes before and behind the cut axis; copy the arrays to C order");
}

// Throws unless the array is packed with everything inside a position together.
PackedAxis packed_axis(const Resolved& r, bool output) {
    const Axis& cut = r.cut();
    PackedAxis packed;
    packed.length = output ? cut.outputs : cut.n;
    packed.position = output ? cut.out_stride : cut.in_stride;
    packed.element_bytes = static_cast<std::int64_t>(size_of(output ? r.output_dtype : r.dtype));
    std::int64_t inside = 1;
    const auto step = [&](std::int64_t length, std::int64_t stride) {
        if (length == 1) { return; }
        const bool before = stride >= packed.length * packed.position && stride % (packed.length * packed.position) == 0;
        const bool within = stride > 0 && stride * length <= packed.position;
        if (!before && !within) { refuse_layout(); }
        (before ? packed.rows : inside) *= length;
    };
    if (packed.position < 1) { refuse_layout(); }
    r.for_each_axis([&](const Axis& axis) {
        if (&axis != &cut) { step(output ? axis.outputs : axis.n, output ? axis.out_stride : axis.in_stride); }
    });
    step(r.batch.length, output ? r.batch.out_stride : r.batch.in_stride);
    step(r.channels.length, output ? r.channels.out_stride : r.channels.in_stride);
    for (const core::Batch& axis : r.outer) { step(axis.length, output ? axis.out_stride : axis.in_stride); }
    const core::Extent extent = output ? core::output_extent_of(r) : core::input_extent_of(r);
    if (inside != packed.position || extent.elements != packed.rows * packed.length * packed.position) { refuse_layout(); }
    return packed;
}

// Where parts begin: as even as blocks allow, or as even as can be where there are too few of them.
std::vector<std::int64_t> even_cuts(std::int64_t n, std::int64_t block, std::size_t parts) {
    const auto count = static_cast<std::int64_t>(parts);
    if (n < count) {
        throw Error(ErrorCode::argument, "device: " + std::to_string(parts) + " devices for " + std::to_string(n) +
                                             " samples along the cut axis; name fewer");
    }
    const std::int64_t unit = n / block >= 2 * count ? block : 1;
    std::vector<std::int64_t> cuts;
    for (std::int64_t i = 1; i < count; ++i) { cuts.push_back((n / unit * i + count / 2) / count * unit); }
    return cuts;
}

}  // namespace

DevicesState::DevicesState(const Problem& problem, const void* taps, const PlanOptions& options,
                           std::span<const std::int64_t> cuts) {
    const std::vector<int> named = devices_of(options.device);
    if (taps == nullptr) { throw Error(ErrorCode::argument, "taps: a null pointer; give the filter's coefficients"); }
    whole = std::make_shared<core::PlanState>();
    whole->problem = problem;
    whole->resolved = core::resolve(problem);
    whole->in_extent = core::input_extent_of(whole->resolved);
    whole->out_extent = core::output_extent_of(whole->resolved);
    whole->device = name_of_devices(named);
    if (whole->resolved.changes_rate()) {
        throw Error(ErrorCode::unsupported, "axes: parts on several devices are of problems without up, down and dilation");
    }
    check_same_model(named);
    in_ = packed_axis(whole->resolved, false);
    out_ = packed_axis(whole->resolved, true);
    api_ = &api_for(named.front(), "; use cpu or auto");
    peers_ = &gpu_host::peers();
    for (const int device : named) { devices_.emplace_back().device = device; }
    choose(taps, options);
    divide(cuts);
    for (OnDevice& on : devices_) {
        reach(on);
        allocate(on);
    }
}

void DevicesState::choose(const void* taps, const PlanOptions& options) {
    const Resolved& r = whole->resolved;
    if (core::filter_sets(r) != 1) {
        throw Error(ErrorCode::unsupported, "batch_axes: on several devices one axis at most has filters of its own");
    }
    one_ = core::without_outer(r);
    const core::AlignedBytes ordered = core::correlation_taps(r, taps, 0);
    whole->request = {.accuracy = options.accuracy,
                      .threads = core::resolve_threads(options.threads),
                      .facts = core::facts_of(one_, ordered.get())};
    const core::Engine& first = engine_of_parts(devices_.front().device);
    const core::Choice choice = core::choose(first, r, whole->request, options.algorithm);
    whole->algorithm = choice.algorithm->name();
    whole->reason = choice.reason;
    whole->predicted_seconds = choice.predicted_seconds;
    whole->predicted_copy_seconds =
        first.copy_seconds(std::max(one_.samples(), one_.outputs()) * r.outer_length() * in_.element_bytes, 1);
    for (OnDevice& on : devices_) {
        const auto table = engine_of_parts(on.device).algorithms();
        const auto same = std::find_if(table.begin(), table.end(), [&](const core::Algorithm* algorithm) {
            return algorithm->name() == whole->algorithm && algorithm->takes_rank(r.rank);
        });
        std::unique_ptr<const core::Executable> executable = (*same)->prepare(one_, ordered.get(), whole->request);
        on.executable = dynamic_cast<const CudaExecutable*>(executable.get());
        (&on == &devices_.front() ? whole->executable : on.own) = std::move(executable);
    }
    whole->workspace_bytes = devices_.front().executable->workspace_bytes();
    edges_beside_ = static_cast<std::int64_t>(whole->workspace_bytes) <= kMostWorkspaceBeside;
}

void DevicesState::divide(std::span<const std::int64_t> cuts) {
    const Axis& cut = whole->resolved.cut();
    const Blocks blocks{.outputs = devices_.front().executable->granularity(), .lookahead = 0};
    const std::vector<std::int64_t> even =
        cuts.empty() ? even_cuts(cut.n, blocks.outputs, devices_.size()) : std::vector<std::int64_t>(cuts.begin(), cuts.end());
    if (even.size() + 1 != devices_.size()) {
        throw Error(ErrorCode::argument, "cuts: " + std::to_string(even.size()) + " for " + std::to_string(devices_.size()) +
                                             " devices; give one less than devices");
    }
    const std::vector<Part> all = shard(whole->problem, 0, even, blocks);
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        OnDevice& on = devices_[i];
        parts.push_back({"cuda:" + std::to_string(on.device), all[i].samples, all[i].outputs});
        on.jobs = part_jobs(cut, all, i, blocks);
        for (const Edge& edge : on.jobs.edges) {
            on.edges.push_back(edge_of(on, edge));
            std::vector<std::size_t>& reads_from = on.edges.back().reads_from;
            for (const HaloCopy& copy : edge.copies) {
                const auto source = static_cast<std::size_t>(copy.part);
                if (source == i) { continue; }
                halo_samples += copy.samples.size();
                if (std::find(reads_from.begin(), reads_from.end(), source) != reads_from.end()) { continue; }
                reads_from.push_back(source);
                devices_[source].read_by.push_back({i, on.edges.size() - 1});
            }
        }
    }
    predicted_seconds = whole->predicted_seconds / static_cast<double>(devices_.size()) + kExchangeSeconds;
}

void DevicesState::reach(const OnDevice& on) {
    for (const OnEdge& edge : on.edges) {
        for (const std::size_t source : edge.reads_from) {
            std::int32_t direct = 0;
            call(peers_->reach, on.device, devices_[source].device, &direct);
            is_direct = is_direct && direct != 0;
        }
    }
}

DeviceBytes DevicesState::room_on(OnDevice& on, std::int64_t bytes) const {
    on.held_bytes += bytes;
    return bytes > 0 ? allocate_device(*api_, on.device, bytes) : DeviceBytes(nullptr, {api_, on.device});
}

OnEdge DevicesState::edge_of(OnDevice& on, const Edge& edge) const {
    OnEdge own;
    own.window = room_on(on, in_.rows * in_.row(edge.window.size()) * in_.element_bytes);
    own.scratch = room_on(on, out_.rows * out_.row(edge.scratch_outputs()) * out_.element_bytes);
    own.workspace = room_on(on, edges_beside_ ? static_cast<std::int64_t>(whole->workspace_bytes) : 0);
    own.stream = StreamHandle(call(peers_->make_urgent_stream, on.device), {api_, on.device});
    own.copied = make_event(*api_, on.device);
    own.made = make_event(*api_, on.device);
    return own;
}

void DevicesState::allocate(OnDevice& on) {
    on.workspace_bytes = static_cast<std::int64_t>(whole->workspace_bytes);
    on.workspace = room_on(on, on.workspace_bytes);
    on.ready = make_event(*api_, on.device);
    on.done = make_event(*api_, on.device);
    on.life = api_->life == nullptr ? 0 : api_->life(on.device);
}

bool DevicesState::has_inner_everywhere() const {
    return std::all_of(devices_.begin(), devices_.end(),
                       [](const OnDevice& on) { return on.jobs.edges.empty() || !on.jobs.inner.empty(); });
}

std::size_t DevicesState::held_bytes() const {
    std::int64_t bytes = 0;
    for (const OnDevice& on : devices_) { bytes += on.held_bytes; }
    return static_cast<std::size_t>(bytes);
}

DevicesState::~DevicesState() {
    for (OnDevice& on : devices_) {
        const bool lives = api_->life == nullptr || api_->life(on.device) == on.life;
        for (OnEdge& edge : on.edges) {
            if (lives) {
                cuda_abi::Status ignored;
                api_->synchronize_stream(on.device, edge.stream.get(), &ignored);  // a copy may still fill a window
                continue;
            }
            for (DeviceBytes* const bytes : {&edge.window, &edge.scratch, &edge.workspace}) { static_cast<void>(bytes->release()); }
            for (EventHandle* const event : {&edge.copied, &edge.made}) { static_cast<void>(event->release()); }
            static_cast<void>(edge.stream.release());
        }
        if (lives) { continue; }
        static_cast<void>(on.workspace.release());
        for (EventHandle* const event : {&on.ready, &on.done}) { static_cast<void>(event->release()); }
    }
}

}  // namespace tapline::gpu_host

namespace tapline {
namespace {

std::string number(std::int64_t value) { return std::to_string(value); }

}  // namespace

DevicesPlan::DevicesPlan(const Problem& problem, const void* taps, const PlanOptions& options, std::span<const std::int64_t> cuts)
    : state_(std::make_shared<const gpu_host::DevicesState>(problem, taps, options, cuts)) {}

void DevicesPlan::execute(std::span<void* const> out, std::span<const void* const> in, std::span<void* const> streams) const {
    state_->execute(out, in, streams);
}

std::span<const DevicePart> DevicesPlan::parts() const noexcept { return state_->parts; }
const Problem& DevicesPlan::problem() const noexcept { return state_->whole->problem; }
const std::string& DevicesPlan::algorithm() const noexcept { return state_->whole->algorithm; }
double DevicesPlan::predicted_seconds() const noexcept { return state_->predicted_seconds; }
std::size_t DevicesPlan::device_bytes() const noexcept { return state_->held_bytes(); }

std::string DevicesPlan::explain() const {
    const gpu_host::DevicesState& s = *state_;
    std::string text = Plan(s.whole).explain() + "\nparts:    ";
    for (const DevicePart& part : s.parts) {
        text += " " + part.device + " [" + number(part.samples.first) + ", " + number(part.samples.last) + ")";
    }
    text += "\nhalos:     " + number(s.halo_samples) + " samples a row from device to device, ";
    text += s.halo_samples == 0 ? "which needs none"
            : s.is_direct       ? "directly"
                                : "by way of the host, as the devices do not reach each other";
    text += s.has_inner_everywhere() ? ", while outputs that need none are computed"
                                     : "; a part is not longer than the filter reaches, so that its outputs wait for them: fewer "
                                       "devices move less";
    return text + "\ntogether:  predicted " + core::format_seconds(s.predicted_seconds) + " on " + number(std::ssize(s.parts)) +
           " devices, which hold " + number(static_cast<std::int64_t>(s.held_bytes())) + " bytes for it";
}

}  // namespace tapline
