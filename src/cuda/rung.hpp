// What a rung is: one way to solve the problem on a GPU. ladder.cu lists them all; a new one is one file and one line.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/abi.hpp"

namespace tapline::cuda {

using cuda_abi::Job;
using cuda_abi::Policy;
using cuda_abi::Problem;
using cuda_abi::RungInfo;

/// Kernels read rows of taps in whole vectors of samples: of 16-bit ones up to seven taps, 28 bytes, past the last row.
inline constexpr std::int64_t kTapSlackBytes = 32;

/// A rung's taps on one device.
struct Prepared {
    const class Rung* rung = nullptr;
    cuda_abi::Device device;
    unsigned long long context = 0;  ///< which life of the device the taps belong to
    Problem problem;
    Policy policy;
    const void* taps = nullptr;  ///< device memory: filter f starts at byte f * taps_pitch_bytes, a multiple of 16
    std::int64_t taps_pitch_bytes = 0;
    std::vector<std::byte>
        host_taps;  ///< their first bytes, for kernels that take taps by value; all of them until the plan is ready
    bool taps_finite = true;
    const void* tables = nullptr;  ///< device memory: what Rung::tables() returned
    std::int64_t workspace_bytes = 0;
    mutable std::int32_t blocks_per_multiprocessor = 0;  ///< of the rung's kernel; load() may set it
    mutable std::int32_t clusters = 0;                   ///< that the device holds at a time; likewise
    mutable std::int32_t segment_warps = 0;              ///< of overlap-save, as the rung chose; likewise
};

/// Empty: yes; else why not.
using Refusal = std::string;

class Rung {
public:
    Rung() = default;
    Rung(const Rung&) = delete;
    Rung& operator=(const Rung&) = delete;
    virtual ~Rung() = default;

    [[nodiscard]] virtual RungInfo info() const = 0;
    [[nodiscard]] virtual Refusal supports(const Problem&, const cuda_abi::Device&) const = 0;
    /// Seconds of one execution on a warm device, launch included; n known.
    [[nodiscard]] virtual double estimate_seconds(const Problem&, const cuda_abi::Device&) const = 0;
    /// The policies worth measuring for a problem, the default first. Rungs without a choice have one.
    [[nodiscard]] virtual std::vector<Policy> policies(const Problem&, const cuda_abi::Device&) const { return {Policy{}}; }
    /// Whether Problem::filters may be anything but 1 and batch; for the others the taps are repeated until each row has its own.
    [[nodiscard]] virtual bool takes_filters_in_turn() const { return false; }
    [[nodiscard]] virtual std::int64_t workspace_bytes(const Prepared&) const { return 0; }
    [[nodiscard]] virtual std::string describe(const Prepared&) const { return ""; }
    /// Outputs of a row that belong together: pieces but the last are multiples of so many, starting at one (core::Executable).
    [[nodiscard]] virtual std::int64_t granularity(const Prepared&) const { return info().granularity; }
    /// What launch() finds in device memory at Prepared::tables; called once, after load(), with all taps in host_taps.
    [[nodiscard]] virtual std::vector<std::byte> tables(const Prepared&) const { return {}; }
    /// Loads the kernels that launch() will use, so that launching allocates nothing (check(cudaFuncGetAttributes(...))).
    virtual void load(const Prepared&) const = 0;
    /// Launches on the current device. Throws CudaError.
    virtual void launch(const Prepared&, const Job&, void* workspace, cudaStream_t) const = 0;
};

/// Taps in device memory, and where what is made of them goes.
struct MadeTables {
    cuda_abi::DeviceTaps given;
    void* tables;
    void* taps;  // in correlation order
};

/// A rung that takes problems with taps_come_later: its launch() may have one filter's taps that were in device memory already, and
/// what depends on them is made there, in the stream's order.
class TakesTapsOnDevice {
public:
    TakesTapsOnDevice() = default;
    TakesTapsOnDevice(const TakesTapsOnDevice&) = delete;
    TakesTapsOnDevice& operator=(const TakesTapsOnDevice&) = delete;
    virtual ~TakesTapsOnDevice() = default;

    /// Bytes of tables that depend on the taps, a multiple of 16; 0: launch() needs only the taps.
    [[nodiscard]] virtual std::int64_t made_table_bytes(const Prepared&) const = 0;
    /// Loads what launch_with_taps() launches beside the kernels that load() has loaded.
    virtual void load_tables(const Prepared&) const = 0;
    /// As Rung::launch(), but makes what depends on the taps; Prepared::tables are those of any taps.
    virtual void launch_with_taps(const Prepared&, const Job&, void* workspace, const MadeTables&, cudaStream_t) const = 0;
};

/// Makes it by a launch in front.
class MakesTables : public TakesTapsOnDevice {
public:
    void launch_with_taps(const Prepared& prepared, const Job& job, void* workspace, const MadeTables& made,
                          cudaStream_t stream) const final {
        launch_tables(prepared, made.tables, made.taps, made.given, stream);
        Prepared with_taps = prepared;
        with_taps.tables = made.tables;
        with_taps.taps = made.taps;
        prepared.rung->launch(with_taps, job, workspace, stream);
    }

protected:
    /// Launches what makes `tables` and `taps`, in correlation order, from the given ones; Prepared::tables are those of any taps.
    virtual void launch_tables(const Prepared&, void* tables, void* taps, const cuda_abi::DeviceTaps& given,
                               cudaStream_t) const = 0;
};

/// Every rung, in reading order.
const std::vector<const Rung*>& ladder();

/// The lower rungs' problem: f32, one signal, unit strides, zero boundary:
/// out[o] = clamp(sum_t taps[t] * x(o + t - origin)), 0 <= o < m, x() zero outside [0, n).
struct Signal {
    float* out;         // (m)
    const float* in;    // (n)
    const float* taps;  // (k), correlation order
    std::int64_t n, k, m, origin;
    float low, high;               // limits of the output, -inf and inf without a clamp
    const void* tables = nullptr;  // what the rung's tables() returned
};

/// A rung on that problem: it says what it needs beyond and launches.
class TeachingRung : public Rung {
public:
    [[nodiscard]] Refusal supports(const Problem&, const cuda_abi::Device&) const final;
    [[nodiscard]] double estimate_seconds(const Problem&, const cuda_abi::Device&) const final;
    void launch(const Prepared&, const Job&, void* workspace, cudaStream_t) const final;
    void load(const Prepared&) const final;

protected:
    /// What this rung needs besides f32, one signal, unit strides, zero boundary, finite sizes.
    [[nodiscard]] virtual Refusal requires_more(const Problem&) const { return {}; }
    /// What it needs of the device.
    [[nodiscard]] virtual Refusal requires_device(const cuda_abi::Device&) const { return {}; }
    [[nodiscard]] virtual bool clamps() const { return false; }
    /// Rough cost for the choice, which must not take a teaching rung for speed: seconds a product, and seconds at least.
    [[nodiscard]] virtual double seconds_per_product() const = 0;
    /// Kernel entry points that launch_signal uses.
    [[nodiscard]] virtual std::vector<const void*> kernels() const = 0;
    virtual void launch_signal(const Signal&, cudaStream_t) const = 0;
};

}  // namespace tapline::cuda
