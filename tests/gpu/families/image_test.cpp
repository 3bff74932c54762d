// Images on a GPU: bands of them, rows of very different size, 16-bit pixels. property_test.cpp draws all kinds of them.
#include <cmath>
#include <cstring>

#include "core/choice/engine.hpp"
#include "gpu/gpu.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

class ImagesOnGpu : public GpuTest {};

// Bands of rows with the boundary rule applied by the caller give the bits of the whole image, on every rung that takes pieces.
TEST_F(ImagesOnGpu, BandsOfImagesAreThePartsOfTheWhole) {
    constexpr std::int64_t kHeight = 500, kWidth = 333;
    for (const Boundary boundary : {Boundary::zero, Boundary::wrap, Boundary::mirror}) {
        const ImageProblem p{.height = kHeight, .width = kWidth, .mask_height = 9, .mask_width = 6, .boundary = boundary};
        Random random(7);
        std::vector<float> in(kHeight * kWidth), taps(9 * 6), whole(in.size()), parts(in.size());
        fill_random(in.data(), Dtype::f32, kHeight * kWidth, random);
        fill_random(taps.data(), Dtype::f32, 9 * 6, random);
        make_separable(taps.data(), p, 1, random);
        for (const AlgorithmInfo& info : algorithms(p, "cuda", Accuracy::standard, 0, taps.data())) {
            if (!info.supported) { continue; }
            const Plan plan = make_plan(p, taps.data(), {.device = "cuda", .algorithm = info.name});
            plan.execute_host(whole.data(), in.data());
            if (rung_named(info.name, 2).info().takes_pieces == 0) { continue; }
            const core::Resolved& r = plan.state().resolved;
            const core::Executable& executable = *plan.state().executable;
            const std::int64_t together = executable.granularity();
            const DeviceBuffer workspace(plan.workspace_bytes());
            const std::int64_t most = std::max<std::int64_t>(200 / together, 1) * together;
            for (std::int64_t first = 0; first < kHeight; first += most) {
                const std::int64_t rows = std::min(most, kHeight - first);
                std::int64_t begin = first - r.y.origin, end = begin + rows + 8;
                if (boundary == Boundary::zero) {
                    begin = std::max<std::int64_t>(begin, 0);
                    end = std::min(end, kHeight);
                }
                std::vector<float> band;
                for (std::int64_t row = begin; row < end; ++row) {
                    const auto from = in.begin() + core::boundary_index(boundary, row, kHeight) * kWidth;
                    band.insert(band.end(), from, from + kWidth);
                }
                const DeviceBuffer device_in = DeviceBuffer::of(band);
                const DeviceBuffer device_out(static_cast<std::size_t>(rows * kWidth) * sizeof(float));
                const core::Output output{
                    .data = device_out.data(), .first = first, .count = rows, .batch_stride = rows * kWidth, .stride = kWidth};
                const core::Input input{.main = {.data = device_in.data(),
                                                 .first = begin,
                                                 .last = end,
                                                 .batch_stride = (end - begin) * kWidth,
                                                 .stride = kWidth},
                                        .extra = {},
                                        .n = kHeight};
                executable.execute(output, input, workspace.span(), nullptr);
                synchronize_device();
                EXPECT_TRUE(device_in.guards_intact() && device_out.guards_intact()) << info.name;
                device_out.read(parts.data() + first * kWidth, device_out.size());
            }
            EXPECT_EQ(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(float)), 0) << info.name << ", " << describe(p);
        }
    }
}

// A strip's scale follows its pixels, down a block that has the image's whole height: rows that are 10^37 times smaller than those
// before, or below rows that hold what stands for no value.
TEST_F(ImagesOnGpu, RowsFarSmallerThanThoseBefore) {
    constexpr std::int64_t kHeight = 304, kSide = 31, kNear = 64;
    for (const std::int64_t channels : {1, 3}) {
        for (const auto& [first, then, change] : {std::tuple{1.0F, 1e-37F, 160}, std::tuple{9.97e36F, 1e-9F, 20}}) {
            const ImageProblem p{.height = kHeight,
                                 .width = 25344 / channels,
                                 .channels = channels,
                                 .mask_height = kSide,
                                 .mask_width = kSide,
                                 .boundary = Boundary::nearest};
            const auto row_elements = static_cast<std::size_t>(p.width * channels);
            std::vector<float> in(kHeight * row_elements, then), out(in.size());
            std::fill_n(in.begin(), static_cast<std::size_t>(change) * row_elements, first);
            const std::vector<float> taps(kSide * kSide, 1.0F / (kSide * kSide));
            const Plan plan = make_plan(p, taps.data(), {.device = "cuda", .algorithm = "image_separable"});
            const DeviceBuffer device_in = DeviceBuffer::of(in);
            const DeviceBuffer device_out(out.size() * sizeof(float));
            plan.execute(device_out.data(), device_in.data(), {}, nullptr);
            synchronize_device();
            device_out.read(out.data(), device_out.size());
            const auto value = [&](std::int64_t y) {
                return static_cast<double>(std::max<std::int64_t>(y, 0) < change ? first : then);
            };
            for (std::int64_t y = 0; y < kHeight; ++y) {
                double wanted = 0;
                for (std::int64_t i = -kSide / 2; i <= kSide / 2; ++i) { wanted += value(y + i) / kSide; }
                const double tolerance = 1e-4 * value(y - kNear);  // the largest around
                const auto* const row = out.data() + static_cast<std::size_t>(y) * row_elements;
                for (std::size_t e = 0; e < row_elements; ++e) {
                    ASSERT_NEAR(row[e], wanted, tolerance) << "row " << y << ", element " << e << " of " << channels << " channels";
                }
            }
        }
    }
}

// What runs on rungs for other problems, of every layout that those see: images that follow each other and images with rows between
// them, one channel and several, every boundary, NaN.
TEST_F(ImagesOnGpu, RowsColumnsAndPlanesByOtherRungs) {
    const auto run = [](const ImageProblem& p, const char* algorithm, bool spoiled) {
        Random random(11);
        std::vector<float> in(static_cast<std::size_t>(input_extent(p))), taps(static_cast<std::size_t>(taps_extent(p)));
        std::vector<float> out(static_cast<std::size_t>(output_extent(p)), NAN);
        fill_random(in.data(), Dtype::f32, static_cast<std::int64_t>(in.size()), random);
        fill_random(taps.data(), Dtype::f32, static_cast<std::int64_t>(taps.size()), random);
        if (spoiled) { in[in.size() / 3] = NAN; }
        const Plan plan = make_plan(p, taps.data(), {.device = "cuda", .algorithm = algorithm});
        const DeviceBuffer device_in = DeviceBuffer::of(in);
        const DeviceBuffer device_out = DeviceBuffer::of(out);
        const DeviceBuffer workspace(plan.workspace_bytes());
        plan.execute(device_out.data(), device_in.data(), workspace.span(), nullptr);
        synchronize_device();
        EXPECT_TRUE(device_in.guards_intact() && device_out.guards_intact() && workspace.guards_intact()) << describe(p);
        device_out.read(out.data(), device_out.size());
        EXPECT_EQ(compare(p, out.data(), in.data(), taps.data(), false), "") << algorithm << ", " << describe(p);
    };
    const Boundary boundaries[] = {Boundary::zero,    Boundary::constant, Boundary::nearest,
                                   Boundary::reflect, Boundary::mirror,   Boundary::wrap};
    int turn = 0;
    for (const Boundary boundary : boundaries) {
        for (const std::int64_t images : {1, 3}) {
            ImageProblem p{.height = 61, .width = 203, .batch = images, .boundary = boundary};
            if (boundary == Boundary::constant) { p.constant = 2; }
            if (++turn % 3 == 0) { p.clamp = Clamp{-1, 1}; }
            const bool apart = turn % 2 == 0;
            if (apart) {
                p.input_row_stride = 210;
                p.input_image_stride = 210 * 70;
            }
            for (const std::int64_t taps : {3, 101}) {
                p.mask_height = 1;
                p.mask_width = taps;
                run(p, "image_rows", turn % 4 == 0);
                p.mask_height = taps;
                p.mask_width = 1;
                run(p, "image_rows", turn % 4 == 1);
            }
            for (const std::int64_t channels : {2, 35}) {
                ImageProblem many = p;
                many.channels = channels;
                many.mask_height = 9;
                many.mask_width = 11;
                if (apart) {
                    many.input_row_stride = 210 * channels;
                    many.input_image_stride = 210 * 70 * channels;
                }
                run(many, "image_planes", turn % 4 == 2);
                for (const std::int64_t taps : {3, 101}) {
                    if (images * channels * taps > 5000) { continue; }  // the textbook takes long
                    many.mask_height = 1;
                    many.mask_width = taps;
                    run(many, "image_rows", turn % 4 == 3);
                    many.mask_height = taps;
                    many.mask_width = 1;
                    run(many, "image_rows", turn % 4 == 2);
                }
            }
        }
    }
}

// Planes go by rungs whose errors stay local where images do: transforms have a sample's in the whole tile.
TEST_F(ImagesOnGpu, PlanesOfFewTapsStayLocal) {
    for (const std::int64_t height : {7, 9}) {
        const ImageProblem p{.height = 2000, .width = 2000, .channels = 3, .mask_height = height, .mask_width = 9};
        const std::vector<float> taps(static_cast<std::size_t>(taps_extent(p)), 1.0F);
        const Plan plan = make_plan(p, taps.data(), {.device = "cuda", .algorithm = "image_planes"});
        EXPECT_EQ(plan.details().find("_fft") != std::string::npos, height == 9) << plan.details();
    }
}

// Complex images backwards, turned and with gaps are signals, too: of two channels whose pixels lie apart.
TEST_F(ImagesOnGpu, LinesOverComplexImagesInAnyOrder) {
    constexpr std::int64_t kHeight = 61, kWidth = 37, kImages = 2;
    constexpr std::int64_t kHeld = 4 * kHeight * kWidth * kImages;
    struct Layout {
        std::int64_t down, across, image, first;  // in samples
    };
    const Layout layouts[] = {
        {-kWidth, -1, kHeight * kWidth, kHeight * kWidth - 1}, {1, kHeight, kHeight * kWidth, 0}, {4 * kWidth, 2, 2 * kWidth, 0}};
    Random random(5);
    std::vector<std::complex<float>> in(kHeld), out(kHeight * kWidth * kImages), wanted(out.size());
    std::vector<float> taps(101);
    fill_random(in.data(), Dtype::complex64, kHeld, random);
    fill_random(taps.data(), Dtype::f32, static_cast<std::int64_t>(taps.size()), random);
    for (const Layout& l : layouts) {
        for (const Boundary boundary : {Boundary::zero, Boundary::mirror}) {
            for (const std::int64_t k : {3, 101}) {
                for (const bool down : {false, true}) {
                    Problem p{.mode = Mode::same, .boundary = boundary, .dtype = Dtype::complex64};
                    p.axes = {{.length = kHeight, .taps = down ? k : 1, .input_stride = l.down},
                              {.length = kWidth, .taps = down ? 1 : k, .input_stride = l.across}};
                    p.batch_axes = {{.length = kImages, .input_stride = l.image}};
                    make_plan(p, taps.data(), {.device = "cpu"}).execute(wanted.data(), in.data() + l.first);
                    const Plan plan = make_plan(p, taps.data(), {.device = "cuda", .algorithm = "image_rows"});
                    const DeviceBuffer device_in = DeviceBuffer::of(in);
                    const DeviceBuffer device_out(out.size() * sizeof(out[0]));
                    const DeviceBuffer workspace(plan.workspace_bytes());
                    plan.execute(device_out.data(), static_cast<const std::complex<float>*>(device_in.data()) + l.first,
                                 workspace.span(), nullptr);
                    synchronize_device();
                    device_out.read(out.data(), device_out.size());
                    double error = 0, size = 0;
                    for (std::size_t i = 0; i < out.size(); ++i) {
                        error += std::norm(out[i] - wanted[i]);
                        size += std::norm(wanted[i]);
                    }
                    EXPECT_LE(std::sqrt(error / size), 1e-5) << describe(p) << ", " << l.down << ' ' << l.across;
                }
            }
        }
    }
}

// 16-bit pixels: sums are floats, and the store rounds once.
TEST_F(ImagesOnGpu, ImagesOf16BitFloats) {
    const ImageProblem p{.height = 70,
                         .width = 45,
                         .channels = 3,
                         .mask_height = 5,
                         .mask_width = 4,
                         .boundary = Boundary::reflect,
                         .dtype = Dtype::f16};
    ImageProblem wide = p;
    wide.dtype = Dtype::f32;
    Random random(3);
    std::vector<std::uint16_t> in(70 * 45 * 3), out(in.size());
    std::vector<float> widened(in.size()), wanted(in.size()), taps(20);
    fill_random(taps.data(), Dtype::f32, 20, random);
    fill_random(widened.data(), Dtype::f32, static_cast<std::int64_t>(in.size()), random);
    for (std::size_t i = 0; i < in.size(); ++i) {
        in[i] = core::to_f16(widened[i]);
        widened[i] = core::from_f16(in[i]);
    }
    make_plan(wide, taps.data(), {.device = "cpu"}).execute_host(wanted.data(), widened.data());
    for (const char* device : {"cuda", "cpu"}) {
        make_plan(p, taps.data(), {.device = device}).execute_host(out.data(), in.data());
        for (std::size_t i = 0; i < out.size(); ++i) {
            ASSERT_NEAR(core::from_f16(out[i]), wanted[i], 1e-3 * std::abs(wanted[i]) + 1e-4) << device << ", " << i;
        }
    }
}

}  // namespace
}  // namespace tapline::test
