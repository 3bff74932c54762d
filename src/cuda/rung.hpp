// What a rung is: one way to solve the problem on a GPU. A table lists them all; a new one is one file and one line.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/problem/interface.hpp"
#include "cuda/abi.hpp"
#include "cuda/head.hpp"

namespace tapline::cuda {

using cuda_abi::Job;
using cuda_abi::Policy;
using cuda_abi::Problem;
using cuda_abi::RungInfo;

/// Kernels read rows of taps in whole vectors of samples: of 16-bit ones up to seven taps, 28 bytes, past the last row.
inline constexpr std::int64_t kTapSlackBytes = 32;

/// What a rung decided for one plan when it loaded its kernels: which of them, their grids and shared memory.
struct Chosen : core::Interface {};

/// What launches read in device memory.
struct OnDevice {
    const void* taps = nullptr;    ///< filter f starts at byte f * Prepared::taps_pitch_bytes
    const void* tables = nullptr;  ///< what Rung::tables() returned, 256-byte aligned; null if nothing
};

/// A rung's taps on one device.
struct Prepared {
    const class Rung* rung = nullptr;
    cuda_abi::Device device;
    unsigned long long context = 0;  ///< which life of the device the taps belong to
    Problem problem;
    Policy policy;
    OnDevice on_device;
    std::int64_t taps_pitch_bytes = 0;  ///< a multiple of 16
    /// Their first bytes, for kernels that take taps by value; all of them until the plan is ready. tables() may put others there.
    std::vector<std::byte> host_taps;
    cuda_abi::HostTaps given;       ///< valid during load() and tables() only; null where taps come later
    std::int32_t tap_exponent = 0;  ///< tables() may set it
    std::int64_t workspace_bytes = 0;
    std::unique_ptr<const Chosen> chosen;  ///< what Rung::load() returned

    template <class T>
    [[nodiscard]] const T& chosen_as() const {
        return static_cast<const T&>(*chosen);
    }
};

/// Empty: yes; else why not.
using Refusal = std::string;

class Rung : public core::Interface {
public:
    /// `facts`: what its head does not tell.
    Rung(const Head& head, const RungInfo& facts);
    /// One without a head, for tests.
    explicit Rung(const RungInfo& info) : info_(info) {}

    [[nodiscard]] const RungInfo& info() const { return info_; }
    [[nodiscard]] virtual Refusal supports(const Problem&, const cuda_abi::Device&) const = 0;
    /// Seconds of one execution on a warm device, launch included; n known.
    [[nodiscard]] virtual double estimate_seconds(const Problem&, const cuda_abi::Device&) const = 0;
    /// The policies worth measuring for a problem, the default first. Rungs without a choice have one.
    [[nodiscard]] virtual std::vector<Policy> policies(const Problem&, const cuda_abi::Device&) const { return {Policy{}}; }
    /// Whether Problem::filters may be anything but 1 and batch; for the others the taps are repeated until each row has its own.
    [[nodiscard]] virtual bool takes_filters_in_turn() const { return false; }
    /// Chooses the kernels and loads them, so that launching chooses, allocates and resolves nothing. Prepared::chosen
    /// holds what it returns in all that follows.
    [[nodiscard]] virtual std::unique_ptr<const Chosen> load(const Prepared&) const = 0;
    [[nodiscard]] virtual std::int64_t workspace_bytes(const Prepared&) const { return 0; }
    [[nodiscard]] virtual std::string describe(const Prepared&) const { return ""; }
    /// Outputs along the cut axis that belong together: pieces but the last are multiples of so many, starting at one.
    [[nodiscard]] virtual std::int64_t granularity(const Prepared&) const { return info().granularity; }
    /// What launch() finds in device memory at OnDevice::tables; called once, after load(), with all taps in host_taps.
    [[nodiscard]] virtual std::vector<std::byte> tables(Prepared&) const { return {}; }
    /// Bytes behind those, a multiple of 16, that fill_tables() fills on the device; 0: none.
    [[nodiscard]] virtual std::int64_t filled_table_bytes(const Prepared&) const { return 0; }
    /// Called once, after tables(), with the taps in Prepared::on_device. May allocate; waits for the stream.
    virtual void fill_tables(const Prepared&, void* /*to*/, cudaStream_t) const {}
    /// Whether it takes exact sums of integers, and nothing else.
    [[nodiscard]] virtual bool takes_exact() const { return false; }
    /// Whether a launch's results need report(), for which the caller waits.
    [[nodiscard]] virtual bool reports(const Prepared&) const { return false; }
    /// After launch(), with its workspace and stream: waits, and throws CudaError (argument) for an output that its type cannot
    /// hold.
    virtual void report(const Prepared&, const void* /*workspace*/, cudaStream_t) const {}
    /// Launches on the current device. Throws CudaError.
    virtual void launch(const Prepared&, const Job&, const OnDevice&, void* workspace, cudaStream_t) const = 0;

private:
    std::array<std::string, 5> texts_;  // each on one line
    RungInfo info_;
};

/// Filters that an execution brings. The plan's filter i is number (first + i) % filters of them, i < count: the plan's problem may
/// be a group of the rows that the execution is about, whose filters are made one group after the other (Groups).
struct GivenFilters : cuda_abi::DeviceTaps {
    std::int64_t filters = 1;
    std::int64_t stride = 0;  ///< elements from one to the next
    std::int64_t first = 0, count = 1;
};

/// Taps in device memory, and where what is made of them goes.
struct MadeTables {
    GivenFilters given;
    void* tables;
    void* taps;  // in correlation order, at the plan's pitch
};

/// A rung that takes problems with taps_come_later: its launch() may have taps that were in device memory already, and what depends
/// on them is made there, in the stream's order.
class TakesTapsOnDevice : public core::Interface {
public:
    /// Bytes of tables that depend on the taps, a multiple of 16; 0: launch() needs only the taps.
    [[nodiscard]] virtual std::int64_t made_table_bytes(const Prepared&) const = 0;
    /// Filters of a launch at most.
    [[nodiscard]] virtual std::int64_t most_filters() const { return std::numeric_limits<std::int64_t>::max(); }
    /// Seconds of making it all, beside one launch's.
    [[nodiscard]] virtual double making_seconds(const Problem&, const cuda_abi::Device&) const = 0;
    /// Loads what launch_with_taps() launches beside the kernels that load() has loaded.
    virtual void load_tables(const Prepared&) const = 0;
    /// As Rung::launch(), but makes what depends on the taps; Prepared::on_device.tables are those of any taps.
    virtual void launch_with_taps(const Prepared&, const Job&, void* workspace, const MadeTables&, cudaStream_t) const = 0;
};

/// Makes it by a launch in front.
class MakesTables : public TakesTapsOnDevice {
public:
    void launch_with_taps(const Prepared& prepared, const Job& job, void* workspace, const MadeTables& made,
                          cudaStream_t stream) const final {
        launch_tables(prepared, made.tables, made.taps, made.given, stream);
        prepared.rung->launch(prepared, job, {made.taps, made.tables}, workspace, stream);
    }

protected:
    /// Launches what makes `tables` and `taps`, in correlation order, from the given ones; Prepared::on_device.tables are those of
    /// any taps.
    virtual void launch_tables(const Prepared&, void* tables, void* taps, const GivenFilters& given, cudaStream_t) const = 0;
};

/// Every rung of this library, in reading order: those for signals, then those for images. The engine and the library of lessons
/// have a table each (ladder.cpp, lessons/ladder.cu).
const std::vector<const Rung*>& ladder();

}  // namespace tapline::cuda
