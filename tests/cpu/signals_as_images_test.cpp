// Signals side by side that go as the columns of an image have the bits that each has by itself.
#include <gtest/gtest.h>

#include <cstring>

#include "cpu/every_target.hpp"
#include "support/buffers.hpp"
#include "support/draw.hpp"
#include "support/sanitized.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

using test::Random;

template <class T>
std::vector<T> drawn(std::int64_t count, Random random) {
    std::vector<T> values(static_cast<std::size_t>(count));
    test::fill_reals<T>(values.data(), count, random);
    return values;
}

bool goes_as_image(const Plan& plan) { return plan.explain().find("as an image") != std::string::npos; }

// `gap`: elements between rows of samples; `outer`: so many arrays of samples.
template <class T>
void check(Problem p, std::int64_t rows, std::int64_t outer, std::int64_t gap, bool as_image) {
    const std::int64_t row = rows + gap, outputs = output_length(p);
    p.dtype = sizeof(T) == 8 ? Dtype::f64 : Dtype::f32;
    const std::vector<T> taps = drawn<T>(p.taps, Random(1)), in = drawn<T>(outer * p.length * row, Random(2));
    Problem together = p;
    together.batch_axes = {{.length = outer, .input_stride = p.length * row, .output_stride = outputs * row},
                           {.length = rows, .input_stride = 1, .output_stride = 1}};
    together.axes = {{.length = p.length, .taps = p.taps, .input_stride = row, .output_stride = row}};
    together.length = together.taps = 0;
    std::vector<T> out(static_cast<std::size_t>(outer * outputs * row), T{7});
    const Plan plan = make_plan(together, taps.data(), {.device = "cpu", .algorithm = "direct", .threads = 2});
    EXPECT_EQ(goes_as_image(plan), as_image) << plan.explain();
    plan.execute(out.data(), in.data());
    const Plan alone = make_plan(p, taps.data(), {.device = "cpu", .algorithm = "direct", .threads = 1});
    std::vector<T> x(static_cast<std::size_t>(p.length)), y(static_cast<std::size_t>(outputs));
    for (const std::int64_t o : {std::int64_t{0}, outer - 1}) {
        for (std::int64_t r = 0; r < row; r += r < rows - 5 ? std::max<std::int64_t>(rows / 40, 1) : 1) {
            for (std::int64_t i = 0; i < p.length; ++i) {
                x[static_cast<std::size_t>(i)] = in[static_cast<std::size_t>((o * p.length + i) * row + r)];
            }
            alone.execute(y.data(), x.data());
            for (std::int64_t i = 0; i < outputs; ++i) {
                const T got = out[static_cast<std::size_t>((o * outputs + i) * row + r)];
                const T wanted = r < rows ? y[static_cast<std::size_t>(i)] : T{7};
                ASSERT_EQ(std::memcmp(&got, &wanted, sizeof(T)), 0) << "row " << r << ", output " << i << ": " << plan.explain();
            }
        }
    }
}

TEST(SignalsAsImages, TheBitsOfEachSignalByItself) {
    test::on_every_target([] {
        const std::int64_t vector = cpu::current_target() == cpu::Target::avx512   ? 16
                                    : cpu::current_target() == cpu::Target::avx2   ? 8
                                    : cpu::current_target() == cpu::Target::scalar ? 0
                                                                                   : 4;
        for (const Mode mode : {Mode::same, Mode::full, Mode::valid}) {
            for (const Boundary boundary : {Boundary::zero, Boundary::reflect, Boundary::constant}) {
                for (const std::int64_t k : {2, 4, 8, 16}) {
                    if (test::kSanitized && k == 4) { continue; }
                    const Problem p{.length = 19, .taps = k, .mode = mode, .boundary = boundary, .constant = 0.5};
                    check<float>(p, 5001, 1, 0, k <= vector);
                    if (!test::kSanitized || mode == Mode::full) { check<float>(p, 4200, 3, 24, k <= vector); }
                    check<double>(p, 2500, 1, 4, k <= vector / 2);
                }
            }
        }
    });
}

TEST(SignalsAsImages, FewColumnsAndLongFiltersStaySignals) {
    check<float>({.length = 40, .taps = 5, .mode = Mode::same}, 900, 1, 0, false);
    check<float>({.length = 90, .taps = 33, .mode = Mode::same}, 900, 1, 0, false);
}

}  // namespace
}  // namespace tapline
