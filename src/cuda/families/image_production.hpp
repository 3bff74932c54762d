// What production rungs for images have in common on the host.
#pragma once

#include "cuda/families/production.hpp"
#include "cuda/image_rung.hpp"
#include "cuda/primitives/image/image_arguments.cuh"

namespace tapline::cuda {

/// Bytes and cost of a problem's elements, as type_of() for signals; u8 and u16 too.
Type image_type_of(const Problem& p, const cuda_abi::Device& device);

/// Bytes read and written by an execution at least.
double image_bytes(const Problem& p);

/// Blocks of tiles of so many outputs; sets a.tiles_x and a.tiles_y. Throws CudaError if a launch has not so many.
dim3 image_grid(ImageArguments& a, int tile_rows, int tile_elements);

/// Loads a kernel and allows it all shared memory that a launch may ask for. What is allowed belongs to the kernel, not to a plan:
/// a plan that needs less must not take it from one that was made before.
inline void allow_most_shared(const void* kernel, const cuda_abi::Device& device) {
    constexpr std::size_t kStaticBytes = 1024;  // at most, of a kernel itself
    allow_shared(kernel, shared_limit(device) - kStaticBytes);
}

inline bool is_pixel_type(Dtype dtype) { return dtype == kU8 || dtype == kU16; }

}  // namespace tapline::cuda
