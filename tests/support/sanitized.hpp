// Whether a sanitizer watches this build.
#pragma once

namespace tapline::test {

/// Everything takes 5 to 20 times as long under a sanitizer, the oracle's sums too; the full number of cases runs without one.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tapline::test
