// Libraries that the core must refuse, one for each TAPLINE_REFUSED: 0 has no entry, 1 speaks another version of the interface,
// 2 has an interface of another size, 3 knows no version but its own, 4 finds no device.
#include <cstdio>

#include "cuda/abi.hpp"

#if TAPLINE_REFUSED > 0
namespace {

using namespace tapline::cuda_abi;

std::int32_t no_device(Status* status) {
    std::snprintf(status->message, sizeof status->message, "no driver was found for this test");
    return 0;
}

Api make_api() {
    Api api{};
    api.abi_version = TAPLINE_REFUSED == 1 ? kAbiVersion + 1 : kAbiVersion;
    api.api_bytes = TAPLINE_REFUSED == 2 ? sizeof(Api) - 8 : sizeof(Api);
    api.device_count = no_device;
    return api;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const Api* tapline_cuda_entry(std::uint32_t) {
    static const Api api = make_api();
    return TAPLINE_REFUSED == 3 ? nullptr : &api;
}
#else
extern "C" __attribute__((visibility("default"))) int not_a_cuda_engine() { return 1; }
#endif
