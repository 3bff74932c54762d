// Where a stream keeps frames: the history that future outputs read, and the queue of finished outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/plan/host_memory.hpp"

namespace tapline::core {

/// Uninitialised memory: pages that nobody writes are never touched. Throws std::bad_alloc.
AlignedBytes allocate_frames(std::size_t bytes);

/// Frames [first(), last()) of a signal, contiguous in memory, growing at the end and discarded at the start. The contents
/// slide towards the buffer's end and move back when they reach it.
class FrameHistory {
public:
    /// The buffer grows by doubling until it holds `target_frames`, and beyond only if one append needs more.
    FrameHistory(std::size_t frame_bytes, std::int64_t target_frames) : frame_bytes_(frame_bytes), target_(target_frames) {}

    void append(const void* frames, std::int64_t count);
    /// Forgets every frame before `first`, which is at most last().
    void discard_before(std::int64_t first);
    /// Call after discarding, when about `next` frames will be appended before the next discarding: if they do not fit behind
    /// the live ones, moves those back now that they are few. Moves at most as many frames as have been discarded.
    void settle(std::int64_t next);
    /// Empties it; the next frame appended is `first`.
    void restart(std::int64_t first);

    [[nodiscard]] std::int64_t first() const { return first_; }
    [[nodiscard]] std::int64_t last() const { return first_ + count_; }
    /// Frame first(); null before the first append.
    [[nodiscard]] const std::byte* data() const { return memory_ ? memory_.get() + bytes(offset_) : nullptr; }
    [[nodiscard]] std::span<const std::byte> from(std::int64_t frame) const;
    /// Frames that fit without exceeding the target: at least 1.
    [[nodiscard]] std::int64_t room() const { return target_ > count_ ? target_ - count_ : 1; }
    [[nodiscard]] std::int64_t capacity() const { return capacity_; }

private:
    [[nodiscard]] std::size_t bytes(std::int64_t frames) const { return static_cast<std::size_t>(frames) * frame_bytes_; }
    void make_room(std::int64_t count);
    void move_back();

    std::size_t frame_bytes_;
    std::int64_t target_;
    AlignedBytes memory_;
    std::int64_t capacity_ = 0;
    std::int64_t offset_ = 0;  ///< of frame first_ in memory_
    std::int64_t first_ = 0;
    std::int64_t count_ = 0;
};

/// Finished outputs waiting to be taken: a list of blocks of equal size, so that it grows without copying. Emptied blocks are
/// reused while their pages are warm.
class OutputQueue {
public:
    OutputQueue(std::size_t frame_bytes, std::int64_t block_frames) : frame_bytes_(frame_bytes), block_frames_(block_frames) {}

    /// Address for the next frames; `*room` (>= `least`, which is at most the block size) says how many fit there.
    std::byte* reserve(std::int64_t least, std::int64_t* room);
    /// The first `frames` of the reserved ones are finished.
    void commit(std::int64_t frames);

    std::int64_t take(std::byte* out, std::int64_t max_frames);
    [[nodiscard]] std::int64_t size() const { return size_; }
    void append(const std::byte* frames, std::int64_t count);
    /// Appends all waiting frames to `out` without removing them.
    void copy_to(std::vector<std::byte>& out) const;

private:
    struct Block {
        AlignedBytes memory;
        std::int64_t begin = 0;
        std::int64_t end = 0;
    };
    [[nodiscard]] std::size_t bytes(std::int64_t frames) const { return static_cast<std::size_t>(frames) * frame_bytes_; }

    std::size_t frame_bytes_;
    std::int64_t block_frames_;
    std::deque<Block> blocks_;
    AlignedBytes spare_;
    std::int64_t size_ = 0;
};

}  // namespace tapline::core
