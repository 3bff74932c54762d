// Segments on the host: how rows are cut into them, which kernels take them, what a launch costs, how it is made.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "cuda/families/common/types.hpp"
#include "cuda/families/overlap_save/overlap_save_points.hpp"
#include "cuda/families/overlap_save/overlap_save_spectrum.hpp"
#include "cuda/families/overlap_save/segment/overlap_save_ahead.hpp"

namespace tapline::cuda::overlap_save {

inline constexpr std::array<int, 5> kWarpCounts{1, 2, 4, 8, 16};
/// Of segments that a cluster's blocks share.
inline constexpr std::array<int, 3> kClusterWarpCounts{32, 64, 128};

/// How a problem's rows are cut, whatever the signal's place is and, but for tiles and many rows, its length: bits of outputs
/// depend on nothing else.
struct Cut {
    int warps = 0;    // of a segment
    int samples = 0;  // of a segment
    int skip = 0;     // samples that a segment begins early: at a multiple of 16 bytes if sample 0 does, of 32 samples if it can
    int outputs = 0;  // of a segment; 0: it has no room for the taps
    int used = 0;     // samples that its outputs read, `skip` included
    std::int64_t taps = 0;
};
Cut cut_of(const Problem& p, int warps, std::int64_t taps);

/// Taps that one launch does.
struct Part {
    std::int64_t first;         ///< the first tap of its spectrum, which has Cut::taps
    std::int64_t own, own_end;  ///< its taps; the others of its spectrum are zero
};
/// All taps at once, or cut.taps at a time. The last part's spectrum begins early, so that it needs as many samples as the others.
std::vector<Part> parts_of(std::int64_t taps, const Cut& cut);

/// A room's kernels: segment_kernel_of, or those of clusters.
using KernelOf = Kernel (*)(const Problem& p, int warps, bool plain, Spectrum spectrum);
Kernel segment_kernel_of(const Problem& p, int warps, bool plain, Spectrum spectrum);

/// Whether such a kernel takes the problem's segments where strides are plain.
bool takes_narrow(const Problem& p, int warps);

/// The kernel for launches that may be plain, and the one for the others.
Kernel fast_kernel(KernelOf kernel_of, const Problem& p, int warps, const cuda_abi::Device& device);
Kernel slow_kernel(KernelOf kernel_of, const Problem& p, int warps);
/// Segments that a block holds at a time; 0: not even one.
int segments_of_block(const Kernel& kernel, int warps, const cuda_abi::Device& device);
/// Whether there is a kernel for segments of this size on the device, and room for so many taps. The layout does not matter: a
/// stream's pieces lie otherwise than the signal of a plan that must give the same bits.
bool has_size(KernelOf kernel_of, const Problem& p, int warps, std::int64_t taps, const cuda_abi::Device& device);

/// Whether plans of the problem take the kernel of tiles: samples or outputs are not side by side, or not of one type.
bool goes_by_tiles(KernelOf kernel_of, const Problem& p, int warps);

/// Whether tiles' samples may come ahead, `kernel` being the one of tiles and `in_block` the segments that a block of it holds.
bool may_come_ahead(const Problem& p, int warps, const Kernel& kernel, int in_block, const cuda_abi::Device& device);
/// How many lines of a tile come by way of shared memory, so many bytes at a time; 0: samples come straight from memory.
struct Staging {
    int lines = 0, bytes = 0;
};
/// Elements from one of a row's samples and outputs to the next, and where the first sample lies.
struct TilesPlace {
    std::int64_t in_sample, out_sample;
    std::uintptr_t address;
};
/// How tiles are launched.
struct TilesShape {
    int lines = 1;  ///< neighbouring rows, whose segments come and go together
    Staging staging;
    bool ahead = false;  ///< by ahead_kernel()
    std::int64_t tiles = 0, teams = 1, blocks = 1;

    /// That a team takes one after the other, at most.
    [[nodiscard]] std::int64_t rounds() const { return (tiles - 1) / (teams * blocks) + 1; }
};
/// Of rows of so many segments each, by a kernel whose blocks hold `in_block` of them.
TilesShape tiles_shape(const Problem& p, const Rows& rows, const TilesPlace& place, std::int64_t segments, const Kernel& kernel,
                       int warps, int in_block, const cuda_abi::Device& device);

/// Of those numbers of warps the one that is predicted to be the fastest; 0: none has room.
int best_warps(KernelOf kernel_of, std::span<const int> warp_counts, const Problem& p, const cuda_abi::Device& device);
/// The cut by as many warps as the plan's policy asks for, or the best. Throws CudaError.
Cut cut_of_plan(KernelOf kernel_of, std::span<const int> warp_counts, const Prepared& prepared);
/// What a plan with the cut tells of it.
std::string describe_cut(const Cut& cut, const Kernel& kernel);
std::vector<Policy> policies_of(KernelOf kernel_of, std::span<const int> warp_counts, const Problem& p,
                                const cuda_abi::Device& device);

/// Seconds, as choices need them: of one launch for all outputs, and of one a part and chunk of segments.
double estimate(KernelOf kernel_of, const Problem& p, const Cut& cut, const cuda_abi::Device& device);
double estimate_parts(const Problem& p, const Cut& cut, std::int64_t segments_at_once, const cuda_abi::Device& device);

/// A loaded kernel.
struct LoadedKernel : Kernel {
    int in_block = 0;                ///< segments that a block holds at a time; 0: the kernel cannot be launched
    int clusters = 0;                ///< that the device holds, of several blocks
    std::size_t spectrum_bytes = 0;  ///< of tiles: a place of the block for the spectrum of one filter
    bool may_come_ahead = false;     ///< of tiles: their samples, in ahead_kernel()
};
/// All that launches need to know of a plan.
struct SegmentPlan {
    Cut cut;
    PointType type{};
    bool real_taps = true;
    std::vector<Part> parts;
    LoadedKernel fast, slow;
};
SegmentPlan load_segments(KernelOf kernel_of, const Prepared& prepared, const Cut& cut);

/// Pairs and twiddles; behind them the spectra of every filter for each part, made on the host. And the size of both.
std::vector<std::byte> make_tables(const SegmentPlan& plan);
void append_spectra(std::vector<std::byte>& tables, const Prepared& prepared, const SegmentPlan& plan);
/// What makes the spectra on the device instead, where they are many; else without a kernel.
SpectrumPlan load_spectra_on_device(const Prepared& prepared, const SegmentPlan& plan);
SpectrumShape spectrum_shape(const SegmentPlan& plan);
std::int64_t table_bytes(const Problem& p, const SegmentPlan& plan);
std::int64_t spectrum_bytes(const SegmentPlan& plan);  // of one filter
std::int64_t all_spectra_bytes(const Problem& p, const SegmentPlan& plan);

/// Outputs [first_output, first_output + count) of rows [row, row + rows) of a job, as far as one part makes them.
struct Launch {
    std::int64_t row = 0, rows = 1, first_output = 0, count = 0;
    std::int64_t part = 0;
    void* sums_in = nullptr;   ///< added to the part's sums: (rows, sums_row)
    void* sums_out = nullptr;  ///< where they go instead of to the output
    std::int64_t sums_row = 0;
    Checks checks{};        ///< of checked kernels: but for what depends on the launch's rows
    void* taken = nullptr;  ///< kTakenBytes where segments may be counted that warps take; null: nowhere
};
/// The job of a launch's outputs alone.
Job job_of_launch(const Problem& p, const Job& job, const Launch& launch);
/// Whether a launch with so many segments in all gains from that.
bool takes_segments(const Prepared& prepared, const Cut& cut, std::int64_t segments);
void launch_segments(const Prepared& prepared, const SegmentPlan& plan, const Job& job, const OnDevice& on_device,
                     const Launch& launch, cudaStream_t stream);

}  // namespace tapline::cuda::overlap_save
