// From a Job to a lesson's Image.
#include <algorithm>

#include "lessons/images/01_basic.cuh"
#include "lessons/rungs/lesson_rung.hpp"

namespace tapline::cuda {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 31;
// Of the smallest output tile of any of them along y; gridDim.y is limited.
constexpr std::int64_t kMostRows = 65535 * 16;

std::int64_t row_of(const Problem& p) { return p.x.n * p.channels.length; }

}  // namespace

template <>
Refusal LessonRung<Image>::refuse(const Problem& p) {
    if (p.filters != 1) { return "takes one mask for all channels"; }
    if (p.y.outputs != p.y.n || p.x.outputs != p.x.n) { return "takes only outputs as large as the image (mode same)"; }
    const std::int64_t row = row_of(p);
    if ((p.y.in_stride != row && p.y.n > 1) || (p.y.out_stride != row && p.y.n > 1)) { return "takes only packed rows"; }
    if (row * p.y.n >= kMostElements || p.taps() >= kMostElements) { return "counts elements in 31 bits"; }
    const auto far = [](std::int64_t origin) { return origin <= -kMostElements / 2 || origin >= kMostElements / 2; };
    if (far(p.y.origin) || far(p.x.origin) || std::max(p.y.k, p.x.k) >= kMostElements / 4 ||
        std::max(p.y.n, p.x.n) >= kMostElements / 4) {
        return "counts positions in 31 bits";
    }
    return p.y.n > kMostRows ? "a grid has at most 65535 rows of blocks" : "";
}

template <>
bool LessonRung<Image>::is_whole(const Problem& p, const Job& job) {
    const bool packed = p.y.n == 1 || (job.in_stride == row_of(p) && job.out_stride == row_of(p));
    return job.first == 0 && job.count == p.y.outputs && job.in_first == 0 && job.in_last == p.y.n && job.batch == 1 && packed;
}

template <>
Image LessonRung<Image>::problem_of(const Prepared& prepared, const Job& job, const OnDevice& on_device) {
    const Problem& p = prepared.problem;
    return {.out = static_cast<float*>(job.out),
            .in = static_cast<const float*>(job.in),
            .mask = static_cast<const float*>(on_device.taps),
            .height = static_cast<int>(p.y.n),
            .width = static_cast<int>(p.x.n),
            .channels = static_cast<int>(p.channels.length),
            .mask_height = static_cast<int>(p.y.k),
            .mask_width = static_cast<int>(p.x.k),
            .origin_y = static_cast<int>(p.y.origin),
            .origin_x = static_cast<int>(p.x.origin),
            .low = low_of(p),
            .high = high_of(p)};
}

template <>
const ImageLesson& LessonRung<Image>::plain() {
    return image_basic::lesson;
}

template std::vector<const Rung*> rungs_of(std::initializer_list<const ImageLesson*>);

}  // namespace tapline::cuda
