// Points of the unit circle.
#pragma once

namespace tapline::cuda {

/// e^(i pi x), exact to about a rounding wherever x lies.
__device__ __forceinline__ float2 half_turns(float x) {
    float2 w;
    sincospif(x, &w.y, &w.x);
    return w;
}
__device__ __forceinline__ double2 half_turns(double x) {
    double2 w;
    sincospi(x, &w.y, &w.x);
    return w;
}

}  // namespace tapline::cuda
