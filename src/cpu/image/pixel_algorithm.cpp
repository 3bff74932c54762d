#include "cpu/image/pixel_algorithm.hpp"

#include "core/problem/elements.hpp"
#include "cpu/lines/line_tiles.hpp"

namespace tapline::cpu {
namespace {

using core::Request;
using core::Resolved;

// Pixels of 16 floating bits are summed in f32.
Resolved with_wide_sums(const Resolved& problem) {
    Resolved wide = problem;
    if (core::is_half(problem.sum_dtype)) {
        wide.sum_dtype = Dtype::f32;
        wide.trivial_epilogue = wide.trivial_epilogue && problem.output_dtype == Dtype::f32;
    }
    return wide;
}

// Beside the algorithm's own time, on all threads together.
double seconds_of_pixels(const Resolved& p) {
    const auto items = static_cast<double>(p.batch.length * p.channels.length);
    const double in = items * static_cast<double>(p.z.n * p.y.n * p.x.n);
    const double out = items * static_cast<double>(p.z.outputs * p.y.outputs * p.x.outputs);
    const auto seconds = [](double pixels, bool apart, Dtype dtype) {
        return pixels * (apart ? kApartSeconds : core::is_half(dtype) ? kWidenSeconds : 0);
    };
    return seconds(in, p.x.in_stride != p.channels.length, p.dtype) +
           seconds(out, p.x.out_stride != p.channels.length, p.output_dtype);
}

}  // namespace

core::Support PixelAlgorithm::supports(const Resolved& problem, const Request& request) const {
    if (problem.is_exact()) { return core::Support::no("it takes floating and complex images, and integers with real taps"); }
    return inner().supports(with_wide_sums(problem), request);
}

double PixelAlgorithm::estimate_seconds(const Resolved& problem, const Request& request) const {
    return inner().estimate_seconds(with_wide_sums(problem), request) + seconds_of_pixels(problem) / request.threads;
}

std::unique_ptr<core::Executable> PixelAlgorithm::prepare(const Resolved& problem, const void* taps, const Request& request) const {
    if (request.whole == nullptr) { return inner().prepare(with_wide_sums(problem), taps, request); }
    const Resolved whole = with_wide_sums(*request.whole);
    Request of_part = request;
    of_part.whole = &whole;
    return inner().prepare(with_wide_sums(problem), taps, of_part);
}

}  // namespace tapline::cpu
