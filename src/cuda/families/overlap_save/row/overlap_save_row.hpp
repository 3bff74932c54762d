// Rows that one transform takes as a whole: what the kernels and their launches share.
#pragma once

#include <string>
#include <vector>

#include "cuda/families/overlap_save/overlap_save.hpp"
#include "cuda/families/overlap_save/overlap_save_spectrum.hpp"

namespace tapline::cuda::overlap_save {

/// Rows of up to kSide^2 samples, kSide threads each with kSide points. kWarps: of the segments (Segments, Cut) in whose place the
/// kernel works.
template <int kSide_, int kWarps_, int kMostRows_>
struct RowShape {
    static constexpr int kSide = kSide_;  // threads of a row, and points of each
    static constexpr int kWarps = kWarps_;
    static constexpr int kMostRows = kMostRows_;   // of a block
    static constexpr int kPoints = kSide * kSide;  // of the transform
    static constexpr int kPitch =
        kSide + 2;  // points: 16-byte stores of rows and 8-byte loads of columns are free of bank conflicts
    static constexpr int kBuffer = kSide * kPitch;
    // Factors of fft::four_steps_by, then couples of pairs (c, t) of the other steps in their turn, of thread p at (i, p).
    static constexpr int kFours = 2 * fft::kFours * kSide;
    static constexpr int kPairsThere = kFours + (kSide / 2 - 8) * kSide;
    static constexpr int kPairsBack = kFours + (kSide / 4 - 8) * kSide;  // of all steps but the last
    static constexpr int kTable = kPairsThere + kPairsBack + kPoints;    // with the last step's (cos, tan) and e^(5i)
};
/// 12 rows of 168 registers a thread took as long as 16 of 128.
using ShortRow = RowShape<32, 1, 16>;
/// 64 points are 128 registers of 255; 6 rows with 168 registers took 1.5 times as long.
using Row = RowShape<64, 4, 4>;
inline constexpr int kLeastRowsOfBlock = 2;

// Rows of up to 32,768 samples, by a cluster of two blocks, in place of segments of 32 warps.
inline constexpr int kLongRowWarps = 32;
inline constexpr int kLongRowPoints = 32768;
inline constexpr int kLongRowThreads = 512;                     // of a block
inline constexpr int kLongRowRegion = kExchangePoints<float2>;  // of a warp
inline constexpr int kLongRowLanes = 32 * fft::kFactorsOf32;
/// Of a block: factors of its division among 16 warps, what turns its points into the outputs' parts, the warps' factors and
/// twiddles.
inline constexpr int kLongRowHalfTable = 16 + 2 * 16 + 16 * fft::kFactorsOf32 + 16 * 32 + 16 * 32;
/// A warp's: of what it received and of what it may send; and the block's, of points that are free.
inline constexpr int kLongRowBarriers = 2 * 16 + 1;
inline constexpr int kLongRowTurnBytes = 64;  // of two rows
// By one block, half a row at a time, where filters are causal and rows many.
inline constexpr int kCausalRowTable = 16 * fft::kFactorsOf32 + 16 * 32 + 16 * 32;  // the warps' factors and twiddles
inline constexpr int kCausalRowKept = 9;                    // of a thread's pairs of products, in shared memory
inline constexpr int kCausalRowLeft = 16 - kCausalRowKept;  // in the workspace

/// body(shape) with the shape of rows that are not long.
template <class Body>
auto with_shape(int warps, const Body& body) {
    return warps == ShortRow::kWarps ? body(ShortRow{}) : body(Row{});
}

/// Threads of a row, and points of each; 0: of long rows.
inline int side_of(int warps) {
    return warps == kLongRowWarps ? 0 : with_shape(warps, [](auto shape) { return decltype(shape)::kSide; });
}

/// Of the transform in place of segments of so many warps that has a kernel, and rows of a multiprocessor.
int row_points(int warps);
int rows_at_once(int warps);

/// Whether rows of the problem are such that a kernel takes them in place of segments of so many warps: no longer than its
/// transform, as many outputs at most, zeros around them, filters of their own that are no longer either.
bool takes_rows(const Problem& p, int warps, const cuda_abi::Device& device);
/// Whether long rows are taken by halves: they are of 16 bits, no output reads samples that come later, and every multiprocessor
/// has a row.
bool takes_halves(const Problem& p, int warps, const cuda_abi::Device& device);

/// All that launches need to know of a plan whose rows are taken as a whole.
struct RowPlan {
    int warps = 0;  ///< of the segments in whose place
    bool by_halves = false;
    SegmentKernel some = nullptr, whole = nullptr;  ///< whole: of rows and outputs as long as the transform, copied as they are
    int in_block = 0;                               ///< rows of a block at a time; of long ones half a one
    int clusters = 0;                               ///< that the device holds
    int sample_bytes = 0;
    std::int64_t workspace_bytes = 0;
};
RowPlan load_rows(const Prepared& prepared, int warps);
std::string describe_rows(const RowPlan& plan);
/// The kernels' tables, and the spectra of all filters, appended; and the bytes of the tables and of both.
void append_row_tables(std::vector<std::byte>& to, const RowPlan& plan);
void append_row_spectra(std::vector<std::byte>& to, const Prepared& prepared, const RowPlan& plan);
std::int64_t row_table_bytes(const RowPlan& plan);
std::int64_t all_row_bytes(const Problem& p, const RowPlan& plan);
/// What makes the spectra on the device instead; without a kernel where it cannot.
SpectrumPlan load_row_spectra(const Prepared& prepared, const RowPlan& plan);

/// Whether a launch of rows takes the job, of which a stream's are not.
bool takes_job(const RowPlan& plan, const Job& job);
/// on_device.tables: the tables, then the spectra. `workspace`: of RowPlan::workspace_bytes.
void launch_rows(const Prepared& prepared, const RowPlan& plan, const Job& job, const OnDevice& on_device, void* workspace,
                 cudaStream_t stream);

}  // namespace tapline::cuda::overlap_save
