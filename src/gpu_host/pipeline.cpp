#include "gpu_host/pipeline.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "core/stream/stream_schedule.hpp"
#include "gpu_host/chunks.hpp"
#include "gpu_host/copy.hpp"
#include "gpu_host/memory.hpp"
#include "gpu_host/problem.hpp"

namespace tapline::gpu_host {
namespace {

// Thrown in one half of the pipeline when the other one, or another pipeline of the same call, has failed.
struct OtherHalfFailed {};

std::byte* at(void* base, std::int64_t bytes) { return static_cast<std::byte*>(base) + bytes; }

// One run. feed() copies in, uploads and launches; drain() downloads and copies out; they run at the same time and wait for each
// other only through progress_. On the device three streams wait for each other through the slots' events:
//
//     upload     in(0) in(1) ...      waits for `computed` of the chunk that had the slot before
//     compute          run(0) ...     waits for `uploaded`, and for `downloaded` of the chunk that had the slot before
//     download               out(0)   waits for `computed`
class Pipeline {
public:
    Pipeline(const PipelineTask& task, const core::Resolved& problem, const core::Output& output, const core::Input& input,
             const Chunks& chunks, PipelineMemory& memory)
        : task_(task),
          problem_(problem),
          api_(*task.api),
          output_(output),
          input_(input),
          chunks_(chunks),
          memory_(memory),
          elements_(position_elements(*task.problem)),
          in_bytes_(static_cast<std::int64_t>(size_of(task.problem->dtype))),
          out_bytes_(static_cast<std::int64_t>(size_of(task.problem->output_dtype))) {}

    void run() {
        if (chunks_.count() == 1) {  // nothing to overlap: no output is there before all of the input was uploaded
            half([&] { feed(task_.threads); });
            half([&] { drain(task_.threads); });
        } else {
            const int threads = std::max(task_.threads / 2, 1);
            std::optional<std::thread> drainer;
            half([&] { drainer.emplace([this, threads] { half([&] { drain(threads); }); }); });
            half([&] { feed(threads); });
            if (drainer) { drainer->join(); }
        }
        if (failure_ || stopped_) { settle(); }
        if (failure_) { std::rethrow_exception(failure_); }
    }

private:
    template <class Body>
    void half(const Body& body) {
        try {
            {
                const std::lock_guard lock(mutex_);
                if (must_stop()) { throw OtherHalfFailed(); }
            }
            body();
        } catch (const OtherHalfFailed&) {  // whose exception is the one to tell
            stop_both({});
        } catch (...) {
            if (task_.stop != nullptr) { *task_.stop = true; }
            stop_both(std::current_exception());
        }
    }

    void stop_both(std::exception_ptr failure) {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        if (!failure_) { failure_ = std::move(failure); }
        changed_.notify_all();
    }

    // With the lock.
    [[nodiscard]] bool must_stop() const { return stopped_ || (task_.stop != nullptr && *task_.stop); }

    void record(const EventHandle& event, const StreamHandle& stream) {
        call(api_.record, task_.device, event.get(), stream.get());
    }
    void wait(const StreamHandle& stream, const EventHandle& event) { call(api_.wait, task_.device, stream.get(), event.get()); }
    void synchronize(const EventHandle& event) { call(api_.synchronize, task_.device, event.get()); }
    void copy(void* to, const void* from, std::int64_t bytes, const StreamHandle& stream) {
        call(api_.copy, task_.device, to, from, bytes, stream.get());
    }

    // Progress of the two halves, in chunks.
    void publish(std::int64_t& progress, std::int64_t value) {
        const std::lock_guard lock(mutex_);
        progress = value;
        changed_.notify_all();
    }
    void await(const std::int64_t& progress, std::int64_t value) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return must_stop() || progress >= value; });
        if (must_stop()) { throw OtherHalfFailed(); }
    }
    bool reached(const std::int64_t& progress, std::int64_t value) {
        const std::lock_guard lock(mutex_);
        if (must_stop()) { throw OtherHalfFailed(); }
        return progress >= value;
    }

    DeviceSlot& slot_of(std::int64_t chunk) { return memory_.slots[static_cast<std::size_t>(chunk % chunks_.slots)]; }

    Chunk chunk(std::int64_t index) const {
        Chunk c = chunk_at(chunks_, problem_, output_, input_, index);
        c.item += task_.first_item;
        return c;
    }

    void feed(int threads) {
        for (std::int64_t index = 0; index < chunks_.count(); ++index) {
            DeviceSlot& slot = slot_of(index);
            const Chunk c = chunk(index);
            const bool reused = index >= chunks_.slots;
            if (reused) { wait(memory_.upload, slot.computed); }
            upload(c, slot, threads);
            record(slot.uploaded, memory_.upload);
            wait(memory_.compute, slot.uploaded);
            if (reused) {
                await(downloads_, index - chunks_.slots + 1);
                wait(memory_.compute, slot.downloaded);
            }
            launch(c, slot);
            record(slot.computed, memory_.compute);
            publish(launched_, index + 1);
        }
    }

    void upload(const Chunk& c, const DeviceSlot& slot, int threads) {
        const PackedPiece all{c.item, c.items, c.in_first * elements_.in, (c.in_last - c.in_first) * elements_.in};
        for_each_piece(all, static_cast<std::size_t>(in_bytes_), memory_.piece_bytes, [&](const PackedPiece& piece) {
            const auto turn = static_cast<std::size_t>(uploaded_pieces_ % memory_.in_pieces.size());
            const PinnedPiece& pinned = memory_.in_pieces[turn];
            if (uploaded_pieces_ >= memory_.in_pieces.size()) { synchronize(pinned.done); }
            reached(launched_, 0);  // stops here if the other half has failed
            gather_piece(pinned.bytes.get(), *task_.problem, input_, piece, threads);
            copy(at(slot.in.get(), offset_in(all, piece) * in_bytes_), pinned.bytes.get(), piece.items * piece.count * in_bytes_,
                 memory_.upload);
            record(pinned.done, memory_.upload);
            ++uploaded_pieces_;
        });
    }

    void launch(const Chunk& c, const DeviceSlot& slot) {
        // A stream's length that is not known yet is far away; what is near is all that this chunk can ask about.
        const bool far = input_.n >= core::kFarLength;
        const cuda_abi::Job job{.out = slot.out.get(),
                                .first = c.first,
                                .count = c.count,
                                .out_batch = c.count * elements_.out,
                                .out_stride = elements_.out,
                                .in = slot.in.get(),
                                .in_first = c.in_first,
                                .in_last = c.in_last,
                                .in_batch = (c.in_last - c.in_first) * elements_.in,
                                .in_stride = elements_.in,
                                .batch_first = task_.set * task_.problem->batch.length + c.item,
                                .batch = c.items,
                                .n = far ? std::max<std::int64_t>(c.in_last, 1) : input_.n,
                                .packed = 1};
        call(api_.execute, task_.prepared, &job, memory_.workspace.get(), memory_.workspace_bytes, memory_.compute.get());
    }

    struct Download {
        PackedPiece piece;
        std::size_t turn;
    };

    // Downloads run ahead of copying out by as many pieces as there are pinned buffers.
    void drain(int threads) {
        std::deque<Download> pending;
        std::deque<PackedPiece> pieces;  // of the current chunk, not started yet
        std::int64_t next = 0;           // chunk
        while (next < chunks_.count() || !pieces.empty() || !pending.empty()) {
            if (pieces.empty() && next < chunks_.count()) {
                if (pending.empty()) { await(launched_, next + 1); }
                if (reached(launched_, next + 1)) {
                    const Chunk c = chunk(next);
                    wait(memory_.download, slot_of(next).computed);
                    for_each_piece(outputs_of(c), static_cast<std::size_t>(out_bytes_), memory_.piece_bytes,
                                   [&](const PackedPiece& piece) { pieces.push_back(piece); });
                    ++next;
                }
            }
            if (!pieces.empty() && pending.size() < memory_.out_pieces.size()) {
                pending.push_back(start_download(next - 1, pieces.front()));
                pieces.pop_front();
                if (pieces.empty()) {
                    record(slot_of(next - 1).downloaded, memory_.download);
                    publish(downloads_, next);
                }
                continue;
            }
            if (pending.empty()) { continue; }
            const Download& oldest = pending.front();
            const PinnedPiece& pinned = memory_.out_pieces[oldest.turn];
            synchronize(pinned.done);
            scatter_piece(output_, pinned.bytes.get(), *task_.problem, oldest.piece, threads);
            pending.pop_front();
        }
    }

    Download start_download(std::int64_t index, const PackedPiece& piece) {
        const auto turn = static_cast<std::size_t>(downloaded_pieces_++ % memory_.out_pieces.size());
        const PinnedPiece& pinned = memory_.out_pieces[turn];
        copy(pinned.bytes.get(), at(slot_of(index).out.get(), offset_in(outputs_of(chunk(index)), piece) * out_bytes_),
             piece.items * piece.count * out_bytes_, memory_.download);
        record(pinned.done, memory_.download);
        return {piece, turn};
    }

    PackedPiece outputs_of(const Chunk& c) const { return {c.item, c.items, c.first * elements_.out, c.count * elements_.out}; }

    // Elements before a piece in the packed memory of all that it is part of.
    static std::int64_t offset_in(const PackedPiece& all, const PackedPiece& piece) {
        return (piece.item - all.item) * all.count + (piece.first - all.first);
    }

    // After a failure: what was started must not touch memory that is about to be freed.
    void settle() {
        cuda_abi::Status ignored;
        for (const StreamHandle* stream : {&memory_.upload, &memory_.compute, &memory_.download}) {
            api_.synchronize_stream(task_.device, stream->get(), &ignored);
        }
    }

    const PipelineTask& task_;
    const core::Resolved& problem_;  // with as many items as the chunks are cut from
    const cuda_abi::Api& api_;
    const core::Output& output_;
    const core::Input& input_;
    const Chunks& chunks_;
    PipelineMemory& memory_;
    PositionElements elements_;
    std::int64_t in_bytes_, out_bytes_;  // of an element
    std::size_t uploaded_pieces_ = 0;
    std::size_t downloaded_pieces_ = 0;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::int64_t launched_ = 0;   // chunks whose kernels have been launched
    std::int64_t downloads_ = 0;  // chunks whose downloads have been started
    bool stopped_ = false;
    std::exception_ptr failure_;
};

// Cuts the problem for the memory that is free and reserves it. Other threads and programs may be quicker to take it: then what
// waits in the pool is freed and the chunks become smaller.
Chunks reserve(const PipelineTask& task, const core::Resolved& problem, const core::Output& output, const core::Input& input,
               PipelineMemory& memory) {
    constexpr int kAttempts = 4;
    for (int attempt = 0;; ++attempt) {
        std::int64_t room = task.api->free_bytes(task.device) + memory.device_bytes();
        room -= room / 16;  // allocations are rounded up
        if (attempt > 1) { room >>= attempt - 1; }
        bool cut = false;
        try {
            const Chunks chunks =
                cut_into_chunks(problem, output, input, task.takes_pieces, task.workspace_bytes, room, task.granularity);
            cut = true;
            memory.reserve(chunks, task.workspace_bytes);
            return chunks;
        } catch (const Error& error) {
            const bool final = attempt + 1 == kAttempts || (attempt > 0 && !cut);
            if (error.code() != ErrorCode::memory || final) { throw; }
        }
        memory.drop_device_memory();
        drop_idle_pipeline_memory(task.device);
    }
}

}  // namespace

void run_pipeline(const PipelineTask& task, const core::Output& output, const core::Input& input) {
    try {
        core::Resolved problem = *task.problem;
        if (task.items > 0) { problem.batch.length = task.items; }
        std::unique_ptr<PipelineMemory> memory = take_pipeline_memory(*task.api, task.device);
        const Chunks chunks = reserve(task, problem, output, input, *memory);
        Pipeline(task, problem, output, input, chunks, *memory).run();
        give_back(std::move(memory));
    } catch (const Error& error) {
        // After a reset of the device nothing that was kept is valid.
        if (error.code() == ErrorCode::device) { drop_idle_pipeline_memory(task.device); }
        throw;
    } catch (const std::system_error& error) {
        throw Error(ErrorCode::memory,
                    std::string("threads: none could be started (") + error.what() + "); end some and try again");
    } catch (const std::bad_alloc&) {
        throw Error(ErrorCode::memory, "memory: an allocation failed while copying to or from the GPU");
    }
}

}  // namespace tapline::gpu_host
