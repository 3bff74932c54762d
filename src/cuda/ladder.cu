// The table of rungs, in reading order: one line a rung.
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
#include "cuda/families/direct/direct.hpp"
#include "cuda/families/overlap_save/overlap_save.hpp"
#include "cuda/families/overlap_save/cluster/overlap_save_cluster.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large.hpp"
#include "lessons/transform_rung.hpp"
#include "cuda/rung.hpp"

namespace tapline::cuda {

const std::vector<const Rung*>& ladder() {
    static const std::vector<const Rung*> rungs = {
        // Teaching rungs.
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
        // Production rungs: any plan may take them.
        &direct_few(),
        &direct_window(),
        &direct(),
        &split_taps(),
        &tensor_direct(),
        // Teaching rungs on the way to the next one.
        &block_transform(),
        &packed_transform(),
        &unordered_transform(),
        &warp_transform(),
        &persistent_transform(),
        // Production again.
        &overlap_save_rung(),
        &overlap_save_parts(),
        &overlap_save_large(),
        &overlap_save_cluster(),
    };
    return rungs;
}

}  // namespace tapline::cuda
