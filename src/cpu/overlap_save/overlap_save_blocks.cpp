#include "cpu/overlap_save/overlap_save_blocks.hpp"

#include <algorithm>
#include <functional>

#include "core/plan/parallel.hpp"
#include "core/problem/epilogue.hpp"
#include "cpu/caches.hpp"

namespace tapline::cpu {
namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 4;
// Complex elements that pass through a buffer on the stack (8 KiB in complex64) between their two layouts.
constexpr std::int64_t kChunk = 1024;
constexpr std::size_t kCacheLine = 64;

}  // namespace

template <class T>
Call SegmentIo<T>::call(const core::Output& output, const core::Input& input, int threads) const {
    const bool known = input.n != kUnknownLength;
    const std::int64_t total = known ? core::output_length_of(problem_.mode, input.n, problem_.x.k) : kFar;
    const double bytes = static_cast<double>(output.count) * static_cast<double>(problem_.batch.length) *
                         static_cast<double>(size_of(problem_.dtype));
    return {output, input, total, known ? total - problem_.x.origin + problem_.x.k - 1 : kFar,
            stores_past_caches(bytes, bytes, threads)};
}

template <class T>
Chains SegmentIo<T>::chains(const Call& call) const {
    const std::int64_t last = call.output.first + call.output.count;
    Chains chains{call.output.first / block_, (last + block_ - 1) / block_, 0, problem_.batch.length};
    if (pairing_ == Pairing::rows) {
        chains.pairs_of_rows = problem_.batch.length / 2;
        chains.chains = chains.pairs_of_rows + problem_.batch.length % 2;
    }
    return chains;
}

template <class T>
std::int64_t SegmentIo<T>::chain_step(const Chains& chains, std::int64_t chain) const {
    return pairing_ == Pairing::complex_signal || chain < chains.pairs_of_rows ? 1 : 2;
}

template <class T>
std::int64_t SegmentIo<T>::chain_length(const Chains& chains, std::int64_t chain) const {
    if (chain_step(chains, chain) == 1) { return chains.last_segment - chains.first_segment; }
    return (chains.last_segment + 1) / 2 - chains.first_segment / 2;
}

template <class T>
Unit SegmentIo<T>::unit(const Call& call, const Chains& chains, std::int64_t chain, std::int64_t index) const {
    Unit unit{};
    if (chain < chains.pairs_of_rows) {
        const std::int64_t segment = chains.first_segment + index;
        unit = {{2 * chain, 2 * chain + 1}, {segment, segment}, true};
    } else if (pairing_ == Pairing::complex_signal) {
        const std::int64_t segment = chains.first_segment + index;
        unit = {{chain, chain}, {segment, segment}, false};
    } else {
        const std::int64_t row = chains.pairs_of_rows + chain;  // 2 * pairs + (chain - pairs)
        const std::int64_t segment = 2 * (chains.first_segment / 2 + index);
        unit = {{row, row}, {segment, segment + 1}, (segment + 1) * block_ < call.total};
    }
    return unit;
}

template <class T>
typename SegmentIo<T>::Wanted SegmentIo<T>::wanted(const Call& call, const Unit& unit, int side) const {
    if (is_complex_signal()) { side = 0; }
    const std::int64_t begin = unit.segment[side] * block_;
    const std::int64_t last = std::min({begin + block_, call.output.first + call.output.count, call.total});
    const std::int64_t first = std::max(begin, call.output.first);
    return {first - begin, std::max<std::int64_t>(last - first, 0)};
}

// (re, im) pairs side by side in memory: a complex signal, or the two channels of an interleaved one.
template <class T>
const T* SegmentIo<T>::pairs_view(const Call& call, const Unit& unit, std::int64_t first, std::int64_t count) const {
    const core::Piece& main = call.input.main;
    if (is_complex_signal()) {
        return reinterpret_cast<const T*>(core::direct_view<std::complex<T>>(call.input, unit.row[0], first, count));
    }
    const bool interleaved = pairing_ == Pairing::rows && unit.row[0] != unit.row[1] && main.stride == 2 && main.batch_stride == 1;
    if (!interleaved || first < main.first || first + count > main.last) { return nullptr; }
    return static_cast<const T*>(main.data) + unit.row[0] + 2 * (first - main.first);
}

template <class T>
T* SegmentIo<T>::pairs_target(const Call& call, const Unit& unit, std::int64_t first) const {
    const core::Output& output = call.output;
    if (is_complex_signal()) {
        return reinterpret_cast<T*>(core::direct_target<std::complex<T>>(problem_, output, unit.row[0], first));
    }
    const bool interleaved = pairing_ == Pairing::rows && unit.row[0] != unit.row[1] && output.stride == 2 &&
                             output.batch_stride == 1 && problem_.trivial_epilogue;
    return interleaved ? static_cast<T*>(output.data) + unit.row[0] + 2 * (first - output.first) : nullptr;
}

template <class T>
FftSource<T> SegmentIo<T>::direct_source(const Call& call, const Unit& unit) const {
    if (is_complex_signal() || !unit.both) { return {}; }
    const T* views[2];
    for (int side = 0; side < 2; ++side) {
        const std::int64_t begin = window_begin(unit, side);
        if (begin + layout_.size > call.needed_end) { return {}; }
        views[side] = core::direct_view<T>(call.input, unit.row[side], begin, layout_.size);
        if (views[side] == nullptr) { return {}; }
    }
    return {views[0], views[1], layout_.columns, block_ * (unit.row[0] == unit.row[1] ? 2 : 1)};
}

template <class T>
FftSink<T> SegmentIo<T>::direct_sink(const Call& call, const Unit& unit) const {
    if (is_complex_signal() || !unit.both) { return {}; }
    T* targets[2];
    std::int64_t counts[2];
    bool aligned = true;
    for (int side = 0; side < 2; ++side) {
        const Wanted want = wanted(call, unit, side);
        if (want.first != 0) { return {}; }
        targets[side] = core::direct_target<T>(problem_, call.output, unit.row[side], unit.segment[side] * block_);
        counts[side] = want.count;
        if (targets[side] == nullptr) { return {}; }
        aligned = aligned && reinterpret_cast<std::uintptr_t>(targets[side]) % kCacheLine == 0;
    }
    return {targets[0], targets[1], layout_.columns, counts[0], counts[1], aligned && call.stream};
}

template <class T>
void SegmentIo<T>::load_row(const Call& call, const Unit& unit, std::int64_t offset, std::int64_t from, std::int64_t count, T* re,
                            T* im) const {
    T* const parts[2] = {re, im};
    const std::int64_t first = window_begin(unit, 0) + offset + from;
    const std::int64_t valid = std::clamp<std::int64_t>(call.needed_end - first, 0, count);
    if (const T* const pairs = valid > 0 ? pairs_view(call, unit, first, valid) : nullptr) {
        kernels_.split(re, im, pairs, valid);
        std::fill(re + valid, re + count, T{0});
        std::fill(im + valid, im + count, T{0});
        return;
    }
    if (is_complex_signal()) {
        std::complex<T> chunk[kChunk];
        for (std::int64_t i = 0; i < valid; i += kChunk) {
            const std::int64_t samples = std::min(kChunk, valid - i);
            core::gather(chunk, problem_, call.input, unit.row[0], first + i, samples);
            kernels_.split(re + i, im + i, reinterpret_cast<const T*>(chunk), samples);
        }
        std::fill(re + valid, re + count, T{0});
        std::fill(im + valid, im + count, T{0});
        return;
    }
    for (int side = 0; side < 2; ++side) {
        const std::int64_t begin = window_begin(unit, side) + offset + from;
        const std::int64_t samples = side == 1 && !unit.both ? 0 : std::clamp<std::int64_t>(call.needed_end - begin, 0, count);
        if (samples > 0) { core::gather(parts[side], problem_, call.input, unit.row[side], begin, samples); }
        std::fill(parts[side] + samples, parts[side] + count, T{0});
    }
}

template <class T>
void SegmentIo<T>::load(const Call& call, const Unit& unit, std::int64_t offset, T* data, int threads) const {
    const WindowLayout& t = layout_;
    const auto row = [&](std::int64_t r, int) {
        T* const re = data + r * t.pitch;
        load_row(call, unit, offset, r * t.columns, t.columns, re, re + t.im_offset);
    };
    core::parallel_for(t.rows, threads, std::cref(row));
}

template <class T>
bool SegmentIo<T>::is_outside(const Call& call, const Unit& unit, std::int64_t offset) const {
    const bool zero = problem_.x.boundary == Boundary::zero;
    const std::int64_t end = call.input.n == kUnknownLength ? kFar : call.input.n;
    for (int side = 0; side < 2; ++side) {
        const std::int64_t begin = window_begin(unit, side) + offset;
        if (begin >= call.needed_end || (side == 1 && !unit.both)) { continue; }
        if (!zero || (begin < end && begin + layout_.size > 0)) { return false; }
    }
    return true;
}

template <class T>
void SegmentIo<T>::store_row(const Call& call, const Unit& unit, std::int64_t from, std::int64_t count, T* re, T* im) const {
    T* const parts[2] = {re, im};
    const Wanted want = wanted(call, unit, 0);
    const std::int64_t first = std::max(from, want.first);
    const std::int64_t last = std::min(from + count, want.first + want.count);
    T* const pairs = first < last ? pairs_target(call, unit, unit.segment[0] * block_ + first) : nullptr;
    if (pairs != nullptr) {
        kernels_.join(pairs, re + (first - from), im + (first - from), last - first);
    } else if (is_complex_signal()) {
        std::complex<T> chunk[kChunk];
        for (std::int64_t i = first; i < last; i += kChunk) {
            const std::int64_t samples = std::min(kChunk, last - i);
            kernels_.join(reinterpret_cast<T*>(chunk), re + (i - from), im + (i - from), samples);
            core::store(problem_, call.output, unit.row[0], unit.segment[0] * block_ + i, samples, chunk);
        }
    } else {
        for (int side = 0; side < (unit.both ? 2 : 1); ++side) {
            const Wanted w = wanted(call, unit, side);
            const std::int64_t begin = std::max(from, w.first);
            const std::int64_t end = std::min(from + count, w.first + w.count);
            if (begin >= end) { continue; }
            store_(problem_, call.output, unit.row[side], unit.segment[side] * block_ + begin, end - begin,
                   parts[side] + (begin - from));
        }
    }
}

template <class T>
void SegmentIo<T>::store(const Call& call, const Unit& unit, T* data, int threads) const {
    const WindowLayout& t = layout_;
    const auto row = [&](std::int64_t r, int) {
        T* const re = data + r * t.pitch;
        store_row(call, unit, r * t.columns, t.columns, re, re + t.im_offset);
    };
    core::parallel_for((std::min(block_, t.size) + t.columns - 1) / t.columns, threads, std::cref(row));
}

template <class T>
void SegmentIo<T>::store_some(const Call& call, const Unit& unit, int side, std::int64_t first, std::int64_t count, T* data) const {
    const Wanted want = wanted(call, unit, side);
    const std::int64_t begin = std::max(first, want.first), end = std::min(first + count, want.first + want.count);
    if (begin >= end) { return; }
    if (is_complex_signal()) {
        store_row(call, unit, begin, end - begin, data + begin, data + layout_.im_offset + begin);
    } else {
        store_(problem_, call.output, unit.row[side], unit.segment[side] * block_ + begin, end - begin,
               data + side * layout_.im_offset + begin);
    }
}

template <class T>
bool SegmentIo<T>::is_finite(const Call& call, const Unit& unit, const T* data) const {
    const WindowLayout& t = layout_;
    for (int part = 0; part < parts(unit); ++part) {
        const Wanted want = wanted(call, unit, part);
        for (std::int64_t at = want.first; at < want.first + want.count;) {
            const std::int64_t column = at % t.columns;
            const std::int64_t count = std::min(t.columns - column, want.first + want.count - at);
            if (!kernels_.all_finite(data + part * t.im_offset + at / t.columns * t.pitch + column, count)) { return false; }
            at += count;
        }
    }
    return true;
}

template <class T>
void for_each_unit(const SegmentIo<T>& io, const Call& call, const OverlapSaveShape& shape,
                   const std::function<void(const Unit& unit, int slot)>& run) {
    const Chains chains = io.chains(call);
    const std::int64_t longest = io.chain_length(chains, 0);  // a last row's chain has half as many units
    const std::int64_t units = longest * chains.chains;
    // Rows that share lines of memory are taken together, so that those are still in a cache for the next row.
    const bool side_by_side = std::abs(call.input.main.batch_stride) < std::abs(call.input.main.stride);
    const double seconds = static_cast<double>(units) * shape.unit_seconds;
    const std::int64_t wanted = shape.shared ? units : core::good_number_of_tasks(seconds, shape.slots);
    // Rather more tasks than wanted: rounded up, few units would be shared out unevenly.
    const std::int64_t per_task = std::max<std::int64_t>(units / std::max<std::int64_t>(wanted, 1), 1);
    const auto task = [&](std::int64_t index, int slot) {
        for (std::int64_t u = index * per_task; u < std::min((index + 1) * per_task, units); ++u) {
            const std::int64_t chain = side_by_side ? u % chains.chains : u / longest;
            const std::int64_t at = side_by_side ? u / chains.chains : u % longest;
            if (at < io.chain_length(chains, chain)) { run(io.unit(call, chains, chain, at), slot); }
        }
    };
    core::parallel_for((units + per_task - 1) / per_task, shape.shared ? 1 : shape.slots, std::cref(task), seconds);
}

template class SegmentIo<float>;
template class SegmentIo<double>;
template void for_each_unit<float>(const SegmentIo<float>&, const Call&, const OverlapSaveShape&,
                                   const std::function<void(const Unit&, int)>&);
template void for_each_unit<double>(const SegmentIo<double>&, const Call&, const OverlapSaveShape&,
                                    const std::function<void(const Unit&, int)>&);

}  // namespace tapline::cpu
