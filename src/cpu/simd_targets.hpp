// Included first by every kernel source, before Highway: which targets Highway compiles it for.
// Only the four that users can name; the scalar target is the same source compiled by a file of its own that defines
// TAPLINE_SCALAR_TARGET. (No include guard needed around the macros: foreach_target includes sources repeatedly.)
#pragma once

#if defined(TAPLINE_SCALAR_TARGET)
#define HWY_COMPILE_ONLY_SCALAR
#include <hwy/detect_targets.h>
#else
#include <hwy/detect_targets.h>
#if !defined(HWY_AVX3_ZEN4)
#define HWY_AVX3_ZEN4 0
#endif
#if !defined(HWY_AVX3_SPR)
#define HWY_AVX3_SPR 0
#endif
// Instrumented, one instruction set of a kernel source compiles for minutes, so sanitizers see one beside the scalar: that which
// most machines have.
#if defined(TAPLINE_SANITIZED)
#define TAPLINE_LEFT_OUT (HWY_AVX3 | HWY_SSE4)
#else
#define TAPLINE_LEFT_OUT 0
#endif
// SVE's vectors have no size that a compiler knows, so no struct can hold them, as the transforms' do: such machines use NEON.
#define TAPLINE_SVE (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_AVX3_ZEN4 | HWY_AVX3_SPR | TAPLINE_SVE | TAPLINE_LEFT_OUT)
#endif

// NEON without the AES instructions, where Highway tells them apart: no kernel needs them.
#if defined(HWY_NEON_WITHOUT_AES)
#define TAPLINE_NEON HWY_NEON_WITHOUT_AES
#define TAPLINE_NEON_NAMESPACE N_NEON_WITHOUT_AES
#else
#define TAPLINE_NEON HWY_NEON
#define TAPLINE_NEON_NAMESPACE N_NEON
#endif

// Highway always compiles its baseline too (SCALAR or SSE2 on x86-64). A kernel source skips it, so that nothing that
// cannot be named is built and the scalar code exists once: its body stands inside #if TAPLINE_NAMED_TARGET.
#if defined(TAPLINE_SCALAR_TARGET)
#define TAPLINE_NAMED_TARGET 1
#else
#define TAPLINE_NAMED_TARGET \
    (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == TAPLINE_NEON)
#endif

// The body of a function from a Target to its kernels: `return N_...::table();` for the targets of this build, else `scalar`.
#if HWY_TARGETS & HWY_AVX3
#define TAPLINE_CASE_AVX512(table) \
    case Target::avx512:           \
        return N_AVX3::table();
#else
#define TAPLINE_CASE_AVX512(table)
#endif
#if HWY_TARGETS & HWY_AVX2
#define TAPLINE_CASE_AVX2(table) \
    case Target::avx2:           \
        return N_AVX2::table();
#else
#define TAPLINE_CASE_AVX2(table)
#endif
#if HWY_TARGETS & HWY_SSE4
#define TAPLINE_CASE_SSE4(table) \
    case Target::sse4:           \
        return N_SSE4::table();
#else
#define TAPLINE_CASE_SSE4(table)
#endif
#if HWY_TARGETS & TAPLINE_NEON
#define TAPLINE_CASE_NEON(table) \
    case Target::neon:           \
        return TAPLINE_NEON_NAMESPACE::table();
#else
#define TAPLINE_CASE_NEON(table)
#endif
#define TAPLINE_RETURN_TABLE_OF(target, table, scalar) \
    switch (target) {                                  \
        TAPLINE_CASE_AVX512(table)                     \
        TAPLINE_CASE_AVX2(table)                       \
        TAPLINE_CASE_SSE4(table)                       \
        TAPLINE_CASE_NEON(table)                       \
        default:                                       \
            return scalar;                             \
    }
