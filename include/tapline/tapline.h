/* tapline for C (C99 and later) and for every language that can call C.
 *
 * The one problem that every call solves, for each row of a batch:
 *
 *     output[o] = cast(clamp(scale * sum_{t=0}^{k-1} taps[t] * x(o + t - origin) + bias)),   0 <= o < output_length
 *
 * where x() is the row's signal extended past its ends by the boundary rule. Convolution uses the taps in reverse,
 * correlation as they are (complex taps conjugated). Images and volumes are the same with two or three such axes.
 *
 * Status. Functions that can fail return a tapline_status; tapline_last_error() then says which argument, its value and the
 * remedy. Getters return 0, -1 or NULL for a null handle, as their comments say. No function lets a C++ exception out, exits
 * or prints.
 *
 * Ownership. A *_create function gives a handle that its *_destroy function frees (NULL is allowed there); after a failure
 * the handle is NULL. Taps, problems and options are copied: they need not outlive the call. Signals and outputs stay the
 * caller's.
 *
 * Threads. All functions may be called from any thread. A plan never changes: threads may execute one plan at once, with
 * separate outputs and workspaces. A stream has state: one call at a time. Error messages are kept for each thread.
 *
 * Elements. Complex elements are (real, imaginary) pairs, bool is one byte. Lengths and strides count elements, never bytes.
 */
#ifndef TAPLINE_TAPLINE_H
#define TAPLINE_TAPLINE_H

#include <stddef.h>
#include <stdint.h>

/* Marks what the library exports. */
#define TAPLINE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* What a function that can fail returns. */
typedef enum tapline_status {
    TAPLINE_OK = 0,
    TAPLINE_ARGUMENT = 1,    /* a value outside its range, a null pointer, or buffers that do not fit the problem */
    TAPLINE_TYPE = 2,        /* element types that cannot be combined */
    TAPLINE_UNSUPPORTED = 3, /* a valid request that nothing on this device can serve */
    TAPLINE_MEMORY = 4,      /* an allocation failed */
    TAPLINE_IO = 5,          /* a file could not be read or written */
    TAPLINE_DEVICE = 6,      /* the GPU or its driver failed, or there is none */
    TAPLINE_INTERNAL = 7     /* anything else: a defect of the library */
} tapline_status;

/* Element types. */
enum {
    TAPLINE_F32 = 0,
    TAPLINE_F64 = 1,
    TAPLINE_COMPLEX64 = 2,
    TAPLINE_COMPLEX128 = 3,
    TAPLINE_BOOL = 4,
    TAPLINE_I8 = 5,
    TAPLINE_I16 = 6,
    TAPLINE_I32 = 7,
    TAPLINE_I64 = 8,
    TAPLINE_U8 = 9,
    TAPLINE_U16 = 10,
    TAPLINE_U32 = 11,
    TAPLINE_U64 = 12,
    TAPLINE_F16 = 13,
    TAPLINE_BF16 = 14
};

/* Modes: presets of (origin, output length); n = length, k = taps. */
enum {
    TAPLINE_FULL = 0,   /* k-1, n+k-1: numpy.convolve's default */
    TAPLINE_SAME = 1,   /* k/2 (integer division), n */
    TAPLINE_VALID = 2,  /* 0, n-k+1: only fully overlapping outputs */
    TAPLINE_CAUSAL = 3, /* k-1, n: output i reads inputs up to i */
    TAPLINE_LEADING = 4 /* 0, n: output i starts at input i */
};

/* What x() is outside the signal a b c d; scipy.ndimage's names. */
enum {
    TAPLINE_BOUNDARY_ZERO = 0,     /* 0 0 | a b c d | 0 0; the terms are absent, not multiplied */
    TAPLINE_BOUNDARY_CONSTANT = 1, /* c c | a b c d | c c */
    TAPLINE_BOUNDARY_NEAREST = 2,  /* a a | a b c d | d d */
    TAPLINE_BOUNDARY_REFLECT = 3,  /* b a | a b c d | d c */
    TAPLINE_BOUNDARY_MIRROR = 4,   /* c b | a b c d | c b */
    TAPLINE_BOUNDARY_WRAP = 5      /* c d | a b c d | a b */
};

enum { TAPLINE_CONVOLUTION = 0, TAPLINE_CORRELATION = 1 };
enum { TAPLINE_FILTERS_SHARED = 0, TAPLINE_FILTERS_PER_ROW = 1 }; /* one filter for all rows, or one a row */
enum { TAPLINE_OVERFLOW_ERROR = 0, TAPLINE_OVERFLOW_WRAP = 1 };   /* integer results that do not fit: refuse, or keep low bits */

enum {
    TAPLINE_STANDARD = 0, /* L2 error at most 1e-6 (f32) or 1e-14 (f64) times sum|taps| times the L2 norm of the input read */
    TAPLINE_STRICT = 1,   /* elementwise (k+2) eps sum|taps||x|: by direct sums, or checked */
    TAPLINE_FAST = 2      /* 1e-3, where a device has something faster */
};

enum { TAPLINE_ESTIMATE = 0, TAPLINE_MEASURE = 1 }; /* choose by the cost model, or by timing on this machine */

/* A signal whose length is not known yet: for streams only. */
#define TAPLINE_UNKNOWN_LENGTH ((int64_t)-1)

/* An axis along which the sum runs, of images and volumes. All zeros but length and taps: the problem's mode and boundary, the
 * mode's origin, packed, no change of rate. */
typedef struct tapline_axis {
    int64_t length;        /* n, samples, at least 1 */
    int64_t taps;          /* k, coefficients, at least 1 */
    int has_mode;          /* nonzero: mode counts, else the problem's */
    int mode;              /* TAPLINE_FULL and so on */
    int has_boundary;      /* nonzero: boundary counts, else the problem's */
    int boundary;          /* TAPLINE_BOUNDARY_* */
    int has_origin;        /* nonzero: origin counts, else the mode's */
    int has_strides;       /* TAPLINE_INPUT_STRIDE, TAPLINE_OUTPUT_STRIDE or both: which of the two count; packed without */
    int64_t origin;        /* which tap sits on the output, after any reversal */
    int64_t input_stride;  /* any; negative for a reversed view */
    int64_t output_stride; /* not 0 */
    int64_t up;            /* up - 1 zeros are put behind every sample; 0 counts as 1 */
    int64_t down;          /* of the outputs every down-th is made; 0 counts as 1 */
    int64_t dilation;      /* positions from one tap to the next; 0 counts as 1 */
} tapline_axis;

/* An axis of independent signals, images or volumes. */
typedef struct tapline_batch_axis {
    int64_t length;        /* at least 1 */
    int has_strides;       /* as of tapline_axis */
    int reserved;          /* 0 */
    int64_t input_stride;  /* any; 0: all read the same */
    int64_t output_stride; /* not 0 */
    int64_t taps_stride;   /* from one filter to the next; 0: all share one */
} tapline_batch_axis;

enum { TAPLINE_INPUT_STRIDE = 1, TAPLINE_OUTPUT_STRIDE = 2 };

/* The problem. Set by tapline_problem_init(), then changed where it differs; `struct_size` lets a program that was compiled
 * with an older header run with a newer library, so do not fill the structure by hand. A stride of 0 is the default beside it. */
typedef struct tapline_problem {
    size_t struct_size;           /* sizeof(tapline_problem) */
    int64_t length;               /* n, samples of one signal, at least 1 */
    int64_t taps;                 /* k, coefficients of one filter, at least 1 */
    int64_t batch;                /* independent rows; default 1 */
    int filters;                  /* TAPLINE_FILTERS_* */
    int mode;                     /* default TAPLINE_FULL */
    int boundary;                 /* TAPLINE_BOUNDARY_* */
    int operation;                /* TAPLINE_CONVOLUTION */
    int dtype;                    /* of the signal; default TAPLINE_F32 */
    int complex_taps;             /* nonzero: complex taps beside a complex signal */
    int overflow;                 /* TAPLINE_OVERFLOW_* */
    int has_output_dtype;         /* nonzero: output_dtype counts, else dtype (i64 for integers) */
    int output_dtype;             /* another real type: a saturating cast */
    int has_origin;               /* nonzero: origin counts, else the mode's */
    int64_t origin;               /* which tap sits on the output, after any reversal */
    double constant_real;         /* for TAPLINE_BOUNDARY_CONSTANT */
    double constant_imag;         /* its imaginary part, for complex signals */
    double scale;                 /* default 1 */
    double bias;                  /* default 0 */
    double clamp_low;             /* count if has_clamp is nonzero; may be infinite */
    double clamp_high;            /* at least clamp_low */
    int has_clamp;                /* nonzero: the limits count */
    int reserved;                 /* 0 */
    int64_t input_row_stride;     /* default length * input_sample_stride */
    int64_t input_sample_stride;  /* default 1 */
    int64_t output_row_stride;    /* default output length * output_sample_stride */
    int64_t output_sample_stride; /* default 1 */
    int64_t taps_row_stride;      /* default taps; for TAPLINE_FILTERS_PER_ROW */
    int64_t up;                   /* 1; as of tapline_axis */
    int64_t down;                 /* 1 */
    int64_t dilation;             /* 1 */
    int64_t filter_count;         /* default batch, for TAPLINE_FILTERS_PER_ROW: row r has filter r % filter_count */
    int has_real_taps;            /* nonzero: real_taps counts, TAPLINE_F32 or TAPLINE_F64 taps and sums beside an integer signal */
    int real_taps;                /* the type of taps and sums */
    int rank;       /* 1 to 3: so many of `axes` count, the outermost first, in place of length, taps, origin and sample strides */
    int batch_rank; /* 1 to 4: so many of `batch_axes` count, the outermost first, in place of batch, filters and row strides */
    tapline_axis axes[3];             /* the filtered axes */
    tapline_batch_axis batch_axes[4]; /* the batch axes */
} tapline_problem;

/* How a plan is made. Set by tapline_plan_options_init(). */
typedef struct tapline_plan_options {
    size_t struct_size;    /* sizeof(tapline_plan_options) */
    const char* device;    /* "cpu"; "cuda" or "cuda:N": device pointers; "auto" or NULL: the fastest with host buffers;
                              "cuda:0,1" or "cuda:all": as many of these as host buffers need */
    const char* algorithm; /* a name, or NULL: the library chooses */
    int accuracy;          /* TAPLINE_STANDARD */
    int effort;            /* TAPLINE_ESTIMATE */
    int threads;           /* CPU threads; 0: all that the process may run on */
    int reserved;          /* 0 */
} tapline_plan_options;

/* What streams have besides. Set by tapline_stream_options_init(). */
typedef struct tapline_stream_options {
    size_t struct_size;      /* sizeof(tapline_stream_options) */
    const void* tail;        /* for TAPLINE_BOUNDARY_WRAP: the signal's last samples, frame by frame; else NULL */
    int64_t tail_frames;     /* at least the origin, or the whole signal */
    int64_t samples_per_run; /* outputs computed together, over all rows; 0: a few MiB */
} tapline_stream_options;

typedef struct tapline_plan tapline_plan;                 /* a problem with its algorithm chosen and its taps prepared */
typedef struct tapline_stream tapline_stream;             /* a signal that arrives in chunks */
typedef struct tapline_devices_plan tapline_devices_plan; /* a plan whose samples lie in parts on several GPUs */

/* "MAJOR.MINOR.PATCH" of the library that is running. */
TAPLINE_API const char* tapline_version(void);

/* The message of this thread's last failure; "" before the first. Valid until the thread's next failure. */
TAPLINE_API const char* tapline_last_error(void);

/* The defaults. `problem`, `options`: not NULL. */
TAPLINE_API tapline_status tapline_problem_init(tapline_problem* problem);
/* The defaults for one image with interleaved channels and one mask for all of them: mode same, two filtered axes (y, x) and the
 * channels as batch axis, the input packed. `taps` are mask_height * mask_width elements, row by row. */
TAPLINE_API tapline_status tapline_problem_init_image(tapline_problem* problem, int64_t height, int64_t width, int64_t channels,
                                                      int64_t mask_height, int64_t mask_width);
/* The defaults: device auto, accuracy standard. `options`: not NULL. */
TAPLINE_API tapline_status tapline_plan_options_init(tapline_plan_options* options);
/* The defaults: no tail. `options`: not NULL. */
TAPLINE_API tapline_status tapline_stream_options_init(tapline_stream_options* options);

/* The outputs along the only filtered axis, or the last of several, and the elements that a buffer must hold from its lowest
 * address to its highest. Fail if the problem is not valid. */
TAPLINE_API tapline_status tapline_output_length(int64_t* length, const tapline_problem* problem);
/* Outputs along each filtered axis, the outermost first; *rank: how many. */
TAPLINE_API tapline_status tapline_output_shape(int64_t shape[3], int* rank, const tapline_problem* problem);
/* Elements from the lowest address of the input to the highest; fails if the problem is not valid. */
TAPLINE_API tapline_status tapline_input_extent(int64_t* elements, const tapline_problem* problem);
/* The same of the output. */
TAPLINE_API tapline_status tapline_output_extent(int64_t* elements, const tapline_problem* problem);
/* The same of the taps. */
TAPLINE_API tapline_status tapline_taps_extent(int64_t* elements, const tapline_problem* problem);

/* The element types of the output and of the taps (the signal's real type, complex for complex_taps; f32 for f16 and
 * bf16; i64 for integer signals, u64 for u64). */
TAPLINE_API tapline_status tapline_output_dtype(int* dtype, const tapline_problem* problem);
/* The element type of the taps that the problem asks for. */
TAPLINE_API tapline_status tapline_taps_dtype(int* dtype, const tapline_problem* problem);

/* ---- Plans: a problem with its algorithm chosen and its taps prepared ---- */

/* `taps`: tapline_taps_extent() elements of tapline_taps_dtype() in host memory. `options` may be NULL: the defaults. */
TAPLINE_API tapline_status tapline_plan_create(tapline_plan** plan, const tapline_problem* problem, const void* taps,
                                               const tapline_plan_options* options);
/* A plan for taps in GPU memory, which each execution brings (tapline_plan_execute_with_taps); options->device names a GPU. */
TAPLINE_API tapline_status tapline_plan_create_without_taps(tapline_plan** plan, const tapline_problem* problem,
                                                            const tapline_plan_options* options);
/* Frees the plan; NULL is allowed. */
TAPLINE_API void tapline_plan_destroy(tapline_plan* plan);

/* out: tapline_output_extent() elements, in: tapline_input_extent() elements, in memory of the plan's device (the
 * host's for a plan made for "auto"); they must not overlap.
 * workspace: at least tapline_plan_workspace_bytes() bytes at a multiple of 64, for the length of the call (NULL if 0 bytes).
 * stream: a cudaStream_t for a CUDA plan, ignored on the CPU. Allocates nothing. After an integer overflow (TAPLINE_ARGUMENT)
 * the contents of out are undefined. */
TAPLINE_API tapline_status tapline_plan_execute(const tapline_plan* plan, void* out, const void* in, void* workspace,
                                                size_t workspace_bytes, void* stream);
/* Of a plan made without taps: `taps` are elements of tapline_taps_dtype() in memory of the plan's GPU, laid out as
 * tapline_plan_create() takes them, read when the stream comes to it. */
TAPLINE_API tapline_status tapline_plan_execute_with_taps(const tapline_plan* plan, void* out, const void* in, const void* taps,
                                                          void* workspace, size_t workspace_bytes, void* stream);
/* The same with a workspace of its own. */
TAPLINE_API tapline_status tapline_plan_execute_simple(const tapline_plan* plan, void* out, const void* in);
/* Host memory in and out, for a plan on any device: a CUDA plan lets chunks flow through pinned buffers, so that the signal may be
 * larger than the GPU's memory. May allocate; returns when out is complete. On the CPU the same as tapline_plan_execute_simple. */
TAPLINE_API tapline_status tapline_plan_execute_host(const tapline_plan* plan, void* out, const void* in);

TAPLINE_API size_t tapline_plan_workspace_bytes(const tapline_plan* plan);   /* 0 for NULL */
TAPLINE_API int64_t tapline_plan_output_length(const tapline_plan* plan);    /* -1 for NULL */
TAPLINE_API double tapline_plan_predicted_seconds(const tapline_plan* plan); /* -1 for NULL */
/* Texts that live as long as the plan; NULL for NULL. explain: the problem, the algorithm, why it was chosen, the predicted
 * time and its share of the copy's speed. */
TAPLINE_API const char* tapline_plan_explain(const tapline_plan* plan);
/* The name of the algorithm that was chosen; lives as long as the plan; NULL for NULL. */
TAPLINE_API const char* tapline_plan_algorithm(const tapline_plan* plan);
/* "cpu", "cuda:N" or "cuda:0,1"; lives as long as the plan; NULL for NULL. */
TAPLINE_API const char* tapline_plan_device(const tapline_plan* plan);

/* ---- Several GPUs of one process: parts of a signal or image in their memories, with the bits of one with everything ---- */

/* options->device: "cuda:0,1" or "cuda:all", in the order of the parts. cuts: where parts begin along the outermost filtered axis,
 * ascending, `cut_count` of them, one less than devices; none: as evenly as whole blocks of the algorithm allow. The problem is
 * packed. Allocates all that executions need on every device. */
TAPLINE_API tapline_status tapline_devices_plan_create(tapline_devices_plan** plan, const tapline_problem* problem,
                                                       const void* taps, const tapline_plan_options* options, const int64_t* cuts,
                                                       size_t cut_count);
/* Frees the plan, whose executions are done; NULL is allowed. */
TAPLINE_API void tapline_devices_plan_destroy(tapline_devices_plan* plan);

TAPLINE_API size_t tapline_devices_plan_parts(const tapline_devices_plan* plan); /* 0 for NULL */
/* Part number `index`: the N of its "cuda:N", and the positions [first, last) along the cut axis of the samples that its input
 * holds and of the outputs that its output holds, which may be none. Each of the three may be NULL. */
TAPLINE_API tapline_status tapline_devices_plan_part(const tapline_devices_plan* plan, size_t index, int* device,
                                                     int64_t samples[2], int64_t outputs[2]);
/* in[i], out[i]: samples and outputs of part i in the memory of its device, packed as those of the problem but as long along the
 * cut axis as the part; out[i] may be NULL where it makes none. streams: a cudaStream_t for each part, or NULL: the default
 * streams. Outputs are there, and inputs may be changed, when each stream comes to it. Allocates nothing and does not wait;
 * executions of one plan follow each other. After a failure nothing runs any more, and outputs are incomplete. */
TAPLINE_API tapline_status tapline_devices_plan_execute(const tapline_devices_plan* plan, void* const* out, const void* const* in,
                                                        void* const* streams);
/* As tapline_plan_explain(), and what goes from device to device by which way. */
TAPLINE_API const char* tapline_devices_plan_explain(const tapline_devices_plan* plan);

/* ---- Streams: a signal that arrives in chunks, with the bits of the whole at once ---- */

/* A frame is one sample of each of the problem's rows (batch), side by side: interleaved audio. The problem's strides are
 * ignored; its length may be TAPLINE_UNKNOWN_LENGTH. Both options may be NULL. */
TAPLINE_API tapline_status tapline_stream_create(tapline_stream** stream, const tapline_problem* problem, const void* taps,
                                                 const tapline_plan_options* plan_options, const tapline_stream_options* options);
/* Frees the stream; NULL is allowed. */
TAPLINE_API void tapline_stream_destroy(tapline_stream* stream);

/* in: frames * batch elements of the problem's dtype. Fails after a flush, or past a known length. */
TAPLINE_API tapline_status tapline_stream_push(tapline_stream* stream, const void* in, int64_t frames);
/* No more input: computes what is left. */
TAPLINE_API tapline_status tapline_stream_flush(tapline_stream* stream);
/* Frames of output that are ready; -1 for NULL. */
TAPLINE_API int64_t tapline_stream_available(const tapline_stream* stream);
/* Moves up to max_frames frames to out (max_frames * batch elements of the output's dtype); *taken: how many. */
TAPLINE_API tapline_status tapline_stream_take(tapline_stream* stream, void* out, int64_t max_frames, int64_t* taken);

/* Everything that the future outputs depend on, for a stream made from the same problem, taps and options on the same machine
 * model. *bytes: the size needed. buffer NULL: only that; a capacity below it is TAPLINE_ARGUMENT and writes nothing. */
TAPLINE_API tapline_status tapline_stream_save(const tapline_stream* stream, void* buffer, size_t capacity, size_t* bytes);
/* Restores what tapline_stream_save() gave; TAPLINE_ARGUMENT for a state of another stream or machine model. */
TAPLINE_API tapline_status tapline_stream_restore(tapline_stream* stream, const void* state, size_t bytes);

TAPLINE_API int64_t tapline_stream_frames_in(const tapline_stream* stream);      /* -1 for NULL */
TAPLINE_API int64_t tapline_stream_frames_out(const tapline_stream* stream);     /* -1 for NULL */
TAPLINE_API int64_t tapline_stream_latency_frames(const tapline_stream* stream); /* frames an output may lag; -1 for NULL */

/* ---- One call ---- */

/* out = the convolution of signal (n elements) with taps (k elements), zero boundary, on the best device; out_capacity: the
 * elements that out can hold, at least the mode's output length, which is what is written. */
TAPLINE_API tapline_status tapline_convolve_f32(float* out, int64_t out_capacity, const float* signal, int64_t n, const float* taps,
                                                int64_t k, int mode);
/* The same for double. */
TAPLINE_API tapline_status tapline_convolve_f64(double* out, int64_t out_capacity, const double* signal, int64_t n,
                                                const double* taps, int64_t k, int mode);

#ifdef __cplusplus
}
#endif

#endif /* TAPLINE_TAPLINE_H */
