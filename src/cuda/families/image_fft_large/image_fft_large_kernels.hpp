// The kernels of all shapes, each compiled by a source of its own.
#pragma once

#include "cuda/families/image_fft_large/image_fft_large.hpp"

namespace tapline::cuda::image_fft_large_rung {

using Shape256 = Shape<Split<16, 16>, Split<16, 8>>;
using Shape512 = Shape<Split<32, 16>, Split<16, 16>>;
using Shape1024 = Shape<Split<32, 32>, Split<16, 32>>;
using Shape2048 = Shape<LongSplit<16, 8, 16>, Split<32, 32>>;

/// body.operator()<Shape>() of tiles of so many rows.
template <class Body>
auto with_shape(int rows, const Body& body) {
    switch (rows) {
        case 256:
            return body.template operator()<Shape256>();
        case 512:
            return body.template operator()<Shape512>();
        case 1024:
            return body.template operator()<Shape1024>();
        default:
            return body.template operator()<Shape2048>();
    }
}

/// `floats`: pixels and outputs are.
template <class D>
Kernel kernel_of(bool floats);

}  // namespace tapline::cuda::image_fft_large_rung
