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

/// One of the kernels with all that does not depend on the job.
struct ChosenKernel : Chosen {
    virtual void launch(const Prepared&, const Job&, const OnDevice&, cudaStream_t) const = 0;
    [[nodiscard]] virtual std::string describe() const = 0;
    [[nodiscard]] virtual std::int64_t rows_together() const { return kSide; }
};
std::unique_ptr<const ChosenKernel> load_kernel_for(const Prepared& prepared);

}  // namespace tapline::cuda::image_separable_rung
