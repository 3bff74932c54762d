// A filter's spectrum made on the GPU, from taps that lie there.
#pragma once

#include "cuda/families/common/ordered_taps.hpp"
#include "cuda/families/overlap_save/overlap_save_points.hpp"

namespace tapline::cuda::overlap_save {

enum class SpectrumOrder : int {
    plain,
    couples,
    halves,
    square_row,  ///< of rows that threads take as a square of points (row/overlap_save_row.hpp)
    long_row,    ///< of rows that two blocks take
    half_row,    ///< of halves of them
};

/// What depends on the way of overlap-save.
struct SpectrumShape {
    std::int64_t ready_bytes;
    int skip;
    int rows, warps;  // of a segment, of a row
    int for_block;    // the factors are as rung 27 takes them
    SpectrumOrder order;
};

/// Which taps each of many spectra has.
struct SpectrumTaps {
    std::int64_t pitch_bytes = 0;  // from one filter's to the next one's
    int filters = 1;
    /// Of a segment's filter in parts, as Part: spectrum part * filters + filter.
    int parts = 1, part_taps = 0, last_first = 0;  // part_taps 0: all
    /// Of whole rows: spectrum filter * lags + lag, of powers origin - t - lag * points.
    int lags = 0, origin = 0;
};

struct SpectrumJob {
    const void* given;  // (k) in device memory, of the plan's type of taps
    const void* ready;  // what lies before the spectrum in a rung's tables; null: nothing has to be copied
    void* tables;       // the same, then the spectrum
    void* taps;         // (k) in correlation order
    int k;
    int is_complex, real_taps;  // the samples; the taps
    int reversed, conjugated;   // correlation order is the given one reversed, conjugated
    int first_spectrum;         // of the launch
    SpectrumShape shape;
    SpectrumTaps of;
    int has_columns;  // the sums of every run's terms lie where its factors go
};

using SpectrumKernel = void (*)(SpectrumJob job);

/// For segments of rows * 1024 * warps points and one filter.
struct SpectrumPlan {
    SpectrumKernel kernel = nullptr;
    unsigned blocks = 0;
    SpectrumKernel columns = nullptr;  // goes before; null: `kernel` does all
    unsigned column_blocks = 0;
    SpectrumJob job{};  // but for pointers and what is given
};
SpectrumPlan load_spectrum(const Problem& p, const SpectrumShape& shape);
void launch_spectrum(const SpectrumPlan& plan, const void* ready, void* tables, void* taps, const cuda_abi::DeviceTaps& given,
                     cudaStream_t stream);

/// From so many points on spectra of a plan's taps are made on the device, in double, and rounded once, as the host would.
inline constexpr std::int64_t kLeastPointsOnDevice = 1 << 14;
/// For all of a plan's spectra, of taps in correlation order; of those that come later they are formed in the points' own type.
SpectrumPlan load_plan_spectra(const Problem& p, const SpectrumShape& shape, const SpectrumTaps& taps);
/// Writes them one behind the other to `to`.
void launch_plan_spectra(const SpectrumPlan& plan, const void* taps, void* to, cudaStream_t stream);
/// The same of filters that come later, in front what a rung's tables begin with: `ready_bytes` of prepared.on_device.tables.
void launch_later_spectra(const Prepared& prepared, const OrderPlan& order, const SpectrumPlan& plan, std::int64_t ready_bytes,
                          void* tables, void* taps, const GivenFilters& given, cudaStream_t stream);
/// Seconds of making `spectra` spectra of so many points.
double spectra_seconds(const Problem& p, std::int64_t points, std::int64_t spectra, const cuda_abi::Device& device);

}  // namespace tapline::cuda::overlap_save
