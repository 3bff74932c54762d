#include "cuda/families/overlap_save/overlap_save_points.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda::overlap_save {

PointType point_type_of(const Problem& p) {
    const bool complex_taps = is_complex(p.taps_dtype);
    switch (p.dtype) {
        case kF64:
            return {8, 8, 16, false};
        case kComplex64:
            return {8, complex_taps ? 8 : 4, 8, true};
        case kComplex128:
            return {16, complex_taps ? 16 : 8, 16, true};
        case kF16:
        case kBf16:
            return {2, 4, 8, false};
        default:  // f32, and integers beside real taps
            return p.taps_dtype == kF64 ? PointType{stored_bytes(p.dtype), 8, 16, false}
                                        : PointType{stored_bytes(p.dtype), 4, 8, false};
    }
}

void append(std::vector<std::byte>& to, const std::vector<std::complex<double>>& points, bool wide) {
    for (const std::complex<double>& point : points) {
        const std::array<double, 2> exact{point.real(), point.imag()};
        const std::array<float, 2> rounded{static_cast<float>(point.real()), static_cast<float>(point.imag())};
        const auto* bytes =
            wide ? reinterpret_cast<const std::byte*>(exact.data()) : reinterpret_cast<const std::byte*>(rounded.data());
        to.insert(to.end(), bytes, bytes + (wide ? sizeof exact : sizeof rounded));
    }
}

std::complex<double> tap_at(const std::byte* taps, std::int64_t t, Dtype type) {
    const auto read = [&]<class T>(T, std::int64_t at) {
        T value;
        std::memcpy(&value, taps + at * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
        return static_cast<double>(value);
    };
    switch (type) {
        case kF64:
            return read(double{}, t);
        case kComplex128:
            return {read(double{}, 2 * t), read(double{}, 2 * t + 1)};
        case kComplex64:
            return {read(float{}, 2 * t), read(float{}, 2 * t + 1)};
        default:
            return read(float{}, t);
    }
}

void in_parallel(std::int64_t count, const std::function<void(std::int64_t)>& body) {
    constexpr std::int64_t kLeastOfAThread = 8;
    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&] {
        try {
            for (std::int64_t i = next++; i < count; i = next++) { body(i); }
        } catch (...) {
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
        }
    };
    const std::int64_t processors = std::max(std::thread::hardware_concurrency(), 1U);
    std::vector<std::thread> others;
    try {
        while (static_cast<std::int64_t>(others.size()) + 1 < std::min(processors, count / kLeastOfAThread)) {
            others.emplace_back(work);
        }
    } catch (const std::system_error&) {  // then by fewer
    }
    work();
    for (std::thread& other : others) { other.join(); }
    if (failure) { std::rethrow_exception(failure); }
}

}  // namespace tapline::cuda::overlap_save
