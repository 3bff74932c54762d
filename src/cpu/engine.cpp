// The CPU engine: its table of algorithms and what it knows about the processor.
#include <array>
#include <fstream>

#include "core/choice/engine.hpp"
#include "cpu/direct/direct.hpp"
#include "cpu/integer/integer.hpp"
#include "cpu/overlap_save/overlap_save.hpp"
#include "cpu/targets.hpp"
#include "cpu/textbook/textbook.hpp"

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
        static const std::vector<const core::Algorithm*> table{
            &direct_algorithm(), &overlap_save_algorithm(), &partitioned_algorithm(), &integer_algorithm(), &textbook_algorithm(),
        };
        return table;
    }

    [[nodiscard]] double copy_seconds(std::int64_t bytes, int threads) const override {
        return kCallSeconds +
               2 * static_cast<double>(bytes) / (kCopyBytesPerSecond + kCopyBytesPerSecondPerFurtherThread * (threads - 1));
    }
};

}  // namespace
}  // namespace tapline::cpu

namespace tapline::core {

const Engine& cpu_engine() {
    static const cpu::CpuEngine engine;
    return engine;
}

}  // namespace tapline::core
