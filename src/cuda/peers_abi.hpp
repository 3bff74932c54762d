// The door for several GPUs of one process: copies between devices. A table of its own beside abi.hpp's, so that what only the host
// needs does not concern the kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/abi.hpp"

namespace tapline::cuda_abi {

inline constexpr std::uint32_t kPeersVersion = 1;
inline constexpr const char* kPeersEntryName = "tapline_cuda_peers_entry";  // const Peers* (*)(std::uint32_t caller's version)

/// `rows` runs of `bytes` bytes from one device's memory to another's, or the same one's; pitches from one run to the next.
struct PeerCopy {
    std::int32_t to_device = 0, from_device = 0;
    void* to = nullptr;
    const void* from = nullptr;
    std::int64_t to_pitch = 0, from_pitch = 0;
    std::int64_t bytes = 0, rows = 1;
};

/// As those of Api: false or null with the status filled if something failed.
struct Peers {
    std::uint32_t version;
    std::uint32_t bytes;  ///< of this table
    /// From now on `device` reaches the memory of `other` without the host, where the machine can: *direct says whether.
    /// TAPLINE_CUDA_PEER_ACCESS=0 in the environment: never.
    bool (*reach)(std::int32_t device, std::int32_t other, std::int32_t* direct, Status*);
    /// On a stream of to_device; by way of the host where the devices do not reach each other.
    bool (*copy)(const PeerCopy*, Stream*, Status*);
    /// A stream whose kernels go before those of other streams. Freed as others.
    Stream* (*make_urgent_stream)(std::int32_t device, Status*);
};

using PeersEntry = const Peers* (*)(std::uint32_t);

}  // namespace tapline::cuda_abi
