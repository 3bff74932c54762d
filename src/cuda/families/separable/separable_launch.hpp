// Which kernel of the separable rung a mask gets, and how it is launched.
#pragma once

#include <memory>
#include <string>

#include "cuda/families/separable/separable.hpp"
#include "cuda/rung.hpp"

namespace tapline::cuda {

const Rung& image_separable();

}  // namespace tapline::cuda

namespace tapline::cuda::image_separable_rung {

inline constexpr std::size_t kReservedBytes = 1024;  // of each block, by the system

/// Tiles, any rank. tile_rows = 0: none fits in shared memory.
Layout layout_of(const Problem& p, const cuda_abi::Device& device);
std::size_t tile_bytes(const Layout& layout, const Problem& p);
int threads_of(const Problem& p);

/// The marching kernels. march_of(): all but the segments and the taps.
bool marches(const Problem& p, const cuda_abi::Device& device);
March march_of(const Problem& p);
std::size_t march_bytes(const March& march);
bool on_tensor_cores(const Problem& p, const cuda_abi::Device& device);
int tensor_steps_of(const Problem& p);
bool on_halves(const Problem& p, const cuda_abi::Device& device);
/// Steps of the one with halves for masks of more rows or columns; 0: another kernel does it.
int many_halves_steps_of(const Problem& p, const cuda_abi::Device& device);

}  // namespace tapline::cuda::image_separable_rung

namespace tapline::cuda::image_halves_rung {

/// Whether a mask is one column, that of the output, of many taps that are known: rows are left as they are, a product with one
/// tap.
bool is_one_column(const Problem& p);

}  // namespace tapline::cuda::image_halves_rung

namespace tapline::cuda::image_separable_rung {

/// What a kernel marches down: blocks do a segment of a strip each.
struct Strips {
    std::int64_t strips, rows;
    std::size_t bytes;  // of a block's shared memory
    int most_held;      // blocks of a multiprocessor, as far as registers go
    double halo_rows;   // what a segment does besides its rows, in rows
    double unevenness;  // of the last round's rows: some blocks end later
};
struct Segments {
    int segment_rows = 0;  // so many that all blocks run at once, or else in few rounds
    double rows = 0;       // that go by until all blocks are done
};
Segments segments_of(const Strips& s, const cuda_abi::Device& device);

/// Rows that take as long as a segment's beginning: those of the halo are filtered only along themselves.
double halo_rows_of(std::int64_t mask_height);

/// One of the kernels with all that does not depend on the job.
struct ChosenKernel : Chosen {
    virtual void launch(const Prepared&, const Job&, const OnDevice&, cudaStream_t) const = 0;
    [[nodiscard]] virtual std::string describe() const = 0;
    [[nodiscard]] virtual std::int64_t rows_together() const { return kSide; }
};
std::unique_ptr<const ChosenKernel> load_kernel_for(const Prepared& prepared);

/// The kernel for means (separable_boxes.cu): whether it takes masks of this size, how long that takes, and whether a mask is a
/// mean and it is the fastest for it.
bool takes_boxes(const Problem& p, const cuda_abi::Device& device);
double boxes_seconds(const Problem& p, const cuda_abi::Device& device);
bool on_boxes(const Problem& p, const cuda_abi::Device& device);
std::unique_ptr<const ChosenKernel> load_boxes(const Prepared& prepared);

}  // namespace tapline::cuda::image_separable_rung
