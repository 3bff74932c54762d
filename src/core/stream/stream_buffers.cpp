#include "core/stream/stream_buffers.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tapline::core {

namespace {

// Below this a history starts with its whole target; above, it doubles, because many streams stay far shorter than the
// target of a long filter.
constexpr std::size_t kFirstBytes = std::size_t{1} << 20;

}  // namespace

AlignedBytes allocate_frames(std::size_t bytes) {
    return AlignedBytes(static_cast<std::byte*>(::operator new[](std::max<std::size_t>(bytes, 1), std::align_val_t{kAlignment})));
}

void FrameHistory::move_back() {
    if (offset_ == 0) { return; }
    std::memmove(memory_.get(), data(), bytes(count_));
    offset_ = 0;
}

void FrameHistory::make_room(std::int64_t count) {
    const std::int64_t needed = count_ + count;
    if (offset_ + needed <= capacity_) { return; }
    if (needed <= capacity_ && (capacity_ >= target_ || count_ <= offset_)) {
        move_back();
        return;
    }
    const auto first_frames = static_cast<std::int64_t>(kFirstBytes / frame_bytes_);
    const std::int64_t grown = std::max(needed, std::min(target_, std::max(first_frames, 2 * capacity_)));
    AlignedBytes memory = allocate_frames(bytes(grown));
    if (count_ > 0) { std::memcpy(memory.get(), data(), bytes(count_)); }
    memory_ = std::move(memory);
    capacity_ = grown;
    offset_ = 0;
}

void FrameHistory::settle(std::int64_t next) {
    if (offset_ >= count_ && offset_ + count_ + next > capacity_) { move_back(); }
}

void FrameHistory::append(const void* frames, std::int64_t count) {
    if (count == 0) { return; }
    make_room(count);
    std::memcpy(memory_.get() + bytes(offset_ + count_), frames, bytes(count));
    count_ += count;
}

void FrameHistory::discard_before(std::int64_t first) {
    const std::int64_t gone = std::clamp<std::int64_t>(first - first_, 0, count_);
    first_ += gone;
    count_ -= gone;
    offset_ = count_ == 0 ? 0 : offset_ + gone;
}

void FrameHistory::restart(std::int64_t first) {
    first_ = first;
    count_ = 0;
    offset_ = 0;
}

std::span<const std::byte> FrameHistory::from(std::int64_t frame) const {
    const std::int64_t skipped = std::clamp<std::int64_t>(frame - first_, 0, count_);
    if (skipped == count_) { return {}; }
    return {data() + bytes(skipped), bytes(count_ - skipped)};
}

std::byte* OutputQueue::reserve(std::int64_t least, std::int64_t* room) {
    if (blocks_.empty() || block_frames_ - blocks_.back().end < least) {
        Block block;
        block.memory = spare_ ? std::move(spare_) : allocate_frames(bytes(block_frames_));
        blocks_.push_back(std::move(block));
    }
    Block& block = blocks_.back();
    *room = block_frames_ - block.end;
    return block.memory.get() + bytes(block.end);
}

void OutputQueue::commit(std::int64_t frames) {
    blocks_.back().end += frames;
    size_ += frames;
}

std::int64_t OutputQueue::take(std::byte* out, std::int64_t max_frames) {
    std::int64_t taken = 0;
    while (taken < max_frames && size_ > 0) {
        Block& block = blocks_.front();
        const std::int64_t part = std::min(max_frames - taken, block.end - block.begin);
        if (part > 0) { std::memcpy(out + bytes(taken), block.memory.get() + bytes(block.begin), bytes(part)); }
        block.begin += part;
        taken += part;
        size_ -= part;
        if (block.begin == block.end) {
            if (!spare_) { spare_ = std::move(block.memory); }
            blocks_.pop_front();
        }
    }
    return taken;
}

void OutputQueue::append(const std::byte* frames, std::int64_t count) {
    while (count > 0) {
        std::int64_t room = 0;
        std::byte* to = reserve(1, &room);
        const std::int64_t part = std::min(room, count);
        std::memcpy(to, frames, bytes(part));
        commit(part);
        frames += bytes(part);
        count -= part;
    }
}

void OutputQueue::copy_to(std::vector<std::byte>& out) const {
    for (const Block& block : blocks_) {
        out.insert(out.end(), block.memory.get() + bytes(block.begin), block.memory.get() + bytes(block.end));
    }
}

}  // namespace tapline::core
