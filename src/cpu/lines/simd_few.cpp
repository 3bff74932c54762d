// Few taps over samples in any order for the SIMD targets: the table of each, and the choice among them.
#include "cpu/lines/simd_few.hpp"

#include "cpu/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/lines/simd_few.inl"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include "cpu/lines/simd_few.inl"

namespace tapline::cpu {

namespace {

const FewTable& no_few_kernels() {
    constexpr auto kNone = []<class T>(T) -> FewKernels<T> {
        return {.turned = [](Dtype, bool) -> FewSums<T> { return nullptr; },
                .along = [](Dtype, bool, std::int64_t) -> FewSums<T> { return nullptr; }};
    };
    static const FewTable kTable{kNone(float{}), kNone(double{})};
    return kTable;
}

}  // namespace

const FewTable& few_kernels(Target target) { TAPLINE_RETURN_TABLE_OF(target, few_table, no_few_kernels()) }

}  // namespace tapline::cpu
