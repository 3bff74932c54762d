// Which SIMD instruction set runs. Every kernel source is compiled once for each of them (Highway's foreach_target).
#pragma once

#include <string>
#include <vector>

namespace tapline::cpu {

enum class Target { avx512, avx2, sse4, neon, scalar };

/// Something that depends on the target.
template <class T>
struct PerTarget {
    T avx512, avx2, sse4, neon, scalar;
    [[nodiscard]] constexpr T of(Target target) const {
        const T all[] = {avx512, avx2, sse4, neon, scalar};
        return all[static_cast<int>(target)];
    }
};
using TargetSeconds = PerTarget<double>;

/// The kernels of one target for both real types.
template <template <class> class Kernels>
struct KernelTable {
    Kernels<float> f32;
    Kernels<double> f64;
    template <class T>
    [[nodiscard]] const Kernels<T>& of() const {
        if constexpr (sizeof(T) == sizeof(float)) {
            return f32;
        } else {
            return f64;
        }
    }
};

/// "avx512", "avx2", "sse4", "neon", "scalar".
const char* to_string(Target target);

/// The targets that this build holds and this processor runs, best first; scalar is always last.
std::vector<Target> runnable_targets();

/// The forced target (force_target, else TAPLINE_TARGET), else the best. Throws Error (argument) for a name that does not
/// exist or cannot run here.
Target current_target();

/// "" undoes it. Throws Error as current_target.
void force_target(const std::string& name);

}  // namespace tapline::cpu
