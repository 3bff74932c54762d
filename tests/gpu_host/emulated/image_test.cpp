// Images on the CUDA engine as the core sees it: device pointers, host buffers whole, image by image and in bands, choice,
// failures.
#include "gpu_host/image_engine.hpp"
#include "gpu_host/emulated/emulated_engine.hpp"
#include "support/images.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

using CudaImages = EmulatedCuda;

struct Data {
    std::vector<float> in, taps, out;
};

Data data_of(const ImageProblem& p, std::uint64_t seed = 5) {
    Random random(seed);
    Data d{std::vector<float>(static_cast<std::size_t>(image_input_extent(p))),
           std::vector<float>(static_cast<std::size_t>(image_taps_extent(p))),
           std::vector<float>(static_cast<std::size_t>(image_output_extent(p)), NAN)};
    fill_random(d.in.data(), Dtype::f32, static_cast<std::int64_t>(d.in.size()), random);
    fill_random(d.taps.data(), Dtype::f32, static_cast<std::int64_t>(d.taps.size()), random);
    return d;
}

std::string host_failure(const ImageProblem& p, const std::string& algorithm = {}) {
    Data d = data_of(p);
    make_image_plan(p, d.taps.data(), {.device = "cuda", .algorithm = algorithm}).execute_host(d.out.data(), d.in.data());
    return compare(p, d.out.data(), d.in.data(), d.taps.data(), true);
}

void limit_memory(std::int64_t bytes) { setenv("TAPLINE_CUDA_MEMORY_LIMIT", std::to_string(bytes).c_str(), 1); }

TEST_F(CudaImages, PlansTellWhereTheyRun) {
    const ImageProblem p{.height = 20, .width = 30, .mask_height = 3, .mask_width = 3};
    const Data d = data_of(p);
    const ImagePlan plan = make_image_plan(p, d.taps.data(), {.device = "cuda:1"});
    EXPECT_EQ(plan.device(), "cuda:1");
    EXPECT_EQ(plan.algorithm(), "emulated_image");
    EXPECT_EQ(plan.workspace_bytes(), 500U);
    const std::string text = plan.explain();
    for (const char* words : {"emulated_image on cuda:1 (Emulated GPU, one thread)", "of the copy's speed", "20 x 30"}) {
        EXPECT_NE(text.find(words), std::string::npos) << words << " is not in\n" << text;
    }
    EXPECT_EQ(image_algorithms(p, d.taps.data(), {.device = "cuda"}).size(), 2U);
    EXPECT_EQ(make_image_plan(p, d.taps.data(), {.device = "cuda", .algorithm = "emulated_image_whole"}).algorithm(),
              "emulated_image_whole");
    EXPECT_THROW(make_image_plan(p, d.taps.data(), {.device = "cuda:2"}), Error);
    EXPECT_THROW(make_image_plan(p, d.taps.data(), {.device = "cuda:x"}), Error);
    ImageProblem doubles = p;
    doubles.dtype = Dtype::f64;
    EXPECT_THROW(make_image_plan(doubles, std::vector<double>(9, 1.0), {.device = "cuda"}), Error);
}

TEST_F(CudaImages, DevicePointers) {
    const ImageProblem p{.height = 20,
                         .width = 30,
                         .channels = 3,
                         .batch = 2,
                         .mask_height = 4,
                         .mask_width = 5,
                         .boundary = Boundary::mirror,
                         .input_row_stride = 95,
                         .output_row_stride = 91};
    Data d = data_of(p);
    const ImagePlan plan = make_image_plan(p, d.taps.data(), {.device = "cuda"});
    const auto& api = emulated_api();
    const std::int64_t in_bytes = static_cast<std::int64_t>(d.in.size() * 4),
                       out_bytes = static_cast<std::int64_t>(d.out.size() * 4);
    const core::DeviceBytes in = core::allocate_device(api, 0, in_bytes), out = core::allocate_device(api, 0, out_bytes);
    const core::PinnedBytes pinned = core::allocate_pinned(api, 0, std::max(in_bytes, out_bytes));
    cuda_abi::Status status;
    std::memcpy(pinned.get(), d.in.data(), d.in.size() * 4);
    ASSERT_TRUE(api.copy(0, in.get(), pinned.get(), in_bytes, nullptr, &status));
    plan.execute(out.get(), in.get());
    ASSERT_TRUE(api.copy(0, pinned.get(), out.get(), out_bytes, nullptr, &status));
    std::memcpy(d.out.data(), pinned.get(), d.out.size() * 4);
    EXPECT_EQ(compare(p, d.out.data(), d.in.data(), d.taps.data(), true), "");
    EXPECT_THROW(plan.execute(d.out.data(), d.in.data()), Error) << "host pointers";
}

TEST_F(CudaImages, HostBuffersOfEveryLayout) {
    Random random(11);
    for (int i = 0; i < 60; ++i) {
        ImageProblem p = draw_image_problem(60, 12, 200000, random);
        p.dtype = Dtype::f32;
        p.complex_taps = false;
        p.output_dtype = std::nullopt;
        p.constant = p.constant.real();
        const bool whole = chance(0.3, random);
        EXPECT_EQ(host_failure(p, whole ? "emulated_image_whole" : "emulated_image"), "") << describe(p);
    }
}

TEST_F(CudaImages, ShortMemoryTakesImagesOneByOneAndInBands) {
    for (const Boundary boundary :
         {Boundary::zero, Boundary::constant, Boundary::nearest, Boundary::reflect, Boundary::mirror, Boundary::wrap}) {
        for (const Mode mode : {Mode::same, Mode::full, Mode::valid}) {
            ImageProblem p{.height = 61,
                           .width = 50,
                           .channels = 2,
                           .batch = 3,
                           .mask_height = 9,
                           .mask_width = 4,
                           .mode = mode,
                           .boundary = boundary};
            p.constant = boundary == Boundary::constant ? 2.5 : 0;
            for (const std::int64_t bytes : {60000, 20000, 10000}) {  // an image has 24400 bytes, its output about as many
                limit_memory(bytes);
                EXPECT_EQ(host_failure(p), "") << describe(p) << " in " << bytes << " bytes";
            }
        }
    }
    ImageProblem tall{.height = 61, .width = 50, .mask_height = 61, .mask_width = 4, .boundary = Boundary::wrap};
    limit_memory(9000);
    const Data d = data_of(tall);
    EXPECT_THROW(host_failure(tall), Error) << "not even one row of outputs";
    tall.mask_height = 150;  // more rows than the image has
    limit_memory(60000);
    EXPECT_EQ(host_failure(tall), "");
}

TEST_F(CudaImages, AutoTakesTheGpuWhereTheCpuNeedsLong) {
    ImageProblem p{.height = 200, .width = 200, .mask_height = 5, .mask_width = 5};
    const Data small = data_of(p);
    EXPECT_EQ(make_image_plan(p, small.taps.data(), {}).device(), "cpu");
    p.height = p.width = 1500;
    p.batch = 8;
    p.mask_height = p.mask_width = 255;
    const std::vector<float> taps(255 * 255, 0.5F);
    // Not run: the emulated device's estimates are a dream.
    std::vector<float> rough = taps;
    Random random(3);
    fill_random(rough.data(), Dtype::f32, static_cast<std::int64_t>(rough.size()), random);
    const ImagePlan plan = make_image_plan(p, rough.data(), {.threads = 1});
    EXPECT_EQ(plan.device(), "cuda:0") << plan.explain();
    EXPECT_NE(plan.explain().find("there and back"), std::string::npos) << plan.explain();
    inject("fail prepare 1");
    const ImagePlan fallen = make_image_plan(p, rough.data(), {.threads = 1});
    EXPECT_EQ(fallen.device(), "cpu");
    EXPECT_NE(fallen.explain().find("failed as injected"), std::string::npos) << fallen.explain();
}

TEST_F(CudaImages, FailuresLeaveNothingBehind) {
    const ImageProblem p{.height = 61, .width = 50, .mask_height = 3, .mask_width = 3};
    Data d = data_of(p);
    const ImagePlan plan = make_image_plan(p, d.taps.data(), {.device = "cuda"});
    for (const char* what :
         {"fail allocate 1", "fail allocate 2", "fail allocate 3", "fail allocate_pinned 1", "fail copy 1", "fail copy 2",
          "fail execute 1", "fail kernel 1", "fail record 1", "fail synchronize 1", "fail make_stream 1", "fail make_event 2"}) {
        inject(what);
        EXPECT_THROW(plan.execute_host(d.out.data(), d.in.data()), Error) << what;
        inject("nothing");
    }
    plan.execute_host(d.out.data(), d.in.data());
    EXPECT_EQ(compare(p, d.out.data(), d.in.data(), d.taps.data(), true), "");
}

}  // namespace
}  // namespace tapline::test
