#include "cpu/lines/few_taps.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cpu/caches.hpp"

namespace tapline::cpu {
namespace {

// Taps of lines that are read backwards; of those of which every second sample is read, with products for those between them;
// and of those that are only widened, each sample so many times.
constexpr std::int64_t kMostTurned = 4, kMostReversed = 16, kMostOfEverySecond = 3, kMostWidened = 6;
// Samples that are so many bytes apart are read a page each: 5,501 columns of 1,500 under 2 taps take 4.0 ms so and 3.4 as lines,
// 550 of 1,500 doubles under 4 0.21 and 0.26 (two threads, AVX-512).
constexpr std::int64_t kPage = 4096;
// Of lines that fill half a vector fewer.
constexpr std::int64_t kMostTurnedOfFewLines = 3, kTurnedBytes = 32;
// Outputs that are made in scratch memory stay in the L1 cache.
constexpr std::int64_t kPieceElements = 4096, kFewestInPiece = 64, kMostInPiece = 1024;
constexpr std::int64_t kCacheLine = 64;
// Ends of shorter lines take longer by themselves than all else is worth: 1,000 rows of 2,000 numbers of 16 bits, read backwards
// under 4 taps, take 0.35 ms as lines and 0.43 with the ends apart, 300 of 4,500 0.24 and 0.20 (two threads, AVX-512).
constexpr std::int64_t kFewestWithEnds = 2816, kFewestTurnedWithEnds = 512;

std::int64_t most_along(std::int64_t step) { return step == -1 ? kMostReversed : step == 2 ? kMostOfEverySecond : kMostWidened; }

}  // namespace

FewTaps::FewTaps(const LineLayout& layout, const core::Resolved& lines, std::int64_t rows, Target target)
    : target_(target),
      k_(layout.problem.x.k),
      in_bytes_(static_cast<std::int64_t>(size_of(layout.problem.dtype))),
      unit_bytes_(static_cast<std::int64_t>(size_of(lines.dtype))),
      out_bytes_(static_cast<std::int64_t>(size_of(layout.problem.output_dtype))) {
    const core::Resolved& p = layout.problem;
    const bool pairs = is_complex(lines.dtype), as_made = lines.trivial_epilogue && p.output_dtype == lines.dtype;
    if (pairs && !as_made) { return; }
    const bool near = p.batch.in_stride == 1 && std::abs(p.x.in_stride) > 1;
    const auto find = [&](const auto& kernels, auto& found, auto& put) {
        const std::int64_t most_turned = rows * unit_bytes_ < kTurnedBytes ? kMostTurnedOfFewLines : kMostTurned;
        const bool in_pages_of_their_own = std::abs(p.x.in_stride) * in_bytes_ >= kPage;
        if (near && layout.filters == 1 && rows >= kFewestTurned && k_ <= most_turned && !in_pages_of_their_own) {
            found = kernels.turned(p.dtype, pairs);
            turned_ = found != nullptr;
        } else if (!near && k_ <= most_along(p.x.in_stride)) {
            found = kernels.along(p.dtype, pairs, p.x.in_stride);
        }
        sums_ = found != nullptr;
        if (sums_ && !as_made) { put.emplace(p, lines, target); }
    };
    const FewTable& table = few_kernels(target);
    real_part_of(lines.dtype) == Dtype::f64 ? find(table.f64, f64_, put_f64_) : find(table.f32, f32_, put_f32_);
    if (!sums_) { return; }
    const std::int64_t together = turned_ ? rows : 1;
    piece_ = std::clamp(kPieceElements / together / kFewestInPiece * kFewestInPiece, kFewestInPiece, kMostInPiece);
    // From line to line an odd number of lines of the cache, and room for a line of outputs of another type.
    scratch_elements_ = (together + 1) * (piece_ + kCacheLine / unit_bytes_);
}

bool FewTaps::takes(std::int64_t lines, std::int64_t count, bool whole) const {
    const std::int64_t with_ends = turned_ ? kFewestTurnedWithEnds : kFewestWithEnds;
    return sums_ && count >= (whole ? kFewestAlong : with_ends) && (!turned_ || lines >= kFewestTurned);
}

void FewTaps::sum(const Block& block, std::byte* to, std::int64_t to_line, bool past_caches) const {
    const auto sum = [&]<class T>(FewSums<T> kernel) {
        kernel({.out = reinterpret_cast<T*>(to),
                .in = block.from,
                .taps = static_cast<const T*>(block.taps),
                .k = k_,
                .count = block.count,
                .lines = block.lines,
                .step = block.strides.step,
                .line = block.strides.line_stride,
                .out_line = to_line,
                .stream = past_caches});
    };
    f64_ != nullptr ? sum(f64_) : sum(f32_);
}

void FewTaps::run(const Block& block, std::byte* scratch) const {
    const bool as_made = !put_f32_ && !put_f64_;
    const std::int64_t line_bytes = block.to_line * out_bytes_;
    const bool apart = turned_ && share_sets(line_bytes);
    if (as_made && !apart) { return sum(block, block.to, block.to_line, block.past_caches); }
    const std::int64_t pitch = piece_ + kCacheLine / unit_bytes_;
    for (std::int64_t o = 0; o < block.count;) {
        // The last two pieces share what is left, so that none is shorter than a kernel takes.
        const std::int64_t rest = block.count - o, some = rest <= piece_ ? rest : rest < 2 * piece_ ? rest / 2 : piece_;
        Block piece = block;
        piece.from += o * block.strides.step * in_bytes_;
        piece.count = some;
        sum(piece, scratch, pitch, false);
        for (std::int64_t l = 0; l < block.lines; ++l) {
            std::byte* const to = block.to + (l * block.to_line + o) * out_bytes_;
            std::byte* const made = scratch + l * pitch * unit_bytes_;
            const auto put = [&]<class T>(const RunStore<T>& store) {
                store(to, reinterpret_cast<T*>(made), reinterpret_cast<T*>(scratch + block.lines * pitch * unit_bytes_), some);
            };
            if (put_f64_) {
                put(*put_f64_);
            } else if (put_f32_) {
                put(*put_f32_);
            } else if (!block.past_caches) {
                std::memcpy(to, made, static_cast<std::size_t>(some * out_bytes_));
            }
        }
        if (as_made && block.past_caches) {
            line_kernels(target_).stream(block.to + o * out_bytes_, line_bytes, scratch, pitch * unit_bytes_, some * out_bytes_,
                                         block.lines);
        }
        o += some;
    }
}

}  // namespace tapline::cpu
