// The lessons for images, in reading order, one line each. A file of their own: its constant memory is full.
#include "lessons/images/01_basic.cuh"
#include "lessons/images/02_constant_memory.cuh"
#include "lessons/images/03_tiled.cuh"

namespace tapline::cuda {

std::vector<const Rung*> image_lessons() {
    return {
        &image_basic::rung(),
        &image_constant_memory::rung(),
        &image_tiled::rung(),
    };
}

}  // namespace tapline::cuda
