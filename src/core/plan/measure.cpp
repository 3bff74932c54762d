#include "core/plan/measure.hpp"

#include <chrono>
#include <cstring>
#include <random>

#include "core/plan/host_memory.hpp"
#include "core/problem/elements.hpp"

namespace tapline::core {
namespace {

std::size_t in_bytes(const Resolved& r) { return static_cast<std::size_t>(input_extent_of(r).elements) * size_of(r.dtype); }
std::size_t out_bytes(const Resolved& r) {
    return static_cast<std::size_t>(output_extent_of(r).elements) * size_of(r.output_dtype);
}

void fill_random(std::byte* bytes, std::size_t count, Dtype dtype) {
    std::mt19937 generator(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the data only has to be ordinary numbers
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto fill = [&]<class T>(T) {
        for (std::size_t i = 0; i + sizeof(T) <= count; i += sizeof(T)) {
            const T value = uniform(generator);
            std::memcpy(bytes + i, &value, sizeof(T));
        }
    };
    if (is_integer(dtype) || is_half(dtype)) {
        std::fill_n(bytes, count, std::byte{1});
    } else {
        with_type_of<float, double>(real_part_of(dtype), fill);
    }
}

class HostBuffers final : public MeasuringBuffers {
public:
    explicit HostBuffers(const Resolved& problem)
        : problem_(problem), in_(allocate(in_bytes(problem), "measuring")), out_(allocate(out_bytes(problem), "measuring")) {
        fill_random(in_.get(), in_bytes(problem), problem.dtype);
    }

    double seconds_of(const Executable& executable) override {
        constexpr int kRuns = 3;
        const std::size_t bytes = executable.workspace_bytes();
        const AlignedBytes workspace = allocate(bytes + 1, "workspace");
        const auto at = [](const AlignedBytes& buffer, const Extent& extent, Dtype dtype) {
            return buffer.get() + static_cast<std::size_t>(extent.start) * size_of(dtype);
        };
        void* const out = at(out_, output_extent_of(problem_), problem_.output_dtype);
        const void* const in = at(in_, input_extent_of(problem_), problem_.dtype);
        double best = -1;
        for (int run = 0; run < kRuns; ++run) {
            const auto begin = std::chrono::steady_clock::now();
            executable.execute(whole_output(problem_, out), whole_input(problem_, in), {workspace.get(), bytes}, nullptr);
            const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            if (best < 0 || seconds < best) { best = seconds; }
        }
        return best;
    }

private:
    Resolved problem_;
    AlignedBytes in_, out_;
};

}  // namespace

std::unique_ptr<MeasuringBuffers> host_measuring_buffers(const Resolved& problem) { return std::make_unique<HostBuffers>(problem); }

}  // namespace tapline::core
