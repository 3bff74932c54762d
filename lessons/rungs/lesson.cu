// From a Job to a lesson's Signal.
#include "lessons/12_basic.cuh"
#include "lessons/rungs/lesson_rung.hpp"

namespace tapline::cuda {

template <>
Refusal LessonRung<Signal>::refuse(const Problem& p) {
    if (p.x.in_stride != 1 || p.x.out_stride != 1) { return "takes only samples that lie side by side (stride 1)"; }
    if (p.x.n < 1 || p.x.k < 1 || p.x.outputs < 1) { return "needs to know the signal's length, at least 1"; }
    return {};
}

template <>
bool LessonRung<Signal>::is_whole(const Problem& p, const Job& job) {
    return job.first == 0 && job.count == p.x.outputs && job.out_stride == 1 && job.in_first == 0 && job.in_last == p.x.n &&
           job.in_stride == 1 && job.batch_first == 0 && job.batch == 1;
}

template <>
Signal LessonRung<Signal>::problem_of(const Prepared& prepared, const Job& job, const OnDevice& on_device) {
    const Problem& p = prepared.problem;
    return {.out = static_cast<float*>(job.out),
            .in = static_cast<const float*>(job.in),
            .taps = static_cast<const float*>(on_device.taps),
            .n = p.x.n,
            .k = p.x.k,
            .m = p.x.outputs,
            .origin = p.x.origin,
            .low = low_of(p),
            .high = high_of(p),
            .tables = on_device.tables};
}

template <>
const SignalLesson& LessonRung<Signal>::plain() {
    return basic::lesson;
}

template std::vector<const Rung*> rungs_of(std::initializer_list<const SignalLesson*>);

}  // namespace tapline::cuda
