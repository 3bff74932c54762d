// Copies between the memories of devices.
#include "cuda/peers_abi.hpp"

#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <tuple>

#include "cuda/engine_state.hpp"

namespace tapline::cuda {
namespace {

using cuda_abi::PeerCopy;
using cuda_abi::Status;
using cuda_abi::Stream;

// Larger pitches than this no 2-D copy takes (cudaDevAttrMaxPitch is 2^31 - 1).
constexpr std::int64_t kMostPitch = std::int64_t{1} << 30;

bool is_switched_off() {
    const char* const text = std::getenv("TAPLINE_CUDA_PEER_ACCESS");
    return text != nullptr && std::string_view(text) == "0";
}

// Pairs that reach each other, with the life of the device that does: asking CUDA again would be an error.
class Reached {
public:
    // On the current device.
    bool is_direct(int device, int other) {
        const std::lock_guard lock(mutex_);
        const std::tuple key{device, other, context_id()};
        const auto found = known_.find(key);
        if (found != known_.end()) { return found->second; }
        int can = 0;
        check(cudaDeviceCanAccessPeer(&can, device, other), "cudaDeviceCanAccessPeer");
        if (can != 0) {
            const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
            if (error != cudaSuccess) { cudaGetLastError(); }
            can = error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled ? 1 : 0;  // not with too many peers
        }
        known_[key] = can != 0;
        return can != 0;
    }

private:
    std::mutex mutex_;
    std::map<std::tuple<int, int, unsigned long long>, bool> known_;
};

bool reach(std::int32_t device, std::int32_t other, std::int32_t* direct, Status* status) {
    static Reached& reached = *new Reached;
    return on_device(device, status, [&] {
        *direct = 1;
        if (device != other) { *direct = !is_switched_off() && reached.is_direct(device, other) ? 1 : 0; }
    });
}

void copy_row(const PeerCopy& c, std::int64_t row, cudaStream_t stream) {
    auto* const to = static_cast<std::byte*>(c.to) + row * c.to_pitch;
    const auto* const from = static_cast<const std::byte*>(c.from) + row * c.from_pitch;
    const auto bytes = static_cast<std::size_t>(c.bytes);
    if (c.to_device == c.from_device) {
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync");
    } else {
        check(cudaMemcpyPeerAsync(to, c.to_device, from, c.from_device, bytes, stream), "cudaMemcpyPeerAsync");
    }
}

void copy_rows(const PeerCopy& c, cudaStream_t stream) {
    const auto width = static_cast<std::size_t>(c.bytes);
    const auto rows = static_cast<std::size_t>(c.rows);
    const auto to_pitch = static_cast<std::size_t>(c.to_pitch);
    const auto from_pitch = static_cast<std::size_t>(c.from_pitch);
    if (c.to_device == c.from_device) {
        check(cudaMemcpy2DAsync(c.to, to_pitch, c.from, from_pitch, width, rows, cudaMemcpyDeviceToDevice, stream),
              "cudaMemcpy2DAsync");
        return;
    }
    cudaMemcpy3DPeerParms parameters{};
    parameters.srcDevice = c.from_device;
    parameters.srcPtr = make_cudaPitchedPtr(const_cast<void*>(c.from), from_pitch, width, rows);
    parameters.dstDevice = c.to_device;
    parameters.dstPtr = make_cudaPitchedPtr(c.to, to_pitch, width, rows);
    parameters.extent = make_cudaExtent(width, rows, 1);
    check(cudaMemcpy3DPeerAsync(&parameters, stream), "cudaMemcpy3DPeerAsync");
}

bool copy(const PeerCopy* c, Stream* stream, Status* status) {
    return on_device(c->to_device, status, [&] {
        if (c->bytes == 0 || c->rows == 0) { return; }
        if (c->rows > 1 && c->to_pitch <= kMostPitch && c->from_pitch <= kMostPitch) { return copy_rows(*c, native(stream)); }
        for (std::int64_t row = 0; row < c->rows; ++row) { copy_row(*c, row, native(stream)); }
    });
}

Stream* make_urgent_stream(std::int32_t device, Status* status) {
    cudaStream_t stream = nullptr;
    on_device(device, status, [&] {
        int least = 0;
        int greatest = 0;
        check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
        check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), "cudaStreamCreateWithPriority");
    });
    return reinterpret_cast<Stream*>(stream);
}

constexpr cuda_abi::Peers kPeers{.version = cuda_abi::kPeersVersion,
                                 .bytes = sizeof(cuda_abi::Peers),
                                 .reach = reach,
                                 .copy = copy,
                                 .make_urgent_stream = make_urgent_stream};

}  // namespace
}  // namespace tapline::cuda

/// The table for several devices, or null for a caller of another version.
extern "C" __attribute__((visibility("default"))) const tapline::cuda_abi::Peers* tapline_cuda_peers_entry(std::uint32_t version) {
    return version == tapline::cuda_abi::kPeersVersion ? &tapline::cuda::kPeers : nullptr;
}
