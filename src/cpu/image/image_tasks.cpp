#include "cpu/image/image_tasks.hpp"

#include <algorithm>

#include "cpu/image/image_cost.hpp"

namespace tapline::cpu {
namespace {

constexpr std::int64_t kCacheLine = 64;
// Less in the middle is not worth three segments.
constexpr std::int64_t kLeastInner = 128;
// Bytes of an edge's rows: as wide as tiles and strips of outputs are, which the loops are made for.
constexpr std::int64_t kEdgeBytes = 256;
// Rows of a band, and tasks for each thread, so that one that starts late does not keep the others waiting.
constexpr std::int64_t kBandRows = 64;
constexpr std::int64_t kTasksPerThread = 4;

std::int64_t up_to_rows(std::int64_t rows) { return (rows + kImageRows - 1) / kImageRows * kImageRows; }

}  // namespace

Segment ImageTasks::segment(std::int64_t index) const {
    if (!has_edges()) {
        const std::int64_t first = index * block;
        return {first, std::min(block, elements - first)};
    }
    if (index == 0) { return {0, inner_first}; }
    if (index == segments - 1) { return {inner_last, elements - inner_last}; }
    const std::int64_t first = inner_first + (index - 1) * block;
    return {first, std::min(block, inner_last - first)};
}

template <class T>
ImageTasks divide(const core::Resolved& p, const ImageLines<T>& lines, const void* out, std::int64_t block, std::int64_t least_band,
                  int threads, bool split_edges) {
    ImageTasks tasks;
    tasks.elements = lines.out_elements();
    tasks.planes = lines.planes();
    tasks.block = block;
    const auto bytes = static_cast<std::int64_t>(sizeof(T));
    std::int64_t first = split_edges ? std::max<std::int64_t>(p.x.origin, 0) * lines.step() : 0;
    const std::int64_t last = std::min(tasks.elements, lines.in_elements() - (p.x.k - 1 - p.x.origin) * lines.step());
    bool aligned = false;
    if (lines.is_plain_output()) {
        const auto address = reinterpret_cast<std::uintptr_t>(out) + static_cast<std::uintptr_t>(first * bytes);
        const auto ahead = static_cast<std::int64_t>((kCacheLine - address % kCacheLine) % kCacheLine) / bytes;
        const std::int64_t row_bytes = p.y.out_stride * lines.parts() * bytes,
                           image_bytes = p.batch.out_stride * lines.parts() * bytes;
        if (split_edges ? ahead % lines.parts() == 0 : ahead == 0) {
            first += ahead;
            aligned = row_bytes % kCacheLine == 0 && (p.batch.length == 1 || image_bytes % kCacheLine == 0);
        }
    }
    // Lines that rows begin or end inside of would go to memory in halves, and past the caches only by way of a buffer: 3,000 x
    // 3,000 f32 take a seventh less time so under 3x3 taps on one thread, two fifths less on two; 7,500 images of 28 x 28 two
    // fifths of it.
    tasks.stream = aligned && image_goes_past_caches(p, threads);
    const std::int64_t edge = split_edges ? kEdgeBytes / bytes : kImagePadding;
    if (split_edges && first > 0) { first += std::max<std::int64_t>(edge - whole_vectors(first), 0); }
    const std::int64_t inner = last - first < 0 ? 0 : (last - first) / edge * edge;
    const bool narrow_edges = first <= block && tasks.elements - first - inner <= block;
    if (split_edges && lines.is_in_place() && inner >= kLeastInner && narrow_edges) {
        tasks.inner_first = first;
        tasks.inner_last = first + inner;
        tasks.segments = 2 + (inner + block - 1) / block;
    } else {
        tasks.segments = (tasks.elements + block - 1) / block;
    }
    const std::int64_t wanted = kTasksPerThread * threads;
    const std::int64_t others = std::max<std::int64_t>(tasks.planes * ((tasks.elements + block - 1) / block), 1);
    const std::int64_t rows = p.y.outputs * others / wanted;
    tasks.band = std::clamp(up_to_rows(std::max(rows, least_band)), kImageRows, std::max(kBandRows, up_to_rows(least_band)));
    if (threads <= 1) { tasks.band = std::max(tasks.band, std::max(kBandRows, up_to_rows(least_band))); }
    tasks.bands = (p.y.outputs + tasks.band - 1) / tasks.band;
    return tasks;
}

template ImageTasks divide<float>(const core::Resolved&, const ImageLines<float>&, const void*, std::int64_t, std::int64_t, int,
                                  bool);
template ImageTasks divide<double>(const core::Resolved&, const ImageLines<double>&, const void*, std::int64_t, std::int64_t, int,
                                   bool);

}  // namespace tapline::cpu
