#include "gpu_host/devices/shares.hpp"

#include <algorithm>

namespace tapline::gpu_host {
namespace {

// Rows of a batch go to a device in runs of so many where there are enough of them: kernels take some together.
constexpr std::int64_t kRowsTogether = 32;
constexpr std::int64_t kLeastRows = 2;  // a device

// Where share `index` of `count` of [0, length) begins, a multiple of `unit` but at the end.
std::int64_t begin_of(std::int64_t length, int index, int count, std::int64_t unit) {
    if (index == count) { return length; }
    const std::int64_t units = (length + unit - 1) / unit;
    return std::min(units * index / count * unit, length);
}

}  // namespace

std::vector<Share> shares_of(const core::Resolved& problem, const core::Output& output, std::int64_t granularity, int devices) {
    const std::int64_t elements = problem.outer_length();
    const std::int64_t items = problem.batch.length;
    const bool by_elements = elements >= devices;
    const bool interleaved = std::abs(output.batch_stride) < std::abs(output.stride);
    const bool by_items = !by_elements && !interleaved && items >= kLeastRows * devices;
    const std::int64_t together = items >= kRowsTogether * kLeastRows * devices ? kRowsTogether : 1;
    std::vector<Share> shares(static_cast<std::size_t>(devices));
    for (int i = 0; i < devices; ++i) {
        Share& s = shares[static_cast<std::size_t>(i)];
        s = {0, elements, 0, items, output.first, output.count};
        if (by_elements) {
            s.first_element = begin_of(elements, i, devices, 1);
            s.elements = begin_of(elements, i + 1, devices, 1) - s.first_element;
        } else if (by_items) {
            s.first_item = begin_of(items, i, devices, together);
            s.items = begin_of(items, i + 1, devices, together) - s.first_item;
        } else {
            const std::int64_t first = begin_of(output.count, i, devices, granularity);
            s.first = output.first + first;
            s.count = begin_of(output.count, i + 1, devices, granularity) - first;
        }
    }
    return shares;
}

}  // namespace tapline::gpu_host
