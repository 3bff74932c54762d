// The C interface: every function translates its arguments, calls the C++ one and turns exceptions into a status.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string>

#include "tapline/tapline.h"
#include "tapline/tapline.hpp"

struct tapline_plan {
    tapline::Plan plan;
    std::string explanation;
};

struct tapline_stream {
    tapline::Stream stream;
};

struct tapline_devices_plan {
    tapline::DevicesPlan plan;
    std::string explanation;
};

namespace {

using tapline::Error;
using tapline::ErrorCode;

// The C enumerations are the C++ ones in the same order.
static_assert(TAPLINE_BF16 == static_cast<int>(tapline::Dtype::bf16) && TAPLINE_U64 == static_cast<int>(tapline::Dtype::u64) &&
              TAPLINE_BOOL == static_cast<int>(tapline::Dtype::boolean) && TAPLINE_I64 == static_cast<int>(tapline::Dtype::i64));
static_assert(TAPLINE_LEADING == static_cast<int>(tapline::Mode::leading) &&
              TAPLINE_VALID == static_cast<int>(tapline::Mode::valid));
static_assert(TAPLINE_BOUNDARY_WRAP == static_cast<int>(tapline::Boundary::wrap) &&
              TAPLINE_BOUNDARY_REFLECT == static_cast<int>(tapline::Boundary::reflect));
static_assert(TAPLINE_CORRELATION == static_cast<int>(tapline::Operation::correlation));
static_assert(TAPLINE_FILTERS_PER_ROW == static_cast<int>(tapline::Filters::per_row));
static_assert(TAPLINE_OVERFLOW_WRAP == static_cast<int>(tapline::Overflow::wrap));
static_assert(TAPLINE_FAST == static_cast<int>(tapline::Accuracy::fast));
static_assert(TAPLINE_MEASURE == static_cast<int>(tapline::Effort::measure));
static_assert(TAPLINE_ARGUMENT == 1 + static_cast<int>(ErrorCode::argument) &&
              TAPLINE_DEVICE == 1 + static_cast<int>(ErrorCode::device));

// A buffer of fixed size: keeping the message of a failed allocation must not allocate.
thread_local char last_error[1024] = "";

tapline_status failed(tapline_status status, const char* message) noexcept {
    std::snprintf(last_error, sizeof last_error, "%s", message);
    return status;
}

// The status of body(), which may throw anything.
template <class Body>
tapline_status guarded(const Body& body) noexcept {
    try {
        body();
        return TAPLINE_OK;
    } catch (const Error& error) {
        return failed(static_cast<tapline_status>(1 + static_cast<int>(error.code())), error.what());
    } catch (const std::bad_alloc&) {
        return failed(TAPLINE_MEMORY, "memory: an allocation failed");
    } catch (const std::exception& error) { return failed(TAPLINE_INTERNAL, error.what()); } catch (...) {
        return failed(TAPLINE_INTERNAL, "an unknown exception");
    }
}

// get(*handle), or `otherwise` for a null handle or a failure.
template <class T, class Handle, class Get>
T value_of(const Handle* handle, const char* name, T otherwise, const Get& get) noexcept {
    T value = otherwise;
    guarded([&] {
        if (handle == nullptr) { throw Error(ErrorCode::argument, std::string(name) + ": null"); }
        value = get(*handle);
    });
    return value;
}

int64_t frames_of(const tapline_stream* stream, std::int64_t (tapline::Stream::*count)() const noexcept) noexcept {
    return value_of(stream, "stream", std::int64_t{-1}, [&](const tapline_stream& s) { return (s.stream.*count)(); });
}

void require(const void* pointer, const char* name) {
    if (pointer == nullptr) { throw Error(ErrorCode::argument, std::string(name) + ": null; give the address of a valid object"); }
}

// The caller's structure as this library knows it: fields that an older header lacks keep their defaults; what a newer
// header has beyond this library must be zero, that is unused.
template <class T>
T read_struct(const T* given, T defaults, std::size_t first_version_bytes, const char* name) {
    require(given, name);
    std::size_t size = 0;
    std::memcpy(&size, given, sizeof size);
    constexpr std::size_t kNonsense = 1 << 16;
    if (size < first_version_bytes || size > kNonsense) {
        throw Error(ErrorCode::argument, std::string(name) + ": struct_size is " + std::to_string(size) + ", not " +
                                             std::to_string(sizeof(T)) + "; initialise the structure with its _init function");
    }
    const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
    if (size > sizeof(T) && std::any_of(bytes + sizeof(T), bytes + size, [](unsigned char byte) { return byte != 0; })) {
        throw Error(ErrorCode::unsupported, std::string(name) + ": a field that this version (" + tapline::version() +
                                                ") of the library does not know is set; update the library");
    }
    std::memcpy(&defaults, given, std::min(size, sizeof(T)));
    return defaults;
}

// Nothing set.
template <class T>
T empty_struct() {
    T c{};
    c.struct_size = sizeof c;
    return c;
}

tapline_problem default_problem() {
    const tapline::Problem p;
    auto c = empty_struct<tapline_problem>();
    c.batch = p.batch;
    c.scale = p.scale;
    c.up = p.up;
    c.down = p.down;
    c.dilation = p.dilation;
    return c;
}

// The structure as it was first published.
constexpr std::size_t kFirstProblemBytes = offsetof(tapline_problem, has_real_taps);

std::optional<std::int64_t> unless_zero(std::int64_t value) { return value == 0 ? std::nullopt : std::optional(value); }
std::int64_t or_one(std::int64_t value) { return value == 0 ? 1 : value; }

tapline::FilteredAxis to_axis(const tapline_axis& c) {
    tapline::FilteredAxis axis{
        .length = c.length, .taps = c.taps, .up = or_one(c.up), .down = or_one(c.down), .dilation = or_one(c.dilation)};
    if (c.has_mode != 0) { axis.mode = static_cast<tapline::Mode>(c.mode); }
    if (c.has_boundary != 0) { axis.boundary = static_cast<tapline::Boundary>(c.boundary); }
    if (c.has_origin != 0) { axis.origin = c.origin; }
    if ((c.has_strides & TAPLINE_INPUT_STRIDE) != 0) { axis.input_stride = c.input_stride; }
    if ((c.has_strides & TAPLINE_OUTPUT_STRIDE) != 0) { axis.output_stride = c.output_stride; }
    return axis;
}

tapline::BatchAxis to_batch_axis(const tapline_batch_axis& c) {
    tapline::BatchAxis axis{.length = c.length, .taps_stride = c.taps_stride};
    if ((c.has_strides & TAPLINE_INPUT_STRIDE) != 0) { axis.input_stride = c.input_stride; }
    if ((c.has_strides & TAPLINE_OUTPUT_STRIDE) != 0) { axis.output_stride = c.output_stride; }
    return axis;
}

int checked_enum(int value, int last, const char* name) {
    if (value < 0 || value > last) {
        throw Error(ErrorCode::argument, std::string(name) + ": " + std::to_string(value) + " is none of its names");
    }
    return value;
}

int checked_count(int value, int most, const char* name) {
    if (value < 0 || value > most) {
        throw Error(ErrorCode::argument,
                    std::string(name) + ": " + std::to_string(value) + "; it is from 0 to " + std::to_string(most));
    }
    return value;
}

// Enumerations are only converted: validation refuses values that are none of their names.
tapline::Problem to_problem(const tapline_problem* given) {
    const tapline_problem c = read_struct(given, default_problem(), kFirstProblemBytes, "problem");
    tapline::Problem p;
    p.length = c.length;
    p.taps = c.taps;
    p.batch = c.batch;
    p.filters = static_cast<tapline::Filters>(c.filters);
    p.mode = static_cast<tapline::Mode>(c.mode);
    p.boundary = static_cast<tapline::Boundary>(c.boundary);
    p.constant = {c.constant_real, c.constant_imag};
    if (c.has_origin != 0) { p.origin = c.origin; }
    p.operation = static_cast<tapline::Operation>(c.operation);
    p.dtype = static_cast<tapline::Dtype>(c.dtype);
    p.complex_taps = c.complex_taps != 0;
    if (c.has_output_dtype != 0) { p.output_dtype = static_cast<tapline::Dtype>(c.output_dtype); }
    p.scale = c.scale;
    p.bias = c.bias;
    if (c.has_clamp != 0) { p.clamp = tapline::Clamp{c.clamp_low, c.clamp_high}; }
    p.overflow = static_cast<tapline::Overflow>(c.overflow);
    p.input_row_stride = unless_zero(c.input_row_stride);
    p.input_sample_stride = unless_zero(c.input_sample_stride);
    p.output_row_stride = unless_zero(c.output_row_stride);
    p.output_sample_stride = unless_zero(c.output_sample_stride);
    p.taps_row_stride = unless_zero(c.taps_row_stride);
    p.up = c.up;
    p.down = c.down;
    p.dilation = c.dilation;
    p.filter_count = c.filter_count;
    if (c.has_real_taps != 0) { p.real_taps = static_cast<tapline::Dtype>(c.real_taps); }
    for (int i = 0; i < checked_count(c.rank, 3, "rank"); ++i) { p.axes.push_back(to_axis(c.axes[i])); }
    for (int i = 0; i < checked_count(c.batch_rank, 4, "batch_rank"); ++i) {
        p.batch_axes.push_back(to_batch_axis(c.batch_axes[i]));
    }
    return p;
}

tapline::PlanOptions to_plan_options(const tapline_plan_options* given) {
    tapline::PlanOptions options;
    if (given == nullptr) { return options; }
    const tapline_plan_options c =
        read_struct(given, empty_struct<tapline_plan_options>(), sizeof(tapline_plan_options), "options");
    if (c.device != nullptr) { options.device = c.device; }
    if (c.algorithm != nullptr) { options.algorithm = c.algorithm; }
    options.accuracy = static_cast<tapline::Accuracy>(checked_enum(c.accuracy, TAPLINE_FAST, "accuracy"));
    options.effort = static_cast<tapline::Effort>(checked_enum(c.effort, TAPLINE_MEASURE, "effort"));
    options.threads = c.threads;
    return options;
}

tapline::StreamOptions to_stream_options(const tapline_plan_options* plan, const tapline_stream_options* given) {
    tapline::StreamOptions options;
    options.plan = to_plan_options(plan);
    if (given == nullptr) { return options; }
    const tapline_stream_options c =
        read_struct(given, empty_struct<tapline_stream_options>(), sizeof(tapline_stream_options), "stream options");
    options.tail = c.tail;
    options.tail_frames = c.tail_frames;
    options.samples_per_run = c.samples_per_run;
    return options;
}

template <class T>
tapline_status convolve(T* out, std::int64_t out_capacity, const T* signal, std::int64_t n, const T* taps, std::int64_t k,
                        int mode) noexcept {
    return guarded([&] {
        require(out, "out");
        require(signal, "signal");
        require(taps, "taps");
        tapline::Problem p;
        p.length = n;
        p.taps = k;
        p.mode = static_cast<tapline::Mode>(mode);
        p.dtype = tapline::dtype_of<T>;
        const std::int64_t length = tapline::output_length(p);
        if (out_capacity < length) {
            throw Error(ErrorCode::argument, "out_capacity: " + std::to_string(out_capacity) + " elements, but the output has " +
                                                 std::to_string(length) + "; give a larger buffer or another mode");
        }
        tapline::make_plan(p, static_cast<const void*>(taps)).execute_host(out, signal);
    });
}

void keep(tapline_plan** plan, tapline::Plan made) {
    std::string explanation = made.explain();
    *plan = new tapline_plan{std::move(made), std::move(explanation)};
}

// body(), which executes the plan.
template <class Body>
tapline_status execute(const tapline_plan* plan, const void* out, const void* in, const Body& body) noexcept {
    return guarded([&] {
        require(plan, "plan");
        require(out, "out");
        require(in, "in");
        body();
    });
}

std::span<std::byte> scratch_of(void* workspace, std::size_t bytes) {
    if (bytes != 0) { require(workspace, "workspace"); }
    return {static_cast<std::byte*>(workspace), bytes};
}

// *to = function(problem).
template <class T, class Function>
tapline_status ask(T* to, const char* name, const tapline_problem* problem, const Function& function) noexcept {
    return guarded([&] {
        require(to, name);
        *to = static_cast<T>(function(to_problem(problem)));
    });
}

tapline_status ask_type(int* to, const tapline_problem* problem, tapline::Dtype (*function)(const tapline::Problem&)) noexcept {
    return ask(to, "dtype", problem, [&](const tapline::Problem& p) {
        tapline::validate(p);
        return function(p);
    });
}

template <class T>
tapline_status initialise(T* to, const T& defaults, const char* name) noexcept {
    return guarded([&] {
        require(to, name);
        *to = defaults;
    });
}

}  // namespace

const char* tapline_version(void) { return tapline::version(); }
const char* tapline_last_error(void) { return last_error; }

tapline_status tapline_problem_init(tapline_problem* problem) { return initialise(problem, default_problem(), "problem"); }
tapline_status tapline_problem_init_image(tapline_problem* problem, int64_t height, int64_t width, int64_t channels,
                                          int64_t mask_height, int64_t mask_width) {
    tapline_problem p = default_problem();
    p.mode = TAPLINE_SAME;
    p.rank = 2;
    p.axes[0].length = height;
    p.axes[0].taps = mask_height;
    p.axes[1].length = width;
    p.axes[1].taps = mask_width;
    p.axes[1].has_strides = p.batch_axes[0].has_strides = TAPLINE_INPUT_STRIDE | TAPLINE_OUTPUT_STRIDE;
    p.axes[1].input_stride = p.axes[1].output_stride = channels;
    p.batch_rank = 1;
    p.batch_axes[0].length = channels;
    p.batch_axes[0].input_stride = p.batch_axes[0].output_stride = 1;
    return initialise(problem, p, "problem");
}
tapline_status tapline_plan_options_init(tapline_plan_options* options) {
    return initialise(options, empty_struct<tapline_plan_options>(), "options");
}
tapline_status tapline_stream_options_init(tapline_stream_options* options) {
    return initialise(options, empty_struct<tapline_stream_options>(), "options");
}

tapline_status tapline_output_length(int64_t* length, const tapline_problem* problem) {
    return ask(length, "length", problem, tapline::output_length);
}
tapline_status tapline_output_shape(int64_t shape[3], int* rank, const tapline_problem* problem) {
    return guarded([&] {
        require(shape, "shape");
        require(rank, "rank");
        const auto outputs = tapline::output_shape(to_problem(problem));
        std::copy(outputs.begin(), outputs.end(), shape);
        *rank = static_cast<int>(outputs.size());
    });
}
tapline_status tapline_input_extent(int64_t* elements, const tapline_problem* problem) {
    return ask(elements, "elements", problem, tapline::input_extent);
}
tapline_status tapline_output_extent(int64_t* elements, const tapline_problem* problem) {
    return ask(elements, "elements", problem, tapline::output_extent);
}
tapline_status tapline_taps_extent(int64_t* elements, const tapline_problem* problem) {
    return ask(elements, "elements", problem, tapline::taps_extent);
}
tapline_status tapline_output_dtype(int* dtype, const tapline_problem* problem) {
    return ask_type(dtype, problem, tapline::output_dtype);
}
tapline_status tapline_taps_dtype(int* dtype, const tapline_problem* problem) {
    return ask_type(dtype, problem, tapline::taps_dtype);
}

tapline_status tapline_plan_create(tapline_plan** plan, const tapline_problem* problem, const void* taps,
                                   const tapline_plan_options* options) {
    if (plan != nullptr) { *plan = nullptr; }
    return guarded([&] {
        require(plan, "plan");
        const tapline::Problem p = to_problem(problem);
        require(taps, "taps");
        keep(plan, tapline::make_plan(p, taps, to_plan_options(options)));
    });
}

tapline_status tapline_plan_create_without_taps(tapline_plan** plan, const tapline_problem* problem,
                                                const tapline_plan_options* options) {
    if (plan != nullptr) { *plan = nullptr; }
    return guarded([&] {
        require(plan, "plan");
        keep(plan, tapline::make_plan_without_taps(to_problem(problem), to_plan_options(options)));
    });
}

void tapline_plan_destroy(tapline_plan* plan) { delete plan; }

tapline_status tapline_plan_execute(const tapline_plan* plan, void* out, const void* in, void* workspace, size_t workspace_bytes,
                                    void* stream) {
    return execute(plan, out, in, [&] { plan->plan.execute(out, in, scratch_of(workspace, workspace_bytes), stream); });
}

tapline_status tapline_plan_execute_with_taps(const tapline_plan* plan, void* out, const void* in, const void* taps,
                                              void* workspace, size_t workspace_bytes, void* stream) {
    return execute(plan, out, in, [&] {
        require(taps, "taps");
        plan->plan.execute_with_taps(out, in, taps, scratch_of(workspace, workspace_bytes), stream);
    });
}

tapline_status tapline_plan_execute_simple(const tapline_plan* plan, void* out, const void* in) {
    return execute(plan, out, in, [&] { plan->plan.execute(out, in); });
}

tapline_status tapline_plan_execute_host(const tapline_plan* plan, void* out, const void* in) {
    return execute(plan, out, in, [&] { plan->plan.execute_host(out, in); });
}

size_t tapline_plan_workspace_bytes(const tapline_plan* plan) {
    return value_of(plan, "plan", std::size_t{0}, [](const tapline_plan& p) { return p.plan.workspace_bytes(); });
}
int64_t tapline_plan_output_length(const tapline_plan* plan) {
    return value_of(plan, "plan", std::int64_t{-1}, [](const tapline_plan& p) { return p.plan.output_length(); });
}
double tapline_plan_predicted_seconds(const tapline_plan* plan) {
    return value_of(plan, "plan", -1.0, [](const tapline_plan& p) { return p.plan.predicted_seconds(); });
}
const char* tapline_plan_explain(const tapline_plan* plan) {
    return value_of(plan, "plan", static_cast<const char*>(nullptr), [](const tapline_plan& p) { return p.explanation.c_str(); });
}
const char* tapline_plan_algorithm(const tapline_plan* plan) {
    return value_of(plan, "plan", static_cast<const char*>(nullptr),
                    [](const tapline_plan& p) { return p.plan.algorithm().c_str(); });
}
const char* tapline_plan_device(const tapline_plan* plan) {
    return value_of(plan, "plan", static_cast<const char*>(nullptr), [](const tapline_plan& p) { return p.plan.device().c_str(); });
}

tapline_status tapline_devices_plan_create(tapline_devices_plan** plan, const tapline_problem* problem, const void* taps,
                                           const tapline_plan_options* options, const int64_t* cuts, size_t cut_count) {
    if (plan != nullptr) { *plan = nullptr; }
    return guarded([&] {
        require(plan, "plan");
        const tapline::Problem p = to_problem(problem);
        if (cut_count > 0) { require(cuts, "cuts"); }
        tapline::DevicesPlan made(p, taps, to_plan_options(options), {cuts, cut_count});
        std::string explanation = made.explain();
        *plan = new tapline_devices_plan{std::move(made), std::move(explanation)};
    });
}

void tapline_devices_plan_destroy(tapline_devices_plan* plan) { delete plan; }

size_t tapline_devices_plan_parts(const tapline_devices_plan* plan) {
    return value_of(plan, "plan", std::size_t{0}, [](const tapline_devices_plan& p) { return p.plan.parts().size(); });
}

tapline_status tapline_devices_plan_part(const tapline_devices_plan* plan, size_t index, int* device, int64_t samples[2],
                                         int64_t outputs[2]) {
    return guarded([&] {
        require(plan, "plan");
        const auto parts = plan->plan.parts();
        if (index >= parts.size()) {
            throw Error(ErrorCode::argument,
                        "index: " + std::to_string(index) + "; the plan has " + std::to_string(parts.size()) + " parts");
        }
        const tapline::DevicePart& part = parts[index];
        const auto tell = [](int64_t* to, const tapline::Span& span) {
            if (to == nullptr) { return; }
            to[0] = span.first;
            to[1] = span.last;
        };
        if (device != nullptr) { *device = std::stoi(part.device.substr(part.device.find(':') + 1)); }
        tell(samples, part.samples);
        tell(outputs, part.outputs);
    });
}

tapline_status tapline_devices_plan_execute(const tapline_devices_plan* plan, void* const* out, const void* const* in,
                                            void* const* streams) {
    return guarded([&] {
        require(plan, "plan");
        require(out, "out");
        require(in, "in");
        const std::size_t parts = plan->plan.parts().size();
        plan->plan.execute({out, parts}, {in, parts}, {streams, streams == nullptr ? 0 : parts});
    });
}

const char* tapline_devices_plan_explain(const tapline_devices_plan* plan) {
    return value_of(plan, "plan", static_cast<const char*>(nullptr),
                    [](const tapline_devices_plan& p) { return p.explanation.c_str(); });
}

tapline_status tapline_stream_create(tapline_stream** stream, const tapline_problem* problem, const void* taps,
                                     const tapline_plan_options* plan_options, const tapline_stream_options* options) {
    if (stream != nullptr) { *stream = nullptr; }
    return guarded([&] {
        require(stream, "stream");
        const tapline::Problem p = to_problem(problem);
        require(taps, "taps");
        *stream = new tapline_stream{tapline::Stream(p, taps, to_stream_options(plan_options, options))};
    });
}

void tapline_stream_destroy(tapline_stream* stream) { delete stream; }

tapline_status tapline_stream_push(tapline_stream* stream, const void* in, int64_t frames) {
    return guarded([&] {
        require(stream, "stream");
        if (frames != 0) { require(in, "in"); }
        stream->stream.push(in, frames);
    });
}

tapline_status tapline_stream_flush(tapline_stream* stream) {
    return guarded([&] {
        require(stream, "stream");
        stream->stream.flush();
    });
}

int64_t tapline_stream_available(const tapline_stream* stream) { return frames_of(stream, &tapline::Stream::available); }

tapline_status tapline_stream_take(tapline_stream* stream, void* out, int64_t max_frames, int64_t* taken) {
    if (taken != nullptr) { *taken = 0; }
    return guarded([&] {
        require(stream, "stream");
        require(taken, "taken");
        if (max_frames != 0) { require(out, "out"); }
        *taken = stream->stream.take(out, max_frames);
    });
}

tapline_status tapline_stream_save(const tapline_stream* stream, void* buffer, size_t capacity, size_t* bytes) {
    if (bytes != nullptr) { *bytes = 0; }
    return guarded([&] {
        require(stream, "stream");
        require(bytes, "bytes");
        const std::vector<std::byte> state = stream->stream.save();
        *bytes = state.size();
        if (buffer == nullptr) { return; }
        if (capacity < state.size()) {
            throw Error(ErrorCode::argument, "capacity: " + std::to_string(capacity) + " bytes, but the state has " +
                                                 std::to_string(state.size()) + "; ask with a null buffer first");
        }
        std::memcpy(buffer, state.data(), state.size());
    });
}

tapline_status tapline_stream_restore(tapline_stream* stream, const void* state, size_t bytes) {
    return guarded([&] {
        require(stream, "stream");
        require(state, "state");
        stream->stream.restore({static_cast<const std::byte*>(state), bytes});
    });
}

int64_t tapline_stream_frames_in(const tapline_stream* stream) { return frames_of(stream, &tapline::Stream::frames_in); }
int64_t tapline_stream_frames_out(const tapline_stream* stream) { return frames_of(stream, &tapline::Stream::frames_out); }
int64_t tapline_stream_latency_frames(const tapline_stream* stream) { return frames_of(stream, &tapline::Stream::latency_frames); }

tapline_status tapline_convolve_f32(float* out, int64_t out_capacity, const float* signal, int64_t n, const float* taps, int64_t k,
                                    int mode) {
    return convolve(out, out_capacity, signal, n, taps, k, mode);
}
tapline_status tapline_convolve_f64(double* out, int64_t out_capacity, const double* signal, int64_t n, const double* taps,
                                    int64_t k, int mode) {
    return convolve(out, out_capacity, signal, n, taps, k, mode);
}
