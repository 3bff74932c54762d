// What a lesson is as a rung, for signals and images alike; lesson.cu and images/image_lesson.cu add what differs.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <type_traits>

#include "lessons/lesson.hpp"

namespace tapline::cuda {

inline constexpr double kLaunchSeconds = 3e-6;

/// Limits of the output.
inline float low_of(const Problem& p) {
    return p.has_clamp ? static_cast<float>(p.clamp.low) : -std::numeric_limits<float>::infinity();
}
inline float high_of(const Problem& p) {
    return p.has_clamp ? static_cast<float>(p.clamp.high) : std::numeric_limits<float>::infinity();
}

template <class T>
class LessonRung final : public Rung {
public:
    explicit LessonRung(const Lesson<T>& lesson)
        : Rung(lesson.head, {.source = source_of(lesson.head).c_str(), .rank = kOfImages ? 2 : 1, .is_local = lesson.is_local}),
          lesson_(lesson) {}

    [[nodiscard]] Refusal supports(const Problem&, const cuda_abi::Device&) const override;
    [[nodiscard]] double estimate_seconds(const Problem&, const cuda_abi::Device&) const override;
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared&) const override;
    [[nodiscard]] std::vector<std::byte> tables(Prepared&) const override;
    void launch(const Prepared&, const Job&, const OnDevice&, void* workspace, cudaStream_t) const override;

private:
    static constexpr bool kOfImages = std::is_same_v<T, Image>;

    /// "lessons/05_naive_reduction.cuh" of naive_reduction, "lessons/images/03_tiled.cuh" of image_tiled.
    static std::string source_of(const Head& head) {
        std::string path = kOfImages ? "lessons/images/" : "lessons/";
        path.append(head.number).append("_").append(kOfImages ? std::strchr(head.name, '_') + 1 : head.name);
        return path + ".cuh";
    }

    // Of signals and of images: why no lesson takes the problem, whether the job is all of it, what kernels get of it, and the
    // lesson that multiplies taps by nothing but samples.
    static Refusal refuse(const Problem&);
    static bool is_whole(const Problem&, const Job&);
    static T problem_of(const Prepared&, const Job&, const OnDevice&);
    static const Lesson<T>& plain();

    const Lesson<T>& lesson_;
};

template <class T>
auto kernel_of(const Lesson<T>& lesson, const Problem& p) {
    return lesson.kernel_for != nullptr ? lesson.kernel_for(p) : lesson.kernel;
}

template <class T>
Blocks blocks_of(const Lesson<T>& lesson, const Problem& p) {
    return lesson.blocks_for != nullptr ? lesson.blocks_for(p) : lesson.blocks;
}

template <class T>
Refusal LessonRung<T>::supports(const Problem& p, const cuda_abi::Device& device) const {
    if (p.dtype != kF32 || p.taps_dtype != kF32 || p.output_dtype != kF32) { return "takes only f32, and real taps"; }
    if (p.batch.length != 1) {
        return std::string("takes one ") + (kOfImages ? "image" : "signal") + ", not " + std::to_string(p.batch.length);
    }
    if (p.x.boundary != kZero || p.y.boundary != kZero) { return "takes only the zero boundary"; }
    if (p.scale != 1 || p.bias != 0) { return "has no scale and no bias"; }
    if (p.has_clamp && !lesson_.clamps) { return "has no clamp"; }
    if (Refusal refusal = refuse(p); !refusal.empty()) { return refusal; }
    if (Refusal refusal = lesson_.needs != nullptr ? lesson_.needs(p) : ""; !refusal.empty()) { return refusal; }
    const Blocks blocks = blocks_of(lesson_, p);
    if (static_cast<std::int64_t>(blocks.shared_bytes) > device.shared_bytes_per_block) {
        return "a block would need " + std::to_string(blocks.shared_bytes / 1024) + " KB of shared memory";
    }
    return refuse_grid(p.x.outputs, blocks.outputs.x);
}

template <class T>
double LessonRung<T>::estimate_seconds(const Problem& p, const cuda_abi::Device&) const {
    return kLaunchSeconds + static_cast<double>(p.outputs()) * static_cast<double>(p.taps()) * lesson_.seconds_per_product;
}

template <class T>
std::unique_ptr<const Chosen> LessonRung<T>::load(const Prepared& prepared) const {
    const Problem& p = prepared.problem;
    for (const Lesson<T>* lesson : {&lesson_, &plain()}) {
        load_kernel(kernel_of(*lesson, p), blocks_of(*lesson, p).shared_bytes, prepared.device);
    }
    return std::make_unique<Chosen>();
}

template <class T>
std::vector<std::byte> LessonRung<T>::tables(Prepared& prepared) const {
    if (lesson_.points == nullptr) { return {}; }
    const Points exact = lesson_.points(static_cast<const float*>(prepared.given.taps), static_cast<int>(prepared.problem.x.k));
    std::vector<std::complex<float>> rounded;
    rounded.reserve(exact.size());
    for (const std::complex<double>& point : exact) { rounded.emplace_back(point); }
    std::vector<std::byte> bytes(rounded.size() * sizeof(rounded.front()));
    std::memcpy(bytes.data(), rounded.data(), bytes.size());
    return bytes;
}

template <class T>
void LessonRung<T>::launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const {
    const Problem& p = prepared.problem;
    if (!is_whole(p, job)) {
        throw CudaError(cuda_abi::Code::unsupported, std::string(info().name) + ": takes only whole " +
                                                         (kOfImages ? "images" : "signals") + ", not pieces of them");
    }
    const T problem = problem_of(prepared, job, on_device);
    // Most lessons stand zeros in for samples that are not there; an infinite tap must not meet one: 0 * inf is NaN.
    const Lesson<T>& lesson = p.taps_finite ? lesson_ : plain();
    if (lesson.before != nullptr) { lesson.before(problem, stream); }
    const Blocks blocks = blocks_of(lesson, p);
    dim3 grid(grid_of(p.x.outputs, blocks.outputs.x), grid_of(p.y.outputs, blocks.outputs.y));
    if (blocks.persistent) { grid.x = std::min(grid.x, static_cast<unsigned>(prepared.device.multiprocessors)); }
    launch_kernel(kernel_of(lesson, p), grid, blocks.threads, blocks.shared_bytes, stream, problem);
}

template <class T>
std::vector<const Rung*> rungs_of(std::initializer_list<const Lesson<T>*> lessons) {
    static std::deque<LessonRung<T>> all;  // which stay where they are
    std::vector<const Rung*> added;
    for (const Lesson<T>* lesson : lessons) { added.push_back(&all.emplace_back(*lesson)); }
    return added;
}

}  // namespace tapline::cuda
