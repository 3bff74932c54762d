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
#include "lessons/22_block_transform.cuh"
#include "lessons/23_packed_transform.cuh"
#include "lessons/24_unordered_transform.cuh"
#include "lessons/25_warp_transform.cuh"
#include "lessons/26_persistent_transform.cuh"

namespace tapline::cuda {

namespace {

std::vector<const Rung*> signal_lessons() {
    return rungs_of<Signal>({
        &one_block::lesson,
        &guarded_store::lesson,
        &block_boundary::lesson,
        &broadcast_block::lesson,
        &naive_reduction::lesson,
        &reduction_over_taps::lesson,
        &threads::lesson,
        &two_dimensional_block::lesson,
        &memory_hierarchy::lesson,
        &unrolled::lesson,
        &radius_and_padding::lesson,
        &basic::lesson,
        &constant_memory::lesson,
        &tiled::lesson,
        &cached_halo::lesson,
        &register_tile::lesson,
        // After the families 17 to 21, on the way to overlap-save.
        &block_transform::lesson,
        &packed_transform::lesson,
        &unordered_transform::lesson,
        &warp_transform::lesson,
        &persistent_transform::lesson,
    });
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
