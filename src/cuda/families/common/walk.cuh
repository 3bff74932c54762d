// How threads go through elements of any layout.
#pragma once

#include "cuda/families/common/walk.hpp"
#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda {

/// met(axis, index) for each axis of more than one element: where the element `number` is along it.
template <class Met>
__device__ __forceinline__ void for_each_axis(const Walk& walk, std::int64_t number, const Met& met) {
#pragma unroll
    for (int i = 0; i < Walk::kMostAxes; ++i) {
        if (walk.lengths[i] == 1) { continue; }
        const std::int64_t rest = divide(number, walk.lengths[i]);
        met(i, number - rest * walk.lengths[i]);
        number = rest;
    }
}

/// Where an element lies, and its places along two axes.
struct WalkPlace {
    std::int64_t at, filtered, batch;
};
__device__ __forceinline__ WalkPlace place_of(const Walk& walk, std::int64_t number) {
    WalkPlace place{walk.first, 0, 0};
    for_each_axis(walk, number, [&](int i, std::int64_t index) {
        place.at += index * walk.steps[i];
        if (i == walk.filtered) { place.filtered = index; }
        if (i == walk.batch) { place.batch = index; }
    });
    return place;
}

/// body(number) for a thread's elements below `count`.
template <class Body>
__device__ __forceinline__ void for_each_element(std::int64_t count, const Body& body) {
    const std::int64_t first = std::int64_t{blockIdx.x} * (kPassThreads * kPassEach) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < kPassEach; ++i) {
        const std::int64_t number = first + i * kPassThreads;
        if (number < count) { body(number); }
    }
}

}  // namespace tapline::cuda
