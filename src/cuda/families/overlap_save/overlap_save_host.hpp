// Overlap-save on the host: how rows are cut into segments, which kernel takes them, what a launch costs.
#pragma once

#include <array>
#include <complex>
#include <functional>
#include <string>
#include <vector>

#include "cuda/families/overlap_save/overlap_save.hpp"
#include "cuda/primitives/arguments.cuh"

namespace tapline::cuda::overlap_save {

inline constexpr std::array<int, 5> kWarpCounts{1, 2, 4, 8, 16};
/// Of segments that a cluster's blocks share.
inline constexpr std::array<int, 3> kClusterWarpCounts{32, 64, 128};

struct Type {
    int bytes;  // of a sample
    int tap_bytes;
    int point_bytes;  // of a complex point
    bool is_complex;
};
Type type_of(const Problem& p);

/// How a problem's rows are cut, whatever the signal's length and place are: bits of outputs depend on nothing else.
struct Cut {
    int warps = 0;    // of a segment
    int samples = 0;  // of a segment
    int skip = 0;     // samples that a segment begins early: at a multiple of 16 bytes if sample 0 does, of 32 samples if it can
    int outputs = 0;  // of a segment; 0: it has no room for the taps
    int used = 0;     // samples that its outputs read, `skip` included
    std::int64_t taps = 0;
};
Cut cut_of(const Problem& p, int warps, std::int64_t taps);

/// The kernel for launches that may be plain, and the one for the others.
Kernel fast_kernel(const Problem& p, int warps, const cuda_abi::Device& device);
Kernel slow_kernel(const Problem& p, int warps);
/// Segments that a block holds at a time; 0: not even one.
int segments_of_block(const Kernel& kernel, int warps, const cuda_abi::Device& device);
/// Whether unit strides and types allow plain launches at all.
bool plain_problem(const Problem& p);
/// Whether there is a kernel for segments of this size on the device, and room for so many taps.
bool has_size(const Problem& p, int warps, std::int64_t taps, const cuda_abi::Device& device);
/// Seconds, as choices need them: of one launch for all outputs, and of one a part and chunk of segments. The layout does not
/// count: a stream's pieces lie otherwise than the signal of a plan that must give the same bits.
double estimate(const Problem& p, const Cut& cut, const cuda_abi::Device& device);
double estimate_parts(const Problem& p, const Cut& cut, std::int64_t segments_at_once, const cuda_abi::Device& device);

/// Loads the kernels that launch_segments() uses.
void load_kernels(const Prepared& prepared, int warps);

/// Taps that one launch does.
struct Part {
    std::int64_t first;         ///< the first tap of its spectrum, which has Cut::taps
    std::int64_t own, own_end;  ///< its taps; the others of its spectrum are zero
};
/// All taps at once, or cut.taps at a time. The last part's spectrum begins early, so that it needs as many samples as the others.
std::vector<Part> parts_of(std::int64_t taps, const Cut& cut);

/// Points as the kernels read them, appended.
void append(std::vector<std::byte>& to, const std::vector<std::complex<double>>& points, bool wide);
/// Tap t of taps of a type.
std::complex<double> tap_at(const std::byte* taps, std::int64_t t, Dtype type);
/// body(i) for 0 <= i < count, by several threads if there are many: a filter a channel makes thousands of spectra.
void in_parallel(std::int64_t count, const std::function<void(std::int64_t)>& body);

/// Pairs and twists, then the spectra of every filter for each part; and their size.
std::vector<std::byte> make_tables(const Prepared& prepared, const Cut& cut);
std::int64_t table_bytes(const Problem& p, const Cut& cut);
std::int64_t spectrum_bytes(const Problem& p, const Cut& cut);  // of one filter

/// Outputs [first_output, first_output + count) of rows [row, row + rows) of a job, as far as one part makes them.
struct Launch {
    std::int64_t row = 0, rows = 1, first_output = 0, count = 0;
    std::int64_t part = 0;
    void* sums_in = nullptr;   ///< added to the part's sums: (rows, sums_row)
    void* sums_out = nullptr;  ///< where they go instead of to the output
    std::int64_t sums_row = 0;
    void* taken = nullptr;  ///< kTakenBytes where segments may be counted that warps take; null: nowhere
};
/// Whether a launch with so many segments in all gains from that.
bool takes_segments(const Prepared& prepared, const Cut& cut, std::int64_t segments);
void launch_segments(const Prepared& prepared, const Job& job, const Cut& cut, const Launch& launch, cudaStream_t stream);

}  // namespace tapline::cuda::overlap_save
