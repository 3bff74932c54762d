#include "io/npy/header.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "io/readers.hpp"
#include "io/system.hpp"
#include "tapline/error.hpp"

namespace tapline::io {

namespace {

constexpr std::size_t kMaxDimensions = 64;  // NumPy 2's own limit

struct TypeCode {
    std::string_view code;
    Dtype dtype;
};

constexpr std::array kTypeCodes{
    TypeCode{"b1", Dtype::boolean},   TypeCode{"i1", Dtype::i8},          TypeCode{"i2", Dtype::i16}, TypeCode{"i4", Dtype::i32},
    TypeCode{"i8", Dtype::i64},       TypeCode{"u1", Dtype::u8},          TypeCode{"u2", Dtype::u16}, TypeCode{"u4", Dtype::u32},
    TypeCode{"u8", Dtype::u64},       TypeCode{"f2", Dtype::f16},         TypeCode{"f4", Dtype::f32}, TypeCode{"f8", Dtype::f64},
    TypeCode{"c8", Dtype::complex64}, TypeCode{"c16", Dtype::complex128},
};

// The dict literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }: its three keys in any order, each once.
class Parser {
public:
    Parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

    NpyHeader parse() {
        NpyHeader header;
        bool has_descr = false, has_order = false, has_shape = false;
        expect('{');
        while (!accept('}')) {
            const std::string key = string();
            expect(':');
            bool& seen = key == "descr"           ? has_descr
                         : key == "fortran_order" ? has_order
                         : key == "shape"         ? has_shape
                                                  : unknown(key);
            if (seen) fail("key " + printable(key) + " occurs twice");
            seen = true;
            if (key == "descr") {
                descr(header);
            } else if (key == "fortran_order") {
                header.fortran = boolean();
            } else {
                shape(header);
            }
            if (!accept(',')) {
                expect('}');
                break;
            }
        }
        skip_spaces();
        if (at_ != text_.size()) fail("something follows the dict at byte " + std::to_string(at_));
        if (!has_descr || !has_order || !has_shape) fail("one of the keys 'descr', 'fortran_order', 'shape' is missing");
        count_elements(header);
        return header;
    }

private:
    [[noreturn]] void fail(const std::string& message) const { fail_content(name_, "malformed .npy header: " + message); }
    [[noreturn]] bool& unknown(const std::string& key) const { fail("unknown key " + printable(key)); }

    void skip_spaces() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) { ++at_; }
    }
    [[nodiscard]] char next() {
        skip_spaces();
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool accept(char wanted) {
        if (next() != wanted || at_ == text_.size()) return false;
        ++at_;
        return true;
    }
    void expect(char wanted) {
        if (!accept(wanted)) fail(std::string("'") + wanted + "' expected at byte " + std::to_string(at_));
    }

    std::string string() {
        const char quote = next();
        if (quote != '\'' && quote != '"') fail("a string expected at byte " + std::to_string(at_));
        const std::size_t end = text_.find(quote, at_ + 1);
        if (end == std::string_view::npos) fail("a string does not end");
        std::string value(text_.substr(at_ + 1, end - at_ - 1));
        if (value.find('\\') != std::string::npos) fail("a string holds a backslash");
        at_ = end + 1;
        return value;
    }

    bool boolean() {
        skip_spaces();
        for (const bool value : {false, true}) {
            const std::string_view word = value ? "True" : "False";
            if (text_.substr(at_, word.size()) == word) {
                at_ += word.size();
                return value;
            }
        }
        fail("'fortran_order' is neither True nor False");
    }

    void descr(NpyHeader& header) {
        if (next() == '[' || next() == '(') {
            throw Error(ErrorCode::type, name_ + ": structured elements are not supported; save one field as an array of numbers");
        }
        const std::string value = string();
        const char order = value.empty() ? '\0' : value[0];
        const std::string_view code = std::string_view(value).substr(value.empty() ? 0 : 1);
        if (code.substr(0, 1) == "O" || order == 'O') {
            throw Error(ErrorCode::type, name_ +
                                             ": elements are pickled Python objects, which are never loaded; save the array with a "
                                             "numeric dtype");
        }
        const auto* found = std::find_if(kTypeCodes.begin(), kTypeCodes.end(), [&](const TypeCode& t) { return t.code == code; });
        const bool known_order = order == '<' || order == '>' || order == '=' || order == '|';
        if (found == kTypeCodes.end() || !known_order || (order == '|' && size_of(found->dtype) != 1)) {
            throw Error(ErrorCode::type, name_ + ": elements of type " + printable(value) +
                                             " are not supported; use bool, an integer of 8 to 64 bits, float16, float32, float64, "
                                             "complex64 or complex128");
        }
        header.dtype = found->dtype;
        header.big_endian = order == '>' && size_of(found->dtype) > 1;
    }

    // (3,)  (3, 4)  ()  and Python 2's (3L,)
    void shape(NpyHeader& header) {
        expect('(');
        while (!accept(')')) {
            header.shape.push_back(dimension());
            if (header.shape.size() > kMaxDimensions) fail("more than " + std::to_string(kMaxDimensions) + " dimensions");
            if (!accept(',')) {
                if (next() == ')' && header.shape.size() == 1) fail("'shape' is not a tuple");
                expect(')');
                break;
            }
        }
        if (header.shape.empty()) {
            throw Error(ErrorCode::argument, name_ + ": the array has no dimensions (shape ()); save it with at least one");
        }
    }

    std::int64_t dimension() {
        if (next() == '-') fail("a dimension in 'shape' is negative");
        std::int64_t value = 0;
        const char* begin = text_.data() + at_;
        const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
        if (error == std::errc::result_out_of_range) fail("a dimension in 'shape' is above 2^63 - 1");
        if (error != std::errc()) fail("a whole number expected at byte " + std::to_string(at_));
        at_ += static_cast<std::size_t>(end - begin);
        if (at_ < text_.size() && text_[at_] == 'L') ++at_;
        return value;
    }

    // In bytes, so that every offset into the array fits too.
    void count_elements(NpyHeader& header) const {
        Shape lengths = header.shape;
        lengths.push_back(static_cast<std::int64_t>(size_of(header.dtype)));
        header.elements = checked_product(lengths, ErrorCode::io, name_ + ": malformed .npy header: bytes of the 'shape'",
                                          "the file is damaged, save the array again") /
                          lengths.back();
    }

    std::string_view text_;
    const std::string& name_;
    std::size_t at_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& name) { return Parser(text, name).parse(); }

std::string format_npy_header(Dtype dtype, const Shape& shape, bool fortran, std::size_t min_bytes) {
    const auto* found = std::find_if(kTypeCodes.begin(), kTypeCodes.end(), [&](const TypeCode& t) { return t.dtype == dtype; });
    if (found == kTypeCodes.end()) {
        throw Error(ErrorCode::type, std::string(".npy has no type ") + to_string(dtype) + "; write f32");
    }
    std::string dict = std::string("{'descr': '") + (size_of(dtype) == 1 ? '|' : '<') + std::string(found->code) +
                       "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + describe_shape(shape) + ", }";
    constexpr std::size_t kAlignment = 64, kPrefix = 10;
    const std::size_t total = (std::max(kPrefix + dict.size() + 1, min_bytes) + kAlignment - 1) / kAlignment * kAlignment;
    dict.resize(total - kPrefix, ' ');
    dict.back() = '\n';
    std::string header(kNpyMagic);
    header += '\x01';
    header += '\x00';
    header += static_cast<char>(dict.size() & 0xff);
    header += static_cast<char>(dict.size() >> 8);
    return header + dict;
}

}  // namespace tapline::io
