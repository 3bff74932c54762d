#include "cli/convolve/pipeline.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

#include "cli/convolve/bounded_queue.hpp"
#include "cli/convolve/buffer_pool.hpp"

namespace tapline::cli {
namespace {

// One item being worked on, two waiting: enough to overlap, little memory.
constexpr std::size_t kQueued = 2;

struct Written {
    Bytes data;
    std::int64_t frames = 0;
};

class Feeder {
public:
    Feeder(io::Reader& reader, const Cutting& cutting, BoundedQueue<Chunk>& queue, BufferPool& pool)
        : reader_(reader),
          layout_(cutting.layout),
          cutting_(cutting),
          queue_(queue),
          pool_(pool),
          channels_(reader.info().channels),
          frame_bytes_(static_cast<std::size_t>(layout_.inner) * size_of(reader.info().dtype)) {}

    void run() {
        if (cutting_.blocks_per_chunk > 0) {
            send_whole_blocks();
            return;
        }
        for (std::int64_t block = 0; block < layout_.outer; ++block) {
            if (cutting_.tail_frames > 0 && !send_tail(block)) return;
            if (!send_block(block)) return;
        }
    }

private:
    // Frames here are the layout's; the reader counts in frames of channels_ elements, which divide them.
    Chunk read(std::int64_t frames) {
        Chunk chunk;
        chunk.data = pool_.take(static_cast<std::size_t>(frames) * frame_bytes_);
        chunk.frames = reader_.read(chunk.data.data(), frames * layout_.inner / channels_) * channels_ / layout_.inner;
        return chunk;
    }

    void send_whole_blocks() {
        std::int64_t blocks = 0;
        for (std::int64_t block = 0; block < layout_.outer; block += blocks) {
            blocks = std::min(cutting_.blocks_per_chunk, layout_.outer - block);
            Chunk chunk = read(blocks * layout_.length);
            chunk.block = block;
            chunk.blocks = blocks;
            chunk.frames = layout_.length;
            chunk.begins_block = chunk.ends_block = true;
            if (!queue_.push(std::move(chunk))) return;
        }
    }

    bool send_tail(std::int64_t block) {
        const std::int64_t frame = layout_.inner / channels_;
        reader_.seek(((block + 1) * layout_.length - cutting_.tail_frames) * frame);
        Chunk chunk = read(cutting_.tail_frames);
        chunk.kind = Chunk::Kind::tail;
        chunk.block = block;
        reader_.seek(block * layout_.length * frame);
        return queue_.push(std::move(chunk));
    }

    bool send_block(std::int64_t block) {
        const bool known = layout_.length != kUnknownLength;
        std::int64_t done = 0;
        for (bool ends = false; !ends;) {
            const std::int64_t wanted =
                known ? std::min(cutting_.frames_per_chunk, layout_.length - done) : cutting_.frames_per_chunk;
            Chunk chunk = read(wanted);
            chunk.block = block;
            chunk.begins_block = done == 0;
            done += chunk.frames;
            ends = chunk.frames < wanted || done == layout_.length;
            chunk.ends_block = ends;
            if (!queue_.push(std::move(chunk))) return false;
        }
        return true;
    }

    io::Reader& reader_;
    const io::Layout layout_;
    const Cutting& cutting_;
    BoundedQueue<Chunk>& queue_;
    BufferPool& pool_;
    std::int64_t channels_;
    std::size_t frame_bytes_;
};

class QueueOutlet final : public Outlet {
public:
    QueueOutlet(BoundedQueue<Written>& queue, BufferPool& pool) : queue_(queue), pool_(pool) {}
    Bytes reserve(std::size_t bytes) override { return pool_.take(bytes); }
    void send(Bytes data, std::int64_t frames) override { open_ = open_ && queue_.push({std::move(data), frames}); }
    [[nodiscard]] bool open() const { return open_; }

private:
    BoundedQueue<Written>& queue_;
    BufferPool& pool_;
    bool open_ = true;
};

// The first exception of several threads.
class Failure {
public:
    void capture() {
        const std::scoped_lock lock(mutex_);
        if (!first_) first_ = std::current_exception();
    }
    void rethrow() const {
        if (first_) std::rethrow_exception(first_);
    }

private:
    std::mutex mutex_;
    std::exception_ptr first_;
};

}  // namespace

void run_pipeline(io::Reader& reader, io::Writer& writer, const Cutting& cutting,
                  const std::function<void(const Chunk& chunk, Outlet& outlet)>& compute) {
    BoundedQueue<Chunk> chunks(kQueued);
    BoundedQueue<Written> outputs(kQueued);
    BufferPool chunk_pool;
    BufferPool output_pool;
    Failure failure;
    const auto guarded = [&](auto&& work) {
        try {
            work();
        } catch (...) {
            failure.capture();
            chunks.cancel();
            outputs.cancel();
        }
    };
    std::thread reading([&] {
        guarded([&] {
            Feeder(reader, cutting, chunks, chunk_pool).run();
            chunks.close();
        });
    });
    std::thread writing([&] {
        guarded([&] {
            while (auto item = outputs.pop()) {
                writer.write(item->data.data(), item->frames);
                output_pool.give(std::move(item->data));
            }
        });
    });
    guarded([&] {
        QueueOutlet outlet(outputs, output_pool);
        while (auto chunk = chunks.pop()) {
            compute(*chunk, outlet);
            if (!outlet.open()) break;
            chunk_pool.give(std::move(chunk->data));
        }
    });
    outputs.close();
    writing.join();
    chunks.cancel();  // a reader that still waits for room after a failure
    reading.join();
    failure.rethrow();
}

}  // namespace tapline::cli
