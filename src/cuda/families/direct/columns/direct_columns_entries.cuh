// Which kernel of columns takes which types.
#pragma once

#include "cuda/families/common/with_types.hpp"
#include "cuda/families/direct/columns/direct_columns.cuh"

namespace tapline::cuda::columns {

/// body(ElementType<X>, ElementType<H>, ElementType<Raw>, whether in vectors) for the types of sums, taps and samples in memory.
template <class Body>
Kernel with_kernel_types(Dtype dtype, Dtype taps_dtype, bool wide, const Body& body) {
    const auto pick = [&]<class X, class H, class Raw>(ElementType<X> x, ElementType<H> h, ElementType<Raw> raw) -> Kernel {
        if constexpr (rows_of_vector(sizeof(Raw)) > 1) {
            if (wide) { return body(x, h, raw, std::true_type{}); }
        }
        return body(x, h, raw, std::false_type{});
    };
    const int bytes = stored_bytes(dtype);
    if (taps_dtype == kF32 && bytes <= 2 && dtype != kBoolean) {
        const ElementType<float> sums;
        return bytes == 1 ? pick(sums, sums, ElementType<std::uint8_t>{}) : pick(sums, sums, ElementType<std::uint16_t>{});
    }
    if (is_integer(dtype)) { return nullptr; }
    return with_types(dtype, taps_dtype, [&]<class X, class H>(ElementType<X> x, ElementType<H> h) -> Kernel {
        if constexpr (sizeof(X) >= 4) { return pick(x, h, x); }
        return nullptr;
    });
}

template <bool kOwn>
Kernel entry_of(Dtype dtype, Dtype taps_dtype, bool wide) {
    return with_kernel_types(dtype, taps_dtype, wide,
                             []<class X, class H, class Raw, bool kWide>(ElementType<X>, ElementType<H>, ElementType<Raw>,
                                                                         std::bool_constant<kWide>) -> Kernel {
                                 return &direct_columns_kernel < X, H, Raw, kWide ? rows_of_vector(sizeof(Raw)) : 1, kOwn > ;
                             });
}

}  // namespace tapline::cuda::columns
