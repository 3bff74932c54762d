// Rows that one transform takes as a whole: when, their tables, their launch.
#include "cuda/ladder/conv1d/overlap_save_row.cuh"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "cuda/check.hpp"
#include "cuda/ladder/conv1d/overlap_save_host.hpp"
#include "cuda/ladder/conv1d/overlap_save_tables.hpp"
#include "cuda/ladder/conv1d/production.hpp"

namespace tapline::cuda::overlap_save {
namespace {

const void* kernel_of(const Problem& p) {
    switch (p.dtype) {
        case kF32:
            return reinterpret_cast<const void*>(&overlap_save_row_kernel<float>);
        case kF16:
            return reinterpret_cast<const void*>(&overlap_save_row_kernel<__half>);
        case kBf16:
            return reinterpret_cast<const void*>(&overlap_save_row_kernel<__nv_bfloat16>);
        default:
            return nullptr;
    }
}

constexpr std::int64_t kPointBytes = sizeof(float2);

int rows_of_block(const cuda_abi::Device& device) {
    const std::int64_t room = static_cast<std::int64_t>(shared_limit(device)) - kRowTable * kPointBytes;
    return static_cast<int>(std::clamp<std::int64_t>(room / (kRowBuffer * kPointBytes), 0, kRowsOfBlock));
}

std::size_t shared_bytes(int rows) { return static_cast<std::size_t>((kRowTable + rows * kRowBuffer) * kPointBytes); }

constexpr double kPi = std::numbers::pi;

void append_pairs(std::vector<Complex>& to, int count, double first_angle) {
    for (int i = 0; i < count; ++i) {
        int step = 0;
        while (i >= 1 << step) { ++step; }
        const int b = i == 0 ? 0 : i - (1 << (step - 1));
        for (int p = 0; p < kRowThreads; ++p) {
            const double angle = fft::pair_angle((first_angle + 2 * kPi * p) / 64, step, b);
            to.emplace_back(std::cos(angle), std::tan(angle));
        }
    }
}

/// sum_t taps[t] z^(origin - t) / M at z = e^(i (pi/2 + 2 pi j)/M), where z^M = i; as threads read it, two values at a time.
std::vector<Complex> spectrum_of(const HostTransform& transform, const std::byte* taps, const Problem& p) {
    std::vector<Complex> folded(kRowPoints);
    for (std::int64_t t = 0; t < p.k; ++t) {
        const std::int64_t power = p.origin - t;
        const std::int64_t turns = power >= kRowPoints ? 1 : power < 0 ? -1 : 0;
        const std::int64_t at = power - turns * kRowPoints;
        const double angle = kPi / 2 * (static_cast<double>(turns) + static_cast<double>(at) / kRowPoints);
        folded[static_cast<std::size_t>(at)] += HostTransform::product(tap_at(taps, t, p.taps_dtype), std::polar(1.0, angle));
    }
    transform(folded);
    std::vector<Complex> result(kRowPoints);
    for (int value = 0; value < 64; ++value) {
        for (int thread = 0; thread < kRowThreads; ++thread) {
            const int at = (value / 2 * kRowThreads + thread) * 2 + value % 2;
            const int frequency = thread + 64 * fft::reversed(value, 6);
            result[static_cast<std::size_t>(at)] = folded[static_cast<std::size_t>(frequency)] / static_cast<double>(kRowPoints);
        }
    }
    return result;
}

}  // namespace

bool takes_rows(const Problem& p, const cuda_abi::Device& device) {
    const bool short_enough = p.n > 0 && p.n <= kRowPoints && p.output_length <= kRowPoints && p.k <= kRowPoints;
    return kernel_of(p) != nullptr && short_enough && p.origin >= 0 && p.origin <= kRowPoints && p.boundary == kZero &&
           p.filters > 1 && plain_problem(p) && rows_of_block(device) >= kLeastRowsOfBlock;
}

bool takes_job(const Job& job) {
    return job.n >= 0 && job.in_first >= 0 && job.in_last <= kRowPoints && job.first >= 0 && job.first + job.count <= kRowPoints &&
           job.in_sample == 1 && job.out_sample == 1 && job.rows <= kMostBlocks;
}

void append_row_tables(std::vector<std::byte>& to, const Prepared& prepared) {
    const Problem& p = prepared.problem;
    std::vector<Complex> table;
    append_pairs(table, 32, kPi / 2);
    append_pairs(table, 16, 0);
    for (int m = 0; m < 32; ++m) {
        for (int thread = 0; thread < kRowThreads; ++thread) {
            const double angle = kPi * (thread + 64 * m) / (2 * kRowPoints);
            table.emplace_back(std::cos(angle), std::tan(angle));
            table.push_back(std::polar(1.0, 5 * angle));
        }
    }
    append(to, table, false);
    const std::size_t before = to.size();
    constexpr std::size_t kEach = kRowPoints * kPointBytes;
    to.resize(before + static_cast<std::size_t>(p.filters) * kEach);
    const HostTransform transform(kRowPoints);
    in_parallel(p.filters, [&](std::int64_t filter) {
        const std::byte* taps = prepared.host_taps.data() + filter * prepared.taps_pitch_bytes;
        std::vector<std::byte> spectrum;
        spectrum.reserve(kEach);
        append(spectrum, spectrum_of(transform, taps, p), false);
        std::copy(spectrum.begin(), spectrum.end(), to.begin() + static_cast<std::ptrdiff_t>(before + filter * kEach));
    });
}

void load_row_kernel(const Prepared& prepared) {
    allow_shared(kernel_of(prepared.problem), shared_bytes(rows_of_block(prepared.device)));
}

void launch_rows(const Prepared& prepared, const Job& job, const void* tables, cudaStream_t stream) {
    const Problem& p = prepared.problem;
    const Type type = type_of(p);
    Arguments a = arguments_of(prepared, job);
    a.taps = prepared.taps;
    Segments g{};
    g.tables = tables;
    g.segments = 1;
    g.filters = p.filters;
    g.first_filter = job.row_first % p.filters;
    const auto is_whole = [&](std::int64_t bytes) { return bytes % 16 == 0; };
    g.zero_edges = prepared.device.major >= 9 && job.in_first == 0 && job.in_last > 0 && is_whole(job.in_last * type.bytes) &&
                   is_whole(job.in_row * type.bytes) && reinterpret_cast<std::uintptr_t>(job.in) % 16 == 0;
    const int in_block = rows_of_block(prepared.device);
    const std::int64_t blocks = std::min<std::int64_t>(prepared.device.multiprocessors, divide_up(job.rows, in_block));
    g.run = static_cast<int>(divide_up(job.rows, blocks));
    void* arguments[] = {&a, &g};
    cuda::launch(kernel_of(p), dim3(static_cast<unsigned>(blocks)), kRowThreads * in_block, arguments, shared_bytes(in_block),
                 stream);
}

}  // namespace tapline::cuda::overlap_save
