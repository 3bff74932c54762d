// The GPU's ladder: the lessons and what ships, through their libraries' tables of functions.
#include <algorithm>
#include <cstdio>

#include "cli/ladder/ladder_engine.hpp"
#include "cli/measure/cuda_search.hpp"
#include "tapline/info.hpp"

namespace tapline::cli {
namespace {

constexpr std::size_t kGuardBytes = static_cast<std::size_t>(kGuard) * sizeof(float);

std::string label_of(const CudaRung& rung) { return Lesson{.number = rung.info.number, .name = rung.info.name}.label(); }

class CudaSite final : public LadderSite {
public:
    CudaSite(const CudaDevice& device, const std::vector<CudaRung>& rungs, const Problem& problem, const CaseData& data)
        : rungs_(rungs),
          output_bytes_(static_cast<std::size_t>(output_extent(problem)) * sizeof(float)),
          problem_(device, problem, data, Accuracy::standard, kGuardBytes) {}

    [[nodiscard]] std::string refusal(int rung) const override { return problem_.refusal(at(rung)); }
    [[nodiscard]] double estimate_seconds(int rung) const override { return problem_.estimate_seconds(at(rung)); }
    void prepare(int rung) override {
        const auto policies = problem_.policies(at(rung));
        problem_.prepare(at(rung), policies.empty() ? Policy{} : policies.front());
    }

    std::optional<Found> search(const ReferenceBlocks& expected, double seconds, const LadderProgress& progress) override {
        std::vector<CudaRung> rungs;
        std::size_t all = 0;
        for (const CudaRung& rung : rungs_) {
            const std::size_t policies = problem_.refusal(rung).empty() ? problem_.policies(rung).size() : 0;
            if (policies < 2) { continue; }
            rungs.push_back(rung);
            all += policies;
        }
        if (rungs.empty()) { return std::nullopt; }
        const SearchOptions options{.seconds = std::max(seconds / static_cast<double>(all), 1e-3),
                                    .most_seconds = seconds,
                                    .progress = [&](const SearchedRung&, int, int so_far) {
                                        progress("policy " + std::to_string(so_far + 1) + " of " + std::to_string(all));
                                    }};
        const SearchResult result = cli::search(problem_, rungs, expected, options);
        Found found{.detail = {}, .failure = wrong_ones(result)};
        if (result.fastest < 0) {
            if (found.failure.empty()) { found.failure = "no size could be prepared"; }
            return found;
        }
        const SearchedRung& winner = result.rungs[static_cast<std::size_t>(result.fastest)];
        problem_.prepare(winner.rung, winner.kept().policy);
        found.detail = label_of(winner.rung) + ": " + describe() + "; best of " + std::to_string(result.measured) +
                       (result.measured < result.of ? " measured of " + std::to_string(result.of) : "");
        return found;
    }

    [[nodiscard]] std::string describe() const override { return problem_.describe(); }

    [[nodiscard]] Bytes run() override {
        Bytes out(output_bytes_ + kGuardBytes);
        problem_.execute();
        problem_.download(out.data(), 0, out.size());
        return out;
    }

    [[nodiscard]] Timing measure(bool cold, double seconds) override { return problem_.measure(cold, seconds); }
    [[nodiscard]] Timing measure_copy(bool cold, double seconds) override { return problem_.measure_copy(cold, seconds); }

private:
    static std::string wrong_ones(const SearchResult& result) {
        std::string text;
        for (const SearchedRung& searched : result.rungs) {
            for (const Candidate& c : searched.candidates) {
                if (!c.wrong) { continue; }
                text += (text.empty() ? "" : "; ") + label_of(searched.rung) + ", " + describe_policy(c.policy) + ": " + c.failure;
            }
        }
        return text;
    }
    [[nodiscard]] const CudaRung& at(int rung) const { return rungs_[static_cast<std::size_t>(rung)]; }

    const std::vector<CudaRung>& rungs_;
    std::size_t output_bytes_;
    CudaProblem problem_;
};

class CudaLadder final : public LadderEngine {
public:
    CudaLadder(const std::string& name, int rank) : device_(name), rungs_(device_.ladder(rank, missing_)) {
        for (const CudaRung& rung : rungs_) {
            lessons_.push_back({.number = rung.info.number,
                                .name = rung.info.name,
                                .origin = rung.info.origin,
                                .idea = rung.info.idea,
                                .changed = rung.info.changed,
                                .requirements = rung.info.requirements,
                                .limited_by = rung.info.limited_by,
                                .source = rung.info.source});
        }
    }

    [[nodiscard]] LadderDevice device() const override {
        const cuda_abi::Device& facts = device_.facts();
        LadderDevice device{.engine = "cuda", .name = device_.name(), .description = facts.name, .facts = {}};
        char text[64];
        const auto add = [&](const char* name, const char* format, auto... values) {
            std::snprintf(text, sizeof text, format, values...);
            device.facts.emplace_back(name, text);
        };
        add("compute capability", "%d.%d", facts.major, facts.minor);
        add("multiprocessors", "%d", facts.multiprocessors);
        add("memory", "%.1f GiB", static_cast<double>(facts.memory_bytes) / 0x1p30);
        add("L2 cache", "%.0f MiB", static_cast<double>(facts.l2_bytes) / 0x1p20);
        add("driver", "CUDA %d.%d", facts.driver_version / 1000, facts.driver_version % 1000 / 10);
        return device;
    }

    [[nodiscard]] bool measures_cold() const override { return true; }
    [[nodiscard]] std::unique_ptr<LadderSite> site(const Problem& problem, const CaseData& data) const override {
        return std::make_unique<CudaSite>(device_, rungs_, problem, data);
    }

private:
    CudaDevice device_;
    std::vector<CudaRung> rungs_;
};

bool has_gpu() {
    const auto all = engines();
    return std::any_of(all.begin(), all.end(), [](const EngineInfo& engine) { return engine.name == "cuda" && engine.available; });
}

}  // namespace

std::unique_ptr<LadderEngine> cuda_ladder(const std::string& device, int rank) {
    return std::make_unique<CudaLadder>(device, rank);
}

std::unique_ptr<LadderEngine> ladder_engine(const std::string& device, int rank) {
    if (device == "auto") { return has_gpu() ? cuda_ladder("cuda:0", rank) : cpu_ladder(rank); }
    // Names that are no device's are refused there.
    return device == "cpu" ? cpu_ladder(rank) : cuda_ladder(device, rank);
}

}  // namespace tapline::cli
