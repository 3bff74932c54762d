// The CPU engine: its table of algorithms and what it knows about the processor.
#include "cpu/engine.hpp"

#include <array>
#include <fstream>

#include "core/plan/measure.hpp"
#include "core/problem/elements.hpp"
#include "cpu/algorithms.hpp"
#include "cpu/lines/line_layout.hpp"
#include "cpu/targets.hpp"

namespace tapline::cpu {
namespace {

// Bytes read plus bytes written each second by one thread's memcpy, and the most that all threads together reach; measured
// by `tapline info` on a 2-core machine with AVX-512 (28 and 35 GB/s). Only explain() uses them.
constexpr double kCopyBytesPerSecond = 28e9;
constexpr double kCopyBytesPerSecondPerFurtherThread = 7e9;
constexpr double kCallSeconds = 20e-9;

std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line)) {
        if (line.rfind("model name", 0) == 0) {
            const auto colon = line.find(": ");
            if (colon != std::string::npos) { return line.substr(colon + 2); }
        }
    }
    return "unknown processor";
}

class CpuEngine final : public core::Engine {
public:
    [[nodiscard]] EngineInfo info() const override {
        static const std::string kName = processor_name();
        EngineInfo info{.name = "cpu", .available = true, .reason = {}, .devices = {}};
        info.devices.push_back(
            {.name = "cpu", .description = kName, .instruction_set = to_string(current_target()), .threads = available_threads()});
        return info;
    }

    [[nodiscard]] std::span<const core::Algorithm* const> algorithms() const override {
        static const std::array<const core::Algorithm*, 10> kTable{
            &direct_signals_algorithm(), &overlap_save_signals_algorithm(), &partitioned_algorithm(),
            &integer_algorithm(),        &integer_floats_algorithm(),       &integer_fft_algorithm(),
            &image_direct_algorithm(),   &image_separable_algorithm(),      &image_fft_algorithm(),
            &textbook_algorithm(),
        };
        return kTable;
    }

    [[nodiscard]] core::Support accepts(const core::Resolved& problem, const core::Request& /*request*/) const override {
        if (core::is_half(problem.output_dtype) && !core::is_half(problem.dtype)) {
            return core::Support::no("f16 and bf16 outputs of other samples are for a GPU only; take f32");
        }
        const bool widens =
            problem.rank == 2 ? !problem.changes_rate() : line_layout(problem, {.all_filters = true}).way == LineLayout::Way::tiles;
        if (core::is_half(problem.dtype) && !widens) {
            return core::Support::no(
                "f16 and bf16 with three filtered axes or a change of rate are for a GPU only; convert to f32");
        }
        return core::Support::yes();
    }

    [[nodiscard]] std::unique_ptr<core::MeasuringBuffers> measuring_buffers(const core::Resolved& problem) const override {
        return core::host_measuring_buffers(problem);
    }

    [[nodiscard]] double copy_seconds(std::int64_t bytes, int threads) const override {
        return kCallSeconds +
               2 * static_cast<double>(bytes) / (kCopyBytesPerSecond + kCopyBytesPerSecondPerFurtherThread * (threads - 1));
    }
};

}  // namespace

const core::Engine& engine() {
    static const CpuEngine kEngine;
    return kEngine;
}

}  // namespace tapline::cpu
