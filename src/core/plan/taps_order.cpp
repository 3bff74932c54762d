#include "core/plan/taps_order.hpp"

#include <algorithm>

#include "core/problem/elements.hpp"

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
        if constexpr (kIsComplex<T>) {
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
    // The last is for i64 and u64: moved, not interpreted.
    return with_type_of<float, double, std::complex<float>, std::complex<double>, std::int64_t>(
        r.taps_dtype, [&]<class T>(T) { return order_filters<T>(r, taps, offset); });
}

}  // namespace tapline::core
