// Copies between emulated devices: those with numbers of the same parity reach each other, others go by way of the host.
#include "cuda/peers_abi.hpp"

#include <cstring>

#include "support/emulated_cuda/world.hpp"

namespace tapline::emulated {
namespace {

using namespace cuda_abi;

bool reach(std::int32_t device, std::int32_t other, std::int32_t* direct, Status* status) {
    if (goes_wrong("reach", status)) { return false; }
    *direct = (device - other) % 2 == 0 ? 1 : 0;
    return true;
}

bool copy(const PeerCopy* c, Stream* stream, Status* status) {
    if (goes_wrong("peer_copy", status)) { return false; }
    const std::int64_t to = (c->rows - 1) * c->to_pitch + c->bytes, from = (c->rows - 1) * c->from_pitch + c->bytes;
    if (!is_inside(c->to, to, c->to_device, false) || !is_inside(c->from, from, c->from_device, false)) {
        return fail(status, Code::argument, "peer_copy: not memory of the devices");
    }
    enqueue(stream, [c = *c] {
        for (std::int64_t row = 0; row < c.rows; ++row) {
            std::memcpy(static_cast<std::byte*>(c.to) + row * c.to_pitch,
                        static_cast<const std::byte*>(c.from) + row * c.from_pitch, static_cast<std::size_t>(c.bytes));
        }
    });
    return true;
}

const Peers kPeers{.version = kPeersVersion,
                   .bytes = sizeof(Peers),
                   .reach = reach,
                   .copy = copy,
                   .make_urgent_stream = [](std::int32_t, Status* status) { return new_stream(status); }};

}  // namespace
}  // namespace tapline::emulated

extern "C" __attribute__((visibility("default"))) const tapline::cuda_abi::Peers* tapline_cuda_peers_entry(std::uint32_t) {
    return &tapline::emulated::kPeers;
}
