#include "cuda/families/integer/integer_rung.hpp"

#include "cuda/launch.hpp"

namespace tapline::cuda::integer {

ChosenInteger::ChosenInteger(const Prepared& prepared)
    : bound(bound_of(prepared.problem, prepared.given.taps)), reports(may_overflow(prepared.problem, bound)) {
    if (!reports) { return; }
    clear_ = clear_kernel();
    found_ = found_kernel(prepared.problem.dtype);
    load_kernel(clear_);
    load_kernel(found_);
}

Found* ChosenInteger::begin(void* workspace, cudaStream_t stream) const {
    if (!reports) { return nullptr; }
    auto* const found = static_cast<Found*>(workspace);
    launch_kernel(clear_, 1, 1, 0, stream, found);
    return found;
}

void ChosenInteger::end(const Prepared& prepared, const Job& job, const OnDevice& on_device, Found* found,
                        cudaStream_t stream) const {
    if (reports) { launch_kernel(found_, 1, 1, 0, stream, any_of(prepared, job, on_device, found)); }
}

}  // namespace tapline::cuda::integer
