#include "tapline/types.hpp"

#include <algorithm>
#include <array>

#include "tapline/error.hpp"

namespace tapline {

Error::~Error() = default;

namespace {

struct DtypeRow {
    Dtype dtype;
    const char* name;
    const char* numpy_name;
    std::size_t bytes;
};

constexpr std::array<DtypeRow, 15> kDtypes{{
    {Dtype::f32, "f32", "float32", 4},
    {Dtype::f64, "f64", "float64", 8},
    {Dtype::complex64, "complex64", "c64", 8},
    {Dtype::complex128, "complex128", "c128", 16},
    {Dtype::boolean, "bool", "boolean", 1},
    {Dtype::i8, "i8", "int8", 1},
    {Dtype::i16, "i16", "int16", 2},
    {Dtype::i32, "i32", "int32", 4},
    {Dtype::i64, "i64", "int64", 8},
    {Dtype::u8, "u8", "uint8", 1},
    {Dtype::u16, "u16", "uint16", 2},
    {Dtype::u32, "u32", "uint32", 4},
    {Dtype::u64, "u64", "uint64", 8},
    {Dtype::f16, "f16", "float16", 2},
    {Dtype::bf16, "bf16", "bfloat16", 2},
}};

const DtypeRow& row_of(Dtype dtype) noexcept { return kDtypes[static_cast<std::size_t>(dtype)]; }

// In the order of the enumerations.
constexpr std::array kModes{"full", "same", "valid", "causal", "leading"};
constexpr std::array kBoundaries{"zero", "constant", "nearest", "reflect", "mirror", "wrap"};
constexpr std::array kOperations{"convolution", "correlation"};
constexpr std::array kFilters{"shared", "per_row"};
constexpr std::array kAccuracies{"standard", "strict", "fast"};
constexpr std::array kErrorCodes{"argument", "type", "unsupported", "memory", "io", "device"};

template <class Table, class E>
const char* name_in(const Table& table, E value) noexcept {
    const auto index = static_cast<std::size_t>(value);
    return index < table.size() ? table[index] : "?";
}

template <class E, class Table>
std::optional<E> value_in(const Table& table, std::string_view wanted) noexcept {
    const auto found = std::find(table.begin(), table.end(), wanted);
    return found == table.end() ? std::nullopt : std::optional(static_cast<E>(found - table.begin()));
}

}  // namespace

std::size_t size_of(Dtype dtype) noexcept { return row_of(dtype).bytes; }

bool is_complex(Dtype dtype) noexcept { return dtype == Dtype::complex64 || dtype == Dtype::complex128; }

bool is_integer(Dtype dtype) noexcept { return dtype >= Dtype::boolean && dtype <= Dtype::u64; }

Dtype real_part_of(Dtype dtype) noexcept {
    if (dtype == Dtype::complex64) { return Dtype::f32; }
    return dtype == Dtype::complex128 ? Dtype::f64 : dtype;
}

const char* to_string(Dtype dtype) noexcept { return row_of(dtype).name; }
const char* to_string(Mode mode) noexcept { return name_in(kModes, mode); }
const char* to_string(Boundary boundary) noexcept { return name_in(kBoundaries, boundary); }
const char* to_string(Operation operation) noexcept { return name_in(kOperations, operation); }
const char* to_string(Filters filters) noexcept { return name_in(kFilters, filters); }
const char* to_string(Accuracy accuracy) noexcept { return name_in(kAccuracies, accuracy); }
const char* to_string(ErrorCode code) noexcept { return name_in(kErrorCodes, code); }

std::optional<Dtype> dtype_from_string(std::string_view name) noexcept {
    for (const DtypeRow& row : kDtypes) {
        if (name == row.name || name == row.numpy_name) { return row.dtype; }
    }
    return std::nullopt;
}
std::optional<Mode> mode_from_string(std::string_view name) noexcept { return value_in<Mode>(kModes, name); }
std::optional<Boundary> boundary_from_string(std::string_view name) noexcept { return value_in<Boundary>(kBoundaries, name); }
std::optional<Accuracy> accuracy_from_string(std::string_view name) noexcept { return value_in<Accuracy>(kAccuracies, name); }

}  // namespace tapline
