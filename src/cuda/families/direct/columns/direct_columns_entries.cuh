// Which kernel of columns takes which types.
#pragma once

#include "cuda/families/common/with_types.hpp"
#include "cuda/families/direct/columns/direct_columns.cuh"

namespace tapline::cuda::columns {

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

/// The kernel for the types of samples and taps.
template <bool kOwn>
Kernel entry_of(Dtype dtype, Dtype taps_dtype, Way way) {
    const int bytes = stored_bytes(dtype);
    if (taps_dtype == kF32 && bytes <= 2 && dtype != kBoolean) {
        return bytes == 1 ? entry_of<float, float, std::uint8_t, kOwn>(way) : entry_of<float, float, std::uint16_t, kOwn>(way);
    }
    if (is_integer(dtype)) { return nullptr; }
    return with_types(dtype, taps_dtype, [&]<class X, class H>(ElementType<X>, ElementType<H>) -> Kernel {
        if constexpr (sizeof(X) >= 4) { return entry_of<X, H, X, kOwn>(way); }
        return nullptr;
    });
}

}  // namespace tapline::cuda::columns
