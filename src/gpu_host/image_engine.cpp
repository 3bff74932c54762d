#include "gpu_host/image_engine.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

namespace tapline::core {

cuda_abi::ImageProblem to_abi(const Resolved& r, const Request& request) {
    const ImageProblem& p = r.problem;
    cuda_abi::ImageProblem abi;
    abi.height = r.y.n;
    abi.width = r.x.n;
    abi.channels = r.channels.length;
    abi.batch = r.batch.length;
    abi.mask_height = r.y.k;
    abi.mask_width = r.x.k;
    abi.masks = r.filters;
    abi.origin_y = r.y.origin;
    abi.origin_x = r.x.origin;
    abi.out_height = r.y.outputs;
    abi.out_width = r.x.outputs;
    // Host buffers are packed on their way to the device.
    abi.in_row = request.host_buffers ? r.x.n * r.channels.length : r.y.in_stride;
    abi.in_image = request.host_buffers ? r.y.n * abi.in_row : r.batch.in_stride;
    abi.out_row = request.host_buffers ? r.x.outputs * r.channels.length : r.y.out_stride;
    abi.out_image = request.host_buffers ? r.y.outputs * abi.out_row : r.batch.out_stride;
    abi.dtype = static_cast<std::int32_t>(r.dtype);
    abi.taps_dtype = static_cast<std::int32_t>(r.taps_dtype);
    abi.output_dtype = static_cast<std::int32_t>(r.output_dtype);
    abi.boundary = static_cast<std::int32_t>(p.boundary);
    abi.accuracy = static_cast<std::int32_t>(request.accuracy);
    abi.trivial_epilogue = r.trivial_epilogue ? 1 : 0;
    abi.has_clamp = p.clamp ? 1 : 0;
    abi.rank = request.facts.rank();
    const auto& masks = request.facts.separable;
    const bool exact = std::all_of(masks.begin(), masks.end(), [](const SeparableMask& m) { return m.exact_specials; });
    abi.exact_specials = abi.rank > 0 && exact ? 1 : 0;
    abi.constant_real = p.constant.real();
    abi.constant_imag = p.constant.imag();
    abi.scale = p.scale;
    abi.bias = p.bias;
    abi.low = p.clamp ? p.clamp->low : 0;
    abi.high = p.clamp ? p.clamp->high : 0;
    return abi;
}

namespace {

struct ReleaseImage {
    const cuda_abi::ImageApi* images;
    void operator()(cuda_abi::PreparedImage* prepared) const { images->release(prepared); }
};
using ImageHandle = std::unique_ptr<cuda_abi::PreparedImage, ReleaseImage>;

class RungImageExecutable final : public CudaImageExecutable {
public:
    RungImageExecutable(const CudaLibrary& library, const cuda_abi::Device& device, const cuda_abi::RungInfo& info,
                        ImageHandle prepared, const Resolved& problem)
        : api_(*library.api),
          images_(*library.images),
          device_(device),
          takes_pieces_(info.takes_pieces != 0),
          prepared_(std::move(prepared)),
          workspace_bytes_(library.images->workspace_bytes(prepared_.get())),
          problem_(problem) {}

    [[nodiscard]] const cuda_abi::PreparedImage* prepared() const override { return prepared_.get(); }
    [[nodiscard]] int device() const override { return device_.index; }
    [[nodiscard]] std::size_t workspace_bytes() const override { return static_cast<std::size_t>(workspace_bytes_); }

    void execute(void* out, const void* in, std::span<std::byte> workspace) const override {
        execute_on(out, in, workspace, nullptr);
    }

    void execute_on(void* out, const void* in, std::span<std::byte> workspace, void* stream) const override {
        const Resolved& r = problem_;
        const cuda_abi::ImageJob job{.out = out,
                                     .first = 0,
                                     .rows = r.y.outputs,
                                     .out_row = r.y.out_stride,
                                     .out_image = r.batch.out_stride,
                                     .in = in,
                                     .in_first = 0,
                                     .in_last = r.y.n,
                                     .in_row = r.y.in_stride,
                                     .in_image = r.batch.in_stride,
                                     .images = r.batch.length};
        cuda_abi::Status status;
        if (!images_.execute(prepared_.get(), &job, workspace.data(), static_cast<std::int64_t>(workspace.size()),
                             static_cast<cuda_abi::Stream*>(stream), &status)) {
            throw_status(status);
        }
    }

    void execute_host(void* out, const void* in) const override {
        run_image_on_host_memory({.api = &api_,
                                  .images = &images_,
                                  .device = device_.index,
                                  .prepared = prepared_.get(),
                                  .problem = &problem_,
                                  .takes_pieces = takes_pieces_,
                                  .workspace_bytes = workspace_bytes_},
                                 out, in);
    }

    [[nodiscard]] std::string describe() const override {
        std::array<char, 512> text{};
        images_.describe(prepared_.get(), text.data(), text.size());
        const std::string details = text.data();
        return std::string(device_.name) + (details.empty() ? "" : ", " + details);
    }

private:
    const cuda_abi::Api& api_;
    const cuda_abi::ImageApi& images_;
    cuda_abi::Device device_;
    bool takes_pieces_;
    ImageHandle prepared_;
    std::int64_t workspace_bytes_;
    Resolved problem_;
};

// The factors of every mask as the library wants them: masks of a lower rank get zeros.
struct Factors {
    std::vector<double> columns, rows;
};

Factors factors_of(const Resolved& r, const MaskFacts& facts) {
    Factors f;
    const auto rank = static_cast<std::size_t>(facts.rank());
    if (rank == 0) { return f; }
    for (const SeparableMask& mask : facts.separable) {
        f.columns.insert(f.columns.end(), mask.columns.begin(), mask.columns.end());
        f.rows.insert(f.rows.end(), mask.rows.begin(), mask.rows.end());
        const std::size_t missing = rank - static_cast<std::size_t>(mask.rank);
        f.columns.resize(f.columns.size() + missing * static_cast<std::size_t>(r.y.k));
        f.rows.resize(f.rows.size() + missing * static_cast<std::size_t>(r.x.k));
    }
    return f;
}

class RungImageAlgorithm final : public ImageAlgorithm {
public:
    RungImageAlgorithm(const CudaLibrary& library, const cuda_abi::Device& device, std::int32_t rung)
        : library_(library), device_(device), rung_(rung), info_(library.images->rung(rung)) {}

    [[nodiscard]] std::string_view name() const override { return info_.name; }
    [[nodiscard]] std::string_view summary() const override { return info_.idea; }
    [[nodiscard]] bool is_local() const override { return info_.is_local != 0; }
    [[nodiscard]] bool by_name_only() const override { return info_.takes_pieces == 0; }

    [[nodiscard]] Support supports(const Resolved& problem, const Request& request) const override {
        const cuda_abi::ImageProblem abi = to_abi(problem, request);
        cuda_abi::Status status;
        if (library_.images->supports(rung_, device_.index, &abi, &status)) { return Support::yes(); }
        return Support::no(status.message[0] == 0 ? "it does not say why" : status.message);
    }

    [[nodiscard]] double estimate_seconds(const Resolved& problem, const Request& request) const override {
        const cuda_abi::ImageProblem abi = to_abi(problem, request);
        return library_.images->estimate_seconds(rung_, device_.index, &abi);
    }

    [[nodiscard]] std::unique_ptr<ImageExecutable> prepare(const Resolved& problem, const void* taps,
                                                           const Request& request) const override {
        const cuda_abi::ImageProblem abi = to_abi(problem, request);
        const Factors factors = factors_of(problem, request.mask);
        const cuda_abi::ImageTaps all{taps, factors.columns.data(), factors.rows.data()};
        cuda_abi::Status status;
        ImageHandle prepared(library_.images->prepare(rung_, device_.index, &abi, &all, &status), {library_.images});
        if (prepared == nullptr) { throw_status(status); }
        return std::make_unique<RungImageExecutable>(library_, device_, info_, std::move(prepared), problem);
    }

private:
    const CudaLibrary& library_;
    cuda_abi::Device device_;
    std::int32_t rung_;
    cuda_abi::RungInfo info_;
};

struct ImageTable {
    cuda_abi::Device device;
    std::vector<std::unique_ptr<RungImageAlgorithm>> rungs;
    std::vector<const ImageAlgorithm*> table;
};

// Each device's table is made when it is first asked for; asking again after a failure tries again.
const ImageTable& table_of(int device) {
    const CudaLibrary& library = cuda_library();
    const std::string name = "device: 'cuda:" + std::to_string(device) + "' is not available for images: ";
    if (library.api == nullptr) { throw Error(ErrorCode::device, name + library.reason + "; use cpu or auto"); }
    if (library.images == nullptr) {
        throw Error(ErrorCode::device, name + library.path + " has no images for this version; install both of one build");
    }
    if (device < 0 || device >= library.devices) {
        throw Error(ErrorCode::device, name + "this machine has " + std::to_string(library.devices) +
                                           (library.devices == 1 ? " CUDA device, cuda:0" : " CUDA devices, numbered from cuda:0"));
    }
    static std::mutex mutex;
    static auto& tables = *new std::map<int, ImageTable>;  // as the library: never destroyed
    const std::lock_guard lock(mutex);
    const auto found = tables.find(device);
    if (found != tables.end()) { return found->second; }
    ImageTable made;
    cuda_abi::Status status;
    if (!library.api->device(device, &made.device, &status)) { throw_status(status); }
    for (std::int32_t rung = 0; rung < library.images->rung_count(); ++rung) {
        if (library.images->rung(rung).ladder_only != 0) { continue; }
        made.rungs.push_back(std::make_unique<RungImageAlgorithm>(library, made.device, rung));
        made.table.push_back(made.rungs.back().get());
    }
    return tables.emplace(device, std::move(made)).first->second;
}

}  // namespace

std::span<const ImageAlgorithm* const> cuda_image_algorithms(int device) { return table_of(device).table; }

double cuda_image_copy_seconds(int device, std::int64_t bytes) {
    constexpr double kLaunchSeconds = 2e-6;
    return kLaunchSeconds + 2 * static_cast<double>(bytes) / table_of(device).device.copy_bytes_per_second;
}

double image_transfer_bytes(const Resolved& r) {
    const auto bytes = [&](std::int64_t height, std::int64_t width, Dtype dtype) {
        return static_cast<double>(r.batch.length * r.channels.length) * static_cast<double>(height) * static_cast<double>(width) *
               static_cast<double>(size_of(dtype));
    };
    return bytes(r.y.n, r.x.n, r.dtype) + bytes(r.y.outputs, r.x.outputs, r.output_dtype);
}

}  // namespace tapline::core
