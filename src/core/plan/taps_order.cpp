#include "core/plan/taps_order.hpp"

#include <algorithm>
#include <cstring>

#include "core/plan/repeated.hpp"
#include "core/problem/arrange.hpp"
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

std::vector<AlignedBytes> ordered_sets(const Resolved& r, const void* taps) {
    std::vector<AlignedBytes> sets(static_cast<std::size_t>(filter_sets(r)));
    for (std::size_t i = 0; i < sets.size(); ++i) {
        sets[i] = correlation_taps(r, taps, filter_set_offset(r, static_cast<std::int64_t>(i)));
    }
    return sets;
}

AlignedBytes joined_sets(const Resolved& r, const std::vector<AlignedBytes>& sets) {
    const std::size_t bytes = static_cast<std::size_t>(r.filters * r.taps()) * size_of(r.taps_dtype);
    AlignedBytes all = allocate(bytes * sets.size(), "taps");
    for (std::size_t i = 0; i < sets.size(); ++i) { std::memcpy(all.get() + i * bytes, sets[i].get(), bytes); }
    return all;
}

}  // namespace tapline::core
