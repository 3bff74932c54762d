#include "cuda/families/overlap_save/large/overlap_save_large_prepare.hpp"

#include <algorithm>

#include "cuda/engine_state.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large_tables.hpp"
#include "cuda/families/overlap_save/overlap_save_points.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda::overlap_save {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kMostCopyingBlocks = 1024;

unsigned blocks_for(std::int64_t elements) {
    return static_cast<unsigned>(std::min<std::int64_t>(divide_up(elements, kThreads), kMostCopyingBlocks));
}

__global__ void widen_kernel(double* to, const float* from, std::int64_t count) {
    for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += std::int64_t{gridDim.x} * kThreads) {
        to[i] = from[i];
    }
}

/// In the order in which rows in float read a spectrum, a lane's factors 2i and 2i + 1 together.
__global__ void round_kernel(float2* to, const double2* from, std::int64_t points) {
    for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < points; i += std::int64_t{gridDim.x} * kThreads) {
        const int f = static_cast<int>(i % kPoints);
        const double2 value = from[i];
        to[i - f + fft::halves_place(f / 32, f % 32)] = {static_cast<float>(value.x), static_cast<float>(value.y)};
    }
}

/// The kernel of such segments in double; its own shared memory and tables.
LargeKernel wide_kernel(bool is_complex, int bits) {
    return is_complex ? large_kernel_of<double2>(bits) : large_kernel_of<double>(bits);
}

void load_spectra(const Prepared& prepared, bool is_complex, int bits) {
    const LargeKernel wide = wide_kernel(is_complex, bits);
    load_kernel(wide.spectrum, static_cast<std::size_t>(wide.shared_bytes), prepared.device);
    load_kernel(&round_kernel);
}

/// Launches what `a` and `g` say of the taps, segments of 2^bits points, in double; rounds to `to` if the plan's points are in
/// float. Waits.
void make_spectra(const Prepared& prepared, bool is_complex, int bits, const Arguments& a, LargeSegments g, void* to,
                  cudaStream_t stream) {
    const LargeKernel wide = wide_kernel(is_complex, bits);
    const int device = prepared.device.index;
    std::vector<std::byte> tables;
    append(tables, large_tables(wide.radix, wide.warps, is_complex, true), true);
    const DeviceMemory on_device(device, static_cast<std::int64_t>(tables.size()));
    check(cudaMemcpyAsync(on_device.pointer, tables.data(), tables.size(), cudaMemcpyHostToDevice, stream), "copying tables");
    const DeviceMemory state(device, sizeof(LargeState));
    check(cudaMemsetAsync(state.pointer, 0, sizeof(LargeState), stream), "cudaMemsetAsync");
    g.tables = on_device.pointer;
    g.state = static_cast<LargeState*>(state.pointer);
    const std::int64_t points = std::max<std::int64_t>(g.spectra, 1) << bits;
    const std::int64_t blocks = std::min<std::int64_t>(prepared.device.multiprocessors, points / kTilePoints);
    launch_kernel(wide.spectrum, static_cast<unsigned>(blocks), kTileThreads, static_cast<std::size_t>(wide.shared_bytes), stream,
                  a, g);
    if (!point_type_of(prepared.problem).is_wide()) {
        launch_kernel(&round_kernel, blocks_for(points), kThreads, 0, stream, static_cast<float2*>(to),
                      static_cast<const double2*>(g.made_spectrum), points);
    }
    check(cudaStreamSynchronize(stream), "making a spectrum");
}

}  // namespace

void load_plan_spectrum(const Prepared& prepared, int bits) {
    load_spectra(prepared, point_type_of(prepared.problem).is_complex, bits);
    load_kernel(&widen_kernel);
}

void make_plan_spectrum(const Prepared& prepared, const LargeCut& cut, void* to, cudaStream_t stream) {
    const Problem& p = prepared.problem;
    const PointType type = point_type_of(p);
    const int device = prepared.device.index;
    constexpr std::int64_t kPointBytes = sizeof(double2);
    const bool real_taps = has_real_taps(p);
    const std::int64_t numbers = p.x.k * (real_taps ? 1 : 2);  // of the taps
    const bool narrow = !type.is_wide();
    const DeviceMemory wide_taps(device, narrow ? numbers * static_cast<std::int64_t>(sizeof(double)) : 0);
    const DeviceMemory wide_spectrum(device, narrow ? cut.points * kPointBytes : 0);

    Arguments a{};
    a.k = p.x.k;
    LargeSegments g{};
    g.skip = cut.skip;
    g.real_taps = real_taps;
    g.made_spectrum = narrow ? wide_spectrum.pointer : to;
    g.given = narrow ? wide_taps.pointer : prepared.on_device.taps;
    if (narrow) {
        launch_kernel(&widen_kernel, blocks_for(numbers), kThreads, 0, stream, static_cast<double*>(wide_taps.pointer),
                      static_cast<const float*>(prepared.on_device.taps), numbers);
    }
    make_spectra(prepared, type.is_complex, cut.bits, a, g, to, stream);
}

void load_parts_spectra(const Prepared& prepared, int bits) { load_spectra(prepared, true, bits); }

void make_parts_spectra(const Prepared& prepared, const LargeCut& part, int parts, void* points, void* to, cudaStream_t stream) {
    Arguments a{};
    a.k = part.points;
    LargeSegments g{};
    g.spectra = parts;
    g.conjugated = 1;
    g.given = g.made_spectrum = points;
    make_spectra(prepared, true, part.bits, a, g, to, stream);
}

}  // namespace tapline::cuda::overlap_save
