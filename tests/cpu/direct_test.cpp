// The SIMD direct algorithm against the textbook, on every instruction set that runs here.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "cpu/every_target.hpp"
#include "cpu/targets.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "support/errors.hpp"
#include "support/sanitized.hpp"
#include "tapline/info.hpp"
#include "tapline/plan.hpp"

namespace tapline {
namespace {

using test::ForcedTarget;
using test::GuardedBuffer;
using test::on_every_target;
using test::Random;

PlanOptions direct_options(int threads = 1) {
    PlanOptions options;
    options.device = "cpu";
    options.algorithm = "direct";
    options.threads = threads;
    return options;
}

/// Memory that ends where a page begins that must not be touched, and begins after another.
class FencedBuffer {
public:
    FencedBuffer(std::size_t bytes, bool at_end) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const std::size_t inner = (bytes + page - 1) / page * page;
        size_ = inner + 2 * page;
        base_ = static_cast<unsigned char*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (base_ == MAP_FAILED) { throw std::bad_alloc(); }
        mprotect(base_, page, PROT_NONE);
        mprotect(base_ + page + inner, page, PROT_NONE);
        data_ = base_ + page + (at_end ? inner - bytes : 0);
    }
    ~FencedBuffer() { munmap(base_, size_); }
    FencedBuffer(const FencedBuffer&) = delete;
    FencedBuffer& operator=(const FencedBuffer&) = delete;
    [[nodiscard]] unsigned char* data() const { return data_; }

private:
    unsigned char* base_ = nullptr;
    unsigned char* data_ = nullptr;
    std::size_t size_ = 0;
};

std::size_t bytes_of(std::int64_t elements, Dtype dtype) { return static_cast<std::size_t>(elements) * size_of(dtype); }

struct Data {
    std::vector<unsigned char> in, taps;
};

Data draw_data(const Problem& p, Random& random) {
    Data data{std::vector<unsigned char>(bytes_of(input_extent(p), p.dtype)),
              std::vector<unsigned char>(bytes_of(taps_extent(p), taps_dtype(p)))};
    test::fill_random(data.in.data(), p.dtype, input_extent(p), random);
    test::fill_random(data.taps.data(), taps_dtype(p), taps_extent(p), random);
    return data;
}

std::vector<unsigned char> run(const Problem& p, const Data& data, int threads = 1, std::size_t offset = 0) {
    GuardedBuffer out(bytes_of(output_extent(p), output_dtype(p)), offset);
    make_plan(p, data.taps.data(), direct_options(threads)).execute(out.data(), data.in.data());
    EXPECT_TRUE(out.guards_intact()) << test::describe(p);
    return {out.data(), out.data() + out.size()};
}

void check(const Problem& p, const Data& data, int threads = 1) {
    const std::vector<unsigned char> out = run(p, data, threads);
    EXPECT_EQ(test::compare(p, out.data(), data.in.data(), data.taps.data(), true), "") << test::describe(p);
}

Problem problem_of(Dtype dtype, std::int64_t n, std::int64_t k, Mode mode = Mode::same, Boundary boundary = Boundary::zero) {
    return {.length = n, .taps = k, .mode = mode, .boundary = boundary, .dtype = dtype};
}

constexpr Dtype kDtypes[] = {Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::complex128};
constexpr Boundary kBoundaries[] = {Boundary::zero,    Boundary::constant, Boundary::nearest,
                                    Boundary::reflect, Boundary::mirror,   Boundary::wrap};

TEST(Targets, NamesAndOrder) {
    const std::vector<cpu::Target> targets = cpu::runnable_targets();
    ASSERT_FALSE(targets.empty());
    EXPECT_EQ(targets.back(), cpu::Target::scalar);
    EXPECT_STREQ(cpu::to_string(cpu::Target::avx512), "avx512");
}

TEST(Targets, UnknownOrAbsentIsAnError) {
    for (const char* name : {"avx1024", "AVX2", " ", "neon,sse4"}) {
        test::expect_error(ErrorCode::argument, {name, "scalar"}, [&] { cpu::force_target(name); });  // names what can run
    }
#if defined(__x86_64__)
    EXPECT_THROW(cpu::force_target("neon"), Error);
#else
    EXPECT_THROW(cpu::force_target("avx2"), Error);
#endif
    EXPECT_NO_THROW((void)cpu::current_target());
}

TEST(Targets, EnvironmentForces) {
    const char* before = getenv("TAPLINE_TARGET");
    const std::string saved = before == nullptr ? "" : before;
    setenv("TAPLINE_TARGET", "scalar", 1);
    EXPECT_EQ(cpu::current_target(), cpu::Target::scalar);
    setenv("TAPLINE_TARGET", "pentium", 1);
    EXPECT_THROW((void)cpu::current_target(), Error);
    if (before == nullptr) {
        unsetenv("TAPLINE_TARGET");
    } else {
        setenv("TAPLINE_TARGET", saved.c_str(), 1);
    }
}

TEST(Direct, ForcedTargetIsTheOneThatRuns) {
    for (const cpu::Target target : cpu::runnable_targets()) {
        const ForcedTarget forced(cpu::to_string(target));
        const std::vector<float> taps(5, 1.0F);
        const Plan plan = make_plan(problem_of(Dtype::f32, 100, 5), taps.data(), direct_options());
        EXPECT_NE(plan.explain().find(std::string(cpu::to_string(target)) + ","), std::string::npos) << plan.explain();
    }
}

TEST(Direct, AwkwardSizes) {
    on_every_target([] {
        Random random(11);
        for (const std::int64_t n : {1, 2, 15, 16, 17, 31, 33, 127, 128, 129, 300, 2047, 2100, 4095, 4096, 4097}) {
            for (const std::int64_t k : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 49, 63, 64, 65, 127, 129, 200}) {
                if (n > 500 && k % 16 == 15) { continue; }
                const Dtype dtype = test::pick(kDtypes, random);
                Problem p =
                    problem_of(dtype, n, k, static_cast<Mode>(test::between(0, 4, random)), test::pick(kBoundaries, random));
                if (p.mode == Mode::valid && k > n) { p.mode = Mode::full; }
                p.complex_taps = is_complex(dtype) && test::chance(0.5, random);
                p.constant = 0.5;
                check(p, draw_data(p, random));
                if (testing::Test::HasFailure()) { return; }
            }
        }
    });
}

TEST(Direct, DrawnProblems) {
    on_every_target([] {
        Random random(12);
        for (int i = 0; i < 300; ++i) {
            const Problem p = test::draw_problem(700, 300, random);
            check(p, draw_data(p, random), static_cast<int>(test::between(1, 3, random)));
            if (testing::Test::HasFailure()) { return; }
        }
    });
}

TEST(Direct, SideBySide) {
    on_every_target([] {
        Random random(13);
        for (const std::int64_t batch : {2, 3, 4, 7, 130, 700}) {
            for (const Dtype dtype : kDtypes) {
                for (const bool gap : {false, true}) {
                    Problem p =
                        problem_of(dtype, batch > 10 ? 90 : 3000, test::pick(std::array<std::int64_t, 4>{3, 9, 16, 33}, random),
                                   Mode::same, test::pick(kBoundaries, random));
                    p.batch = batch;
                    p.complex_taps = is_complex(dtype) && test::chance(0.5, random);
                    p.input_row_stride = p.output_row_stride = 1;
                    p.input_sample_stride = p.output_sample_stride = batch;
                    if (gap) { p.input_sample_stride = batch + 5; }
                    if (test::chance(0.3, random)) { p.scale = 1.5; }
                    check(p, draw_data(p, random));
                    if (testing::Test::HasFailure()) { return; }
                }
            }
        }
    });
}

// Panels of columns: more samples than a panel holds, more taps than it takes, threads that share columns.
TEST(Direct, Columns) {
    on_every_target([] {
        Random random(21);
        for (const std::int64_t k : {17, 100, 512, 513}) {
            for (const Boundary boundary : kBoundaries) {
                Problem p = problem_of(test::pick(kDtypes, random), 290, k, Mode::same, boundary);
                p.batch = test::between(16, 70, random);
                p.constant = -1.5;
                p.input_row_stride = p.output_row_stride = 1;
                p.input_sample_stride = p.output_sample_stride = p.batch + test::between(0, 2, random);
                if (k > 400) { p.length = 20; }
                check(p, draw_data(p, random), 3);
            }
        }
    });
}

TEST(Direct, FiltersLongerThanAChunk) {
    on_every_target([] {
        Random random(14);
        const std::int64_t n = cpu::current_target() == cpu::Target::scalar ? 100 : 300;
        for (const std::int64_t k : {16384, 16385, 33001}) {
            for (const Boundary boundary : {Boundary::zero, Boundary::wrap}) {
                const Problem p = problem_of(Dtype::f32, n, k, Mode::same, boundary);
                check(p, draw_data(p, random));
            }
        }
        Problem p = problem_of(Dtype::complex64, 17000 + n, 17000, Mode::valid);
        p.complex_taps = true;
        check(p, draw_data(p, random), 2);
    });
}

// Where the origin lies far outside the filter, some outputs meet no sample: they are zeros, and no tap is read for them. The
// address sanitizer sees a tap read behind the filter's end.
TEST(Direct, OutputsThatMeetNoSample) {
    on_every_target([] {
        Random random(23);
        for (const Dtype dtype : kDtypes) {
            for (const std::int64_t origin : {20000, -20000}) {
                Problem p = problem_of(dtype, 9000, 256);
                p.origin = origin;
                check(p, draw_data(p, random), 2);
            }
        }
    });
}

// The same bits for every number of threads, every alignment of the output, and rows stored in any way.
// All taps of all filters become the first one, in place: sums by doubling.
void make_equal(Data& data, Dtype dtype) {
    const std::size_t size = size_of(real_part_of(dtype));
    for (std::size_t at = size; at < data.taps.size(); at += size) { std::memcpy(&data.taps[at], data.taps.data(), size); }
}

TEST(Direct, BitsDoNotDependOnThreadsAlignmentOrLayout) {
    on_every_target([] {
        Random random(15);
        for (const std::int64_t k : {3, 16, 24, 33, 127, 128, 511, 700, 16500}) {
            if (test::kSanitized && (k == 24 || k == 127 || k == 700)) { continue; }
            const bool equal = k == 128 || k == 511;
            const std::int64_t length = test::kSanitized ? 3000 : 9000;
            for (const Dtype dtype : kDtypes) {
                Problem p = problem_of(dtype, k > 10000 ? length / 15 : length, k, Mode::same, Boundary::reflect);
                if (k > 100 && cpu::current_target() == cpu::Target::scalar) { p.length = k > 10000 ? length / 30 : 300; }
                p.batch = 3;
                p.complex_taps = is_complex(dtype) && k % 2 == 1 && !equal;
                Data data = draw_data(p, random);
                if (equal) { make_equal(data, dtype); }
                const std::vector<unsigned char> expected = run(p, data);
                const std::size_t size = size_of(dtype);
                EXPECT_EQ(run(p, data, 2), expected);
                EXPECT_EQ(run(p, data, 5, size), expected);
                EXPECT_EQ(run(p, data, 1, 3 * size), expected);

                Problem side = p;
                side.input_row_stride = side.output_row_stride = 1;
                side.input_sample_stride = side.output_sample_stride = p.batch;
                Data turned = data;
                for (std::int64_t row = 0; row < p.batch; ++row) {
                    for (std::int64_t i = 0; i < p.length; ++i) {
                        std::memcpy(&turned.in[static_cast<std::size_t>(i * p.batch + row) * size],
                                    &data.in[static_cast<std::size_t>(row * p.length + i) * size], size);
                    }
                }
                const std::vector<unsigned char> out = run(side, turned, 2);
                for (std::int64_t row = 0; row < p.batch; ++row) {
                    for (std::int64_t i = 0; i < p.length; ++i) {
                        ASSERT_EQ(std::memcmp(&out[static_cast<std::size_t>(i * p.batch + row) * size],
                                              &expected[static_cast<std::size_t>(row * p.length + i) * size], size),
                                  0)
                            << test::describe(side) << " row " << row << " output " << i;
                    }
                }
                if (testing::Test::HasFailure()) { return; }
            }
        }
    });
}

// Few taps of filters of their own are held in registers, up to so many as the target has; samples with others between them are
// read where they lie.
TEST(Direct, OwnTapsOfColumnsGiveTheBitsOfLines) {
    on_every_target([] {
        Random random(24);
        for (const std::int64_t k : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17}) {
            for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
                Problem lines = problem_of(dtype, test::between(k, 700, random), k, Mode::same, Boundary::mirror);
                lines.batch = test::pick(std::array<std::int64_t, 4>{16, 64, 100, 200}, random);
                lines.filters = Filters::per_row;
                const Data data = draw_data(lines, random);
                const std::vector<unsigned char> expected = run(lines, data);
                const std::size_t size = size_of(dtype);
                for (const std::int64_t gap : {0, 16, 28}) {
                    Problem columns = lines;
                    columns.input_row_stride = columns.output_row_stride = 1;
                    columns.input_sample_stride = columns.output_sample_stride = lines.batch + gap;
                    Data turned{std::vector<unsigned char>(bytes_of(input_extent(columns), dtype)), data.taps};
                    const auto place = [&](std::int64_t row, std::int64_t i) {
                        return static_cast<std::size_t>(i * columns.input_sample_stride.value() + row) * size;
                    };
                    const auto packed = [&](std::int64_t row, std::int64_t i) {
                        return static_cast<std::size_t>(row * lines.length + i) * size;
                    };
                    const auto each = [&](const auto& visit) {
                        for (std::int64_t row = 0; row < lines.batch; ++row) {
                            for (std::int64_t i = 0; i < lines.length; ++i) { visit(row, i); }
                        }
                    };
                    each([&](auto row, auto i) { std::memcpy(&turned.in[place(row, i)], &data.in[packed(row, i)], size); });
                    const std::vector<unsigned char> out = run(columns, turned, 2, gap == 28 ? 3 * size : 0);
                    std::int64_t others = 0;
                    each([&](auto row, auto i) {
                        others += std::memcmp(&out[place(row, i)], &expected[packed(row, i)], size) != 0;
                    });
                    ASSERT_EQ(others, 0) << test::describe(columns) << " gap " << gap;
                }
            }
        }
    });
}

// An output's bits are those of its own window, wherever it stands.
TEST(Direct, BitsDoNotDependOnPosition) {
    on_every_target([] {
        Random random(16);
        for (const std::int64_t k : {5, 30, 129, 130}) {
            const Problem whole = problem_of(Dtype::f32, 6000, k, Mode::valid);
            Data data = draw_data(whole, random);
            if (k == 130) { make_equal(data, Dtype::f32); }
            const std::vector<unsigned char> expected = run(whole, data);
            for (const std::int64_t begin : {1, 13, 2048, 5500}) {
                Problem part = whole;
                part.length = std::min<std::int64_t>(6000 - begin, 400);
                const Data tail{{data.in.begin() + 4 * begin, data.in.begin() + 4 * (begin + part.length)}, data.taps};
                const std::vector<unsigned char> out = run(part, tail);
                EXPECT_TRUE(std::equal(out.begin(), out.end(), expected.begin() + 4 * begin)) << k << " taps, from " << begin;
            }
        }
    });
}

// What is beyond the signal is zeros for every sum, also where it is masked: the bits are those of a signal with the zeros in it.
// Few taps have kernels of their own for whole rows, ends too.
TEST(Direct, EndsOfFewTapsHaveTheBitsOfWrittenZeros) {
    on_every_target([] {
        Random random(18);
        for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
            const std::size_t size = size_of(dtype);
            for (std::int64_t k = 1; k <= 34; ++k) {
                for (const std::int64_t n : {1, 2, 7, 16, 31, 33, 65, 128, 150, 290, 700}) {
                    const Mode mode = test::pick(std::vector<Mode>{Mode::full, Mode::same, Mode::causal, Mode::leading}, random);
                    const Problem p = problem_of(dtype, n, k, mode);
                    const std::int64_t outputs = output_length(p);
                    const std::int64_t before = mode == Mode::same ? k / 2 : mode == Mode::leading ? 0 : k - 1;
                    const Data data = draw_data(p, random);
                    Problem wide = problem_of(dtype, outputs + k - 1, k, Mode::valid);
                    Data zeros{std::vector<unsigned char>(bytes_of(input_extent(wide), dtype)), data.taps};
                    const std::int64_t from = std::max<std::int64_t>(-before, 0), to = std::min(n, wide.length - before);
                    std::memcpy(&zeros.in[static_cast<std::size_t>(before + from) * size],
                                &data.in[static_cast<std::size_t>(from) * size], static_cast<std::size_t>(to - from) * size);
                    const auto offset = static_cast<std::size_t>(test::between(0, 17, random)) * size;
                    ASSERT_EQ(run(p, data, 1, offset), run(wide, zeros)) << test::describe(p);
                    ASSERT_EQ(run(p, data, 3), run(wide, zeros)) << test::describe(p);
                }
            }
        }
    });
}

TEST(Direct, StaysInsideItsBuffers) {
    on_every_target([] {
        Random random(17);
        for (int i = 0; i < 150; ++i) {
            const Problem p = test::draw_problem(i % 10 == 0 ? 5000 : 600, 200, random);
            Data data = draw_data(p, random);
            if (i % 3 == 0) { make_equal(data, p.dtype); }
            const bool at_end = i % 2 == 0;
            const FencedBuffer in(data.in.size(), at_end);
            const FencedBuffer out(bytes_of(output_extent(p), output_dtype(p)), at_end);
            std::memcpy(in.data(), data.in.data(), data.in.size());
            make_plan(p, data.taps.data(), direct_options(2)).execute(out.data(), in.data());
        }
    });
}

// NaN reaches the outputs whose windows hold it, and no others.
TEST(Direct, NanReachesItsWindowsOnly) {
    on_every_target([] {
        Random random(18);
        for (const std::int64_t k : {1, 3, 17, 40, 130, 131}) {
            for (const std::int64_t n : {50, 700, 5000}) {
                const Problem p = problem_of(Dtype::f32, n, k);
                Data data = draw_data(p, random);
                if (k == 131) { make_equal(data, Dtype::f32); }
                const std::int64_t at = test::between(0, n - 1, random);
                reinterpret_cast<float*>(data.in.data())[at] = std::numeric_limits<float>::quiet_NaN();
                const std::vector<unsigned char> bytes = run(p, data);
                const auto* out = reinterpret_cast<const float*>(bytes.data());
                for (std::int64_t o = 0; o < n; ++o) {
                    const std::int64_t tap = at - o + k / 2;
                    ASSERT_EQ(std::isnan(out[o]), tap >= 0 && tap < k) << n << " samples, " << k << " taps, output " << o;
                }
            }
        }
    });
}

// Where all terms are the same, sums by doubling round where two digits of k meet only: ten times at most.
TEST(Direct, MeansOfAFlatSignalAreExactButForTheTap) {
    on_every_target([] {
        for (const std::int64_t k : {65, 101, 256, 511, 512}) {
            const Problem p = problem_of(Dtype::f32, 3000, k, Mode::valid);
            const std::vector<float> taps(static_cast<std::size_t>(k), 1.0F / static_cast<float>(k)), in(3000, 0.7F);
            std::vector<float> out(static_cast<std::size_t>(output_extent(p)));
            make_plan(p, taps.data(), direct_options()).execute(out.data(), in.data());
            const double exact = static_cast<double>(k) * static_cast<double>(taps[0]) * static_cast<double>(in[0]);
            for (const float sum : out) { ASSERT_LE(std::abs(static_cast<double>(sum) / exact - 1), 11 * 0x1p-24) << k; }
        }
    });
}

// An infinite tap beyond the end of the signal is absent under a zero boundary: zero times infinity must not appear.
TEST(Direct, InfiniteTapsMeetNoAbsentSamples) {
    on_every_target([] {
        Random random(19);
        for (const Dtype dtype : kDtypes) {
            for (const std::int64_t k : {3, 20, 90, 200}) {
                for (const std::int64_t n : {10, 150, 2500}) {
                    Problem p = problem_of(dtype, n, k, Mode::full);
                    p.complex_taps = is_complex(dtype) && k % 3 == 0;
                    Data data = draw_data(p, random);
                    const auto at = static_cast<std::size_t>(test::between(0, k - 1, random)) * size_of(taps_dtype(p));
                    if (real_part_of(dtype) == Dtype::f32) {
                        const float infinity = std::numeric_limits<float>::infinity();
                        std::memcpy(&data.taps[at], &infinity, sizeof infinity);
                    } else {
                        const double infinity = std::numeric_limits<double>::infinity();
                        std::memcpy(&data.taps[at], &infinity, sizeof infinity);
                    }
                    check(p, data);
                    if (testing::Test::HasFailure()) { return; }
                }
            }
        }
    });
}

// Where a NaN tap is absent, the careful sums of the edge are the ordinary ones of a filter without it.
TEST(Direct, CarefulSumsHaveTheSameBits) {
    on_every_target([] {
        Random random(20);
        for (const Dtype dtype : kDtypes) {
            constexpr std::int64_t kLength = 3000;
            constexpr std::int64_t kTaps = 150;
            Problem p = problem_of(dtype, kLength, kTaps);
            p.complex_taps = is_complex(dtype);
            const auto size = static_cast<std::ptrdiff_t>(size_of(dtype));
            // The first tap given is the last of the formula: it meets sample o + k - 1 - k / 2.
            Data data = draw_data(p, random);
            std::memset(data.taps.data(), 0, size_of(taps_dtype(p)));
            const std::vector<unsigned char> without = run(p, data);
            std::memset(data.taps.data(), 0xFF, size_of(taps_dtype(p)));
            const std::vector<unsigned char> with = run(p, data);
            const std::ptrdiff_t first = (kLength - (kTaps - 1 - kTaps / 2)) * size;
            EXPECT_TRUE(std::equal(with.begin() + first, with.end(), without.begin() + first));
            EXPECT_FALSE(std::equal(with.begin() + first - size, with.end(), without.begin() + first - size));
        }
    });
}

TEST(Direct, RefusesWhatItCannot) {
    const Problem p = problem_of(Dtype::i32, 100, 5);
    const std::vector<std::int64_t> taps(5, 1);
    test::expect_error(ErrorCode::unsupported, "direct", [&] { make_plan(p, taps.data(), direct_options()); });
}

}  // namespace
}  // namespace tapline
