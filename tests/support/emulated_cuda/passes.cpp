// Rounded passes on an emulated device: sums in double, one line after the other.
#include "cuda/passes_abi.hpp"

#include <cstring>
#include <vector>

#include "support/emulated_cuda/kernel.hpp"
#include "support/emulated_cuda/world.hpp"

namespace tapline::cuda_abi {

struct PreparedPasses {
    RoundedPasses passes;
    std::vector<double> down, along;
    std::int32_t device = 0;
};

}  // namespace tapline::cuda_abi

namespace tapline::emulated {
namespace {

using namespace cuda_abi;

constexpr std::int32_t kMostTaps = 128;

template <class T>
void filter_line(T* to, std::int64_t step, std::int64_t n, const RoundedPass& pass, const std::vector<double>& weights,
                 double constant) {
    constexpr double kNudge = 1e-14;
    std::vector<T> line;
    for (std::int64_t i = 0; i < n; ++i) { line.push_back(to[i * step]); }
    for (std::int64_t i = 0; i < n; ++i) {
        double sum = 0;
        for (std::size_t t = 0; t < weights.size(); ++t) {
            const auto at = extended(pass.boundary, i + static_cast<std::int64_t>(t) - pass.origin, n);
            sum += weights[t] * (at < 0 ? constant : static_cast<double>(line[static_cast<std::size_t>(at)]));
        }
        to[i * step] = static_cast<T>(static_cast<std::int64_t>(sum * (1 + kNudge) / pass.divisor));
    }
}

template <class T>
void run(const PreparedPasses& prepared, T* out, const T* in) {
    const RoundedPasses& p = prepared.passes;
    for (std::int64_t image = 0; image < p.images; ++image) {
        T* const to = out + image * p.out_image;
        for (std::int64_t row = 0; row < p.rows; ++row) {
            std::memcpy(to + row * p.out_row, in + image * p.in_image + row * p.in_row,
                        static_cast<std::size_t>(p.columns) * sizeof(T));
        }
        for (std::int64_t x = 0; x < p.columns; ++x) { filter_line(to + x, p.out_row, p.rows, p.down, prepared.down, p.constant); }
        for (std::int64_t y = 0; y < p.rows && p.along.taps > 0; ++y) {
            filter_line(to + y * p.out_row, 1, p.columns, p.along, prepared.along, p.constant);
        }
    }
}

PreparedPasses* prepare(std::int32_t device, const RoundedPasses* p, double* seconds, Status* status) {
    if (goes_wrong("passes_prepare", status)) { return nullptr; }
    if ((p->dtype != Dtype::u8 && p->dtype != Dtype::u16 && p->dtype != Dtype::i16) || p->down.taps < 1 ||
        p->down.taps > kMostTaps || p->along.taps > kMostTaps) {
        fail(status, Code::unsupported, "rounded passes: not taken");
        return nullptr;
    }
    *seconds = 1e-6;
    return new PreparedPasses{
        *p, {p->down.weights, p->down.weights + p->down.taps}, {p->along.weights, p->along.weights + p->along.taps}, device};
}

bool execute(const PreparedPasses* prepared, void* out, const void* in, Stream* stream, Status* status) {
    if (goes_wrong("passes_execute", status)) { return false; }
    const RoundedPasses& p = prepared->passes;
    const std::int64_t size = p.dtype == Dtype::u8 ? 1 : 2;
    const auto bytes = [&](std::int64_t image, std::int64_t row) {
        return size * ((p.images - 1) * image + (p.rows - 1) * row + p.columns);
    };
    if (!is_inside(out, bytes(p.out_image, p.out_row), prepared->device, false) ||
        !is_inside(in, bytes(p.in_image, p.in_row), prepared->device, false)) {
        return fail(status, Code::argument, "rounded passes: not memory of the device");
    }
    enqueue(stream, [copy = *prepared, out, in] {
        if (copy.passes.dtype == Dtype::u8) {
            run(copy, static_cast<std::uint8_t*>(out), static_cast<const std::uint8_t*>(in));
        } else if (copy.passes.dtype == Dtype::u16) {
            run(copy, static_cast<std::uint16_t*>(out), static_cast<const std::uint16_t*>(in));
        } else {
            run(copy, static_cast<std::int16_t*>(out), static_cast<const std::int16_t*>(in));
        }
    });
    return true;
}

const Passes kPasses{.version = kPassesVersion,
                     .bytes = sizeof(Passes),
                     .prepare = prepare,
                     .release = [](PreparedPasses* prepared) { delete prepared; },
                     .execute = execute};

}  // namespace
}  // namespace tapline::emulated

extern "C" __attribute__((visibility("default"))) const tapline::cuda_abi::Passes* tapline_cuda_passes_entry(std::uint32_t) {
    return &tapline::emulated::kPasses;
}
