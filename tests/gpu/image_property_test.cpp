// Every rung for images against the textbook, over problems drawn at random, on device memory between guard zones and from host
// memory. TAPLINE_PROPERTY_CASES sets how many, TAPLINE_PROPERTY_SEED repeats a failure that was printed.
#include <gtest/gtest.h>

#include "gpu_host/image_engine.hpp"
#include "gpu/gpu.hpp"
#include "support/images.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr int kShards = 8;
constexpr std::int64_t kDefaultCases = 1600;
constexpr std::int64_t kMostProducts = 1000000;

struct Case {
    ImageProblem problem;
    GuardedBuffer in, taps, out;
    std::size_t in_offset, out_offset;  // of the device's buffers
};

// Wide masks too: the tensor cores' steps and windows depend on the mask's width.
ImageProblem draw_problem(Random& random) {
    const std::int64_t most_mask = chance(0.2, random) ? 70 : 20;
    ImageProblem p = draw_image_problem(chance(0.15, random) ? 700 : 200, most_mask, kMostProducts, random);
    if (chance(0.4, random) && p.dtype != Dtype::f32) {  // most rungs are for f32
        p.dtype = Dtype::f32;
        p.complex_taps = false;
        p.output_dtype = std::nullopt;
        p.constant = p.constant.real();
    }
    return p;
}

Case draw_case(Random& random) {
    const ImageProblem p = draw_problem(random);
    const auto offset = [&](Dtype dtype) {
        return chance(0.5, random) ? std::size_t{0}
                                   : static_cast<std::size_t>(between(0, 9, random)) * size_of(real_part_of(dtype));
    };
    Case c{p,
           GuardedBuffer(bytes_of(image_input_extent(p), p.dtype)),
           GuardedBuffer(bytes_of(image_taps_extent(p), taps_dtype(p))),
           GuardedBuffer(bytes_of(image_output_extent(p), output_dtype(p))),
           offset(p.dtype),
           offset(output_dtype(p))};
    fill_random(c.in.data(), p.dtype, image_input_extent(p), random);
    fill_random(c.taps.data(), taps_dtype(p), image_taps_extent(p), random);
    if (!p.complex_taps && chance(0.4, random)) {
        make_separable(c.taps.data(), p, static_cast<int>(between(1, 4, random)), random);
    }
    if (chance(0.15, random)) { spoil(c.in.data(), p.dtype, image_input_extent(p), random); }
    if (chance(0.03, random)) { spoil(c.taps.data(), taps_dtype(p), image_taps_extent(p), random); }
    return c;
}

std::string run_on_device(Case& c, const ImagePlan& plan) {
    const DeviceBuffer in = DeviceBuffer::of({reinterpret_cast<const std::byte*>(c.in.data()), c.in.size()}, c.in_offset);
    const DeviceBuffer out(c.out.size(), Guard::output, c.out_offset);
    const DeviceBuffer workspace(plan.workspace_bytes());
    const DeviceStream stream;
    plan.execute(out.data(), in.data(), workspace.span(), stream.get());
    stream.synchronize();
    if (!in.guards_intact()) { return "wrote outside the input"; }
    if (!out.guards_intact()) { return "wrote outside the output"; }
    if (!workspace.guards_intact()) { return "wrote outside the workspace"; }
    out.read(c.out.data(), c.out.size());
    return {};
}

bool is_direct(const std::string& name) { return name != "image_separable" && name != "image_tensor" && name != "image_fft"; }

void run_case(std::uint64_t seed) {
    Random random(seed);
    Case c = draw_case(random);
    std::vector<std::string> names;
    for (const AlgorithmInfo& info : image_algorithms(c.problem, c.taps.data(), {.device = "cuda"})) {
        if (info.supported) { names.push_back(info.name); }
    }
    ASSERT_FALSE(names.empty()) << describe(c.problem);
    for (const std::string& name : names) {
        const auto told = [&] {
            return "TAPLINE_PROPERTY_SEED=" + std::to_string(seed) + ": " + name + ": " + describe(c.problem);
        };
        const ImagePlan plan = make_image_plan(c.problem, c.taps.data(), {.device = "cuda", .algorithm = name});
        ASSERT_EQ(run_on_device(c, plan), "") << told();
        EXPECT_EQ(compare(c.problem, c.out.data(), c.in.data(), c.taps.data(), is_direct(name)), "") << told();
        if (!chance(0.25, random)) { continue; }
        GuardedBuffer host(c.out.size());
        plan.execute_host(host.data(), c.in.data());
        ASSERT_TRUE(host.guards_intact()) << told();
        EXPECT_EQ(compare(c.problem, host.data(), c.in.data(), c.taps.data(), is_direct(name)), "") << "host: " << told();
    }
}

class ImageShard : public GpuTest, public ::testing::WithParamInterface<int> {};

TEST_P(ImageShard, AgreesWithTheTextbook) {
    if (const std::int64_t seed = environment("TAPLINE_PROPERTY_SEED", -1); seed >= 0) {
        run_case(static_cast<std::uint64_t>(seed));
        return;
    }
    const std::int64_t cases = environment("TAPLINE_PROPERTY_CASES", kDefaultCases) / kShards;
    for (std::int64_t i = 0; i < cases && !HasFatalFailure() && !HasNonfatalFailure(); ++i) {
        run_case(static_cast<std::uint64_t>(GetParam()) * 10000000 + static_cast<std::uint64_t>(i) + 1);
    }
}

INSTANTIATE_TEST_SUITE_P(Images, ImageShard, ::testing::Range(0, kShards));

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
        for (const AlgorithmInfo& info : image_algorithms(p, taps.data(), {.device = "cuda"})) {
            if (!info.supported) { continue; }  // the teaching rungs: only the zero boundary
            const ImagePlan plan = make_image_plan(p, taps.data(), {.device = "cuda", .algorithm = info.name});
            plan.execute_host(whole.data(), in.data());
            const core::ResolvedImage r = core::resolve(p);
            const auto& images = *core::cuda_library().images;
            std::int32_t rung = -1;
            for (std::int32_t i = 0; i < images.rung_count(); ++i) {
                if (info.name == images.rung(i).name) { rung = i; }
            }
            if (images.rung(rung).takes_pieces == 0) { continue; }
            core::ImageRequest request;
            cuda_abi::ImageProblem abi = core::to_abi(r, request);
            core::SeparableMask factors;
            std::vector<float> turned(taps.rbegin(), taps.rend());
            if (info.name == "image_separable") {
                factors = core::separate(turned.data(), 9, 6, Dtype::f32);
                abi.rank = factors.rank;
            }
            const cuda_abi::ImageTaps all{turned.data(), factors.columns.data(), factors.rows.data()};
            cuda_abi::Status status;
            const std::unique_ptr<cuda_abi::PreparedImage, void (*)(cuda_abi::PreparedImage*)> prepared(
                images.prepare(rung, 0, &abi, &all, &status), images.release);
            require(prepared != nullptr, status, "prepare");
            const std::int64_t together = images.band_rows(prepared.get());
            const std::int64_t most = std::max<std::int64_t>(200 / together, 1) * together;
            for (std::int64_t first = 0; first < kHeight; first += most) {
                const std::int64_t rows = std::min(most, kHeight - first);
                std::int64_t begin = first - r.origin_y, end = begin + rows + 8;
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
                const cuda_abi::ImageJob job{.out = device_out.data(),
                                             .first = first,
                                             .rows = rows,
                                             .out_row = kWidth,
                                             .out_image = rows * kWidth,
                                             .in = device_in.data(),
                                             .in_first = begin,
                                             .in_last = end,
                                             .in_row = kWidth,
                                             .in_image = (end - begin) * kWidth,
                                             .images = 1};
                require(images.execute(prepared.get(), &job, nullptr, 0, nullptr, &status), status, "execute");
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
            const ImagePlan plan = make_image_plan(p, taps.data(), {.device = "cuda", .algorithm = "image_separable"});
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
    make_image_plan(wide, taps.data(), {.device = "cpu"}).execute_host(wanted.data(), widened.data());
    make_image_plan(p, taps.data(), {.device = "cuda"}).execute_host(out.data(), in.data());
    for (std::size_t i = 0; i < out.size(); ++i) {
        ASSERT_NEAR(core::from_f16(out[i]), wanted[i], 1e-3 * std::abs(wanted[i]) + 1e-4) << i;
    }
    EXPECT_THROW(make_image_plan(p, taps.data(), {.device = "cpu"}), Error);
}

}  // namespace
}  // namespace tapline::test
