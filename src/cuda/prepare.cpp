// A rung made ready for one problem: taps and tables on the device, kernels chosen and loaded.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/problem/arrange.hpp"
#include "cuda/api_functions.hpp"
#include "cuda/engine_state.hpp"
#include "cuda/prepared.hpp"

namespace tapline::cuda {
namespace {

using cuda_abi::Code;
using cuda_abi::HostTaps;
using cuda_abi::Status;

// Kernels that take taps by value read so many bytes of host_taps whatever k is.
constexpr std::size_t kLeastHostTapsBytes = 2048;

std::int64_t bytes_of_tap(Dtype type) {
    switch (type) {
        case Dtype::complex128:
            return 16;
        case Dtype::f64:
        case Dtype::complex64:
        case Dtype::i64:
        case Dtype::u64:
            return 8;
        default:
            return 4;
    }
}

// By exponents of all ones, without a branch for each.
template <class Bits>
bool all_finite(const std::byte* taps, std::int64_t bytes, Bits exponent) {
    bool finite = true;
    for (std::int64_t i = 0; i < bytes; i += static_cast<std::int64_t>(sizeof(Bits))) {
        Bits bits;
        std::memcpy(&bits, taps + i, sizeof bits);
        finite &= (bits & exponent) != exponent;
    }
    return finite;
}

bool all_finite(const std::byte* taps, std::int64_t bytes, Dtype type) {
    if (is_integer(type)) { return true; }
    return type == Dtype::f64 || type == Dtype::complex128 ? all_finite(taps, bytes, std::uint64_t{0x7ff} << 52)
                                                           : all_finite(taps, bytes, std::uint32_t{0xff} << 23);
}

// A stream beside the caller's.
class OwnStream {
public:
    OwnStream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
    ~OwnStream() { cudaStreamDestroy(stream_); }
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;
    [[nodiscard]] cudaStream_t get() const { return stream_; }

private:
    cudaStream_t stream_ = nullptr;
};

// Copies to the current device and waits.
void upload(void* to, const void* from, std::size_t bytes, const OwnStream& stream) {
    if (bytes == 0) { return; }
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream.get()), "copying the taps");
    check(cudaStreamSynchronize(stream.get()), "copying the taps");
}

// Bytes of the taps on the device.
std::int64_t padded_bytes(const cuda_abi::Prepared& made) { return made.taps_pitch_bytes * made.problem.filters; }

std::size_t row_bytes(const Problem& problem) {
    return static_cast<std::size_t>(problem.taps() * bytes_of_tap(problem.taps_dtype));
}

// Filters lie 16-byte pitches apart; a rung that cannot take them in turn gets one for each row.
void lay_out_taps(cuda_abi::Prepared& made, const Problem& problem, const HostTaps* taps) {
    constexpr std::int64_t kAlignment = 16;
    if (problem.filters > 1 && problem.rank == 1 && !made.rung->takes_filters_in_turn()) {
        made.problem.filters = problem.batch.length;
    }
    const auto row = static_cast<std::int64_t>(row_bytes(problem));
    made.taps_pitch_bytes = (row + kAlignment - 1) / kAlignment * kAlignment;
    // Of taps that come later transforms make sums again that are not finite; direct summation looks (kExactUnlessFinite).
    made.problem.taps_finite = true;
    if (taps == nullptr) { return; }
    made.problem.taps_finite = all_finite(static_cast<const std::byte*>(taps->taps), row * problem.filters, problem.taps_dtype);
    made.given = *taps;
}

// Whether the tables are filled from the taps on the device, which come there from where the caller has them.
bool fills_from_given(const cuda_abi::Prepared& made, const Problem& problem, std::int64_t filled_bytes) {
    return filled_bytes != 0 && made.problem.filters == problem.filters;
}

// What is made of taps that come later takes so much of a workspace at most, unless one filter's is more: rows of several tensors
// of a model, and a few times the L2 cache, so that a launch's start is nothing beside it.
constexpr std::int64_t kMostMadeBytes = std::int64_t{256} << 20;
constexpr std::int64_t kShareOfLimit = 8;  // of memory_limit()

// Elements from one filter that an execution brings to the next.
std::int64_t step_of_filters(const Problem& problem) {
    if (problem.filters == 1) { return 0; }
    const std::int64_t sets = core::filter_sets(problem);
    return sets == 1 ? problem.batch.taps_stride : core::filters_step(problem, problem.filters / sets);
}

// Groups of filters that fit it, of a plan without taps whose kernels are chosen; they are chosen again where a group is not all.
void divide_filters(cuda_abi::Prepared& made, const Problem& problem) {
    const auto& maker = dynamic_cast<const TakesTapsOnDevice&>(*made.rung);
    Problem& own = made.problem;
    made.groups = {.given = problem.filters,
                   .stride = step_of_filters(problem),
                   .filters = own.filters,
                   .rows = problem.batch.length,
                   .whole = true};
    // Those of outer axes go together; a rung inside another divides them.
    if (own.filters == 1 || core::filter_sets(problem) != 1) { return; }
    const std::int64_t most = std::min(kMostMadeBytes, memory_limit() / kShareOfLimit);
    const std::int64_t of_filter = (maker.made_table_bytes(made) + padded_bytes(made)) / own.filters;
    const std::int64_t room = std::clamp<std::int64_t>(most / std::max<std::int64_t>(of_filter, 1), 1, own.filters);
    const std::int64_t most_at_once = std::min(room, maker.most_filters());
    if (most_at_once == own.filters) { return; }
    const std::int64_t groups = (own.filters + most_at_once - 1) / most_at_once;
    const std::int64_t at_once = (own.filters + groups - 1) / groups;  // groups alike
    made.groups.whole = false;
    own.filters = own.batch.length = at_once;
    made.chosen = made.rung->load(made);
}

// Those of host_taps: all, or of taps that need not be kept as many as kernels take by value.
void keep_taps(cuda_abi::Prepared& made, const Problem& problem, const HostTaps* taps, std::int64_t filled_bytes) {
    const bool only_some = fills_from_given(made, problem, filled_bytes);
    made.host_taps.resize(std::max(only_some ? 0 : static_cast<std::size_t>(padded_bytes(made)), kLeastHostTapsBytes));
    if (taps == nullptr) { return; }
    const auto* from = static_cast<const std::byte*>(taps->taps);
    const std::size_t row = row_bytes(problem);
    for (std::int64_t f = 0; f < made.problem.filters; ++f) {
        const auto at = static_cast<std::size_t>(f * made.taps_pitch_bytes);
        if (at >= made.host_taps.size()) { break; }
        std::memcpy(made.host_taps.data() + at, from + static_cast<std::size_t>(f % problem.filters) * row,
                    std::min(row, made.host_taps.size() - at));
    }
}

// Room for what is made of taps that come later, behind the rung's own workspace.
void add_made_tables(cuda_abi::Prepared& made) {
    constexpr std::int64_t kAlignment = 256;
    const auto& maker = dynamic_cast<const TakesTapsOnDevice&>(*made.rung);
    maker.load_tables(made);
    made.made_tables_at = (made.workspace_bytes + kAlignment - 1) / kAlignment * kAlignment;
    made.made_taps_at = made.made_tables_at + maker.made_table_bytes(made);
    made.workspace_bytes = made.made_taps_at + padded_bytes(made) + kTapSlackBytes;
}

// Rows of taps from where the caller has them, at their pitch.
void upload_given(void* to, const cuda_abi::Prepared& made, const Problem& problem, const OwnStream& stream) {
    const std::size_t row = row_bytes(problem);
    check(cudaMemcpy2DAsync(to, static_cast<std::size_t>(made.taps_pitch_bytes), made.given.taps, row, row,
                            static_cast<std::size_t>(problem.filters), cudaMemcpyHostToDevice, stream.get()),
          "copying the taps");
    check(cudaStreamSynchronize(stream.get()), "copying the taps");
}

// Taps first: tables() may put others in their place on the host.
void fill_device(cuda_abi::Prepared& made, const Problem& problem, std::int64_t filled_bytes) {
    const int device = made.device.index;
    const std::int64_t bytes = made.problem.taps_come_later ? 0 : padded_bytes(made);
    const OwnStream stream;
    DeviceMemory taps(device, bytes == 0 ? 0 : bytes + kTapSlackBytes);
    if (fills_from_given(made, problem, filled_bytes)) {
        upload_given(taps.pointer, made, problem, stream);
    } else {
        upload(taps.pointer, made.host_taps.data(), static_cast<std::size_t>(bytes), stream);
    }
    const std::vector<std::byte> all = made.rung->tables(made);
    DeviceMemory tables(device, static_cast<std::int64_t>(all.size()) + filled_bytes);
    upload(tables.pointer, all.data(), all.size(), stream);
    made.on_device = {taps.pointer, tables.pointer};
    if (filled_bytes != 0) { made.rung->fill_tables(made, static_cast<std::byte*>(tables.pointer) + all.size(), stream.get()); }
    made.on_device = {taps.release(), tables.release()};
}

}  // namespace

cuda_abi::Prepared* prepare(std::int32_t index, std::int32_t device, const Problem* problem, const HostTaps* taps,
                            const Policy* policy, Status* status) {
    return guarded<cuda_abi::Prepared*>(status, nullptr, [&]() -> cuda_abi::Prepared* {
        auto made = std::make_unique<cuda_abi::Prepared>();
        made->rung = &rung_of(index);
        made->device = device_of(device);
        const Refusal reason = refusal(*made->rung, *problem, made->device);
        if (!reason.empty()) { throw CudaError(Code::unsupported, reason); }
        if (taps != nullptr && taps->taps == nullptr) { taps = nullptr; }
        if ((taps == nullptr) != problem->taps_come_later) { throw CudaError(Code::argument, "taps: they come now or later"); }
        const DeviceScope scope(device);
        const RelaxedCapture relaxed;
        check(cudaFree(nullptr), "starting the device");  // the context exists from here on
        made->problem = *problem;
        if (policy != nullptr) { made->policy = *policy; }
        made->context = context_id();
        lay_out_taps(*made, *problem, taps);
        made->chosen = made->rung->load(*made);
        if (taps == nullptr) { divide_filters(*made, *problem); }
        const std::int64_t filled_bytes = taps == nullptr ? 0 : made->rung->filled_table_bytes(*made);
        keep_taps(*made, *problem, taps, filled_bytes);
        made->workspace_bytes = made->rung->workspace_bytes(*made);
        if (taps == nullptr) { add_made_tables(*made); }
        fill_device(*made, *problem, filled_bytes);
        made->given = {};
        // Long filters are not kept twice.
        if (made->host_taps.size() > kLeastHostTapsBytes) {
            made->host_taps.resize(kLeastHostTapsBytes);
            made->host_taps.shrink_to_fit();
        }
        return made.release();
    });
}

void release(cuda_abi::Prepared* prepared) {
    if (prepared == nullptr) { return; }
    guarded(nullptr, false, [&] {
        const DeviceScope scope(prepared->device.index);
        if (context_id() != prepared->context) { return true; }
        for (const void* memory : {prepared->on_device.taps, prepared->on_device.tables}) {
            free_device(prepared->device.index, const_cast<void*>(memory));
        }
        return true;
    });
    delete prepared;
}

std::int64_t workspace_bytes(const cuda_abi::Prepared* prepared) { return prepared->workspace_bytes; }

std::int64_t granularity(const cuda_abi::Prepared* prepared) {
    return guarded<std::int64_t>(nullptr, 1, [&] { return prepared->rung->granularity(*prepared); });
}

void describe(const cuda_abi::Prepared* prepared, char* text, std::size_t bytes) {
    const std::string description = guarded(nullptr, std::string(), [&] { return prepared->rung->describe(*prepared); });
    std::snprintf(text, bytes, "%s", description.c_str());
}

}  // namespace tapline::cuda
