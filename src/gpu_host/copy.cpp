#include "gpu_host/copy.hpp"

#include <cstring>

#include "core/plan/parallel.hpp"
#include "core/problem/elements.hpp"
#include "gpu_host/problem.hpp"

namespace tapline::gpu_host {
namespace {

using core::Input;
using core::Output;
using core::Resolved;

// What one thread copies at a time: large beside the microsecond that handing out a task takes, and it stays in a private cache
// where rows are interleaved and read one after the other.
constexpr std::int64_t kTaskBytes = std::int64_t{256} << 10;
// Interleaved rows are taken together, at least so many samples of each: a cache line's worth.
constexpr std::int64_t kLeastTogether = 16;

// body(tile, offset of its first element in the piece) for tiles that cover the piece, on all threads.
template <class Body>
void for_each_tile(const PackedPiece& piece, std::size_t element_bytes, bool interleaved, int threads, const Body& body) {
    const std::int64_t elements = kTaskBytes / static_cast<std::int64_t>(element_bytes);
    const std::int64_t count = std::min(piece.count, interleaved ? std::max(elements / piece.items, kLeastTogether) : elements);
    const std::int64_t items = interleaved ? piece.items : std::clamp<std::int64_t>(elements / count, 1, piece.items);
    const std::int64_t across = (piece.count + count - 1) / count;
    const std::int64_t down = (piece.items + items - 1) / items;
    core::parallel_for(across * down, threads, [&](std::int64_t task, int /*slot*/) {
        const std::int64_t item = task / across * items;
        const std::int64_t first = task % across * count;
        const PackedPiece tile{piece.item + item, std::min(items, piece.items - item), piece.first + first,
                               std::min(count, piece.count - first)};
        for (std::int64_t i = 0; i < tile.items; ++i) {
            body(PackedPiece{tile.item + i, 1, tile.first, tile.count}, (item + i) * piece.count + first);
        }
    });
}

bool interleaved(std::int64_t batch_stride, std::int64_t stride) { return std::abs(batch_stride) < std::abs(stride); }

// ---- Signals: sample by sample ----

// f(T{}) with a C++ type that holds the elements as they are stored: a bool is a byte.
template <class F>
void with_stored_type(Dtype dtype, const F& f) {
    core::with_type_of<float, double, std::complex<float>, std::complex<double>, std::int8_t, std::int16_t, std::int32_t,
                       std::int64_t, std::uint16_t, std::uint32_t, std::uint64_t, std::uint8_t>(
        core::is_half(dtype) ? Dtype::u16 : dtype, f);
}

void gather_samples(void* to, const Resolved& problem, const Input& input, const PackedPiece& piece, int threads) {
    with_stored_type(problem.dtype, [&]<class T>(T) {
        for_each_tile(piece, sizeof(T), interleaved(input.main.batch_stride, input.main.stride), threads,
                      [&](const PackedPiece& tile, std::int64_t offset) {
                          core::gather(static_cast<T*>(to) + offset, problem, input, tile.item, tile.first, tile.count);
                      });
    });
}

void scatter_samples(const Output& output, const void* from, Dtype dtype, const PackedPiece& piece, int threads) {
    with_stored_type(dtype, [&]<class T>(T) {
        for_each_tile(piece, sizeof(T), interleaved(output.batch_stride, output.stride), threads,
                      [&](const PackedPiece& tile, std::int64_t offset) {
                          const T* samples = static_cast<const T*>(from) + offset;
                          T* to = static_cast<T*>(output.data) + tile.item * output.batch_stride +
                                  (tile.first - output.first) * output.stride;
                          if (output.stride == 1) {
                              std::memcpy(to, samples, static_cast<std::size_t>(tile.count) * sizeof(T));
                              return;
                          }
                          for (std::int64_t i = 0; i < tile.count; ++i) { to[i * output.stride] = samples[i]; }
                      });
    });
}

// ---- Images and volumes: what has one position along the cut axis, packed ----

// What lies inside it: channels, x and, of a volume, y.
class Inside {
public:
    Inside(const Resolved& r, bool output) : channels_(r.channels.length), pixels_(output ? r.x.outputs : r.x.n) {
        channel_ = output ? r.channels.out_stride : r.channels.in_stride;
        x_ = output ? r.x.out_stride : r.x.in_stride;
        y_ = r.rank < 3 ? 0 : output ? r.y.out_stride : r.y.in_stride;
        is_packed_ =
            (channels_ == 1 || channel_ == 1) && (pixels_ == 1 || x_ == channels_) && (r.rank < 3 || y_ == channels_ * pixels_);
    }
    [[nodiscard]] bool is_packed() const { return is_packed_; }
    // Where packed element `element` lies.
    [[nodiscard]] std::int64_t of(std::int64_t element) const {
        const std::int64_t pixel = element / channels_;
        const std::int64_t row = pixel / pixels_;
        return (element - pixel * channels_) * channel_ + (pixel - row * pixels_) * x_ + row * y_;
    }

private:
    std::int64_t channels_, pixels_, channel_ = 0, x_ = 0, y_ = 0;
    bool is_packed_ = true;
};

// body(row, first element in it, count) for the rows of `row_elements` that a tile of one item touches; tile.first may be negative.
template <class Body>
void for_each_row(const PackedPiece& tile, std::int64_t row_elements, const Body& body) {
    std::int64_t row = tile.first / row_elements - (tile.first % row_elements < 0 ? 1 : 0);
    std::int64_t within = tile.first - row * row_elements;
    for (std::int64_t left = tile.count; left > 0; ++row) {
        const std::int64_t count = std::min(row_elements - within, left);
        body(row, within, count);
        left -= count;
        within = 0;
    }
}

void gather_rows(void* to, const Resolved& problem, const Input& input, const PackedPiece& piece, int threads) {
    const auto bytes = static_cast<std::int64_t>(size_of(problem.dtype));
    const std::int64_t row_elements = position_elements(problem).in;
    const core::Piece& main = input.main;
    const Inside inside_of_row(problem, false);
    for_each_tile(piece, size_of(problem.dtype), false, threads, [&](const PackedPiece& tile, std::int64_t offset) {
        std::byte* packed = static_cast<std::byte*>(to) + offset * bytes;
        for_each_row(tile, row_elements, [&](std::int64_t row, std::int64_t within, std::int64_t count) {
            const bool inside = row >= main.first && row < main.last;
            const std::int64_t source = inside ? row : core::boundary_index(problem.cut().boundary, row, input.n);
            const auto size = static_cast<std::size_t>(count * bytes);
            if (source >= main.first && source < main.last) {
                const std::int64_t first = tile.item * main.batch_stride + (source - main.first) * main.stride;
                const auto* const from = static_cast<const std::byte*>(main.data) + first * bytes;
                if (inside_of_row.is_packed()) {
                    std::memcpy(packed, from + within * bytes, size);
                } else {
                    for (std::int64_t i = 0; i < count; ++i) {
                        std::memcpy(packed + i * bytes, from + inside_of_row.of(within + i) * bytes,
                                    static_cast<std::size_t>(bytes));
                    }
                }
            } else {
                std::memset(packed, 0, size);
            }
            packed += size;
        });
    });
}

void scatter_rows(const Output& output, const void* from, const Resolved& problem, const PackedPiece& piece, int threads) {
    const auto bytes = static_cast<std::int64_t>(size_of(problem.output_dtype));
    const std::int64_t row_elements = position_elements(problem).out;
    const Inside inside_of_row(problem, true);
    for_each_tile(piece, size_of(problem.output_dtype), false, threads, [&](const PackedPiece& tile, std::int64_t offset) {
        const std::byte* packed = static_cast<const std::byte*>(from) + offset * bytes;
        for_each_row(tile, row_elements, [&](std::int64_t row, std::int64_t within, std::int64_t count) {
            const std::int64_t first = tile.item * output.batch_stride + (row - output.first) * output.stride;
            auto* const to = static_cast<std::byte*>(output.data) + first * bytes;
            const auto size = static_cast<std::size_t>(count * bytes);
            if (inside_of_row.is_packed()) {
                std::memcpy(to + within * bytes, packed, size);
            } else {
                for (std::int64_t i = 0; i < count; ++i) {
                    std::memcpy(to + inside_of_row.of(within + i) * bytes, packed + i * bytes, static_cast<std::size_t>(bytes));
                }
            }
            packed += size;
        });
    });
}

}  // namespace

void gather_piece(void* to, const Resolved& problem, const Input& input, const PackedPiece& piece, int threads) {
    if (problem.rank == 1) { return gather_samples(to, problem, input, piece, threads); }
    gather_rows(to, problem, input, piece, threads);
}

void scatter_piece(const Output& output, const void* from, const Resolved& problem, const PackedPiece& piece, int threads) {
    if (problem.rank == 1) { return scatter_samples(output, from, problem.output_dtype, piece, threads); }
    scatter_rows(output, from, problem, piece, threads);
}

}  // namespace tapline::gpu_host
