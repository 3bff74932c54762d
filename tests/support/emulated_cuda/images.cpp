// The emulated engine's second entry: two rungs for f32 images, output by output on host memory.
#include <cmath>
#include <cstdio>
#include <vector>

#include "cuda/image_abi.hpp"
#include "support/emulated_cuda/hooks.hpp"
#include "tapline/types.hpp"

namespace tapline::cuda_abi {

struct PreparedImage {
    std::int32_t rung;
    std::int32_t device;
    std::uint64_t life;
    ImageProblem problem;
    std::vector<float> taps;
};

}  // namespace tapline::cuda_abi

namespace tapline::emulated {
namespace {

using namespace cuda_abi;

enum ImageRungNumber : std::int32_t { kPieces, kWhole, kRungs };
constexpr std::int64_t kWorkspaceBytes = 500;

bool fail(Status* status, Code code, const char* message) {
    status->code = code;
    std::snprintf(status->message, sizeof status->message, "%s", message);
    return false;
}

RungInfo rung(std::int32_t number) {
    RungInfo info;
    info.name = number == kWhole ? "emulated_image_whole" : "emulated_image";
    info.idea = "every output by itself, on the host";
    info.takes_pieces = number == kWhole ? 0 : 1;
    return info;
}

bool supports(std::int32_t, std::int32_t, const ImageProblem* p, Status* status) {
    const auto f32 = static_cast<std::int32_t>(Dtype::f32);
    return (p->dtype == f32 && p->output_dtype == f32) || fail(status, Code::unsupported, "takes only f32");
}

PreparedImage* prepare(std::int32_t number, std::int32_t device, const ImageProblem* p, const ImageTaps* taps, Status* status) {
    if (goes_wrong_here("prepare", status)) { return nullptr; }
    const auto* first = static_cast<const float*>(taps->taps);
    count_live(1);
    return new PreparedImage{number, device, life_of_devices(), *p, {first, first + p->masks * p->mask_height * p->mask_width}};
}

// One step of the boundary's picture at a time; -1: the constant, or nothing.
std::int64_t extended(std::int32_t boundary, std::int64_t p, std::int64_t n) {
    while (p < 0 || p >= n) {
        switch (static_cast<Boundary>(boundary)) {
            case Boundary::nearest:
                p = p < 0 ? 0 : n - 1;
                break;
            case Boundary::reflect:
                p = p < 0 ? -1 - p : 2 * n - 1 - p;
                break;
            case Boundary::mirror:
                p = n == 1 ? 0 : (p < 0 ? -p : 2 * n - 2 - p);
                break;
            case Boundary::wrap:
                p = p < 0 ? p + n : p - n;
                break;
            default:
                return -1;
        }
    }
    return p;
}

std::string run_job(const PreparedImage& prepared, const ImageJob& job) {
    const ImageProblem& p = prepared.problem;
    const bool constant = static_cast<Boundary>(p.boundary) == Boundary::constant;
    const auto* in = static_cast<const float*>(job.in);
    auto* out = static_cast<float*>(job.out);
    for (std::int64_t image = 0; image < job.images; ++image) {
        for (std::int64_t y = 0; y < job.rows; ++y) {
            for (std::int64_t e = 0; e < p.out_width * p.channels; ++e) {
                const float* tap = prepared.taps.data() + (p.masks > 1 ? e % p.channels * p.mask_height * p.mask_width : 0);
                double sum = 0;
                for (std::int64_t i = 0; i < p.mask_height; ++i) {
                    std::int64_t row = job.first + y + i - p.origin_y;
                    if (row < job.in_first || row >= job.in_last) {
                        row = extended(p.boundary, row, p.height);
                        if (row >= 0 && (row < job.in_first || row >= job.in_last)) { return "a row is needed that is not there"; }
                    }
                    for (std::int64_t j = 0; j < p.mask_width; ++j, ++tap) {
                        const std::int64_t x = extended(p.boundary, e / p.channels + j - p.origin_x, p.width);
                        const bool there = row >= job.in_first && row < job.in_last && x >= 0;
                        if (!there && !constant) { continue; }
                        const std::int64_t at =
                            image * job.in_image + (row - job.in_first) * job.in_row + x * p.channels + e % p.channels;
                        sum += static_cast<double>(*tap) * (there ? in[at] : static_cast<float>(p.constant_real));
                    }
                }
                double value = sum * p.scale + p.bias;
                if (p.has_clamp != 0) { value = value < p.low ? p.low : (value > p.high ? p.high : value); }
                out[image * job.out_image + y * job.out_row + e] = static_cast<float>(value);
            }
        }
    }
    return {};
}

bool execute(const PreparedImage* prepared, const ImageJob* job, void* workspace, std::int64_t workspace_bytes, Stream* stream,
             Status* status) {
    if (goes_wrong_here("execute", status)) { return false; }
    if (prepared->life != life_of_devices()) {
        return fail(status, Code::device, "plan: the device was reset after the plan was made");
    }
    const ImageProblem& p = prepared->problem;
    const auto bytes = [&](std::int64_t image, std::int64_t rows, std::int64_t row, std::int64_t width) {
        return rows < 1 ? 0 : 4 * ((job->images - 1) * image + (rows - 1) * row + width * p.channels);
    };
    const std::int64_t out = bytes(job->out_image, job->rows, job->out_row, p.out_width);
    const std::int64_t in = bytes(job->in_image, job->in_last - job->in_first, job->in_row, p.width);
    if (job->rows < 1 || job->images < 1 || job->first < 0 || job->first + job->rows > p.out_height || job->images > p.batch) {
        return fail(status, Code::argument, "job: no such rows or images");
    }
    if (!is_device_memory(job->out, out, prepared->device)) {
        return fail(status, Code::argument, "out: is not memory of the plan's device");
    }
    if (in > 0 && !is_device_memory(job->in, in, prepared->device)) {
        return fail(status, Code::argument, "in: is not memory of the plan's device");
    }
    if (prepared->rung == kPieces &&
        (workspace_bytes < kWorkspaceBytes || !is_device_memory(workspace, kWorkspaceBytes, prepared->device))) {
        return fail(status, Code::argument, "workspace: is not memory of the plan's device");
    }
    const bool whole = job->first == 0 && job->rows == p.out_height && job->in_first == 0 && job->in_last == p.height;
    if (prepared->rung == kWhole && !whole) { return fail(status, Code::argument, "job: this rung takes whole images"); }
    Status injected;
    const bool breaks = goes_wrong_here("kernel", &injected);
    enqueue_here(stream, [prepared, job = *job, breaks] {
        const std::string failure = breaks ? "kernel: failed as injected" : run_job(*prepared, job);
        if (!failure.empty()) { kernel_failed(failure); }
    });
    return true;
}

const ImageApi kApi = {
    .abi_version = kImageAbiVersion,
    .api_bytes = sizeof(ImageApi),
    .rung_count = []() -> std::int32_t { return kRungs; },
    .rung = rung,
    .supports = supports,
    .estimate_seconds = [](std::int32_t number, std::int32_t, const ImageProblem*) { return 1e-6 * (number + 1); },
    .prepare = prepare,
    .release =
        [](PreparedImage* prepared) {
            count_live(-1);
            delete prepared;
        },
    .workspace_bytes = [](const PreparedImage* p) { return p->rung == kPieces ? kWorkspaceBytes : std::int64_t{0}; },
    .band_rows = [](const PreparedImage*) -> std::int64_t { return 3; },
    .describe = [](const PreparedImage*, char* text, std::size_t bytes) { std::snprintf(text, bytes, "one thread"); },
    .execute = execute,
    .measure =
        [](const PreparedImage* prepared, const ImageJob* job, void* workspace, std::int64_t workspace_bytes, bool, double,
           Measurement* measurement, Status* status) {
            if (!execute(prepared, job, workspace, workspace_bytes, nullptr, status)) { return false; }
            *measurement = {.median_seconds = 1e-6, .least_seconds = 1e-6, .most_seconds = 1e-6, .runs = 1};
            return true;
        },
};

}  // namespace
}  // namespace tapline::emulated

extern "C" __attribute__((visibility("default"))) const tapline::cuda_abi::ImageApi* tapline_cuda_images(std::uint32_t) {
    return &tapline::emulated::kApi;
}
