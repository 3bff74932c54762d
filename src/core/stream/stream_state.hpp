// The saved state of a stream as bytes.
//
// All integers little-endian, lengths before contents:
//   magic (8 bytes), format version u32, byte order mark u32 (in the machine's order: samples are stored as they are)
//   library version, instruction set, algorithm and its description: u32 length and text each
//   hashes of problem, taps and tail: u64 each
//   counters: i64 each, in the order of StreamCounters
//   history samples, head samples, waiting outputs: the bytes that the counters announce
//   hash of all of the above: u64
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tapline/problem.hpp"

namespace tapline::core {

/// Order-dependent 64-bit hash; detects accidents, not attacks.
std::uint64_t hash_bytes(const void* bytes, std::size_t count, std::uint64_t seed = 0);

/// Every field that changes results. Strides are not among them: a stream ignores them.
std::uint64_t hash_problem(const Problem& problem);

/// What a state must have in common with the stream into which it is restored.
struct StreamIdentity {
    std::string version;
    std::string instruction_set;
    std::string algorithm;
    std::string description;
    std::uint64_t problem = 0;
    std::uint64_t taps = 0;
    std::uint64_t tail = 0;
};

struct StreamCounters {
    std::int64_t received = 0;       ///< frames pushed
    std::int64_t computed = 0;       ///< outputs computed
    std::int64_t taken = 0;          ///< outputs taken; computed - taken are waiting
    std::int64_t flushed = 0;        ///< 0 or 1
    std::int64_t history_first = 0;  ///< the history holds samples [history_first, received)
    std::int64_t head = 0;           ///< samples of the head
};

/// A parsed state; the spans point into the bytes that were parsed.
struct StreamStateView {
    StreamCounters counters;
    std::span<const std::byte> history;
    std::span<const std::byte> head;
    std::span<const std::byte> waiting;
};

class StreamStateWriter {
public:
    StreamStateWriter(const StreamIdentity& identity, const StreamCounters& counters, std::size_t payload_bytes);
    /// History, head, waiting outputs.
    [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }
    /// Appends the hash and hands the state over.
    std::vector<std::byte> finish();

private:
    std::vector<std::byte> bytes_;
};

/// Checks the hash, the identity and the sizes; the counters' own consistency is the caller's. Throws Error (argument).
StreamStateView parse_stream_state(std::span<const std::byte> bytes, const StreamIdentity& identity, std::size_t in_frame_bytes,
                                   std::size_t out_frame_bytes);

}  // namespace tapline::core
