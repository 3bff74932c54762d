// What families for images have in common on the host.
#pragma once

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/shared_memory.hpp"
#include "cuda/primitives/image/image_arguments.hpp"

namespace tapline::cuda {

/// What kernels do not take that have one rule for what lies outside: one of each axis.
Refusal refuse_boundaries(const Problem& p);

/// What kernels do not take that know where a row's pixels lie: pixels apart, and a rule for what lies outside of each axis.
Refusal refuse_image_layout(const Problem& p);

/// The same, and types.
Refusal refuse_image(const Problem& p);

/// The same of kernels that go by ImageArguments::in_step and out_step: a single channel's pixels may lie anywhere.
Refusal refuse_stepped_image(const Problem& p);

/// Whether memory has the pixels of columns side by side, not those of rows.
bool goes_down_columns(const Problem& p);

/// Bytes and cost of a problem's elements, as type_of() for signals; u8 and u16 too.
Type image_type_of(const Problem& p, const cuda_abi::Device& device);

/// The rule for what lies outside, of the axes whose windows reach there.
Boundary image_boundary(const Problem& p);

/// Elements of the output.
inline double image_outputs(const Problem& p) { return static_cast<double>(p.outputs()); }

/// The same in whole tiles, more where most of them lie at edges.
double outputs_in_tiles(const Problem& p, double tile_rows, double tile_elements);

/// Bytes read and written by an execution at least.
double image_bytes(const Problem& p);

/// Seconds of moving them.
inline double seconds_to_move(const Problem& p, const cuda_abi::Device& device) {
    return image_bytes(p) / (kShareOfCopy * device.copy_bytes_per_second);
}

/// The same of kernels whose blocks make one channel's plane, however its pixels lie: what lies between comes along, of interleaved
/// channels where that is a sector of memory and more than blocks beside them find in the caches (H200, f32, 1024 x 1024 x 32: 5 x
/// 5 taps 741 us, 31 x 31 861).
double seconds_to_move_planes(const Problem& p, const cuda_abi::Device& device);

/// Without tiles, which image_grid() sets.
ImageArguments image_arguments_of(const Prepared& prepared, const Job& job, const OnDevice& on_device);

/// Blocks of tiles of so many outputs; sets a.tiles_x and a.tiles_y. Throws CudaError if a launch has not so many.
dim3 image_grid(ImageArguments& a, int tile_rows, int tile_elements);

/// The same for kernels whose blocks make one channel's plane of `tile_pixels` a row.
dim3 image_grid_of_planes(ImageArguments& a, int tile_rows, int tile_pixels);

inline bool is_pixel_type(Dtype dtype) { return dtype == kU8 || dtype == kU16; }

}  // namespace tapline::cuda
