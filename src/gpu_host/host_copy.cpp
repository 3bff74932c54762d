#include "gpu_host/host_copy.hpp"

#include <cstring>
#include <string>

#include "core/plan/parallel.hpp"
#include "tapline/error.hpp"

namespace tapline::core {
namespace {

// What one thread copies at a time: large beside the microsecond that handing out a task takes, and it stays in a private cache
// where rows are interleaved and read one after the other.
constexpr std::int64_t kTaskBytes = std::int64_t{256} << 10;
// Interleaved rows are taken together, at least so many samples of each: a cache line's worth.
constexpr std::int64_t kLeastTogether = 16;

// body(rectangle) for rectangles that cover the piece, on all threads.
template <class Body>
void for_each_tile(const HostPiece& piece, std::size_t element_bytes, bool interleaved, int threads, const Body& body) {
    const std::int64_t elements = kTaskBytes / static_cast<std::int64_t>(element_bytes);
    const std::int64_t count = std::min(piece.count, interleaved ? std::max(elements / piece.rows, kLeastTogether) : elements);
    const std::int64_t rows = interleaved ? piece.rows : std::clamp<std::int64_t>(elements / count, 1, piece.rows);
    const std::int64_t across = (piece.count + count - 1) / count;
    const std::int64_t down = (piece.rows + rows - 1) / rows;
    parallel_for(across * down, threads, [&](std::int64_t task, int /*slot*/) {
        const std::int64_t row = task / across * rows;
        const std::int64_t first = task % across * count;
        body(HostPiece{piece.row + row, std::min(rows, piece.rows - row), piece.first + first,
                       std::min(count, piece.count - first)});
    });
}

template <class T>
void gather_as(void* to, const Resolved& problem, const Input& input, const HostPiece& piece, int threads) {
    const bool interleaved = input.main.batch_stride < input.main.stride;
    for_each_tile(piece, sizeof(T), interleaved, threads, [&](const HostPiece& tile) {
        for (std::int64_t row = tile.row; row < tile.row + tile.rows; ++row) {
            T* packed = static_cast<T*>(to) + (row - piece.row) * piece.count + (tile.first - piece.first);
            gather(packed, problem, input, row, tile.first, tile.count);
        }
    });
}

// T has the element's size and alignment; its value does not matter.
template <class T>
void scatter_as(const Output& output, const void* from, const HostPiece& piece, int threads) {
    const bool interleaved = output.batch_stride < output.stride;
    for_each_tile(piece, sizeof(T), interleaved, threads, [&](const HostPiece& tile) {
        for (std::int64_t row = tile.row; row < tile.row + tile.rows; ++row) {
            const T* packed = static_cast<const T*>(from) + (row - piece.row) * piece.count + (tile.first - piece.first);
            T* to = static_cast<T*>(output.data) + row * output.batch_stride + (tile.first - output.first) * output.stride;
            if (output.stride == 1) {
                std::memcpy(to, packed, static_cast<std::size_t>(tile.count) * sizeof(T));
                continue;
            }
            for (std::int64_t i = 0; i < tile.count; ++i) { to[i * output.stride] = packed[i]; }
        }
    });
}

}  // namespace

void gather_piece(void* to, const Resolved& problem, const Input& input, const HostPiece& piece, int threads) {
    switch (problem.dtype) {
        case Dtype::f32:
            return gather_as<float>(to, problem, input, piece, threads);
        case Dtype::f64:
            return gather_as<double>(to, problem, input, piece, threads);
        case Dtype::complex64:
            return gather_as<std::complex<float>>(to, problem, input, piece, threads);
        case Dtype::complex128:
            return gather_as<std::complex<double>>(to, problem, input, piece, threads);
        case Dtype::f16:
        case Dtype::bf16:
            return gather_as<std::uint16_t>(to, problem, input, piece, threads);
        default:
            throw Error(ErrorCode::unsupported, std::string("dtype: ") + to_string(problem.dtype) + " is not copied to a GPU");
    }
}

void scatter_piece(const Output& output, const void* from, Dtype dtype, const HostPiece& piece, int threads) {
    switch (dtype) {  // elements are aligned to their real type
        case Dtype::complex64:
            return scatter_as<std::complex<float>>(output, from, piece, threads);
        case Dtype::complex128:
            return scatter_as<std::complex<double>>(output, from, piece, threads);
        default:
            break;
    }
    switch (size_of(dtype)) {
        case 1:
            return scatter_as<std::uint8_t>(output, from, piece, threads);
        case 2:
            return scatter_as<std::uint16_t>(output, from, piece, threads);
        case 4:
            return scatter_as<std::uint32_t>(output, from, piece, threads);
        default:
            return scatter_as<std::uint64_t>(output, from, piece, threads);
    }
}

}  // namespace tapline::core
