// The same source once more for processors without SIMD that Highway knows.
#define TAPLINE_SCALAR_TARGET
#include "cpu/integer/integer_limb_kernels.cpp"  // NOLINT(bugprone-suspicious-include)
