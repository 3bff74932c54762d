// The computing part of `tapline image`: one image in memory to another.
#pragma once

#include <mutex>
#include <vector>

#include "cli/image/image_job.hpp"
#include "cli/image/mask_source.hpp"

namespace tapline::cli {

/// What an image, a mask and the options make of each other: sizes, and the types computed in and written.
ImageProblem image_problem(const ImageJob& job, const io::Image& image, const MaskSet& mask);

/// Plans of one mask, kept for images of the same kind. For several threads at once.
class ImagePlans {
public:
    ImagePlans(const ImageJob& job, const MaskSet& mask) : job_(job), mask_(mask) {}

    Plan plan_for(const ImageProblem& problem);

private:
    const ImageJob& job_;
    const MaskSet& mask_;
    std::mutex mutex_;
    struct Kept {
        ImageProblem problem;
        Plan plan;
    };
    std::vector<Kept> kept_;
};

/// An image of the output's size and type without pixels, for check_writable().
io::Image output_shape(const io::Image& image, const ImageProblem& problem);

/// Leaves the last channel out.
void drop_alpha(io::Image& image);

/// Allocates out's pixels and fills them. `plan` is one of `problem`, for whose type `image` may be converted.
void filter_image(io::Image& out, io::Image& image, const ImageProblem& problem, const Plan& plan, Alpha alpha);

}  // namespace tapline::cli
