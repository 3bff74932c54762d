// Around the passes: the mask's spectrum, made once in double, and outputs whose windows hold samples that are not finite.
#include <algorithm>

#include "cuda/families/common/grids.hpp"
#include "cuda/families/image_fft_large/image_fft_large_rows.cuh"
#include "cuda/launch.hpp"
#include "cuda/primitives/turns.cuh"

namespace tapline::cuda::image_fft_large_rung {
namespace {

constexpr int kMostBlocks = 1024;

__device__ __forceinline__ std::int64_t first_item() { return std::int64_t{blockIdx.x} * kThreads + threadIdx.x; }
__device__ __forceinline__ std::int64_t all_threads() { return std::int64_t{gridDim.x} * kThreads; }

__device__ __forceinline__ double2 times(double2 a, double2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }

/// Row i of the mask at frequency x: sum of tap j * exp(-2 pi i (x + 1/4) j / points).
__global__ void __launch_bounds__(kThreads) row_spectra_kernel(const __grid_constant__ MakeSpectrum m) {
    for (std::int64_t item = first_item(); item < std::int64_t{m.height} * m.points; item += all_threads()) {
        const auto x = static_cast<int>(item % m.points);
        const float* const taps = m.taps + item / m.points * m.width;
        const double2 turn = half_turns(-(4.0 * x + 1) / (2.0 * m.points));
        double2 w{1, 0};
        double2 sum{0, 0};
        for (int j = 0; j < m.width; ++j) {
            sum.x += taps[j] * w.x;
            sum.y += taps[j] * w.y;
            w = times(w, turn);
        }
        m.rows_of_mask[item] = sum;
    }
}

/// Frequency (y, x): sum of those * exp(-2 pi i y i / rows) / (rows points).
__global__ void __launch_bounds__(kThreads) spectrum_kernel(const __grid_constant__ MakeSpectrum m) {
    for (std::int64_t item = first_item(); item < std::int64_t{m.rows} * m.points; item += all_threads()) {
        const auto x = static_cast<int>(item % m.points);
        const double2 turn = half_turns(-2.0 * static_cast<double>(item / m.points) / m.rows);
        double2 w{1, 0};
        double2 sum{0, 0};
        for (int i = 0; i < m.height; ++i) {
            const double2 term = times(m.rows_of_mask[std::int64_t{i} * m.points + x], w);
            sum.x += term.x;
            sum.y += term.y;
            w = times(w, turn);
        }
        const double scale = 1.0 / (static_cast<double>(m.rows) * m.points);
        m.spectrum[item] = {static_cast<float>(sum.x * scale), static_cast<float>(sum.y * scale)};
    }
}

/// The terms of samples that are not finite, which the transforms took as zeros, are the sum: whatever is added changes nothing. A
/// block takes a row of outputs if its windows reach a row that has any.
__global__ void __launch_bounds__(kThreads)
    repair_kernel(const __grid_constant__ ImageArguments a, const __grid_constant__ Passes g) {
    if (g.bad[0] == 0) { return; }
    const auto thread = static_cast<int>(threadIdx.x);
    const std::int64_t width = a.out_elements / a.channels;
    const std::int64_t piece_rows = a.in_last - a.in_first;
    for (std::int64_t number = blockIdx.x; number < a.images * a.channels * a.rows; number += gridDim.x) {
        const std::int64_t plane = number / a.rows;
        const std::int64_t y = number - plane * a.rows;
        const std::int64_t image = plane / a.channels;
        const std::int64_t channel = plane - image * a.channels;
        const unsigned* const bad = g.bad + 1 + plane * piece_rows;
        const std::int64_t top = a.first + y - a.origin_y;
        bool any = false;
        for (int i = thread; i < a.mask_height; i += kThreads) {
            const std::int64_t row = source_row(a, top + i);
            any = any || (row >= 0 && bad[row] != 0);
        }
        if (__syncthreads_or(any ? 1 : 0) == 0) { continue; }
        const std::int64_t in = image * a.in_image + channel * g.steps.in_channel;
        const std::int64_t out = image * a.out_image + y * a.out_row + channel * g.steps.out_channel;
        const float* const mask = static_cast<const float*>(a.taps) + channel * a.mask_taps;
        for (std::int64_t x = thread; x < width; x += kThreads) {
            // Parts of rows that the window reaches.
            const std::int64_t left = x - a.origin_x;
            const std::int64_t right = left + a.mask_width - 1;
            const bool inside = left >= 0 && right < a.width;
            const unsigned parts = inside ? 2 * part_of_row(a, right) - part_of_row(a, left) : ~0U;
            float sum = 0;
            bool found = false;
            for (int i = 0; i < a.mask_height && !isnan(sum); ++i) {
                const std::int64_t row = source_row(a, top + i);
                if (row < 0 || (bad[row] & parts) == 0) { continue; }
                for (int j = 0; j < a.mask_width; ++j) {
                    const std::int64_t at = image_fft_rung::source_pixel(a, left + j);
                    if (at < 0) { continue; }
                    const float sample =
                        load_any<float>(g.input_type, g.input_bytes, a.in, in + row * a.in_row + at * g.steps.in_pixel);
                    if (fabsf(sample) < INFINITY) { continue; }
                    found = true;
                    sum = fmaf(sample, mask[std::int64_t{i} * a.mask_width + j], sum);
                }
            }
            if (found) { store_pixel<float>(a, a.out, out + x * g.steps.out_pixel, sum); }
        }
    }
}

unsigned blocks_for(std::int64_t items) {
    return static_cast<unsigned>(std::min<std::int64_t>(divide_up(items, kThreads), kMostBlocks));
}

}  // namespace

void load_kernels_around() {
    load_kernel(&row_spectra_kernel);
    load_kernel(&spectrum_kernel);
    load_kernel(&repair_kernel);
}

void make_spectrum(const MakeSpectrum& m, cudaStream_t stream) {
    launch_kernel(&row_spectra_kernel, blocks_for(std::int64_t{m.height} * m.points), kThreads, 0, stream, m);
    launch_kernel(&spectrum_kernel, blocks_for(std::int64_t{m.rows} * m.points), kThreads, 0, stream, m);
}

void repair(const ImageArguments& a, const Passes& g, int most_blocks, cudaStream_t stream) {
    const std::int64_t rows = a.images * a.channels * a.rows;
    launch_kernel(&repair_kernel, static_cast<unsigned>(std::min<std::int64_t>(rows, most_blocks)), kThreads, 0, stream, a, g);
}

}  // namespace tapline::cuda::image_fft_large_rung
