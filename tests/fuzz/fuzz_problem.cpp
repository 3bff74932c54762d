// Bytes as the fields of a Problem: validation throws tapline::Error or gives sizes that fit memory.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/problem/resolved.hpp"
#include "tapline/error.hpp"
#include "tapline/problem.hpp"

namespace {

using namespace tapline;

// Takes fields off the front; zeros when nothing is left.
class Fields {
public:
    Fields(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

    template <class T>
    T take() {
        T value{};
        const std::size_t bytes = sizeof(T) < size_ ? sizeof(T) : size_;
        if (bytes > 0) std::memcpy(&value, data_, bytes);
        data_ += bytes;
        size_ -= bytes;
        return value;
    }
    bool flag() { return take<std::uint8_t>() % 2 == 1; }
    /// Mostly one of the names, sometimes any number.
    template <class E>
    E name(int count) {
        const auto byte = take<std::uint8_t>();
        return static_cast<E>(byte < 240 ? byte % count : static_cast<int>(take<std::int32_t>()));
    }
    /// Small numbers, powers of two and their neighbours, anything.
    std::int64_t count() {
        const auto kind = take<std::uint8_t>();
        if (kind < 128) return take<std::uint16_t>();
        const auto neighbour = static_cast<std::int64_t>(take<std::int8_t>() % 3);
        if (kind < 200) return static_cast<std::int64_t>((std::uint64_t{1} << (kind % 63)) + static_cast<std::uint64_t>(neighbour));
        return take<std::int64_t>();
    }

private:
    const std::uint8_t* data_;
    std::size_t size_;
};

Problem problem_of(Fields fields) {
    Problem p;
    p.length = fields.count();
    p.taps = fields.count();
    p.batch = fields.count();
    p.filters = fields.name<Filters>(2);
    p.mode = fields.name<Mode>(5);
    p.boundary = fields.name<Boundary>(6);
    p.dtype = fields.name<Dtype>(15);
    p.operation = fields.name<Operation>(2);
    p.overflow = fields.name<Overflow>(2);
    p.complex_taps = fields.flag();
    const auto optional = fields.take<std::uint8_t>();
    if ((optional & 1) != 0) p.origin = fields.count();
    if ((optional & 2) != 0) p.output_dtype = fields.name<Dtype>(15);
    if ((optional & 4) != 0) p.clamp = Clamp{fields.take<double>(), fields.take<double>()};
    if ((optional & 8) != 0) p.scale = fields.take<double>();
    if ((optional & 16) != 0) p.bias = fields.take<double>();
    if ((optional & 32) != 0) p.constant = {fields.take<double>(), fields.take<double>()};
    if ((optional & 64) != 0) {
        p.input_row_stride = fields.count();
        p.input_sample_stride = fields.count();
        p.output_row_stride = fields.count();
        p.output_sample_stride = fields.count();
        p.taps_row_stride = fields.count();
    }
    if (optional == 255) {
        p.up = fields.count();
        p.down = fields.count();
        p.dilation = fields.count();
    }
    return p;
}

void require(bool condition) {
    if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Problem problem = problem_of(Fields(data, size));
    try {
        core::resolve(problem, true);
    } catch (const Error&) { /* not valid, not even for a stream */
    }
    try {
        validate(problem);
    } catch (const Error&) { return 0; }
    constexpr std::int64_t kMost = std::int64_t{1} << 60;
    for (const std::int64_t extent :
         {input_extent(problem), output_extent(problem), taps_extent(problem), output_length(problem)}) {
        require(extent >= 1 && extent <= kMost);
    }
    origin(problem);
    return 0;
}
