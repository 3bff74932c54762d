// What the ladder needs of a device: its rungs, one problem's data on it, a rung executed and measured there.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/ladder/ladder_check.hpp"
#include "cli/ladder/ladder_model.hpp"
#include "core/problem/interface.hpp"

namespace tapline::cli {

using LadderProgress = std::function<void(const std::string&)>;  ///< hears what is measured now

/// What a search over sizes found.
struct Found {
    std::string detail;   ///< the rung, its sizes, and how many were measured
    std::string failure;  ///< sizes that gave a wrong result; empty: none
};

/// Signal, taps and output of one problem on the device. One rung at a time is prepared; calls without a rung refer to it.
class LadderSite : public core::Interface {
public:
    /// Empty: the rung takes the problem; else why not.
    [[nodiscard]] virtual std::string refusal(int rung) const = 0;
    [[nodiscard]] virtual double estimate_seconds(int rung) const = 0;
    /// Throws Error.
    virtual void prepare(int rung) = 0;
    /// Measures every size that rungs may be launched with, for so many seconds in all, and prepares the fastest. Nothing where no
    /// rung has a choice. Throws Error.
    virtual std::optional<Found> search(const ReferenceBlocks& expected, double seconds, const LadderProgress& progress) = 0;
    [[nodiscard]] virtual std::string describe() const = 0;
    /// Executes once into an output of ones (NaN) and returns it with kGuard floats behind it. Throws Error.
    [[nodiscard]] virtual Bytes run() = 0;
    /// Throws Error.
    [[nodiscard]] virtual Timing measure(bool cold, double seconds) = 0;
    /// A copy of the signal, by what the device's maker offers for it.
    [[nodiscard]] virtual Timing measure_copy(bool cold, double seconds) = 0;
};

class LadderEngine : public core::Interface {
public:
    [[nodiscard]] virtual LadderDevice device() const = 0;
    /// In reading order; a rung's index is what the other functions take.
    [[nodiscard]] const std::vector<Lesson>& rungs() const { return lessons_; }
    /// Why the lessons are not there; empty if they are.
    [[nodiscard]] const std::string& missing() const { return missing_; }
    /// The device has a cache that can be emptied before a run.
    [[nodiscard]] virtual bool measures_cold() const = 0;
    [[nodiscard]] virtual std::unique_ptr<LadderSite> site(const Problem& problem, const CaseData& data) const = 0;

protected:
    std::vector<Lesson> lessons_;
    std::string missing_;
};

/// The rungs for problems of `rank` filtered axes: 1 or 2. `device` is auto, cpu, cuda or cuda:N. Throws Error (device) with the
/// reason if it cannot be used.
std::unique_ptr<LadderEngine> ladder_engine(const std::string& device, int rank);
std::unique_ptr<LadderEngine> cpu_ladder(int rank);
std::unique_ptr<LadderEngine> cuda_ladder(const std::string& device, int rank);

}  // namespace tapline::cli
