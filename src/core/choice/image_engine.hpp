// What an engine and an algorithm tell about themselves for images: core/choice/engine.hpp in two dimensions.
#pragma once

#include <span>

#include "core/choice/engine.hpp"
#include "core/problem/image_resolved.hpp"
#include "core/problem/mask_rank.hpp"

namespace tapline::core {

/// What the taps themselves decide.
struct MaskFacts {
    bool finite = true;
    /// For each mask its sum of separable masks; rank 0 where none is exact enough (or the taps are not known).
    std::vector<SeparableMask> separable;

    /// The largest rank of all masks, 0 if one of them is not separable.
    [[nodiscard]] int rank() const;
};

struct ImageRequest {
    Accuracy accuracy = Accuracy::standard;
    int threads = 1;  ///< resolved, >= 1
    MaskFacts mask;
    bool host_buffers = false;  ///< every execution will be from and to host memory
};

/// An algorithm with its taps prepared for one problem. Immutable; execute may be called from several threads at once with
/// separate workspaces.
class ImageExecutable {
public:
    ImageExecutable() = default;
    ImageExecutable(const ImageExecutable&) = delete;
    ImageExecutable& operator=(const ImageExecutable&) = delete;
    virtual ~ImageExecutable() = default;

    [[nodiscard]] virtual std::size_t workspace_bytes() const = 0;
    /// All outputs. `workspace` is 64-byte aligned and large enough. Allocates nothing.
    virtual void execute(void* out, const void* in, std::span<std::byte> workspace) const = 0;
    /// Whether execute() takes host memory. If not, the executable is a CudaImageExecutable.
    [[nodiscard]] virtual bool takes_host_memory() const { return true; }
    /// One line for explain(): tile or FFT sizes, instruction set.
    [[nodiscard]] virtual std::string describe() const = 0;
};

class ImageAlgorithm {
public:
    ImageAlgorithm() = default;
    ImageAlgorithm(const ImageAlgorithm&) = delete;
    ImageAlgorithm& operator=(const ImageAlgorithm&) = delete;
    virtual ~ImageAlgorithm() = default;

    [[nodiscard]] virtual std::string_view name() const = 0;
    [[nodiscard]] virtual std::string_view summary() const = 0;
    [[nodiscard]] virtual Support supports(const ResolvedImage& problem, const ImageRequest& request) const = 0;
    /// Whether an output's error depends on the terms of its own sum alone (core::Algorithm::is_local).
    [[nodiscard]] virtual bool is_local() const { return true; }
    /// Whether only a caller who names it gets it.
    [[nodiscard]] virtual bool by_name_only() const { return false; }
    /// Seconds of one execution; called only if supported.
    [[nodiscard]] virtual double estimate_seconds(const ResolvedImage& problem, const ImageRequest& request) const = 0;
    /// `taps`: problem.masks masks of packed elements of problem.taps_dtype, in correlation order. They need not outlive the call.
    [[nodiscard]] virtual std::unique_ptr<ImageExecutable> prepare(const ResolvedImage& problem, const void* taps,
                                                                   const ImageRequest& request) const = 0;
};

/// The CPU's table, in the order in which ties are broken.
std::span<const ImageAlgorithm* const> cpu_image_algorithms();

struct ImagePlanState {
    ResolvedImage resolved;
    int threads = 1;
    Accuracy accuracy = Accuracy::standard;
    std::string device;
    bool host_buffers = false;  ///< ImagePlan::execute takes host memory although the device is a GPU: device "auto"
    std::string algorithm;
    std::string reason;
    double predicted_seconds = 0;
    double predicted_copy_seconds = 0;
    std::unique_ptr<const ImageExecutable> executable;
};

}  // namespace tapline::core
