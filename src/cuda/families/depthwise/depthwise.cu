// Depthwise correlation and its gradients: which kernel, which grid.
#include "cuda/families/depthwise/depthwise.hpp"

#include <algorithm>

#include "cuda/families/common/with_types.hpp"
#include "cuda/families/depthwise/depthwise_kernels.cuh"
#include "cuda/launch.hpp"
#include "cuda/primitives/arguments.hpp"
#include "cuda/primitives/grid.hpp"

namespace tapline::cuda {
namespace {

using cuda_abi::Code;
using cuda_abi::Depthwise;

constexpr int kTilesPerBlock = 4;
// Blocks a multiprocessor that the backward kernel aims at: several rounds of the 6 that fit, so that the last one is short.
constexpr std::int64_t kBlocksPerMultiprocessor = 32;

std::int64_t bytes_of(Dtype dtype) { return dtype == kF64 ? 8 : dtype == kF32 ? 4 : 2; }
std::int64_t bytes_of_sum(Dtype dtype) { return dtype == kF64 ? 8 : 4; }

// Rows of x and y start at multiples of 16 bytes: the tensors are packed and come from an allocator (checked at the launch).
bool rows_at_vectors(const Depthwise& p) {
    const std::int64_t vector = 16 / bytes_of(p.dtype);
    return p.n % vector == 0 && p.length % vector == 0;
}

bool at_vectors(const Depthwise& p, std::initializer_list<const void*> tensors) {
    return rows_at_vectors(p) && std::all_of(tensors.begin(), tensors.end(),
                                             [](const void* tensor) { return reinterpret_cast<std::uintptr_t>(tensor) % 16 == 0; });
}

// What the kernels for few taps take: output i reads samples i-k+1 .. i.
bool is_exact(const Depthwise& p) { return p.k <= kDepthwiseExactTaps && p.origin == p.k - 1 && p.length == p.n; }

// From here on samples and taps pass through shared memory, and grad_x has a kernel of its own. f32 and bf16 tensors of
// (8, 2048, 8192), causal, on an H200: 12 taps forward 436 -> 380 us and 477 -> 374, 64 taps 1,563 -> 635 and 1,396 -> 649, 9 taps
// 428 -> 377 and 347 -> 372. Both gradients, 64 taps: 3,253 -> 1,769 and 2,516 -> 1,803 us; 12 taps 841 -> 738 and 694 -> 733;
// 24 taps 1,237 -> 1,072 and 986 -> 1,074.
constexpr std::int64_t kLeastTiledTaps = 12;
constexpr std::int64_t kLeastTiledTapsOfGradients16 = 32;  // of 16-bit tensors
// grad_taps alone, chunks of 8 and of 16 taps: 64 taps of f32 1,327 and 1,129 us, 32 taps 705 and 651, 24 taps 547 and 650.
constexpr std::int64_t kLeastLongChunkTaps = 32;

static_assert(kLeastLongChunkTaps >= kLeastTiledTaps && kLeastLongChunkTaps >= kLeastTiledTapsOfGradients16);

template <class S>
DepthwiseShape tiled_shape(const Depthwise& p) {
    const std::int64_t tiles = ceil_div(p.length, DepthwiseTile<S>::kOutputs);
    return {p.batch, p.channels, p.n, p.length, p.k, p.origin, tiles, 0, 1, 1};
}
// grad_x[i] = sum_t taps[k - 1 - t] grad_y[i + t - (k - 1 - origin)]
Depthwise problem_of_grad_x(const Depthwise& p) {
    Depthwise of_gradient = p;
    of_gradient.n = p.length;
    of_gradient.length = p.n;
    of_gradient.origin = p.k - 1 - p.origin;
    return of_gradient;
}

// `shift`: where the window of a vector starts, from the vector's own place.
DepthwiseShape shape_of(const Depthwise& p, std::int64_t row, std::int64_t shift, std::int64_t chunk) {
    const std::int64_t vector = 16 / bytes_of(p.dtype);
    DepthwiseShape shape{p.batch, p.channels, p.n, p.length, p.k, p.origin, 0, 0, 1, 1};
    shape.tiles = ceil_div(row, kDepthwiseThreads * vector);
    shape.lead = static_cast<int>((shift % vector + vector) % vector);
    shape.chunks = static_cast<int>(ceil_div(p.k + shape.lead, chunk));
    return shape;
}

DepthwiseShape forward_shape(const Depthwise& p) { return shape_of(p, p.length, -p.origin, kDepthwiseChunk); }

std::int64_t backward_chunk(const Depthwise& p) { return p.k >= kLeastLongChunkTaps ? kDepthwiseLongChunk : kDepthwiseChunk; }

bool has_tiled_gradient(const Depthwise& p) {
    return p.k >= (bytes_of(p.dtype) == 2 ? kLeastTiledTapsOfGradients16 : kLeastTiledTaps);
}

DepthwiseShape backward_shape(const Depthwise& p, int multiprocessors) {
    DepthwiseShape shape = shape_of(p, p.n, p.origin - (p.k - 1), backward_chunk(p));
    const std::int64_t wanted = ceil_div(kBlocksPerMultiprocessor * multiprocessors, p.channels * shape.chunks);
    shape.splits = static_cast<int>(std::min<std::int64_t>(wanted, p.batch * shape.tiles));
    return shape;
}

unsigned checked_grid(std::int64_t blocks) {
    if (blocks > kMaxBlocks) {
        throw CudaError(Code::unsupported, "depthwise: " + std::to_string(blocks) + " blocks; a grid has at most " +
                                               std::to_string(kMaxBlocks) + ": split the batch");
    }
    return static_cast<unsigned>(blocks);
}

// Calls body(S{}) with the element type, a real one.
template <class Body>
void with_type(Dtype dtype, const Body& body) {
    with_sample_type(dtype, [&]<class S>(ElementType<S>) {
        if constexpr (!kIsComplexElement<S>) { body(S{}); }
    });
}

// Calls body(std::integral_constant) with k, at most kDepthwiseExactTaps.
template <class Body>
void with_taps(std::int64_t k, const Body& body) {
    static_assert(kDepthwiseExactTaps == 4);
    switch (k) {
        case 1:
            return body(std::integral_constant<int, 1>{});
        case 2:
            return body(std::integral_constant<int, 2>{});
        case 3:
            return body(std::integral_constant<int, 3>{});
        default:
            return body(std::integral_constant<int, 4>{});
    }
}

// Sums of the blocks that share a channel, then how many of them arrived.
std::int64_t partial_bytes(const Depthwise& p, const DepthwiseShape& shape) {
    return shape.splits == 1 ? 0 : p.channels * shape.chunks * shape.splits * backward_chunk(p) * bytes_of_sum(p.dtype);
}

}  // namespace

void launch_depthwise_forward(const Depthwise& p, void* y, const void* x, const void* taps, cudaStream_t stream) {
    const DepthwiseShape shape = forward_shape(p);
    const std::int64_t rows = p.batch * p.channels;
    const bool aligned = at_vectors(p, {y, x});
    with_type(p.dtype, [&](auto element) {
        using S = decltype(element);
        auto* const to = static_cast<S*>(y);
        const auto* const from = static_cast<const S*>(x);
        const auto* const h = static_cast<const S*>(taps);
        const auto launch = [&](auto kernel, const DepthwiseShape& of, std::int64_t blocks) {
            launch_kernel(kernel, checked_grid(blocks), kDepthwiseThreads, 0, stream, of, to, from, h);
        };
        if (p.k >= kLeastTiledTaps) {
            const DepthwiseShape tiled = tiled_shape<S>(p);
            launch(&depthwise_forward_tiled<S, false>, tiled, rows * tiled.tiles);
        } else if (aligned && is_exact(p)) {
            with_taps(p.k, [&](auto k) {
                launch(&depthwise_forward_exact<S, k(), kTilesPerBlock>, shape, rows * ceil_div(shape.tiles, kTilesPerBlock));
            });
        } else if (aligned) {
            launch(&depthwise_forward_chunked<S, true>, shape, rows * shape.tiles);
        } else {
            launch(&depthwise_forward_chunked<S, false>, shape, rows * shape.tiles);
        }
    });
}

std::int64_t depthwise_backward_workspace_bytes(const Depthwise& p, int multiprocessors) {
    const DepthwiseShape shape = backward_shape(p, multiprocessors);
    const std::int64_t partial = partial_bytes(p, shape);
    return partial == 0 ? 0 : partial + p.channels * shape.chunks * static_cast<std::int64_t>(sizeof(unsigned));
}

void launch_depthwise_backward(const Depthwise& p, int multiprocessors, const DepthwiseGradients& tensors, void* workspace,
                               cudaStream_t stream) {
    const DepthwiseShape shape = backward_shape(p, multiprocessors);
    const bool aligned = at_vectors(p, {tensors.grad_x, tensors.grad_y, tensors.x});
    const unsigned grid = checked_grid(p.channels * shape.chunks * shape.splits);
    unsigned* arrived = nullptr;
    if (shape.splits > 1) {
        arrived = reinterpret_cast<unsigned*>(static_cast<std::byte*>(workspace) + partial_bytes(p, shape));
        check(cudaMemsetAsync(arrived, 0, static_cast<std::size_t>(p.channels * shape.chunks) * sizeof(unsigned), stream),
              "cudaMemsetAsync");
    }
    with_type(p.dtype, [&](auto element) {
        using S = decltype(element);
        auto* of_x = static_cast<S*>(tensors.grad_x);
        if (of_x != nullptr && has_tiled_gradient(p)) {
            const DepthwiseShape tiled = tiled_shape<S>(problem_of_grad_x(p));
            launch_kernel(&depthwise_forward_tiled<S, true>, checked_grid(p.batch * p.channels * tiled.tiles), kDepthwiseThreads, 0,
                          stream, tiled, of_x, static_cast<const S*>(tensors.grad_y), static_cast<const S*>(tensors.taps));
            of_x = nullptr;
        }
        auto* const partial = static_cast<typename Element<S>::Sum*>(workspace);
        const auto launch = [&](auto kernel) {
            launch_kernel(kernel, grid, kDepthwiseThreads, 0, stream, shape, of_x, static_cast<S*>(tensors.grad_taps),
                          static_cast<const S*>(tensors.grad_y), static_cast<const S*>(tensors.x),
                          static_cast<const S*>(tensors.taps), partial, arrived);
        };
        if (aligned && is_exact(p) && shape.chunks == 1) {
            with_taps(p.k, [&](auto k) { launch(&depthwise_backward_exact<S, k()>); });
        } else if (backward_chunk(p) == kDepthwiseLongChunk) {
            aligned ? launch(&depthwise_backward_chunked<S, true, kDepthwiseLongChunk>)
                    : launch(&depthwise_backward_chunked<S, false, kDepthwiseLongChunk>);
        } else {
            aligned ? launch(&depthwise_backward_chunked<S, true, kDepthwiseChunk>)
                    : launch(&depthwise_backward_chunked<S, false, kDepthwiseChunk>);
        }
    });
}

}  // namespace tapline::cuda
