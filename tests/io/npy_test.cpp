#include <algorithm>
#include <complex>
#include <limits>

#include "files.hpp"
#include "io/npy/header.hpp"
#include "io/reader.hpp"
#include "io/writer.hpp"

namespace tapline::io::test {
namespace {

template <class T>
class IoNpyTypes : public testing::Test {};
using Types = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                             std::uint64_t, float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(IoNpyTypes, Types);

TYPED_TEST(IoNpyTypes, EveryVersionAndByteOrderReadsBack) {
    const Folder folder;
    std::vector<TypeParam> values;
    for (int i = 0; i < 23; ++i) { values.push_back(static_cast<TypeParam>(i * 5 + 1)); }
    const Dtype dtype = dtype_of<TypeParam>;
    const std::string plain = format_npy_header(dtype, {23}, false);
    const std::string code = plain.substr(plain.find("'descr': '") + 11, plain.find("', 'fortran") - plain.find("'descr': '") - 11);
    std::string swapped = raw_bytes(values);
    const std::size_t word = size_of(real_part_of(dtype));
    for (std::size_t i = 0; i < swapped.size(); i += word) {
        std::reverse(swapped.begin() + static_cast<std::ptrdiff_t>(i), swapped.begin() + static_cast<std::ptrdiff_t>(i + word));
    }
    for (const int version : {1, 2, 3}) {
        for (const bool big : {false, true}) {
            const std::string path = folder.put(
                "x.npy", npy_bytes(npy_dict((big ? ">" : "<") + code, "(23,)"), big ? swapped : raw_bytes(values), version));
            const auto reader = Reader::open(path);
            EXPECT_EQ(reader->info().dtype, dtype);
            EXPECT_EQ(reader->info().frames, 23);
            EXPECT_EQ(read_values<TypeParam>(*reader), values) << version << big;
        }
    }
}

TYPED_TEST(IoNpyTypes, WriterGivesWhatReaderTakes) {
    const Folder folder;
    std::vector<TypeParam> values;
    for (int i = 0; i < 30; ++i) { values.push_back(static_cast<TypeParam>(i * 3)); }
    for (const bool known : {true, false}) {
        WriteOptions options{.dtype = dtype_of<TypeParam>, .channels = 3};
        if (known) options.frames = 10;
        const auto writer = Writer::create(folder.file("y.npy"), options);
        writer->write(values.data(), 4);
        writer->write(values.data() + 12, 6);
        writer->commit();
        const auto reader = Reader::open(folder.file("y.npy"));
        EXPECT_EQ(reader->info().shape, (std::vector<std::int64_t>{10, 3}));
        EXPECT_EQ(read_values<TypeParam>(*reader, 64), values);
    }
    EXPECT_EQ(folder.count(), 1U);
}

TEST(IoNpy, BooleansBecomeZeroOrOne) {
    const Folder folder;
    const auto reader = Reader::open(folder.put("x.npy", npy_bytes(npy_dict("|b1", "(4,)"), std::string("\0\1\2\xff", 4))));
    EXPECT_EQ(reader->info().dtype, Dtype::boolean);
    EXPECT_EQ(read_values<std::uint8_t>(*reader), (std::vector<std::uint8_t>{0, 1, 1, 1}));
}

TEST(IoNpy, HalvesAreWidenedExactly) {
    const Folder folder;
    const std::vector<std::uint16_t> halves{0x3c00, 0xc000, 0x7bff, 0x0001, 0x8001, 0x0400, 0x7c00, 0xfc00, 0x8000, 0x3555, 0x7e00};
    const auto reader = Reader::open(folder.put("x.npy", npy_bytes(npy_dict("<f2", "(11,)"), raw_bytes(halves))));
    EXPECT_EQ(reader->info().stored, Dtype::f16);
    const std::vector<float> values = read_values<float>(*reader, 4);
    const float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> expected{1, -2, 65504, 0x1p-24F, -0x1p-24F, 0x1p-14F, inf, -inf, -0.0F, 0x1.554p-2F};
    ASSERT_EQ(values.size(), 11U);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(values[i], expected[i]);
        EXPECT_EQ(std::signbit(values[i]), std::signbit(expected[i]));
    }
    EXPECT_TRUE(std::isnan(values[10]));
}

TEST(IoNpy, LayoutAlongEachAxis) {
    Info info;
    info.format = Format::npy;
    info.shape = {2, 3, 5};
    const auto along = [&](int axis) {
        const Layout layout = layout_along(info, axis);
        return std::vector<std::int64_t>{layout.outer, layout.length, layout.inner};
    };
    EXPECT_EQ(along(-1), (std::vector<std::int64_t>{6, 5, 1}));
    EXPECT_EQ(along(1), (std::vector<std::int64_t>{2, 3, 5}));
    EXPECT_EQ(along(0), (std::vector<std::int64_t>{1, 2, 15}));
    info.fortran = true;
    EXPECT_EQ(along(-1), (std::vector<std::int64_t>{1, 5, 6}));
    EXPECT_EQ(along(0), (std::vector<std::int64_t>{15, 2, 1}));
    expect_error(ErrorCode::argument, "axis: 3", [&] { along(3); });
    expect_error(ErrorCode::argument, "axis: -4", [&] { along(-4); });
}

TEST(IoNpy, FortranOrderAndSeek) {
    const Folder folder;
    const std::vector<double> values{0, 10, 1, 11, 2, 12};  // [[0, 1, 2], [10, 11, 12]]
    const auto reader = Reader::open(folder.put("x.npy", npy_bytes(npy_dict("<f8", "(2, 3)", true), raw_bytes(values))));
    EXPECT_TRUE(reader->info().fortran);
    EXPECT_EQ(reader->info().shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(layout_along(reader->info(), 1).inner, 2);
    EXPECT_EQ(read_values<double>(*reader), values);
    reader->seek(4);
    EXPECT_EQ(read_values<double>(*reader), (std::vector<double>{2, 12}));
    expect_error(ErrorCode::argument, "frame: 7", [&] { reader->seek(7); });
}

TEST(IoNpy, EmptyArrayAndUnusualButValidHeaders) {
    const Folder folder;
    EXPECT_EQ(Reader::open(folder.put("x.npy", npy_bytes(npy_dict("<f4", "(0, 9)"), "")))->info().frames, 0);
    const std::string text = R"({ "shape" : (2L,3L) ,'fortran_order':False,"descr":"<i2"})";
    const auto reader = Reader::open(folder.put("y.npy", npy_bytes(text, std::string(12, '\1') + "more")));
    EXPECT_EQ(reader->info().frames, 6);
    EXPECT_EQ(read_values<std::int16_t>(*reader), std::vector<std::int16_t>(6, 0x0101));
}

TEST(IoNpy, HostileHeadersAreRefused) {
    const Folder folder;
    struct Case {
        std::string dict;
        ErrorCode code;
        std::string piece;
    };
    const auto io = ErrorCode::io;
    const std::vector<Case> cases{
        {npy_dict("|O", "(3,)"), ErrorCode::type, "pickled"},
        {npy_dict("<U8", "(3,)"), ErrorCode::type, "'<U8'"},
        {npy_dict("<f16", "(3,)"), ErrorCode::type, "'<f16'"},
        {npy_dict("<M8[ns]", "(3,)"), ErrorCode::type, "not supported"},
        {npy_dict("|f4", "(3,)"), ErrorCode::type, "'|f4'"},
        {npy_dict("", "(3,)"), ErrorCode::type, "''"},
        {"{'descr': [('a', '<f4'), ('b', '<f8')], 'fortran_order': False, 'shape': (3,)}", ErrorCode::type, "structured"},
        {npy_dict("<f4", "()"), ErrorCode::argument, "no dimensions"},
        {npy_dict("<f4", "(-1,)"), io, "negative"},
        {npy_dict("<f4", "(3)"), io, "not a tuple"},
        {npy_dict("<f4", "3"), io, "'(' expected"},
        {npy_dict("<f4", "((3,),)"), io, "whole number"},
        {npy_dict("<f4", "(1.5,)"), io, "expected"},
        {npy_dict("<f4", "(9223372036854775808,)"), io, "2^63"},
        {npy_dict("<f4", "(4294967296, 4294967296)"), io, "2^63"},
        {npy_dict("<f8", "(2305843009213693952,)"), io, "2^63"},
        {npy_dict("<f8", "(0, 9223372036854775807, 9223372036854775807)"), io, "2^63"},
        {npy_dict("<f4", "(4294967296,)"), io, "promises 4294967296 elements, the file holds 3"},
        {npy_dict("<f4",
                  "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
                  "1,1,1,1,1,1,1,1,1,1,1)"),
         io, "64 dimensions"},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3,)}", io, "neither True nor False"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", io, "twice"},
        {"{'descr': '<f4', 'fortran_order': False}", io, "missing"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'evil': 1}", io, "unknown key 'evil'"},
        {npy_dict("<f4", "(3,)") + " import os", io, "follows the dict"},
        {"{'descr': '<f4", io, "does not end"},
        {"{'descr': '<\\x664', 'fortran_order': False, 'shape': (3,)}", io, "backslash"},
        {"", io, "'{' expected"},
        {std::string("{\xff\xfe\0", 4), io, "a string expected"},
        {std::string(5000, '{'), io, "a string expected"},
    };
    for (const Case& c : cases) {
        const std::string path = folder.put("x.npy", npy_bytes(c.dict, std::string(12, '\0')));
        expect_error(c.code, c.piece, [&] { Reader::open(path); });
    }
}

// As files and as streams, whose size does not contradict the header.
TEST(IoNpy, ShapesPastSixtyThreeBitsAreRefused) {
    const Folder folder;
    const std::vector<std::string> shapes{
        "(2779, 0, 77777777, 777777777777779, 7777777777)",
        "(0, 9223372036854775807, 2)",
        "(9223372036854775807, 2, 0)",
        "(9223372036854775807, 0, 2)",
        "(3037000500, 3037000500)",
        "(4294967296, 2147483648)",
        "(4294967296, 4294967296)",
        "(2, 9223372036854775807)",
    };
    for (const char* descr : {"|u1", "|b1", "<f2", "<f8", "<c16"}) {
        for (const std::string& shape : shapes) {
            for (const bool fortran : {false, true}) {
                const std::string bytes = npy_bytes(npy_dict(descr, shape, fortran), std::string(64, '\1'));
                const std::string piece = "the product of " + shape.substr(0, shape.size() - 1);
                expect_error(ErrorCode::io, piece, [&] { Reader::open(folder.put("x.npy", bytes)); });
                const Pipe pipe(bytes);
                expect_error(ErrorCode::io, piece, [&] { Reader::open(pipe.path(), {.format = Format::npy}); });
            }
        }
    }
}

TEST(IoNpy, LayoutsOfTheLargestShapesThatFit) {
    const Folder folder;
    for (const std::string shape : {"(9223372036854775807, 0)", "(0, 9223372036854775807)", "(3037000499, 0, 3037000499)"}) {
        for (const bool fortran : {false, true}) {
            const auto reader = Reader::open(folder.put("x.npy", npy_bytes(npy_dict("|u1", shape, fortran), "")));
            EXPECT_EQ(reader->info().frames, 0);
            for (int axis = 0; axis < static_cast<int>(reader->info().shape.size()); ++axis) {
                const Layout layout = layout_along(reader->info(), axis);
                EXPECT_EQ(product_of({layout.outer, layout.length, layout.inner}), 0) << shape << axis;
            }
        }
    }
    Info info;
    info.format = Format::npy;
    info.shape = {0, 4294967296, 2147483648};
    expect_error(ErrorCode::argument, "axis 0: the product of (4294967296, 2147483648)", [&] { layout_along(info, 0); });
}

TEST(IoNpy, BuffersPastSixtyThreeBitsAreRefused) {
    const Folder folder;
    const Pipe pipe("");
    const auto reader = Reader::open(pipe.path(), {.format = Format::raw, .raw_dtype = Dtype::f64});
    expect_error(ErrorCode::argument, "max_frames: bytes to read", [&] { reader->read(nullptr, std::int64_t{1} << 60); });
    const auto writer = Writer::create(folder.file("y.npy"), {.channels = 1 << 20});
    expect_error(ErrorCode::argument, "frames: bytes to write", [&] { writer->write(nullptr, std::int64_t{1} << 42); });
}

TEST(IoNpy, LyingLengthsAreRefused) {
    const Folder folder;
    const std::string good = npy_bytes(npy_dict("<f4", "(3,)"), std::string(12, '\0'));
    for (std::size_t size = 0; size < good.size(); ++size) {
        const std::string path = folder.put("x.npy", good.substr(0, size));
        expect_error(ErrorCode::io, "x.npy", [&] { Reader::open(path); });
    }
    std::string long_header = good;
    long_header[8] = long_header[9] = '\xff';
    expect_error(ErrorCode::io, "claims 65535 bytes", [&] { Reader::open(folder.put("x.npy", long_header)); });
    std::string huge = npy_bytes(npy_dict("<f4", "(3,)"), "", 2);
    huge[10] = huge[11] = '\xff';
    expect_error(ErrorCode::io, "at most 65535", [&] { Reader::open(folder.put("x.npy", huge)); });
    std::string version = good;
    version[6] = '\x09';
    expect_error(ErrorCode::io, "version 9.0", [&] { Reader::open(folder.put("x.npy", version)); });
}

TEST(IoNpy, HeaderIsAlignedAndRoundTrips) {
    const std::string header = format_npy_header(Dtype::complex64, {3, 4}, true);
    EXPECT_EQ(header.size() % 64, 0U);
    EXPECT_EQ(header.back(), '\n');
    const NpyHeader parsed = parse_npy_header(std::string_view(header).substr(10), "x");
    EXPECT_EQ(parsed.dtype, Dtype::complex64);
    EXPECT_TRUE(parsed.fortran);
    EXPECT_EQ(parsed.elements, 12);
    expect_error(ErrorCode::type, "bf16", [] { format_npy_header(Dtype::bf16, {1}, false); });
}

TEST(IoNpy, WriterChecksShapeAndPromisedFrames) {
    const Folder folder;
    const std::vector<float> values(12);
    expect_error(ErrorCode::argument, "shape: (5, 2)", [&] {
        Writer::create(folder.file("y.npy"), {.frames = 12, .shape = {5, 2}});
    });
    const auto writer = Writer::create(folder.file("y.npy"), {.frames = 12, .shape = {6, 2}, .fortran = true});
    writer->write(values.data(), 6);
    expect_error(ErrorCode::argument, "12 frames were promised, 6 were written", [&] { writer->commit(); });
    expect_error(ErrorCode::argument, "12 frames were promised, 18 are written", [&] { writer->write(values.data(), 12); });
    expect_error(ErrorCode::argument, "12 frames were promised, 9223372036854775813 are written",
                 [&] { writer->write(values.data(), std::numeric_limits<std::int64_t>::max()); });
    writer->write(values.data(), 6);
    writer->commit();
    EXPECT_TRUE(Reader::open(folder.file("y.npy"))->info().fortran);
}

TEST(IoNpy, ReadAllStopsAtTheLimit) {
    const Folder folder;
    const std::string path = folder.put("x.npy", npy_bytes(npy_dict("<f4", "(3, 2)"), std::string(24, '\0')));
    const Contents contents = read_all(path, 24);
    EXPECT_EQ(contents.data.size(), 24U);
    EXPECT_EQ(contents.info.shape, (std::vector<std::int64_t>{3, 2}));
    expect_error(ErrorCode::argument, "more than the 23 bytes", [&] { read_all(path, 23); });
}

}  // namespace
}  // namespace tapline::io::test
