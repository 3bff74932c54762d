// What SciPy and OpenCV compute, from tests/data/golden_images.txt: modes, boundaries, origins and even masks as
// docs/conventions.md says, with every algorithm.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "tapline/tapline.hpp"

namespace tapline {
namespace {

struct Array {
    std::int64_t height = 0, width = 0, channels = 1;
    std::vector<double> values;
};

struct Case {
    std::string tool, image, mask;
    ImageProblem problem;
    Array output;
};

struct Golden {
    std::map<std::string, Array> images, masks;
    std::vector<Case> cases;
};

void read_values(std::istream& line, Array& array) {
    for (double value = 0; line >> value;) { array.values.push_back(value); }
    EXPECT_EQ(static_cast<std::int64_t>(array.values.size()), array.height * array.width * array.channels);
}

Case read_case(std::istream& line, const Golden& golden) {
    Case c;
    std::string dtype, operation, mode, boundary;
    double constant = 0;
    ImageSize origin;
    line >> c.tool >> c.image >> c.mask >> dtype >> operation >> mode >> boundary >> constant >> origin.height >> origin.width >>
        c.problem.bias >> c.output.height >> c.output.width;
    const Array& image = golden.images.at(c.image);
    const Array& mask = golden.masks.at(c.mask);
    c.output.channels = image.channels;
    read_values(line, c.output);
    c.problem.height = image.height;
    c.problem.width = image.width;
    c.problem.channels = image.channels;
    c.problem.mask_height = mask.height;
    c.problem.mask_width = mask.width;
    c.problem.dtype = dtype_from_string(dtype).value();
    c.problem.mode = mode_from_string(mode).value();
    c.problem.boundary = boundary_from_string(boundary).value();
    c.problem.constant = constant;
    c.problem.operation = operation == "convolution" ? Operation::convolution : Operation::correlation;
    c.problem.origin_y = origin.height;
    c.problem.origin_x = origin.width;
    return c;
}

const Golden& golden() {
    static const Golden all = [] {
        Golden read;
        std::ifstream file(TAPLINE_TEST_DATA "/golden_images.txt");
        for (std::string text; std::getline(file, text);) {
            std::istringstream line(text);
            std::string kind, name;
            line >> kind;
            if (kind == "case") { read.cases.push_back(read_case(line, read)); }
            if (kind != "image" && kind != "mask") { continue; }
            Array array;
            line >> name >> array.height >> array.width;
            if (kind == "image") { line >> array.channels; }
            read_values(line, array);
            (kind == "image" ? read.images : read.masks)[name] = array;
        }
        return read;
    }();
    return all;
}

template <class T>
std::vector<double> run(const Case& c, const std::string& algorithm) {
    using Tap = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const std::vector<double>& image = golden().images.at(c.image).values;
    const std::vector<double>& mask = golden().masks.at(c.mask).values;
    const std::vector<T> in(image.begin(), image.end());
    const std::vector<Tap> taps(mask.begin(), mask.end());
    const Plan plan = make_plan(c.problem, taps, {.device = "cpu", .algorithm = algorithm});
    std::vector<T> out(static_cast<std::size_t>(output_extent(c.problem)), static_cast<T>(77));
    plan.execute(std::span<T>(out), std::span<const T>(in));
    return {out.begin(), out.end()};
}

std::vector<double> run(const Case& c, const std::string& algorithm) {
    switch (c.problem.dtype) {
        case Dtype::f32:
            return run<float>(c, algorithm);
        case Dtype::f64:
            return run<double>(c, algorithm);
        case Dtype::u8:
            return run<std::uint8_t>(c, algorithm);
        default:
            return run<std::uint16_t>(c, algorithm);
    }
}

// Direct sums of these numbers are exact. A transform's are not, and may go the other way where a sum lies on a tie.
double tolerance_of(const Case& c, const std::string& algorithm) {
    if (algorithm == "direct" || algorithm == "textbook") { return 0; }
    if (is_integer(c.problem.dtype)) { return 1; }
    double taps = 0, squares = 0;
    for (const double tap : golden().masks.at(c.mask).values) { taps += std::abs(tap); }
    for (const double value : golden().images.at(c.image).values) { squares += value * value; }
    return (c.problem.dtype == Dtype::f32 ? 1e-6 : 1e-14) * taps * std::sqrt(squares);
}

TEST(ImageGolden, TheFileHoldsEveryToolModeBoundaryAndEvenMasks) {
    std::map<std::string, int> tools;
    std::map<Mode, int> modes;
    std::map<Boundary, int> boundaries;
    int even = 0;
    for (const Case& c : golden().cases) {
        ++tools[c.tool];
        ++modes[c.problem.mode];
        ++boundaries[c.problem.boundary];
        even += c.problem.mask_height % 2 == 0 || c.problem.mask_width % 2 == 0 ? 1 : 0;
    }
    EXPECT_EQ(tools.size(), 6U);
    EXPECT_EQ(modes.size(), 3U);
    EXPECT_EQ(boundaries.size(), 6U);
    EXPECT_GT(even, 100);
}

TEST(ImageGolden, EveryAlgorithmGivesWhatTheToolsGive) {
    int runs = 0;
    for (const Case& c : golden().cases) {
        const auto& mask = golden().masks.at(c.mask).values;
        const std::vector<float> single(mask.begin(), mask.end());
        const void* taps = c.problem.dtype == Dtype::f64 ? static_cast<const void*>(mask.data()) : single.data();
        for (const AlgorithmInfo& info : algorithms(c.problem, "cpu", Accuracy::standard, 0, taps)) {
            if (!info.supported) { continue; }
            const std::vector<double> got = run(c, info.name);
            const double tolerance = tolerance_of(c, info.name);
            ASSERT_EQ(got.size(), c.output.values.size());
            for (std::size_t i = 0; i < got.size(); ++i) {
                ASSERT_LE(std::abs(got[i] - c.output.values[i]), tolerance)
                    << c.tool << " " << c.image << " " << c.mask << " " << to_string(c.problem.dtype) << " "
                    << to_string(c.problem.mode) << " " << to_string(c.problem.boundary) << " " << info.name << ", element " << i
                    << ": " << got[i] << " instead of " << c.output.values[i];
            }
            ++runs;
        }
    }
    EXPECT_GT(runs, 500);
}

}  // namespace
}  // namespace tapline
