// Direct convolution for the SIMD targets: the table of each, and the choice among them.
#include "cpu/direct/simd_direct.hpp"

#include "cpu/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/direct/simd_direct.inl"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include "cpu/direct/simd_direct.inl"

namespace tapline::cpu {

const DirectTable& direct_kernels(Target target) {
    switch (target) {
#if HWY_TARGETS & HWY_AVX3
        case Target::avx512:
            return N_AVX3::direct_table();
#endif
#if HWY_TARGETS & HWY_AVX2
        case Target::avx2:
            return N_AVX2::direct_table();
#endif
#if HWY_TARGETS & HWY_SSE4
        case Target::sse4:
            return N_SSE4::direct_table();
#endif
#if HWY_TARGETS & TAPLINE_NEON
        case Target::neon:
            return TAPLINE_NEON_NAMESPACE::direct_table();
#endif
        default:
            return scalar_direct_kernels();
    }
}

}  // namespace tapline::cpu
