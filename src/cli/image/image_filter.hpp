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

    ImagePlan plan_for(const ImageProblem& problem);

private:
    const ImageJob& job_;
    const MaskSet& mask_;
    std::mutex mutex_;
    std::vector<ImagePlan> kept_;
};

/// An image of the output's size and type without pixels, for check_writable().
io::Image output_shape(const io::Image& image, const ImageProblem& problem);

/// Leaves the last channel out.
void drop_alpha(io::Image& image);

/// Allocates out's pixels and fills them. `image` may be converted to the type computed in.
void filter_image(io::Image& out, io::Image& image, const ImagePlan& plan, Alpha alpha);

}  // namespace tapline::cli
