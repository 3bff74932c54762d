// Whether a sanitizer watches this build.
#pragma once

namespace tapline::test {

/// Everything takes 5 to 20 times as long under a sanitizer, the oracle's sums too; the full number of cases runs without one.
#if defined(TAPLINE_SANITIZED)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tapline::test
