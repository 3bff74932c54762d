// The table of rungs, in reading order: one line a rung.
#include "cuda/ladder/conv1d/01_one_block.cuh"
#include "cuda/ladder/conv1d/02_guarded_store.cuh"
#include "cuda/ladder/conv1d/03_block_boundary.cuh"
#include "cuda/ladder/conv1d/04_broadcast_block.cuh"
#include "cuda/ladder/conv1d/05_naive_reduction.cuh"
#include "cuda/ladder/conv1d/06_reduction_over_taps.cuh"
#include "cuda/ladder/conv1d/07_threads.cuh"
#include "cuda/ladder/conv1d/08_two_dimensional_block.cuh"
#include "cuda/ladder/conv1d/09_memory_hierarchy.cuh"
#include "cuda/ladder/conv1d/10_unrolled.cuh"
#include "cuda/ladder/conv1d/11_radius_and_padding.cuh"
#include "cuda/ladder/conv1d/12_basic.cuh"
#include "cuda/ladder/conv1d/13_constant_memory.cuh"
#include "cuda/ladder/conv1d/14_tiled.cuh"
#include "cuda/ladder/conv1d/15_cached_halo.cuh"
#include "cuda/ladder/conv1d/16_register_tile.cuh"
#include "cuda/ladder/conv1d/direct.hpp"
#include "cuda/ladder/conv1d/overlap_save.hpp"
#include "cuda/ladder/conv1d/overlap_save_cluster.hpp"
#include "cuda/ladder/conv1d/overlap_save_large.hpp"
#include "cuda/ladder/conv1d/transform_rung.hpp"
#include "cuda/ladder/rung.hpp"

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
