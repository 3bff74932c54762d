// The lessons for images, in reading order, one line each. A file of their own: its constant memory is full.
#include "lessons/images/01_basic.cuh"
#include "lessons/images/02_constant_memory.cuh"
#include "lessons/images/03_tiled.cuh"

namespace tapline::cuda {

std::vector<const Rung*> image_lessons() {
    return rungs_of<Image>({
        &image_basic::lesson,
        &image_constant_memory::lesson,
        &image_tiled::lesson,
    });
}

}  // namespace tapline::cuda
