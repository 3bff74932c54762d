// Families that turn a problem into another one, and let the rung that is the fastest for that do it.
#pragma once

#include <limits>
#include <memory>
#include <string>

#include "cuda/api_functions.hpp"
#include "cuda/local_taps.hpp"
#include "cuda/prepared.hpp"
#include "cuda/rung.hpp"

namespace tapline::cuda {

struct PreparedRelease {
    void operator()(cuda_abi::Prepared* prepared) const { release(prepared); }
};
using RungInside = std::unique_ptr<cuda_abi::Prepared, PreparedRelease>;

struct BestRung {
    std::int32_t rung = -1;  ///< of ladder(); -1: none takes it
    double seconds = std::numeric_limits<double>::infinity();
};
/// Whether the choice among rungs asks for those whose errors stay local; more taps are nobody's concern.
inline bool asks_for_local(const Problem& p) { return p.taps() <= cuda_abi::kLocalTaps && p.accuracy == Accuracy::standard; }
/// By the cost model, of those for problems of its rank. `local`: only of those whose errors stay local.
BestRung best_rung(const Problem& problem, const cuda_abi::Device& device, bool local = false);

/// What is summed alone, in one type: without what comes after sums, of standard accuracy, with nothing that only the problem's own
/// types told.
inline Problem sums_alone(const Problem& p, Dtype type) {
    Problem inner = p;
    inner.dtype = inner.sum_dtype = inner.output_dtype = type;
    inner.accuracy = Accuracy::standard;
    inner.scale = 1;
    inner.bias = 0;
    inner.has_clamp = false;
    inner.trivial_epilogue = true;
    inner.narrow_taps = inner.equal_taps = inner.exact_specials = false;
    inner.separable = 0;
    return inner;
}

/// A rung of ladder() with `taps` of the problem's filters side by side, or the best one. Throws CudaError.
RungInside prepare_rung_inside(std::int32_t rung, const Problem& problem, const void* taps, const cuda_abi::Device& device);
RungInside prepare_inside(const Problem& problem, const void* taps, const cuda_abi::Device& device, bool local = false);

/// "by " its name and what that says of itself.
inline std::string by_inside(const Prepared& inside) {
    return std::string("by ") + inside.rung->info().name + ", " + inside.rung->describe(inside);
}

/// TakesTapsOnDevice::making_seconds() of a rung inside, or of the one that would be.
double making_seconds_of(std::int32_t rung, const Problem& problem, const cuda_abi::Device& device);
inline double making_seconds_inside(const Problem& problem, const cuda_abi::Device& device) {
    return making_seconds_of(best_rung(problem, device).rung, problem, device);
}

/// Where what it makes of taps that come later goes in `own`, its workspace.
MadeTables made_inside(const RungInside& inside, const GivenFilters& given, void* own);

}  // namespace tapline::cuda
