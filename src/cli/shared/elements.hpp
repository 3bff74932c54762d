// Elements whose type is known at run time only.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "core/problem/elements.hpp"
#include "tapline/error.hpp"

namespace tapline::cli {

using core::kIsComplex;

/// visit(T{}) with the C++ type of a dtype. Throws Error (unsupported) for f16 and bf16, which have none.
template <class Visit>
void visit_dtype(Dtype dtype, const Visit& visit) {
    if (core::is_half(dtype)) {
        throw Error(ErrorCode::unsupported, std::string("dtype: ") + to_string(dtype) + " cannot be computed with here");
    }
    core::with_type(dtype, visit);
}

/// The dtype that `real` has as a complex type.
inline Dtype complex_of(Dtype real) { return real_part_of(real) == Dtype::f64 ? Dtype::complex128 : Dtype::complex64; }

/// f32 or f64, as tapline::convolve promotes: of an element beside floating ones, and of two.
inline Dtype floating_of(Dtype dtype) {
    if (!is_integer(dtype)) { return real_part_of(dtype); }
    return size_of(dtype) <= 2 ? Dtype::f32 : Dtype::f64;
}
inline Dtype wider(Dtype a, Dtype b) { return a == Dtype::f64 || b == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

/// out[i] = To(in[i]). The caller has made sure that the values fit: it only widens, or rounds f64 to f32.
inline void convert(void* out, Dtype to, const void* in, Dtype from, std::int64_t count) {
    if (to == from) {
        std::memcpy(out, in, static_cast<std::size_t>(count) * size_of(to));
        return;
    }
    visit_dtype(to, [&]<class To>(To) {
        visit_dtype(from, [&]<class From>(From) {
            auto* destination = static_cast<To*>(out);
            const auto* source = static_cast<const From*>(in);
            for (std::int64_t i = 0; i < count; ++i) {
                if constexpr (kIsComplex<To>) {
                    using Real = typename To::value_type;
                    if constexpr (kIsComplex<From>) {
                        destination[i] = To(static_cast<Real>(source[i].real()), static_cast<Real>(source[i].imag()));
                    } else {
                        destination[i] = To(static_cast<Real>(source[i]));
                    }
                } else if constexpr (kIsComplex<From>) {
                    throw Error(ErrorCode::type, "a complex value cannot become a real one");
                } else {
                    destination[i] = static_cast<To>(source[i]);
                }
            }
        });
    });
}

/// A 64-byte aligned buffer of bytes that are not initialised: what plans want as a workspace and the system hands out for
/// nothing.
class Bytes {
public:
    Bytes() = default;
    explicit Bytes(std::size_t size) : size_(size), data_(allocate(size)) {}
    Bytes(Bytes&& other) noexcept : size_(std::exchange(other.size_, 0)), data_(std::exchange(other.data_, nullptr)) {}
    Bytes& operator=(Bytes&& other) noexcept {
        std::swap(size_, other.size_);
        std::swap(data_, other.data_);
        return *this;
    }
    ~Bytes() { ::operator delete (data_, std::align_val_t{kAlignment}); }

    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::span<std::byte> span() const { return {data_, size_}; }

private:
    static constexpr std::size_t kAlignment = 64;
    static std::byte* allocate(std::size_t size) {
        auto* data = static_cast<std::byte*>(::operator new (size, std::align_val_t{kAlignment}, std::nothrow));
        if (data == nullptr) {
            throw Error(ErrorCode::memory, "cannot allocate " + std::to_string(size) + " bytes; use a shorter signal or filter");
        }
        return data;
    }
    std::size_t size_ = 0;
    std::byte* data_ = nullptr;
};

}  // namespace tapline::cli
