// The CPU's ladder: the library's own algorithms, from the naive loop to all cores and transforms.
#include <algorithm>

#include "cli/ladder/ladder_engine.hpp"
#include "cli/measure/copy_speed.hpp"
#include "cli/measure/problems.hpp"
#include "tapline/info.hpp"
#include "tapline/plan.hpp"

namespace tapline::cli {
namespace {

struct CpuRung {
    Lesson lesson;
    std::string algorithm;
    std::string target = {};  ///< instruction set; empty: the best
    int threads = 0;          ///< 0: all
};

std::vector<CpuRung> rungs_for_signals() {
    return {
        {{.number = "01",
          .name = "naive_loop",
          .origin = "",
          .idea = "One output at a time, one tap at a time, as the formula is written.",
          .changed = "Nothing: the lowest rung.",
          .requirements = "Nothing: any length, any filter, every mode.",
          .limited_by = "The chain of additions into one sum: each waits for the one before.",
          .source = "src/cpu/textbook/textbook.cpp"},
         "textbook",
         "",
         1},
        {{.number = "02",
          .name = "blocked",
          .origin = "",
          .idea =
              "Many outputs at once in accumulators of their own, block by block; the signal's window stays in the first cache.",
          .changed = "Outputs of a block are summed side by side instead of one after the other.",
          .requirements = "f32, f64 or complex.",
          .limited_by = "One product an instruction: the scalar unit.",
          .source = "src/cpu/direct/simd_direct.inl, scalar"},
         "direct",
         "scalar",
         1},
        {{.number = "03",
          .name = "simd",
          .origin = "",
          .idea = "The same blocks with 4 to 16 outputs in each register, by the widest instruction set that the processor has.",
          .changed = "Lanes instead of scalars; the source is the same, compiled once for each instruction set.",
          .requirements = "An instruction set with vectors.",
          .limited_by = "Multiply-adds and unaligned loads of one core; for few taps its share of the memory's speed.",
          .source = "src/cpu/direct/simd_direct.inl"},
         "direct",
         "",
         1},
        {{.number = "04",
          .name = "threads",
          .origin = "",
          .idea = "Blocks of outputs are numbered and handed out to all cores.",
          .changed = "All cores instead of one; each output has the same bits.",
          .requirements = "Outputs enough to be worth waking a thread.",
          .limited_by = "Multiply-adds of all cores, in proportion to the taps; for few taps the memory.",
          .source = "src/cpu/direct/direct.cpp"},
         "direct",
         "",
         0},
        {{.number = "05",
          .name = "overlap_save",
          .origin = "",
          .idea = "Overlapping blocks are transformed (FFT), multiplied with the filter's spectrum and transformed back.",
          .changed = "The work an output grows with the logarithm of the taps instead of the taps.",
          .requirements = "A filter long enough to pay for the transforms: from about a hundred taps.",
          .limited_by = "Butterflies and the traffic between the cache's levels.",
          .source = "src/cpu/overlap_save/overlap_save.cpp"},
         "overlap_save",
         "",
         0},
    };
}

/// Every algorithm as it is.
std::vector<CpuRung> rungs_for_images() {
    std::vector<CpuRung> rungs;
    for (const AlgorithmInfo& info : algorithms(image_problem({.size = {8, 8}}))) {
        rungs.push_back({.lesson = {.name = info.name, .idea = info.summary}, .algorithm = info.name});
    }
    return rungs;
}

/// Plans made while it lives are for this instruction set.
class TargetScope {
public:
    explicit TargetScope(const std::string& target) : forced_(!target.empty()) {
        if (forced_) force_cpu_target(target);
    }
    ~TargetScope() {
        if (forced_) force_cpu_target("");
    }
    TargetScope(const TargetScope&) = delete;
    TargetScope& operator=(const TargetScope&) = delete;

private:
    bool forced_;
};

class CpuSite final : public LadderSite {
public:
    CpuSite(const std::vector<CpuRung>& rungs, const Problem& problem, const CaseData& data)
        : rungs_(rungs),
          problem_(problem),
          data_(data),
          out_(static_cast<std::size_t>(std::max(output_extent(problem), input_extent(problem))) * sizeof(float)) {}

    [[nodiscard]] std::string refusal(int rung) const override { return ask(rung).reason; }
    [[nodiscard]] double estimate_seconds(int rung) const override { return ask(rung).predicted_seconds; }
    std::optional<Found> search(const ReferenceBlocks&, double, const LadderProgress&) override { return std::nullopt; }

    void prepare(int rung) override {
        const CpuRung& entry = at(rung);
        const TargetScope scope(entry.target);
        plan_.emplace(
            make_plan(problem_, data_.taps.data(), {.device = "cpu", .algorithm = entry.algorithm, .threads = entry.threads}));
        workspace_ = Bytes(plan_->workspace_bytes());
    }

    [[nodiscard]] std::string describe() const override {
        return std::to_string(plan_->threads()) + (plan_->threads() == 1 ? " thread" : " threads");
    }

    [[nodiscard]] Bytes run() override {
        Bytes out(static_cast<std::size_t>(output_extent(problem_) + kGuard) * sizeof(float));
        std::memset(out.data(), 0xFF, out.size());
        plan_->execute(out.data(), data_.signal.data(), workspace_.span());
        return out;
    }

    [[nodiscard]] Timing measure(bool, double seconds) override {
        return timed([this] { plan_->execute(out_.data(), data_.signal.data(), workspace_.span()); }, seconds);
    }

    [[nodiscard]] Timing measure_copy(bool, double seconds) override {
        const int threads = available_threads();
        return timed([&] { copy(out_.data(), data_.signal.data(), data_.signal.size(), threads); }, seconds);
    }

private:
    static Timing timed(const std::function<void()>& run, double seconds) {
        return time_in_turns({{run}}, {.seconds = seconds}).front();
    }
    [[nodiscard]] const CpuRung& at(int rung) const { return rungs_[static_cast<std::size_t>(rung)]; }
    [[nodiscard]] AlgorithmInfo ask(int rung) const {
        const CpuRung& entry = at(rung);
        const TargetScope scope(entry.target);
        const auto infos = algorithms(problem_, "cpu", Accuracy::standard, entry.threads, data_.taps.data());
        return *std::ranges::find(infos, entry.algorithm, &AlgorithmInfo::name);
    }

    const std::vector<CpuRung>& rungs_;
    Problem problem_;
    const CaseData& data_;
    Bytes out_;
    Bytes workspace_;
    std::optional<Plan> plan_;
};

class CpuLadder final : public LadderEngine {
public:
    explicit CpuLadder(int rank) : rungs_(rank == 1 ? rungs_for_signals() : rungs_for_images()) {
        for (const auto& rung : rungs_) { lessons_.push_back(rung.lesson); }
    }

    [[nodiscard]] LadderDevice device() const override {
        LadderDevice device{.engine = "cpu", .name = "cpu", .description = {}, .facts = {}};
        for (const auto& engine : engines()) {
            if (engine.name == "cpu" && !engine.devices.empty()) { device.description = engine.devices.front().description; }
        }
        device.facts = {{"threads", std::to_string(available_threads())}, {"instruction set", cpu_target()}};
        return device;
    }

    [[nodiscard]] bool measures_cold() const override { return false; }
    [[nodiscard]] std::unique_ptr<LadderSite> site(const Problem& problem, const CaseData& data) const override {
        return std::make_unique<CpuSite>(rungs_, problem, data);
    }

private:
    std::vector<CpuRung> rungs_;
};

}  // namespace

std::unique_ptr<LadderEngine> cpu_ladder(int rank) { return std::make_unique<CpuLadder>(rank); }

}  // namespace tapline::cli
