// Images on the CUDA engine as the core sees it: device pointers, host buffers in bands of rows, choice, failures.
#include <thread>

#include "gpu_host/emulated/emulated_engine.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "support/errors.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

using CudaImages = EmulatedCuda;

struct Data {
    std::vector<float> in, taps, out;
};

template <class T>
std::vector<T> random_elements(std::int64_t count, Dtype dtype, Random& random) {
    std::vector<T> values(static_cast<std::size_t>(count));
    fill_random(values.data(), dtype, count, random);
    return values;
}

Data data_of(const ImageProblem& p, std::uint64_t seed = 5) {
    Random random(seed);
    return {random_elements<float>(input_extent(p), Dtype::f32, random), random_elements<float>(taps_extent(p), Dtype::f32, random),
            std::vector<float>(static_cast<std::size_t>(output_extent(p)), NAN)};
}

std::string host_failure(const ImageProblem& p, const std::string& algorithm = {}) {
    Data d = data_of(p);
    make_plan(p, d.taps.data(), {.device = "cuda", .algorithm = algorithm}).execute_host(d.out.data(), d.in.data());
    return compare(p, d.out.data(), d.in.data(), d.taps.data(), true);
}

void limit_memory(std::int64_t bytes) { setenv("TAPLINE_CUDA_MEMORY_LIMIT", std::to_string(bytes).c_str(), 1); }

TEST_F(CudaImages, PlansTellWhereTheyRun) {
    const ImageProblem p{.height = 20, .width = 30, .mask_height = 3, .mask_width = 3};
    const Data d = data_of(p);
    const Plan plan = make_plan(p, d.taps.data(), {.device = "cuda:1"});
    EXPECT_EQ(plan.device(), "cuda:1");
    EXPECT_EQ(plan.algorithm(), "emulated_image");
    EXPECT_EQ(plan.workspace_bytes(), 500U);
    const std::string text = plan.explain();
    for (const char* words : {"emulated_image on cuda:1", "(Emulated GPU, one thread)", "of the copy's speed", "20 x 30"}) {
        EXPECT_NE(text.find(words), std::string::npos) << words << " is not in\n" << text;
    }
    std::vector<std::string> names;
    for (const AlgorithmInfo& info : algorithms(p, "cuda")) { names.push_back(info.name); }
    EXPECT_EQ(names, (std::vector<std::string>{"emulated_image", "emulated_image_whole"}));
    EXPECT_EQ(make_plan(p, d.taps.data(), {.device = "cuda", .algorithm = "emulated_image_whole"}).algorithm(),
              "emulated_image_whole");
    EXPECT_THROW(make_plan(p, d.taps.data(), {.device = "cuda:4"}), Error);
    EXPECT_THROW(make_plan(p, d.taps.data(), {.device = "cuda:x"}), Error);
    ImageProblem doubles = p;
    doubles.dtype = Dtype::f64;
    EXPECT_THROW(make_plan(doubles, std::vector<double>(9, 1.0), {.device = "cuda"}), Error);
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
    const Plan plan = make_plan(p, d.taps.data(), {.device = "cuda"});
    const auto& api = emulated_api();
    const std::int64_t in_bytes = static_cast<std::int64_t>(d.in.size() * 4),
                       out_bytes = static_cast<std::int64_t>(d.out.size() * 4);
    const gpu_host::DeviceBytes in = gpu_host::allocate_device(api, 0, in_bytes),
                                out = gpu_host::allocate_device(api, 0, out_bytes);
    const gpu_host::PinnedBytes pinned = gpu_host::allocate_pinned(api, 0, std::max(in_bytes, out_bytes));
    cuda_abi::Status status;
    std::memcpy(pinned.get(), d.in.data(), d.in.size() * 4);
    ASSERT_TRUE(api.copy(0, in.get(), pinned.get(), in_bytes, nullptr, &status));
    plan.execute(out.get(), in.get());
    ASSERT_TRUE(api.copy(0, pinned.get(), out.get(), out_bytes, nullptr, &status));
    std::memcpy(d.out.data(), pinned.get(), d.out.size() * 4);
    EXPECT_EQ(compare(p, d.out.data(), d.in.data(), d.taps.data(), true), "");
    EXPECT_THROW(plan.execute(d.out.data(), d.in.data()), Error) << "host pointers";
}

// Empty, or what is wrong with execute_host of a problem of any type, with settings of chunks that differ from case to case.
std::string drawn_failure(const Problem& p, const PlanOptions& options, Random& random) {
    const auto bytes = [](std::int64_t elements, Dtype dtype) { return static_cast<std::size_t>(elements) * size_of(dtype); };
    GuardedBuffer in(bytes(input_extent(p), p.dtype)), taps(bytes(taps_extent(p), taps_dtype(p)));
    GuardedBuffer out(bytes(output_extent(p), output_dtype(p)));
    fill_random(in.data(), p.dtype, input_extent(p), random);
    fill_random(taps.data(), taps_dtype(p), taps_extent(p), random);
    void* const first_out = out.data() + bytes(output_start(p), output_dtype(p));
    const void* const first_in = in.data() + bytes(input_start(p), p.dtype);
    make_plan(p, taps.data(), options).execute_host(first_out, first_in);
    if (!out.guards_intact()) { return "wrote outside the buffers"; }
    return compare(p, first_out, first_in, taps.data(), true);
}

void draw_settings(Random& random) {
    gpu_host::PipelineSettings& settings = gpu_host::pipeline_settings();
    settings.piece_bytes = between(16, 700, random);
    settings.chunk_bytes = between(16, 4000, random);
    settings.large_chunk_bytes = between(16, 400, random);
    settings.pieces = static_cast<int>(between(1, 4, random));
    settings.slots = static_cast<int>(between(1, 4, random));
    gpu_host::drop_idle_pipeline_memory(0);  // sizes of pinned buffers differ from case to case
}

TEST_F(CudaImages, HostBuffersOfEveryLayout) {
    Random random(11);
    for (int i = 0; i < 300; ++i) {
        ImageProblem p = draw_image_problem(60, 12, 200000, random);
        if (p.dtype != Dtype::u8 && p.dtype != Dtype::u16) {
            p.dtype = Dtype::f32;
            p.complex_taps = false;
            p.constant = p.constant.real();
        }
        draw_settings(random);
        const bool whole = chance(0.2, random);
        const PlanOptions options{.device = "cuda",
                                  .algorithm = whole ? "emulated_image_whole" : "emulated_image",
                                  .threads = static_cast<int>(between(1, 3, random))};
        ASSERT_EQ(drawn_failure(p, options, random), "") << i << ": " << describe(p);
    }
}

TEST_F(CudaImages, LongFormsOfEveryLayoutOrARefusal) {
    Random random(12);
    int solved = 0;
    for (int i = 0; i < 300; ++i) {
        Problem p =
            draw_problem({.rank = 2, .most_samples = 40, .most_taps = 12, .most_products = 200000, .layouts = true}, random);
        p.dtype = Dtype::f32;
        p.complex_taps = false;
        p.constant = p.constant.real();
        draw_settings(random);
        try {
            ASSERT_EQ(drawn_failure(p, {.device = "cuda"}, random), "") << i << ": " << describe(p);
            ++solved;
        } catch (const Error& error) {
            ASSERT_EQ(error.code(), ErrorCode::unsupported) << error.what() << ": " << describe(p);
            ASSERT_NE(std::string(error.what()).find("pixels that lie side by side"), std::string::npos) << error.what();
        }
    }
    EXPECT_GT(solved, 100);
}

TEST_F(CudaImages, WhatNoRungTakesIsRefusedOnce) {
    const auto refused = [](const Problem& p, const std::string& words) {
        const std::vector<double> taps(1000, 1.0);
        expect_error(ErrorCode::unsupported, words, [&] { make_plan(p, taps.data(), {.device = "cuda"}); });
    };
    refused(VolumeProblem{.depth = 5, .height = 6, .width = 7, .mask_depth = 2, .mask_height = 3, .mask_width = 3},
            "no algorithm of this engine can solve it");
    refused({.length = 100, .taps = 3, .down = 2}, "up, down or dilation other than 1: only the CPU's textbook");
    refused({.axes = {{.length = 10, .taps = 3, .input_stride = 1}, {.length = 10, .taps = 3, .input_stride = 10}}},
            "takes pixels that lie side by side");
}

TEST_F(CudaImages, BitsDoNotDependOnTheBands) {
    const ImageProblem p{
        .height = 97, .width = 41, .channels = 3, .batch = 2, .mask_height = 7, .mask_width = 5, .boundary = Boundary::mirror};
    Data d = data_of(p);
    const Plan plan = make_plan(p, d.taps.data(), {.device = "cuda"});
    gpu_host::pipeline_settings().chunk_bytes = 1 << 20;
    plan.execute_host(d.out.data(), d.in.data());
    for (const std::int64_t chunk : {64, 5000, 20000}) {
        gpu_host::pipeline_settings().chunk_bytes = chunk;
        std::vector<float> got(d.out.size(), NAN);
        plan.execute_host(got.data(), d.in.data());
        EXPECT_EQ(got, d.out) << chunk;
    }
}

TEST_F(CudaImages, MeasuringRunsOnTheDevice) {
    const ImageProblem p{.height = 40, .width = 30, .channels = 2, .mask_height = 3, .mask_width = 3, .input_row_stride = 70};
    const Data d = data_of(p);
    const Plan plan = make_plan(p, d.taps.data(), {.device = "cuda", .effort = Effort::measure});
    EXPECT_EQ(plan.algorithm(), "emulated_image");
    EXPECT_NE(plan.explain().find("fastest as measured now"), std::string::npos) << plan.explain();
}

TEST_F(CudaImages, SeveralThreadsAtOnce) {
    const ImageProblem p{.height = 60, .width = 50, .mask_height = 5, .mask_width = 5};
    const Data d = data_of(p);
    const Plan plan = make_plan(p, d.taps.data(), {.device = "cuda", .threads = 2});
    std::vector<std::vector<float>> outs(3, std::vector<float>(d.out.size(), NAN));
    std::vector<std::thread> threads;
    for (auto& out : outs) {
        threads.emplace_back([&] { plan.execute_host(out.data(), d.in.data()); });
    }
    for (auto& thread : threads) { thread.join(); }
    for (const auto& out : outs) { EXPECT_EQ(compare(p, out.data(), d.in.data(), d.taps.data(), true), ""); }
}

TEST_F(CudaImages, ShortMemoryMakesBandsSmall) {
    gpu_host::pipeline_settings().chunk_bytes = 1 << 20;  // wanted, not to be had
    gpu_host::pipeline_settings().piece_bytes = 4096;
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
    EXPECT_EQ(make_plan(p, small.taps.data(), {}).device(), "cpu");
    p.height = p.width = 1500;
    p.batch = 8;
    p.mask_height = p.mask_width = 255;
    const std::vector<float> taps(255 * 255, 0.5F);
    // Not run: the emulated device's estimates are a dream.
    std::vector<float> rough = taps;
    Random random(3);
    fill_random(rough.data(), Dtype::f32, static_cast<std::int64_t>(rough.size()), random);
    const Plan plan = make_plan(p, rough.data(), {.threads = 1});
    EXPECT_EQ(plan.device(), "cuda:0") << plan.explain();
    EXPECT_NE(plan.explain().find("there and back"), std::string::npos) << plan.explain();
    inject("fail prepare 1");
    const Plan fallen = make_plan(p, rough.data(), {.threads = 1});
    EXPECT_EQ(fallen.device(), "cpu");
    EXPECT_NE(fallen.explain().find("failed as injected"), std::string::npos) << fallen.explain();
}

TEST_F(CudaImages, FailuresLeaveNothingBehind) {
    const ImageProblem p{.height = 61, .width = 50, .mask_height = 3, .mask_width = 3};
    Data d = data_of(p);
    const Plan plan = make_plan(p, d.taps.data(), {.device = "cuda"});
    int told = 0;
    for (const char* what :
         {"fail allocate 1", "fail allocate 2", "fail allocate 3", "fail allocate_pinned 1", "fail copy 1", "fail copy 2",
          "fail execute 1", "fail kernel 1", "fail record 1", "fail synchronize 1", "fail make_stream 1", "fail make_event 2"}) {
        gpu_host::drop_idle_pipeline_memory(0);
        inject(what);
        try {
            plan.execute_host(d.out.data(), d.in.data());  // tries again with less memory
            EXPECT_EQ(compare(p, d.out.data(), d.in.data(), d.taps.data(), true), "") << what;
            EXPECT_NE(std::string(what).find("allocate"), std::string::npos) << what;
        } catch (const Error& error) {
            ++told;
            EXPECT_NE(std::string(error.what()).find("as injected"), std::string::npos) << error.what();
        }
        inject("nothing");
    }
    EXPECT_GE(told, 8);
    plan.execute_host(d.out.data(), d.in.data());
    EXPECT_EQ(compare(p, d.out.data(), d.in.data(), d.taps.data(), true), "");
}

}  // namespace
}  // namespace tapline::test
