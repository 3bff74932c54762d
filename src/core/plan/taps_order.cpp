#include "core/plan/taps_order.hpp"

#include <algorithm>

namespace tapline::core {
namespace {

// Turning a packed array along all its axes is reversing it.
template <class T>
void order_filter(T* to, const T* from, std::int64_t k, Operation operation) {
    if (operation == Operation::convolution) {
        std::reverse_copy(from, from + k, to);
        return;
    }
    for (std::int64_t t = 0; t < k; ++t) {
        if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
            to[t] = std::conj(from[t]);
        } else {
            to[t] = from[t];
        }
    }
}

template <class T>
AlignedBytes order_filters(const Resolved& r, const void* taps, std::int64_t offset) {
    const std::int64_t k = r.taps();
    const std::int64_t stride = r.channels.taps_stride != 0 ? r.channels.taps_stride : r.batch.taps_stride;
    AlignedBytes bytes = allocate(static_cast<std::size_t>(r.filters * k) * sizeof(T), "taps");
    T* const to = reinterpret_cast<T*>(bytes.get());
    const T* const from = static_cast<const T*>(taps) + offset;
    for (std::int64_t f = 0; f < r.filters; ++f) { order_filter(to + f * k, from + f * stride, k, r.operation); }
    return bytes;
}

}  // namespace

AlignedBytes correlation_taps(const Resolved& r, const void* taps, std::int64_t offset) {
    switch (r.taps_dtype) {
        case Dtype::f32:
            return order_filters<float>(r, taps, offset);
        case Dtype::f64:
            return order_filters<double>(r, taps, offset);
        case Dtype::complex64:
            return order_filters<std::complex<float>>(r, taps, offset);
        case Dtype::complex128:
            return order_filters<std::complex<double>>(r, taps, offset);
        default:
            return order_filters<std::int64_t>(r, taps, offset);  // i64 or u64: moved, not interpreted
    }
}

}  // namespace tapline::core
