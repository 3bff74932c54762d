// What the ladder needs of a device: its rungs, one problem's data on it, a rung executed and measured there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/ladder/ladder_check.hpp"
#include "cli/ladder/ladder_model.hpp"

namespace tapline::cli {

/// Signal, taps and output of one problem on the device. One rung at a time is prepared; the others' calls refer to it.
class LadderSite {
public:
    LadderSite() = default;
    LadderSite(const LadderSite&) = delete;
    LadderSite& operator=(const LadderSite&) = delete;
    virtual ~LadderSite() = default;

    /// Sizes that a rung may be launched with, its default first; 1 for a rung without a choice.
    [[nodiscard]] virtual int policies(int rung) = 0;
    /// Throws Error.
    virtual void prepare(int rung, int policy) = 0;
    [[nodiscard]] virtual std::string describe() const = 0;
    /// Executes once into an output of ones (NaN) and returns it with kGuard floats behind it. Throws Error.
    [[nodiscard]] virtual Bytes run() = 0;
    /// Throws Error.
    [[nodiscard]] virtual Timing measure(bool cold, double seconds) = 0;
    /// A copy of the signal, by what the device's maker offers for it.
    [[nodiscard]] virtual Timing measure_copy(bool cold, double seconds) = 0;
};

class LadderEngine {
public:
    LadderEngine() = default;
    LadderEngine(const LadderEngine&) = delete;
    LadderEngine& operator=(const LadderEngine&) = delete;
    virtual ~LadderEngine() = default;

    [[nodiscard]] virtual LadderDevice device() const = 0;
    /// In reading order; a rung's index is what the other functions take.
    [[nodiscard]] virtual const std::vector<Lesson>& rungs() const = 0;
    /// Empty: yes; else why not.
    [[nodiscard]] virtual std::string refusal(int rung, const Problem& problem) const = 0;
    [[nodiscard]] virtual double estimate_seconds(int rung, const Problem& problem) const = 0;
    /// The device has a cache that can be emptied before a run.
    [[nodiscard]] virtual bool measures_cold() const = 0;
    [[nodiscard]] virtual std::unique_ptr<LadderSite> site(const Problem& problem, const BenchData& data) const = 0;
};

std::unique_ptr<LadderEngine> cpu_ladder();
/// "cuda", "cuda:N". Throws Error (device) with the reason if it cannot be used.
std::unique_ptr<LadderEngine> cuda_ladder(const std::string& device);
/// "auto", "cpu", "cuda", "cuda:N". Throws Error.
std::unique_ptr<LadderEngine> ladder_engine(const std::string& device);

}  // namespace tapline::cli
