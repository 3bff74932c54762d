// One execution on several GPUs: everything is enqueued, nothing is waited for.
#include "core/plan/parallel.hpp"
#include "core/plan/plan_parts.hpp"
#include "core/plan/repeated.hpp"
#include "gpu_host/devices/devices_state.hpp"

namespace tapline::gpu_host {

using cuda_abi::PeerCopy;
using cuda_abi::Stream;

// Of each device the caller's stream computes what needs no halo; the stream of each edge fetches what it needs from others and
// computes its outputs. The events say who waits:
//
//     caller's   ready; inner ............; wait for `made` of its edges; done
//     an edge's  wait for `ready` of its device and of those it reads from; copies; copied;
//                the first: wait for `copied` of those who read from here; outputs; made
//
// Waits stand in an edge's stream where they can: nothing hides what the caller's does between two executions.
// Inner outputs in two launches, so that edges run between them, did not pay: two H100s, 2^28 and 2^27 samples, 127 taps 383 and
// 206 us, 386 and 219 so; 65,535 taps 927 and 489, 932 and 498.
class DevicesRun {
public:
    DevicesRun(const DevicesState& state, std::span<void* const> out, std::span<const void* const> in,
               std::span<void* const> streams)
        : s_(state), api_(*state.api_), devices_(state.devices_), out_(out), in_(in), streams_(streams) {}

    void run() {
        try {
            enqueue();
        } catch (...) {
            settle();
            throw;
        }
    }

private:
    [[nodiscard]] Stream* stream(std::size_t i) const { return streams_.empty() ? nullptr : static_cast<Stream*>(streams_[i]); }
    void wait(std::size_t i, Stream* stream, const EventHandle& event) { call(api_.wait, devices_[i].device, stream, event.get()); }
    void record(std::size_t i, const EventHandle& event, Stream* stream) {
        call(api_.record, devices_[i].device, event.get(), stream);
    }

    // Each device's calls go out from a thread of their own: some 20 of them take 40 us, and eight devices of 2^25 samples each are
    // done after 100.
    template <class Body>
    void for_each_device(const Body& body) {
        constexpr double kEnqueueSeconds = 4e-5;
        const int count = static_cast<int>(devices_.size());
        core::parallel_for(
            count, count, [&](std::int64_t i, int /*slot*/) { body(static_cast<std::size_t>(i)); }, count * kEnqueueSeconds);
    }

    void enqueue() {
        for_each_device([&](std::size_t i) {
            wait(i, stream(i), devices_[i].done);  // the execution before may have had another stream
            record(i, devices_[i].ready, stream(i));
        });
        for_each_device([&](std::size_t i) {
            make_inner(i);
            for (std::size_t e = 0; e < devices_[i].edges.size(); ++e) { fill_window(i, e); }
        });
        for_each_device([&](std::size_t i) {
            const OnDevice& on = devices_[i];
            const bool has_time = s_.edges_beside_ && !on.edges.empty();
            Stream* const where = has_time ? on.edges.front().stream.get() : stream(i);
            for (const Reader& reader : on.read_by) { wait(i, where, devices_[reader.part].edges[reader.edge].copied); }
            for (std::size_t e = 0; e < on.edges.size(); ++e) { make_edge(i, e); }
            for (const OnEdge& edge : on.edges) {
                if (s_.edges_beside_) { wait(i, stream(i), edge.made); }
            }
            record(i, on.done, stream(i));
        });
    }

    void fill_window(std::size_t i, std::size_t e) {
        const OnEdge& on = devices_[i].edges[e];
        const Edge& edge = devices_[i].jobs.edges[e];
        wait(i, on.stream.get(), devices_[i].ready);
        for (const std::size_t source : on.reads_from) { wait(i, on.stream.get(), devices_[source].ready); }
        for (const HaloCopy& copy : edge.copies) {
            const auto source = static_cast<std::size_t>(copy.part);
            const Span& has = s_.parts[source].samples;
            copy_rows(s_.in_, i, on.window.get(), copy.position - edge.window.first, edge.window.size(), source, in_[source],
                      copy.samples.first - has.first, has.size(), copy.samples.size(), on.stream.get());
        }
        record(i, on.copied, on.stream.get());
    }

    // `count` positions of every row, from one array to another, each with so many positions a row.
    void copy_rows(const PackedAxis& axis, std::size_t to_part, void* to, std::int64_t to_first, std::int64_t to_length,
                   std::size_t from_part, const void* from, std::int64_t from_first, std::int64_t from_length, std::int64_t count,
                   Stream* on_stream) {
        const PeerCopy copy{.to_device = devices_[to_part].device,
                            .from_device = devices_[from_part].device,
                            .to = static_cast<std::byte*>(to) + axis.row(to_first) * axis.element_bytes,
                            .from = static_cast<const std::byte*>(from) + axis.row(from_first) * axis.element_bytes,
                            .to_pitch = axis.row(to_length) * axis.element_bytes,
                            .from_pitch = axis.row(from_length) * axis.element_bytes,
                            .bytes = axis.row(count) * axis.element_bytes,
                            .rows = axis.rows};
        call(s_.peers_->copy, &copy, on_stream);
    }

    void make_inner(std::size_t i) {
        const OnDevice& on = devices_[i];
        const DevicePart& part = s_.parts[i];
        if (on.jobs.inner.empty()) { return; }
        compute(on, on.jobs.inner, out_[i], part.outputs, in_[i], part.samples, on.workspace, stream(i));
    }

    void make_edge(std::size_t i, std::size_t e) {
        const OnEdge& on = devices_[i].edges[e];
        const Edge& edge = devices_[i].jobs.edges[e];
        Stream* const where = s_.edges_beside_ ? on.stream.get() : stream(i);
        if (!s_.edges_beside_) { wait(i, where, on.copied); }
        for (const EdgePiece& piece : edge.pieces) { make_piece(i, piece, edge.window, on, where); }
        if (s_.edges_beside_) { record(i, on.made, where); }
    }

    void make_piece(std::size_t i, const EdgePiece& piece, const Span& window, const OnEdge& edge, Stream* where) {
        const OnDevice& on = devices_[i];
        const Span& own = s_.parts[i].outputs;
        const DeviceBytes& workspace = s_.edges_beside_ ? edge.workspace : on.workspace;
        if (piece.is_direct()) { return compute(on, piece.computed, out_[i], own, edge.window.get(), window, workspace, where); }
        compute(on, piece.computed, edge.scratch.get(), piece.computed, edge.window.get(), window, workspace, where);
        copy_rows(s_.out_, i, out_[i], piece.wanted.first - own.first, own.size(), i, edge.scratch.get(),
                  piece.wanted.first - piece.computed.first, piece.computed.size(), piece.wanted.size(), where);
    }

    // Outputs `made` of every element of the outer axes, from a buffer of the positions `has` to one of the outputs `holds`.
    void compute(const OnDevice& on, const Span& made, void* out, const Span& holds, const void* in, const Span& has,
                 const DeviceBytes& workspace, Stream* where) {
        core::Resolved r = s_.whole->resolved;
        for (core::Batch& axis : r.outer) {
            axis.in_stride = s_.in_.stride(axis.in_stride, has.size());
            axis.out_stride = s_.out_.stride(axis.out_stride, holds.size());
        }
        const core::Axis& cut = r.cut();
        const core::Output output{
            .data = static_cast<std::byte*>(out) + s_.out_.row(made.first - holds.first) * s_.out_.element_bytes,
            .first = made.first,
            .count = made.size(),
            .batch_stride = s_.out_.stride(r.batch.out_stride, holds.size()),
            .stride = cut.out_stride};
        const core::Input input{.main = {.data = in,
                                         .first = has.first,
                                         .last = has.last,
                                         .batch_stride = s_.in_.stride(r.batch.in_stride, has.size()),
                                         .stride = cut.in_stride},
                                .extra = {},
                                .n = cut.n};
        const std::span<std::byte> scratch{static_cast<std::byte*>(workspace.get()),
                                           workspace == nullptr ? 0 : static_cast<std::size_t>(on.workspace_bytes)};
        for (std::int64_t index = 0; index < r.outer_length(); ++index) {
            const core::OuterElement element = core::outer_element(r, output, input, index);
            on.executable->execute(element.output, element.input, scratch, where);
        }
    }

    // After a failure: what was started ends before the caller is told.
    void settle() const {
        cuda_abi::Status ignored;
        for (std::size_t i = 0; i < devices_.size(); ++i) {
            for (const OnEdge& edge : devices_[i].edges) {
                api_.synchronize_stream(devices_[i].device, edge.stream.get(), &ignored);
            }
            api_.synchronize_stream(devices_[i].device, stream(i), &ignored);
        }
    }

    const DevicesState& s_;
    const cuda_abi::Api& api_;
    const std::vector<OnDevice>& devices_;
    std::span<void* const> out_;
    std::span<const void* const> in_;
    std::span<void* const> streams_;
};

void DevicesState::execute(std::span<void* const> out, std::span<const void* const> in, std::span<void* const> streams) const {
    const auto refuse = [](const std::string& message) { throw Error(ErrorCode::argument, message); };
    const std::size_t count = devices_.size();
    if (out.size() != count || in.size() != count || (!streams.empty() && streams.size() != count)) {
        refuse("out, in, streams: " + std::to_string(out.size()) + ", " + std::to_string(in.size()) + " and " +
               std::to_string(streams.size()) + "; the plan has " + std::to_string(count) + " devices");
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (in[i] == nullptr || (out[i] == nullptr && !parts[i].outputs.empty())) {
            refuse("out, in: a null pointer for " + parts[i].device);
        }
        if (parts[i].outputs.empty()) { continue; }
        core::check_buffers({out[i], whole->resolved.output_dtype, {.elements = out_.rows * out_.row(parts[i].outputs.size())}},
                            {in[i], whole->resolved.dtype, {.elements = in_.rows * in_.row(parts[i].samples.size())}});
    }
    const std::lock_guard lock(mutex_);
    DevicesRun(*this, out, in, streams).run();
}

}  // namespace tapline::gpu_host
