#include <clocale>
#include <limits>

#include "files.hpp"
#include "io/writer.hpp"

namespace tapline::io::test {
namespace {

std::vector<double> parse(const std::string& text, std::int64_t chunk = 2) {
    const Folder folder;
    const auto reader = Reader::open(folder.put("x.txt", text));
    return read_values<double>(*reader, chunk);
}

TEST(IoText, NumbersHeadingCommentsAndBlankLines) {
    const std::vector<double> expected{1, -2.5, 3e-5, 40};
    EXPECT_EQ(parse("1\n-2.5\n3e-5\n40\n"), expected);
    EXPECT_EQ(parse("# a comment, with 5 columns\n\namplitude\n1\n  -2.5  # here\r\n\n+3e-5\n40"), expected);
    EXPECT_EQ(parse("\xef\xbb\xbf\"level (dB)\"\r\n1\r\n-2.5\r\n3e-5\r\n40\r\n"), expected);
    EXPECT_EQ(parse(""), std::vector<double>{});
    EXPECT_EQ(parse("heading only\n\n"), std::vector<double>{});
}

TEST(IoText, SpecialAndExtremeValues) {
    const auto values = parse("nan\ninf\n-inf\nInfinity\n1e-400\n4.9e-324\n1.7976931348623157e308\n-0\n");
    ASSERT_EQ(values.size(), 8U);
    EXPECT_TRUE(std::isnan(values[0]));
    EXPECT_EQ(values[1], std::numeric_limits<double>::infinity());
    EXPECT_EQ(values[2], -values[1]);
    EXPECT_EQ(values[3], values[1]);
    EXPECT_EQ(values[4], 0);
    EXPECT_EQ(values[5], std::numeric_limits<double>::denorm_min());
    EXPECT_EQ(values[6], std::numeric_limits<double>::max());
    EXPECT_TRUE(std::signbit(values[7]));
}

TEST(IoText, JunkNamesItsLine) {
    expect_error(ErrorCode::io, "line 3: 'two' is not a number", [] { parse("1\n\ntwo\n"); });
    expect_error(ErrorCode::io, "line 2: '1,2' is more than one column", [] { parse("x\n1,2\n"); });
    expect_error(ErrorCode::io, "line 1: '1 2' is more than one column", [] { parse("1 2\n"); });
    expect_error(ErrorCode::io, "line 1: 'time,level' is more than one column", [] { parse("time,level\n1\n"); });
    expect_error(ErrorCode::io, "line 2: '0x10'", [] { parse("1\n0x10\n"); });
    expect_error(ErrorCode::io, "line 2: '1.5.2'", [] { parse("1\n1.5.2\n"); });
    expect_error(ErrorCode::io, "line 2: '+-1'", [] { parse("1\n+-1\n"); });
    expect_error(ErrorCode::io, "line 2: '1\\x00'", [] { parse(std::string("1\n1\0\n", 5)); });
    expect_error(ErrorCode::io, "line 2: 'name'", [] { parse("heading\nname\n1\n"); });
    expect_error(ErrorCode::io, "does not fit a double", [] { parse("1e400\n"); });
    expect_error(ErrorCode::io, "line 2 has more than 65536 bytes", [] { parse("1\n" + std::string(300000, '1')); });
}

TEST(IoText, LinesAcrossBlocksAndSeek) {
    const Folder folder;
    std::string text = "x\n";
    std::vector<double> expected;
    for (int i = 0; i < 40000; ++i) {
        expected.push_back(i * 0.37);
        char line[40];
        std::snprintf(line, sizeof(line), "%.17g\n", expected.back());
        text += line;
    }
    const auto reader = Reader::open(folder.put("x.csv", text));
    EXPECT_EQ(reader->info().frames, kUnknownLength);
    EXPECT_EQ(read_values<double>(*reader, 1001), expected);
    reader->seek(39990);
    EXPECT_EQ(read_values<double>(*reader), std::vector<double>(expected.end() - 10, expected.end()));
    reader->rewind();
    EXPECT_EQ(read_values<double>(*reader, 50000), expected);
    expect_error(ErrorCode::argument, "has 40000 frames", [&] { reader->seek(40001); });
}

TEST(IoText, WriterRoundTripsExactly) {
    const Folder folder;
    const std::vector<double> values{0.1, -1e300, 5e-324, std::nan(""), std::numeric_limits<double>::infinity(), 1.0 / 3};
    const auto writer = Writer::create(folder.file("y.csv"), {.dtype = Dtype::f64});
    writer->write(values.data(), 6);
    writer->commit();
    const auto back = parse(bytes_of(folder.file("y.csv")));
    ASSERT_EQ(back.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) { EXPECT_TRUE(back[i] == values[i] || (i == 3 && std::isnan(back[i]))) << i; }

    const std::vector<std::uint64_t> whole{0, std::numeric_limits<std::uint64_t>::max()};
    const auto integers = Writer::create(folder.file("z.txt"), {.dtype = Dtype::u64});
    integers->write(whole.data(), 2);
    integers->commit();
    EXPECT_EQ(bytes_of(folder.file("z.txt")), "0\n18446744073709551615\n");
}

TEST(IoText, OtherLocalesChangeNothing) {
    const char* set = nullptr;
    for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"}) {
        if (set == nullptr) set = std::setlocale(LC_ALL, name);
    }
    const auto values = parse("1.5\n1e-400\n");
    std::setlocale(LC_ALL, "C");
    EXPECT_EQ(values, (std::vector<double>{1.5, 0}));
}

TEST(IoText, RefusesWhatOneColumnCannotHold) {
    const Folder folder;
    expect_error(ErrorCode::type, "complex64", [&] { Writer::create(folder.file("y.txt"), {.dtype = Dtype::complex64}); });
    expect_error(ErrorCode::argument, "2 channels", [&] { Writer::create(folder.file("y.txt"), {.channels = 2}); });
    EXPECT_EQ(folder.count(), 0U);
}

}  // namespace
}  // namespace tapline::io::test
