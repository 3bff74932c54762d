// What the executables of integer_fft share: samples to limbs, outputs of limbs to sums.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <type_traits>

#include "core/plan/parallel.hpp"
#include "cpu/integer/integer_epilogue.hpp"
#include "cpu/integer/integer_fft_shape.hpp"
#include "cpu/integer/integer_fft_taps.hpp"
#include "cpu/integer/integer_levels.hpp"
#include "cpu/overlap_save/overlap_save_blocks.hpp"

namespace tapline::cpu {

/// T: the C++ type of the signal, std::uint8_t for bool.
template <class T>
class IntegerFftExecutable : public core::Executable {
public:
    IntegerFftExecutable(const core::Resolved& problem, const std::int64_t* taps, const core::Request& request,
                         const IntegerFftShape& shape)
        : problem_(problem),
          shape_(shape),
          threads_(request.threads),
          target_(current_target()),
          kernels_(limb_kernels(target_)),
          epilogue_(problem_),
          fft_(target_, shape.blocks.log2_size),
          taps_(problem_, shape_, fft_, taps, request.threads),
          io_(problem_, shape_.blocks, fft_),
          sum_of_taps_(request.facts.sum_of_taps) {}

    /// Any division into calls gives the same bits, but parts of blocks cost what whole ones do.
    [[nodiscard]] std::int64_t granularity() const final { return overlap_save_granularity(problem_, shape_.blocks); }

protected:
    // Samples and outputs that pass through a buffer on the stack at once.
    static constexpr std::int64_t kChunk = 1024;
    using Norms = std::array<double, LimbWays::kMostLimbs>;

    /// The samples of a unit that a transform reads, without those past the last one that any output needs.
    struct Windows {
        const T* samples[2];
        std::int64_t count[2];
    };

    [[nodiscard]] int transform_threads() const { return shape_.blocks.shared ? threads_ : 1; }
    [[nodiscard]] int task_threads() const { return shape_.blocks.shared ? 1 : shape_.blocks.slots; }
    [[nodiscard]] std::int64_t scratch_elements() const {
        return fft_.tables().scratch_extent * std::max(shape_.blocks.slots, transform_threads());
    }
    [[nodiscard]] static std::int64_t whole_lines(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }
    [[nodiscard]] std::int64_t buffers_bytes(std::int64_t buffers) const {
        return whole_lines(buffers * fft_.extent() * static_cast<std::int64_t>(sizeof(double)));
    }
    [[nodiscard]] std::int64_t windows_bytes() const { return whole_lines(2 * fft_.size() * static_cast<std::int64_t>(sizeof(T))); }
    [[nodiscard]] int all_bits() const { return bits_of(or_bits_of(problem_.dtype)); }

    /// Whether a way is exact where `values` samples are at most `share` of what these bits allow.
    [[nodiscard]] bool is_exact_for(const LimbWay& way, int bits, double values, double share = 1) const {
        Norms norms{};
        for (int j = 0; j < way.samples.count; ++j) {
            norms[static_cast<std::size_t>(j)] = share * way.samples.largest(j, bits) * std::sqrt(values);
        }
        return is_exact(way, norms);
    }
    /// Whether it is worth splitting samples to know: if one in ten is half as large as the largest may be.
    [[nodiscard]] bool may_be_exact(const LimbWay& way, int bits, double values) const {
        return is_exact_for(way, bits, 0.1 * values, 0.5);
    }
    [[nodiscard]] bool is_exact(const LimbWay& way, const Norms& norms) const {
        return error_of(way, norms.data(), taps_.norms(), shape_.blocks.log2_size, shape_.blocks.partitions) <= kMostError;
    }
    /// The first way that is exact for any samples. integer_fft_shape() has seen to it that there is one.
    [[nodiscard]] LimbWay way_for_all(double values) const {
        const LimbWays ways(shape_.taps, all_bits(), epilogue_.modulo_bits());
        const auto* const way =
            std::find_if(ways.begin(), ways.end(), [&](const LimbWay& w) { return is_exact_for(w, all_bits(), values); });
        if (way == ways.end()) { throw Error(ErrorCode::unsupported, "integer_fft: no limbs are exact for these taps"); }
        return *way;
    }
    [[nodiscard]] bool has_room_for(const LimbWay& way) const {
        return std::max(way.products.samples, way.products.outputs) <= shape_.most_outputs;
    }

    /// Whether all outputs of a unit come after one that is known to overflow.
    [[nodiscard]] bool is_needless(const Unit& unit, OverflowLog& log) const {
        bool needless = true;
        for (int side = 0; side < (unit.both ? 2 : 1); ++side) {
            needless = needless && log.before(unit.row[side], unit.segment[side] * shape_.blocks.block);
        }
        return needless;
    }

    /// A unit's windows, `offset` samples on; `gathered` has room for both, where they do not lie packed in memory.
    [[nodiscard]] Windows load(const Call& call, const Unit& unit, std::int64_t offset, T* gathered, int threads) const {
        Windows windows{};
        for (int side = 0; side < (unit.both ? 2 : 1); ++side) {
            const std::int64_t begin = io_.window_begin(unit, side) + offset;
            const std::int64_t count = std::clamp<std::int64_t>(call.needed_end - begin, 0, fft_.size());
            const std::int64_t row = unit.row[side];
            windows.count[side] = count;
            windows.samples[side] =
                problem_.dtype == Dtype::boolean ? nullptr : core::direct_view<T>(call.input, row, begin, count);
            if (windows.samples[side] != nullptr) { continue; }
            T* const to = gathered + side * fft_.size();
            const std::int64_t part = threads == 1 ? count : kChunk;
            const auto gather = [&](std::int64_t index, int) {
                const std::int64_t first = index * part, samples = std::min(part, count - first);
                core::gather<T>(to + first, problem_, call.input, row, begin + first, samples);
                if (problem_.dtype != Dtype::boolean) { return; }
                for (T* x = to + first; x < to + first + samples; ++x) { *x = *x != 0; }  // any nonzero byte is true
            };
            if (count > 0) { core::parallel_for((count + part - 1) / part, threads, std::cref(gather)); }
            windows.samples[side] = to;
        }
        return windows;
    }

    [[nodiscard]] std::uint64_t or_bits_in(const Windows& windows) const {
        const auto of = kernels_.of<T>().or_bits;
        return of(windows.samples[0], windows.count[0]) | of(windows.samples[1], windows.count[1]);
    }

    /// Limb j of the samples to the transforms' natural order, returns the sum of its squares.
    double split(double* data, const Windows& windows, const LimbWay& way, int j, int threads) const {
        const FftTables<double>& t = fft_.tables();
        std::atomic<double> squares = 0;
        const auto row = [&](std::int64_t r, int) {
            double of_row = 0;
            for (int side = 0; side < 2; ++side) {
                const std::int64_t last = std::clamp<std::int64_t>(windows.count[side] - r * t.columns, 0, t.columns);
                double* const to = data + side * t.im_offset + r * t.pitch;
                for (std::int64_t i = 0; i < last; i += kChunk) {
                    of_row += split_chunk(to + i, windows.samples[side] + r * t.columns + i, std::min(kChunk, last - i), way, j);
                }
                std::fill(to + last, to + t.columns, 0.0);
            }
            squares += of_row;
        };
        core::parallel_for(t.rows, threads, std::cref(row));
        return squares;
    }

    /// What lies past the outputs is not stored.
    [[nodiscard]] FftSink<double> sink(const Unit& unit, double* data) const {
        return fft_.sink(data, shape_.blocks.block, unit.both ? shape_.blocks.block : 0);
    }

    /// The outputs of a unit, rounded and put together, with the epilogue; output w of the limbs begins at data + w *
    /// fft_.extent(). `bits`: the samples' or_bits.
    void join(const Call& call, const Unit& unit, const LimbWay& way, std::uint64_t bits, const double* data, int threads,
              OverflowLog& log) const {
        const long double most = static_cast<long double>(sum_of_taps_) * (static_cast<long double>(bits) + 1);
        if (epilogue_.modulo_bits() != 0 || most < 0x1p63L) {
            join_as<std::int64_t>(call, unit, way, data, threads, log);
        } else if (most < 0x1p127L) {
            join_as<core::Int128>(call, unit, way, data, threads, log);
        } else {
            join_as<core::Int192>(call, unit, way, data, threads, log);
        }
    }

    core::Resolved problem_;
    IntegerFftShape shape_;
    int threads_;
    Target target_;
    const LimbKernels& kernels_;
    IntegerEpilogue epilogue_;
    BlockFft<double> fft_;
    LimbSpectra taps_;
    SegmentIo<double> io_;

private:
    double split_chunk(double* to, const T* samples, std::int64_t count, const LimbWay& way, int j) const {
        if (way.samples.count == 1 && way.samples.modulo_bits == 0) { return kernels_.of<T>().convert(to, samples, count); }
        alignas(64) std::int64_t wide[kChunk];
        kernels_.of<T>().widen(wide, samples, count);
        return kernels_.split(to, wide, count, Limb(way.samples, j, std::is_unsigned_v<T>));
    }

    template <class Acc>
    void join_as(const Call& call, const Unit& unit, const LimbWay& way, const double* data, int threads, OverflowLog& log) const {
        const FftTables<double>& t = fft_.tables();
        const auto row = [&](std::int64_t r, int) {
            for (int side = 0; side < (unit.both ? 2 : 1); ++side) {
                const auto wanted = io_.wanted(call, unit, side);
                const std::int64_t begin = std::max(r * t.columns, wanted.first);
                const std::int64_t end = std::min((r + 1) * t.columns, wanted.first + wanted.count);
                const std::int64_t from = side * t.im_offset + r * (t.pitch - t.columns);
                for (std::int64_t i = begin; i < end; i += kChunk) {
                    join_chunk<Acc>(call, unit.row[side], unit.segment[side] * shape_.blocks.block + i, std::min(kChunk, end - i),
                                    way, data + from + i, log);
                }
            }
        };
        core::parallel_for((shape_.blocks.block + t.columns - 1) / t.columns, threads, std::cref(row));
    }

    template <class Acc>
    void join_chunk(const Call& call, std::int64_t row, std::int64_t first, std::int64_t count, const LimbWay& way,
                    const double* data, OverflowLog& log) const {
        alignas(64) Acc sums[kChunk];
        std::array<const double*, kMostJoined> values;
        const int outputs = way.products.outputs, base = way.samples.base;
        for (int w = 0; w < outputs; ++w) { values[static_cast<std::size_t>(w)] = data + w * fft_.extent(); }
        if constexpr (std::is_same_v<Acc, std::int64_t>) { kernels_.join64(sums, values.data(), outputs, base, count); }
        if constexpr (std::is_same_v<Acc, core::Int128>) { join128(kernels_, sums, values.data(), outputs, base, count); }
        if constexpr (std::is_same_v<Acc, core::Int192>) { join192(kernels_, sums, values.data(), outputs, base, count); }
        epilogue_.store(call.output, row, first, count, sums, log);
    }

    double sum_of_taps_;
};

/// The executable of filters in parts.
std::unique_ptr<core::Executable> prepare_integer_fft_partitioned(const core::Resolved& problem, const std::int64_t* taps,
                                                                  const core::Request& request, const IntegerFftShape& shape);

}  // namespace tapline::cpu
