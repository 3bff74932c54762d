// A stream computes whole blocks of outputs as soon as a run of them is ready, from a history of the samples that they read.
#include "tapline/stream.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/choice/engine.hpp"
#include "core/problem/refuse.hpp"
#include "core/stream/stream_buffers.hpp"
#include "core/stream/stream_schedule.hpp"
#include "core/stream/stream_state.hpp"
#include "tapline/info.hpp"

namespace tapline {

namespace {

// A run's input and its output each take about this much: large enough that every thread has blocks of its own, small enough
// for both to stay in a shared cache.
constexpr std::int64_t kRunBytes = std::int64_t{4} << 20;
// On a GPU a run has chunks enough for uploads, kernels and downloads of different ones to overlap.
constexpr std::int64_t kDeviceRunBytes = std::int64_t{64} << 20;
// Caps a run when the user asks for early outputs but pushes much at once: the working set then stays in a private cache.
constexpr std::int64_t kEarlyRunBytes = std::int64_t{256} << 10;
// Wide batches: fewer frames a run would leave each row almost no work.
constexpr std::int64_t kLeastRunFrames = 64;

using core::refuse;

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

// What streams are for: one filtered axis, at its own rate, and rows side by side.
void check_shape(const Problem& problem) {
    if (!problem.axes.empty() || !problem.batch_axes.empty()) {
        throw Error(ErrorCode::unsupported,
                    "axes: a stream has one filtered axis and rows side by side; give length, taps and batch");
    }
    if (problem.up != 1 || problem.down != 1 || problem.dilation != 1) {
        throw Error(ErrorCode::unsupported, "up, down, dilation: a stream's are 1 in this version");
    }
}

// The counterpart of the stream among whole-signal problems: the same but for its layout, which is frame by frame.
Problem interleaved(Problem problem) {
    problem.input_row_stride = 1;
    problem.input_sample_stride = problem.batch;
    problem.output_row_stride = 1;
    problem.output_sample_stride = problem.batch;
    return problem;
}

Plan plan_of(const Problem& problem, const void* taps, PlanOptions options) {
    if (options.device == "auto") { options.device = "cpu"; }
    check_shape(problem);
    if (taps == nullptr) { refuse("taps: a null pointer; give a buffer of the problem's taps"); }
    return Plan(core::make_state(interleaved(problem), taps, options, true));
}

// What the bits of the outputs depend on: the CPU's instruction set, or the GPU's model.
std::string machine_of(const Plan& plan) {
    if (plan.state().executable->takes_host_memory()) { return cpu_target(); }
    const DeviceInfo device = core::engine_for(plan.device()).info().devices.front();
    return device.instruction_set + " " + plan.state().executable->describe();
}

std::uint64_t hash_taps(const core::Resolved& r, const void* taps) {  // in the caller's layout, without what lies between filters
    const std::size_t row_bytes = static_cast<std::size_t>(r.x.k) * size_of(r.taps_dtype);
    const std::int64_t stride = r.batch.taps_stride;
    std::uint64_t hash = 0;
    for (std::int64_t row = 0; row < r.filters; ++row) {
        const std::byte* first =
            static_cast<const std::byte*>(taps) + static_cast<std::size_t>(row * stride) * size_of(r.taps_dtype);
        hash = core::hash_bytes(first, row_bytes, hash);
    }
    return hash;
}

// Outputs of a run: `trigger` of them start one, `most` are the largest one. Multiples of the granularity.
struct RunFrames {
    std::int64_t trigger;
    std::int64_t most;
};

RunFrames run_frames_of(const core::PlanState& plan, std::int64_t samples_per_run) {
    if (samples_per_run < 0) { refuse("samples_per_run: " + std::to_string(samples_per_run) + "; give 0 (the default) or more"); }
    const core::Resolved& r = plan.resolved;
    const std::int64_t unit = plan.executable->granularity();
    const auto frame_bytes = r.batch.length * static_cast<std::int64_t>(std::max(size_of(r.dtype), size_of(r.output_dtype)));
    if (samples_per_run > 0) {
        const std::int64_t asked = std::min((samples_per_run - 1) / r.batch.length + 1, core::kStreamLimit / 2);
        const std::int64_t trigger = round_up(asked, unit);
        return {trigger, std::max(trigger, round_up(std::max(kEarlyRunBytes / frame_bytes, kLeastRunFrames), unit))};
    }
    // At least as many outputs as a run reads samples before them: what runs read twice then at most doubles their input.
    const std::int64_t window = r.x.k - 1 + plan.executable->lookahead();
    const std::int64_t run_bytes = plan.executable->takes_host_memory() ? kRunBytes : kDeviceRunBytes;
    const std::int64_t frames = round_up(std::max({run_bytes / frame_bytes, kLeastRunFrames, window}), unit);
    return {frames, frames};
}

}  // namespace

struct Stream::State {
    State(const Problem& problem, const void* taps, const StreamOptions& options);

    void take_tail(const StreamOptions& options);
    void check_usable() const;
    void run_ready();
    void run(std::byte* out, std::int64_t count);
    [[nodiscard]] core::Input input_for(std::int64_t count) const;
    [[nodiscard]] bool complete() const { return received == n; }
    [[nodiscard]] std::int64_t outputs() const { return core::output_length_of(resolved().mode, n, resolved().x.k); }
    [[nodiscard]] std::int64_t keep_from() const {
        return complete() && computed == outputs() ? received : schedule.keep_from(received, computed);
    }
    [[nodiscard]] core::FrameHistory new_history() const;
    [[nodiscard]] core::FrameHistory new_head() const { return {in_frame, schedule.head_frames()}; }
    [[nodiscard]] core::OutputQueue new_queue() const;
    [[nodiscard]] core::StreamIdentity identity() const;
    void check_counters(const core::StreamCounters& counters) const;
    void accept(const std::byte* in, std::int64_t frames);
    [[nodiscard]] const core::Resolved& resolved() const { return plan.state().resolved; }

    // Any failure while frames are being taken in or computed is final: some of them may be in, others not.
    template <class Body>
    void guarded(const Body& body) {
        try {
            body();
        } catch (const std::bad_alloc&) {
            failure = "an allocation failed";
            throw Error(ErrorCode::memory,
                        "stream: an allocation failed; free memory or push smaller chunks and take outputs between");
        } catch (const std::exception& error) {
            failure = error.what();
            throw;
        }
    }

    Plan plan;
    std::string instruction_set;
    core::StreamSchedule schedule;
    std::size_t in_frame;   ///< bytes
    std::size_t out_frame;  ///< bytes
    RunFrames run_frames;
    std::uint64_t taps_hash;
    std::uint64_t tail_hash = 0;
    std::int64_t expected;  ///< the length if known from the problem or the tail, else kUnknownLength
    std::int64_t n;         ///< `expected`; after flush() the length
    core::AlignedBytes workspace;
    core::AlignedBytes tail;       ///< Boundary::wrap: the signal's last samples
    std::int64_t tail_frames = 0;  ///< in `tail`
    std::int64_t shortest = 1;     ///< a signal has at least this many samples

    core::FrameHistory history;  ///< ends at `received`
    core::FrameHistory head;     ///< Boundary::wrap: the signal's first samples
    core::OutputQueue queue;
    std::int64_t received = 0;
    std::int64_t computed = 0;
    bool flushed = false;
    std::string failure;
};

Stream::State::State(const Problem& problem, const void* taps, const StreamOptions& options)
    : plan(plan_of(problem, taps, options.plan)),
      instruction_set(machine_of(plan)),
      schedule(resolved(), plan.state().executable->granularity(), plan.state().executable->lookahead()),
      in_frame(static_cast<std::size_t>(resolved().batch.length) * size_of(resolved().dtype)),
      out_frame(static_cast<std::size_t>(resolved().batch.length) * size_of(resolved().output_dtype)),
      run_frames(run_frames_of(plan.state(), options.samples_per_run)),
      taps_hash(hash_taps(resolved(), taps)),
      expected(resolved().x.n),
      n(expected),
      workspace(core::allocate_frames(plan.state().executable->host_workspace_bytes())),
      history(new_history()),
      head(new_head()),
      queue(new_queue()) {
    take_tail(options);
}

void Stream::State::take_tail(const StreamOptions& options) {
    const std::int64_t frames = options.tail_frames;
    const std::int64_t origin = resolved().x.origin;
    if (frames < 0) { refuse("tail_frames: " + std::to_string(frames) + "; give 0 or more"); }
    if (frames > 0 && options.tail == nullptr) { refuse("tail: a null pointer; give tail_frames frames"); }
    if (resolved().x.boundary != Boundary::wrap) {
        if (frames > 0) { refuse("tail: only boundary wrap reads it; leave it out or set boundary to wrap"); }
        return;
    }
    if (origin > 0 && frames == 0) {
        refuse("tail: missing; boundary wrap reads the signal's end first: give its last " + std::to_string(origin) +
               " frames or the whole signal");
    }
    if (expected != kUnknownLength && (frames > expected || (frames < origin && frames < expected))) {
        refuse("tail_frames: " + std::to_string(frames) + "; give the signal's last " + std::to_string(std::min(origin, expected)) +
               " frames, at most " + std::to_string(expected));
    }
    shortest = std::max<std::int64_t>(frames, 1);
    if (frames < origin) { n = expected = frames; }  // the tail is the whole signal
    tail_frames = std::min(frames, std::max<std::int64_t>(origin, 0));
    const std::size_t bytes = static_cast<std::size_t>(tail_frames) * in_frame;
    tail = core::allocate_frames(bytes);
    const std::byte* from = static_cast<const std::byte*>(options.tail) + static_cast<std::size_t>(frames - tail_frames) * in_frame;
    std::copy_n(from, bytes, tail.get());
    tail_hash = core::hash_bytes(tail.get(), bytes);
}

// A run needs `most_kept` samples before its own. Where runs are shorter than that, the room of one more makes moving the
// history back rare.
core::FrameHistory Stream::State::new_history() const {
    const std::int64_t kept = schedule.most_kept();
    const std::int64_t frames = kept + run_frames.most + (run_frames.most < kept ? kept : 0);
    return {in_frame, n == kUnknownLength ? frames : std::min(frames, n)};
}

core::OutputQueue Stream::State::new_queue() const {
    return {out_frame, n == kUnknownLength ? run_frames.most : std::min(run_frames.most, outputs())};
}

void Stream::State::check_usable() const {
    if (!failure.empty()) {
        throw Error(ErrorCode::argument, "stream: failed before (" + failure + "); restore a saved state or make a new stream");
    }
}

// Where outputs [computed, computed + count) find their samples. No run needs the head and the tail: one that reads positions
// before the signal has the history from its first sample on, which holds the whole signal if it reads positions past it, too.
core::Input Stream::State::input_for(std::int64_t count) const {
    const auto piece = [&](const std::byte* frames, std::int64_t first, std::int64_t last) {
        return core::Piece{.data = frames, .first = first, .last = last, .batch_stride = 1, .stride = resolved().batch.length};
    };
    core::Input input{
        .main = piece(history.data(), history.first(), received), .extra = {}, .n = n == kUnknownLength ? core::kFarLength : n};
    if (resolved().x.boundary != Boundary::wrap) { return input; }
    const auto window = schedule.window(computed, computed + count);
    if (window.last > input.n) {
        input.extra = piece(head.data(), 0, head.last());
    } else if (window.first < 0) {
        input.extra = piece(tail.get(), input.n - tail_frames, input.n);
    }
    return input;
}

void Stream::State::run(std::byte* out, std::int64_t count) {
    const core::Output output{.data = out, .first = computed, .count = count, .batch_stride = 1, .stride = resolved().batch.length};
    const core::Executable& executable = *plan.state().executable;
    executable.execute_host(output, input_for(count), {workspace.get(), executable.host_workspace_bytes()});
}

void Stream::State::run_ready() {
    const std::int64_t ready = schedule.ready(received, computed, n);
    const std::int64_t unit = schedule.granularity();
    while (ready - computed >= run_frames.trigger || (complete() && computed < ready)) {
        std::int64_t room = 0;
        std::int64_t count = std::min(ready - computed, run_frames.most);
        std::byte* out = queue.reserve(std::min(count, unit), &room);
        if (room < count) { count = room / unit * unit; }
        run(out, count);
        queue.commit(count);
        computed += count;
    }
    history.discard_before(keep_from());
    history.settle(run_frames.most);
}

void Stream::State::accept(const std::byte* in, std::int64_t frames) {
    const std::int64_t missing = schedule.head_frames() - head.last();
    if (missing > 0) { head.append(in, std::min(missing, frames)); }
    while (frames > 0) {
        // Just enough for the next run, so that the history holds one run and what it reads before it.
        const std::int64_t wanted = schedule.samples_for(computed, computed + run_frames.most) - received;
        const std::int64_t part = std::min({frames, history.room(), wanted > 0 ? wanted : frames});
        history.append(in, part);
        received += part;
        in += static_cast<std::size_t>(part) * in_frame;
        frames -= part;
        run_ready();
    }
}

core::StreamIdentity Stream::State::identity() const {
    return {.version = version(),
            .instruction_set = instruction_set,
            .algorithm = plan.algorithm(),
            .description = plan.state().executable->describe(),
            .problem = core::hash_problem(plan.problem()),
            .taps = taps_hash,
            .tail = tail_hash};
}

// What no sequence of pushes can lead to is refused.
void Stream::State::check_counters(const core::StreamCounters& c) const {
    const bool done = c.flushed == 1;
    const std::int64_t length = done ? c.received : expected;
    bool good = c.flushed <= 1 && c.received <= core::kStreamLimit && c.taken <= c.computed;
    good = good && (expected == kUnknownLength || (done ? c.received == expected : c.received <= expected));
    good = good && (!done || c.received >= shortest);
    const std::int64_t ready = good ? schedule.ready(c.received, 0, length) : 0;
    const bool whole_blocks = c.computed % schedule.granularity() == 0 || (c.received == length && c.computed == ready);
    good = good && c.computed <= ready && whole_blocks && (!done || (c.computed == ready && ready > 0));
    const bool nothing_left = c.received == length && c.computed == ready;
    good = good && (nothing_left || c.history_first <= schedule.keep_from(c.received, c.computed));
    good = good && c.head == std::min(c.received, schedule.head_frames());
    if (!good) { refuse("state: its counters contradict each other; give bytes that Stream::save() returned"); }
}

Stream::Stream(const Problem& problem, const void* taps, const StreamOptions& options) {
    try {
        state_ = std::make_unique<State>(problem, taps, options);
    } catch (const std::bad_alloc&) {
        throw Error(ErrorCode::memory, "stream: the workspace could not be allocated; use fewer taps or threads");
    }
}

Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;

void Stream::push(const void* in, std::int64_t frames) {
    State& s = *state_;
    s.check_usable();
    if (s.flushed) { refuse("push: after flush(); make a new stream for another signal"); }
    if (frames < 0) { refuse("frames: " + std::to_string(frames) + "; give 0 or more"); }
    if (frames == 0) { return; }
    if (in == nullptr) { refuse("in: a null pointer; give " + std::to_string(frames) + " frames"); }
    if (s.expected != kUnknownLength && frames > s.expected - s.received) {
        refuse("frames: " + std::to_string(frames) + " after " + std::to_string(s.received) + " of " + std::to_string(s.expected) +
               (s.resolved().x.n == kUnknownLength ? "; a tail shorter than the origin must be the whole signal"
                                                   : "; push no more than the problem's length, or give kUnknownLength"));
    }
    if (frames > core::kStreamLimit - s.received) { refuse("frames: more than 2^59 in all; start a new stream"); }
    s.guarded([&] { s.accept(static_cast<const std::byte*>(in), frames); });
}

void Stream::flush() {
    State& s = *state_;
    s.check_usable();
    if (s.flushed) { return; }
    if (s.expected != kUnknownLength && s.received != s.expected) {
        refuse("flush: " + std::to_string(s.received) + " of " + std::to_string(s.expected) +
               " frames were pushed; push the rest, or give kUnknownLength for the length");
    }
    if (s.received < s.shortest) {
        refuse("flush: " + std::to_string(s.received) + " frames were pushed; the signal needs at least " +
               std::to_string(s.shortest) + (s.shortest > 1 ? ", the length of its tail" : ""));
    }
    const core::Resolved& r = s.resolved();
    if (core::output_length_of(r.mode, s.received, r.x.k) < 1) {
        refuse("taps: " + std::to_string(r.x.k) + " taps are longer than the signal's " + std::to_string(s.received) +
               " frames, so mode valid has no output; use mode full, same or causal");
    }
    s.guarded([&] {
        s.n = s.received;
        s.run_ready();
        s.flushed = true;
    });
}

std::int64_t Stream::available() const noexcept { return state_->queue.size(); }

std::int64_t Stream::take(void* out, std::int64_t max_frames) {
    State& s = *state_;
    if (max_frames < 0) { refuse("max_frames: " + std::to_string(max_frames) + "; give 0 or more"); }
    if (max_frames == 0 || s.queue.size() == 0) { return 0; }
    if (out == nullptr) { refuse("out: a null pointer; give room for " + std::to_string(max_frames) + " frames"); }
    return s.queue.take(static_cast<std::byte*>(out), max_frames);
}

std::vector<std::byte> Stream::save() const {
    const State& s = *state_;
    s.check_usable();
    const std::int64_t keep = s.keep_from();
    const core::StreamCounters counters{.received = s.received,
                                        .computed = s.computed,
                                        .taken = s.computed - s.queue.size(),
                                        .flushed = s.flushed ? 1 : 0,
                                        .history_first = keep,
                                        .head = s.head.last()};
    const auto history = s.history.from(keep);
    const auto head = s.head.from(0);
    try {
        const std::size_t payload = history.size() + head.size() + static_cast<std::size_t>(s.queue.size()) * s.out_frame;
        core::StreamStateWriter writer(s.identity(), counters, payload);
        writer.bytes().insert(writer.bytes().end(), history.begin(), history.end());
        writer.bytes().insert(writer.bytes().end(), head.begin(), head.end());
        s.queue.copy_to(writer.bytes());
        return writer.finish();
    } catch (const std::bad_alloc&) {
        throw Error(ErrorCode::memory, "save: the state could not be allocated; take the waiting outputs first");
    }
}

void Stream::restore(std::span<const std::byte> state) {
    State& s = *state_;
    const core::StreamStateView view = core::parse_stream_state(state, s.identity(), s.in_frame, s.out_frame);
    const core::StreamCounters& c = view.counters;
    s.check_counters(c);
    core::FrameHistory history = s.new_history();
    core::FrameHistory head = s.new_head();
    core::OutputQueue queue = s.new_queue();
    try {
        history.restart(c.history_first);
        history.append(view.history.data(), c.received - c.history_first);
        head.append(view.head.data(), c.head);
        queue.append(view.waiting.data(), c.computed - c.taken);
    } catch (const std::bad_alloc&) {
        throw Error(ErrorCode::memory, "restore: the state's samples could not be allocated; the stream is unchanged");
    }
    s.history = std::move(history);
    s.head = std::move(head);
    s.queue = std::move(queue);
    s.received = c.received;
    s.computed = c.computed;
    s.flushed = c.flushed == 1;
    s.n = s.flushed ? c.received : s.expected;
    s.failure.clear();
}

std::int64_t Stream::frames_in() const noexcept { return state_->received; }
std::int64_t Stream::frames_out() const noexcept { return state_->computed - state_->queue.size(); }

std::int64_t Stream::latency_frames() const noexcept {
    return state_->schedule.latency(state_->run_frames.trigger, state_->expected != kUnknownLength);
}

const Plan& Stream::plan() const noexcept { return state_->plan; }

}  // namespace tapline
