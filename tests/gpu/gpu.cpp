#include "gpu/gpu.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "gpu/driver.hpp"
#include "gpu_host/problem.hpp"
#include "support/case.hpp"

namespace tapline::test {
namespace {

constexpr unsigned char kInputPattern = 0xFF;
constexpr unsigned char kOutputPattern = 0xA5;

// Zones of several pages of a tile: what a kernel misses by its halo or one tile lands inside.
std::size_t guard_bytes() { return static_cast<std::size_t>(environment_number("TAPLINE_GPU_GUARD_BYTES", 4096)); }

// Copies and waits. The emulated engine of tests/support, unlike a device, refuses host memory that is not pinned.
void copy_now(int device, void* to, const void* from, std::size_t bytes, bool to_device) {
    if (bytes == 0) { return; }
    cuda_abi::Status status;
    const auto count = static_cast<std::int64_t>(bytes);
    void* staged = nullptr;
    if (!has_driver()) {
        staged = api().allocate_pinned(device, count, &status);
        require(staged != nullptr, status, "allocate_pinned");
        if (to_device) { std::memcpy(staged, from, bytes); }
    }
    void* const target = staged != nullptr && !to_device ? staged : to;
    const void* const source = staged != nullptr && to_device ? staged : from;
    const bool ok =
        api().copy(device, target, source, count, nullptr, &status) && api().synchronize_stream(device, nullptr, &status);
    if (staged != nullptr) {
        if (ok && !to_device) { std::memcpy(to, staged, bytes); }
        api().free_pinned(device, staged);
    }
    require(ok, status, "copy");
}

}  // namespace

bool gpu_required() { return environment_number("TAPLINE_REQUIRE_GPU", 0) != 0; }

const cuda_abi::Api& api() { return *gpu_host::library().api; }

void require(bool ok, const cuda_abi::Status& status, const char* what) {
    if (!ok) { throw std::runtime_error(std::string(what) + ": " + status.message); }
}

std::vector<float> random_floats(std::int64_t count, std::uint64_t seed) {
    Random random(seed);
    return random_floats(count, random);
}

std::vector<float> random_floats(std::int64_t count, Random& random) {
    std::vector<float> values(static_cast<std::size_t>(count));
    fill_random(values.data(), Dtype::f32, count, random);
    return values;
}

namespace {

// Whether it takes integers and nothing else: with exact sums, or bytes that become bytes.
bool is_for_integers(const Rung& rung) {
    Problem problem{.length = 400, .taps = 80, .mode = Mode::same};
    if (rung.info().rank == 2) { problem = ImageProblem{.height = 64, .width = 64, .mask_height = 3, .mask_width = 3}; }
    if (rung.info().rank == 3) { problem.axes = {{.length = 9, .taps = 3}, {.length = 9, .taps = 3}, {.length = 9, .taps = 3}}; }
    cuda_abi::Status status;
    const auto takes = [&](Dtype dtype, std::optional<Dtype> taps = std::nullopt) {
        problem.dtype = dtype;
        problem.real_taps = taps;
        problem.output_dtype = taps ? std::optional(dtype) : std::nullopt;
        const cuda_abi::Problem p = gpu_host::to_abi(core::resolve(problem), {});
        return rung.library->supports(rung.index, 0, &p, &status);
    };
    const bool takes_some = takes(Dtype::i16) || takes(Dtype::u8, Dtype::f64);
    if (takes(Dtype::f32)) { return false; }
    // Some take none whose taps they do not know.
    return takes_some || std::string_view(status.message).find("integers with integer taps") != std::string_view::npos;
}

}  // namespace

std::vector<Rung> rungs_of_rank(int rank) {
    std::vector<Rung> rungs;
    for (const cuda_abi::Api* library : {&api(), gpu_host::lessons_library().api}) {
        for (std::int32_t i = 0; library != nullptr && i < library->rung_count(); ++i) {
            const Rung rung{library, i};
            if (rung.info().rank == rank && !is_for_integers(rung)) { rungs.push_back(rung); }
        }
    }
    std::stable_sort(rungs.begin(), rungs.end(), [](const Rung& a, const Rung& b) {
        return std::string_view(a.info().number) < std::string_view(b.info().number);
    });
    return rungs;
}

Rung rung_named(const std::string& name, int rank) {
    for (const Rung& rung : rungs_of_rank(rank)) {
        if (name == rung.info().name) { return rung; }
    }
    return {};
}

bool is_elementwise(const Rung& rung) {
    if (!rung) { return true; }
    // Planes go by whichever rung is the fastest, under few taps of those whose errors stay local.
    if (rung.info().is_local == 0 || std::string_view(rung.info().name) == "image_planes") { return false; }
    Problem problem{.length = 64, .taps = 8, .mode = Mode::same};
    if (rung.info().rank == 2) { problem = ImageProblem{.height = 64, .width = 64, .mask_height = 3, .mask_width = 3}; }
    cuda_abi::Problem p = gpu_host::to_abi(core::resolve(problem), {});
    p.separable = 1;  // what rungs for such masks alone take
    cuda_abi::Status status;
    if (!rung.library->supports(rung.index, 0, &p, &status)) { return true; }
    p.accuracy = Accuracy::strict;
    return rung.library->supports(rung.index, 0, &p, &status);
}

bool is_elementwise(const Plan& plan) { return is_elementwise(rung_named(plan.algorithm(), plan.state().resolved.rank)); }

void GpuTest::SetUp() {
    const gpu_host::CudaLibrary& library = gpu_host::library();
    if (library.api == nullptr) { TAPLINE_GPU_MISSING("no GPU: " + library.reason); }
}

DeviceBuffer::DeviceBuffer(std::size_t bytes, Guard guard, std::size_t offset, int device)
    : device_(device),
      bytes_(bytes),
      front_(guard_bytes() + offset),
      behind_(guard_bytes()),
      pattern_(guard == Guard::input ? kInputPattern : kOutputPattern),
      storage_(nullptr, Free{device}),
      data_(nullptr) {
    cuda_abi::Status status;
    const std::size_t all = std::max<std::size_t>(1, front_ + bytes_ + behind_);
    storage_.reset(api().allocate(device_, static_cast<std::int64_t>(all), &status));
    require(storage_ != nullptr, status, "allocate");
    data_ = static_cast<unsigned char*>(storage_.get()) + front_;
    require(api().fill(device_, storage_.get(), pattern_, static_cast<std::int64_t>(all), nullptr, &status), status, "fill");
    poison();
}

DeviceBuffer DeviceBuffer::of(std::span<const std::byte> bytes, std::size_t offset, int device) {
    DeviceBuffer buffer(bytes.size(), Guard::input, offset, device);
    buffer.write(bytes.data(), bytes.size());
    return buffer;
}

void DeviceBuffer::write(const void* from, std::size_t bytes, std::size_t at) const {
    copy_now(device_, static_cast<unsigned char*>(data_) + at, from, bytes, true);
}

void DeviceBuffer::read(void* to, std::size_t bytes, std::size_t at) const {
    copy_now(device_, to, static_cast<const unsigned char*>(data_) + at, bytes, false);
}

void DeviceBuffer::poison() const {
    if (bytes_ == 0) { return; }
    cuda_abi::Status status;
    require(api().fill(device_, data_, 0xFF, static_cast<std::int64_t>(bytes_), nullptr, &status), status, "fill");
    synchronize_device(device_);
}

bool DeviceBuffer::guards_intact() const {
    std::vector<unsigned char> zones(front_ + behind_);
    if (zones.empty()) { return true; }
    const auto* first = static_cast<const unsigned char*>(storage_.get());
    copy_now(device_, zones.data(), first, front_, false);
    copy_now(device_, zones.data() + front_, first + front_ + bytes_, behind_, false);
    return std::all_of(zones.begin(), zones.end(), [&](unsigned char byte) { return byte == pattern_; });
}

DeviceStream::DeviceStream(int device) : device_(device), stream_(nullptr, Free{device}) {
    cuda_abi::Status status;
    stream_.reset(api().make_stream(device, &status));
    require(stream_ != nullptr, status, "make_stream");
}

void DeviceStream::synchronize() const {
    cuda_abi::Status status;
    require(api().synchronize_stream(device_, stream_.get(), &status), status, "synchronize_stream");
}

void synchronize_device(int device) {
    cuda_abi::Status status;
    require(api().synchronize_stream(device, nullptr, &status), status, "synchronize");
}

}  // namespace tapline::test
