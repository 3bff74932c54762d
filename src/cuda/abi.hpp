// The one door between the core library and libtapline_cuda.so: plain data and a table of functions behind one C entry.
// Both sides are compiled from this file; a change of anything in it raises kAbiVersion, and a library of another version is
// refused with a message. No CUDA type appears here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/problem/resolved.hpp"

namespace tapline::cuda_abi {

inline constexpr std::uint32_t kAbiVersion = 14;
inline constexpr const char* kEntryName = "tapline_cuda_entry";  // const Api* (*)(std::uint32_t caller's kAbiVersion)

/// What went wrong; the numbers up to `device` are those of tapline::ErrorCode's cases of the same name.
enum class Code : std::int32_t { ok, argument, type, unsupported, memory, io, device };

struct Status {
    Code code = Code::ok;
    std::int32_t sticky = 0;  ///< CUDA reports that this process's context is lost: only the CPU goes on
    char message[504] = {};   ///< UTF-8, ends with 0
};

struct Device {
    std::int32_t index = 0;
    std::int32_t major = 0, minor = 0;  ///< compute capability
    std::int32_t multiprocessors = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t l2_bytes = 0;
    double copy_bytes_per_second = 0;         ///< read plus written: nine tenths of what memory clock and bus width allow
    double peak_flops = 0;                    ///< f32 multiply-adds, two operations each
    std::int32_t shared_bytes_per_block = 0;  ///< the most that a kernel may ask for
    std::int32_t single_to_double = 32;       ///< f32 operations for one of f64
    std::int32_t driver_version = 0;          ///< as cudaDriverGetVersion: 13000 is 13.0
    char name[124] = {};
};

/// A problem as it is asked of a rung. Strides count elements.
struct Problem : core::Resolved {
    Accuracy accuracy = Accuracy::standard;
    bool taps_come_later = false;  ///< executions bring them (execute_with_taps), which some rungs can do
    bool narrow_taps = false;      ///< of signals: one filter, taps of dtype: bf16, or f16 with the largest at 2^14
    bool equal_taps = false;       ///< of images: the taps of each mask are all one number
    bool taps_finite = true;
    bool has_negative_tap = true;  ///< of integers beside integers, or nobody knows
    std::int32_t separable = 0;    ///< separable masks that make up a mask, the most of all masks; 0: not separable, or not known
    bool exact_specials = false;   ///< core::SeparableMask::exact_specials of every mask
    /// Rungs for integers ask others so: sums are integers that the taps' type holds or wraps, and only their low bits are stored.
    bool whole_sums = false;
    std::int8_t bits_of_taps = 127;  ///< of integers beside integers: no filter's magnitudes add up to more than 2^bits
    std::int8_t bits_of_tap = 127;   ///< and none of them is that of 2^bits
};

/// Outputs [first, first + count) along the cut axis (x of a signal, y of an image) of each item of the batch from the samples
/// [in_first, in_last) along it, all in device memory. Samples inside [in_first, in_last) are read as they are, even outside
/// [0, n): a caller may have applied the boundary rule. Other positions follow the boundary rule; samples of [0, n) that are not
/// there must not be needed. Along other axes memory steps as in the problem, or is packed.
struct Job {
    void* out = nullptr;  ///< output `first` of item batch_first
    std::int64_t first = 0, count = 0, out_batch = 0, out_stride = 1;
    const void* in = nullptr;  ///< sample in_first of item batch_first
    std::int64_t in_first = 0, in_last = 0, in_batch = 0, in_stride = 1;
    std::int64_t batch_first = 0, batch = 0;  ///< items [batch_first, batch_first + batch), for each element of the outer axes
    std::int64_t n = 0;                       ///< of the cut axis
    /// A piece of what a host has: one element of the problem's outer axes, along all axes but the cut one and the batch packed.
    std::int32_t packed = 0;
};

/// Taps in device memory: filters of k packed elements each, batch.taps_stride of the problem apart. Correlation order is theirs
/// reversed, conjugated.
struct DeviceTaps {
    const void* data = nullptr;
    std::int32_t reversed = 0, conjugated = 0;
    Dtype dtype = Dtype::f32;  ///< the problem's type of taps; beside f32 also f16 or bf16, which are widened
};

/// Host memory, correlation order: `filters` rows of taps() packed elements; null where they come later. Where Problem::separable
/// is not 0 also the factors of each mask: columns (filters, separable, y.k) and rows (filters, separable, x.k).
struct HostTaps {
    const void* taps = nullptr;
    const double* columns = nullptr;
    const double* rows = nullptr;
};

/// The sizes that a kernel may be launched with; 0 leaves one to the rung. A rung says which of them it has (policies()).
struct Policy {
    std::int32_t vectors_per_thread = 0;  ///< 16-byte pieces of output a thread makes: 1, 3 or 5
    std::int32_t threads_per_block = 0;   ///< overlap-save: threads that work on one segment
    std::int32_t tiles_per_block =
        0;  ///< tiles that go together, in a window, a warp or a block; -1: the grid just fills the device
    std::int32_t windows_per_warp =
        0;  ///< 1: as many warps as windows; 0: the grid fills the device and warps go from one to the next
};

inline constexpr std::int32_t kOuterWhereSupported = 3;

struct RungInfo {
    const char* number = "";  ///< "05", its file's
    const char* name = "";    ///< "reduction_over_taps"
    const char* origin = "";  ///< which rung of shared write-ups it reproduces ("C1"), empty: tapline's own
    const char* idea = "";
    const char* changed = "";
    const char* requirements = "";
    const char* limited_by = "";
    const char* source = "";        ///< its file in the source tree
    std::int32_t rank = 1;          ///< filtered axes of the problems that it takes
    std::int32_t takes_pieces = 0;  ///< executes any Job; else only whole problems (all rows, all outputs, whole signal)
    std::int32_t takes_outer = 0;   ///< core::Algorithm::takes_outer; 2: also of axes that step through filters; or
                                    ///< kOuterWhereSupported: of problems that it supports as a whole, others are repeated
    std::int32_t is_local = 1;      ///< core::Algorithm::is_local
    std::int32_t granularity = 1;   ///< of plans that do not say otherwise (Api::granularity)
    std::int32_t truncates = 0;     ///< takes Overflow::truncate
};

/// Depthwise correlation with taps in device memory, for training: no plan, nothing prepared. All tensors are packed:
///
///     y[b][c][o] = sum_t taps[c][t] * x[b][c][o + t - origin],   0 <= o < length, x zero outside [0, n)
///
/// with x (batch, channels, n), y (batch, channels, length), taps (channels, k).
struct Depthwise {
    std::int64_t batch = 1, channels = 1, n = 0, length = 0, k = 0, origin = 0;
    Dtype dtype = Dtype::f32;  ///< of all tensors: f32, f64, f16 or bf16, the last two with sums in f32
};

/// to[i] = before[i] + from[0][i] + from[1][i] + ..., i < count, in this order and in double for f64, else in float, rounded once.
struct RowSum {
    void* to = nullptr;
    const void* from = nullptr;    ///< (rows, count)
    const void* before = nullptr;  ///< (count) of from's type; null: nothing
    std::int64_t rows = 1, count = 0;
    Dtype from_dtype = Dtype::f32;  ///< f64 goes to f64, f16 and bf16 go to f32, f32 goes to any of f32, f16 and bf16
    Dtype to_dtype = Dtype::f32;
};

struct Prepared;  // a rung with taps on one device
struct Stream;    // is a cudaStream_t
struct Event;     // is a cudaEvent_t

/// Times of one thing repeated, from events around replays of a captured graph.
struct Measurement {
    double median_seconds = 0, least_seconds = 0, most_seconds = 0;
    std::int32_t runs = 0;
};

/// Functions return false (or a null pointer) with the status filled if something failed, else leave it alone. Every function
/// may be called from any thread; each sets its device itself and puts the caller's back.
struct Api {
    std::uint32_t abi_version;
    std::uint32_t api_bytes;
    const char* version;               ///< of tapline
    const char* compute_capabilities;  ///< "7.5 8.0 8.6 8.9 9.0 9.0a, PTX 9.0"

    /// Devices that can be used; 0 with the reason in the status: no driver, too old a driver, no device.
    std::int32_t (*device_count)(Status*);
    bool (*device)(std::int32_t index, Device*, Status*);

    std::int32_t (*rung_count)();
    RungInfo (*rung)(std::int32_t rung);
    /// false: the reason is the status's message.
    bool (*supports)(std::int32_t rung, std::int32_t device, const Problem*, Status*);
    double (*estimate_seconds)(std::int32_t rung, std::int32_t device, const Problem*);
    /// Fills up to `capacity` policies worth measuring (rung's default first); the number of them all.
    std::int32_t (*policies)(std::int32_t rung, std::int32_t device, const Problem*, Policy*, std::int32_t capacity);

    /// Where the taps come later the workspace has room for what is made of them. Loads the kernels.
    Prepared* (*prepare)(std::int32_t rung, std::int32_t device, const Problem*, const HostTaps*, const Policy*, Status*);
    void (*release)(Prepared*);
    std::int64_t (*workspace_bytes)(const Prepared*);
    void (*describe)(const Prepared*, char* text, std::size_t bytes);
    /// Outputs along the cut axis that belong together: for the same bits jobs start at multiples of it and all but the last cover
    /// whole ones.
    std::int64_t (*granularity)(const Prepared*);
    /// Checks buffers and stream, then launches: no allocation, no synchronisation, may be captured.
    bool (*execute)(const Prepared*, const Job*, void* workspace, std::int64_t workspace_bytes, Stream*, Status*);

    // Memory and streams, for host buffers and for the command. Limited by TAPLINE_CUDA_MEMORY_LIMIT (bytes) if that is set.
    void* (*allocate)(std::int32_t device, std::int64_t bytes, Status*);
    void (*free)(std::int32_t device, void*);
    void* (*allocate_pinned)(std::int32_t device, std::int64_t bytes, Status*);
    void (*free_pinned)(std::int32_t device, void*);
    /// Bytes that allocate() could still give.
    std::int64_t (*free_bytes)(std::int32_t device);
    Stream* (*make_stream)(std::int32_t device, Status*);
    void (*free_stream)(std::int32_t device, Stream*);
    Event* (*make_event)(std::int32_t device, Status*);
    void (*free_event)(std::int32_t device, Event*);
    bool (*record)(std::int32_t device, Event*, Stream*, Status*);
    bool (*wait)(std::int32_t device, Stream*, Event*, Status*);        ///< the stream waits
    bool (*synchronize)(std::int32_t device, Event*, Status*);          ///< the caller waits
    bool (*synchronize_stream)(std::int32_t device, Stream*, Status*);  ///< the caller waits; nullptr: the whole device
    bool (*copy)(std::int32_t device, void* to, const void* from, std::int64_t bytes, Stream*, Status*);  ///< any direction, async
    bool (*fill)(std::int32_t device, void* to, std::int32_t byte, std::int64_t bytes, Stream*, Status*);

    /// Times `execute` (prepared != nullptr) or else the copy of copy_bytes from job->in to job->out, by cudaMemcpyAsync on a
    /// stream, in a graph or by a kernel, whichever is fastest, for about `seconds`. cold: the L2 cache is overwritten before each
    /// run.
    bool (*measure)(std::int32_t device, const Prepared*, const Job*, void* workspace, std::int64_t workspace_bytes,
                    std::int64_t copy_bytes, bool cold, double seconds, Measurement*, Status*);

    /// Tests only. "reset": cudaDeviceReset; "lose": the next launch fails as if the device were lost.
    bool (*inject)(std::int32_t device, const char* what, Status*);

    /// A number that changes when the device is reset: memory, streams and events of an earlier life are gone and must not even be
    /// freed. nullptr: not known.
    std::uint64_t (*life)(std::int32_t device) = nullptr;

    /// y from x and taps. As execute: no allocation, no synchronisation, may be captured. The library of lessons has no depthwise
    /// functions.
    bool (*depthwise_forward)(std::int32_t device, const Depthwise*, void* y, const void* x, const void* taps, Stream*,
                              Status*) = nullptr;
    /// Bytes that depthwise_backward() needs; -1 with the status filled where it refuses the problem.
    std::int64_t (*depthwise_workspace_bytes)(std::int32_t device, const Depthwise*, Status*) = nullptr;
    /// Both gradients in one kernel: grad_x (as x) and grad_taps (as taps) from grad_y (as y); grad_x and taps null: only
    /// grad_taps. The order of every sum depends on the problem and the device's model alone.
    bool (*depthwise_backward)(std::int32_t device, const Depthwise*, void* grad_x, void* grad_taps, const void* grad_y,
                               const void* x, const void* taps, void* workspace, std::int64_t workspace_bytes, Stream*,
                               Status*) = nullptr;

    /// execute() of what was prepared without taps: those are read when the stream comes to it.
    bool (*execute_with_taps)(const Prepared*, const Job*, const DeviceTaps*, void* workspace, std::int64_t workspace_bytes,
                              Stream*, Status*);

    /// RowSum. As execute: no allocation, no synchronisation, may be captured. The library of lessons has it not.
    bool (*sum_rows)(std::int32_t device, const RowSum*, Stream*, Status*) = nullptr;
};

using Entry = const Api* (*)(std::uint32_t);

}  // namespace tapline::cuda_abi
