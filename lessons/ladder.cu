// What this library offers: the lessons, in reading order, one line each; those for images are in images/ladder.cu.
#include "cuda/api_functions.hpp"
#include "lessons/01_one_block.cuh"
#include "lessons/02_guarded_store.cuh"
#include "lessons/03_block_boundary.cuh"
#include "lessons/04_broadcast_block.cuh"
#include "lessons/05_naive_reduction.cuh"
#include "lessons/06_reduction_over_taps.cuh"
#include "lessons/07_threads.cuh"
#include "lessons/08_two_dimensional_block.cuh"
#include "lessons/09_memory_hierarchy.cuh"
#include "lessons/10_unrolled.cuh"
#include "lessons/11_radius_and_padding.cuh"
#include "lessons/12_basic.cuh"
#include "lessons/13_constant_memory.cuh"
#include "lessons/14_tiled.cuh"
#include "lessons/15_cached_halo.cuh"
#include "lessons/16_register_tile.cuh"
#include "lessons/transform_lesson.hpp"

namespace tapline::cuda {

namespace {

std::vector<const Rung*> signal_lessons() {
    return {
        &one_block::rung(),
        &guarded_store::rung(),
        &block_boundary::rung(),
        &broadcast_block::rung(),
        &naive_reduction::rung(),
        &reduction_over_taps::rung(),
        &threads::rung(),
        &two_dimensional_block::rung(),
        &memory_hierarchy::rung(),
        &unrolled::rung(),
        &radius_and_padding::rung(),
        &basic::rung(),
        &constant_memory::rung(),
        &tiled::rung(),
        &cached_halo::rung(),
        &register_tile(),
        // After the families 17 to 21, on the way to overlap-save.
        &block_transform(),
        &packed_transform(),
        &unordered_transform(),
        &warp_transform(),
        &persistent_transform(),
    };
}

}  // namespace

const std::vector<const Rung*>& ladder() {
    static const std::vector<const Rung*> rungs = [] {
        std::vector<const Rung*> all = signal_lessons();
        for (const Rung* lesson : image_lessons()) { all.push_back(lesson); }
        return all;
    }();
    return rungs;
}

void add_own_functions(cuda_abi::Api&) {}

}  // namespace tapline::cuda
