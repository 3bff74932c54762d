// Which kernel of columns takes which types.
#pragma once

#include "cuda/families/common/with_types.hpp"
#include "cuda/families/direct/columns/direct_columns.cuh"

namespace tapline::cuda::columns {

/// body(ElementType<X>, ElementType<H>, ElementType<Raw>) with the types of sums, taps, and samples as they lie in memory; null for
/// others.
template <class Body>
Kernel with_kernel_types(Dtype dtype, Dtype taps_dtype, const Body& body) {
    const int bytes = stored_bytes(dtype);
    if (taps_dtype == kF32 && bytes <= 2 && dtype != kBoolean) {
        constexpr ElementType<float> kSums;
        return bytes == 1 ? body(kSums, kSums, ElementType<std::uint8_t>{}) : body(kSums, kSums, ElementType<std::uint16_t>{});
    }
    if (is_integer(dtype)) { return nullptr; }
    return with_types(dtype, taps_dtype, [&]<class X, class H>(ElementType<X> sums, ElementType<H> taps) -> Kernel {
        if constexpr (sizeof(X) >= 4) { return body(sums, taps, sums); }
        return nullptr;
    });
}

template <class X, class H, class Raw, bool kOwn>
Kernel entry_of(Way way) {
    constexpr int kBytes = static_cast<int>(sizeof(Raw));
    if constexpr (rows_of_thread(Way::vector, kBytes) > 1) {
        if (way == Way::vector) { return &direct_columns_kernel<X, H, Raw, rows_of_thread(Way::vector, kBytes), 1, kOwn>; }
    }
    // Of filters of their own, those of f32 alone are worth the kernel.
    if constexpr (rows_of_thread(Way::apart, kBytes) > 1 && (!kOwn || kBytes == 4)) {
        if (way == Way::apart) { return &direct_columns_kernel<X, H, Raw, rows_of_thread(Way::apart, kBytes), kRowLanes, kOwn>; }
    }
    return way == Way::alone ? &direct_columns_kernel<X, H, Raw, 1, 1, kOwn> : nullptr;
}

/// The kernel for the types of samples and taps, of any way but `along`.
template <bool kOwn>
Kernel entry_of(Dtype dtype, Dtype taps_dtype, Way way) {
    return with_kernel_types(dtype, taps_dtype, [&]<class X, class H, class Raw>(ElementType<X>, ElementType<H>, ElementType<Raw>) {
        return entry_of<X, H, Raw, kOwn>(way);
    });
}

}  // namespace tapline::cuda::columns
