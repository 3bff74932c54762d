// What kernels get of a job.
#include "cuda/primitives/arguments.hpp"

#include "cuda/families/common/types.hpp"

namespace tapline::cuda {

void set_epilogue(Arguments& a, const Problem& p) {
    const bool cuts_off = p.whole_sums || p.overflow == Overflow::truncate;
    a.output_type = cuts_off && is_integer(p.output_dtype) ? kLowBits : p.output_dtype;
    a.converts = p.output_dtype != p.dtype;
    a.plain_store = !p.changes_sums();
    a.has_clamp = p.has_clamp;
    a.constant_real = p.constant.real();
    a.constant_imag = p.constant.imag();
    a.scale = p.scale;
    a.bias = p.bias;
    a.low = p.clamp.low;
    a.high = p.clamp.high;
}

Arguments arguments_of(const Prepared& prepared, const Job& job, const OnDevice& on_device) {
    const Problem& p = prepared.problem;
    Arguments a{};
    set_epilogue(a, p);
    a.out = job.out;
    a.in = job.in;
    a.taps_row_bytes = p.filters > 1 ? prepared.taps_pitch_bytes : 0;
    a.taps = static_cast<const char*>(on_device.taps) + job.batch_first * a.taps_row_bytes;
    a.first = job.first;
    a.count = job.count;
    a.out_row = job.out_batch;
    a.out_sample = job.out_stride;
    a.in_first = job.in_first;
    a.in_last = job.in_last;
    a.in_row = job.in_batch;
    a.in_sample = job.in_stride;
    a.rows = job.batch;
    a.n = job.n;
    a.k = p.x.k;
    a.origin = p.x.origin;
    a.boundary = p.x.boundary;
    a.plain_store = p.trivial_epilogue;
    a.exact_edges = p.x.boundary != kZero ? kMayMultiplyZeros
                    : p.taps_come_later   ? kExactUnlessFinite
                    : !p.taps_finite      ? kExact
                                          : kMayMultiplyZeros;
    const auto type_bytes = static_cast<std::int64_t>(type_of(p, prepared.device).bytes);
    a.plain_layout = job.in_stride == 1 && job.out_stride == 1 && a.converts == 0;
    a.zero_vectors = p.x.boundary == kZero && a.exact_edges != kExact && reinterpret_cast<std::uintptr_t>(job.in) % 16 == 0 &&
                     (job.batch == 1 || job.in_batch * type_bytes % 16 == 0);
    return a;
}

}  // namespace tapline::cuda
