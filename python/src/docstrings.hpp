// What help() prints. The examples run as tests (tests/python/test_doctests.py).
#pragma once

#include <string>

namespace tapline::python {

// A first line that inspect.signature() reads.
inline const std::string kConvolveSignature =
    "(signal, taps, mode='full', *, axis=-1, boundary='zero', constant=0, origin=None, accuracy='standard', "
    "device='auto', out=None, dtype=None, scale=1.0, bias=0.0, clamp=None, overflow='error', threads=0)\n--\n\n";

inline const std::string kConvolveParameters = R"(
Parameters
----------
signal : array_like
    Samples along `axis`; the other axes are independent rows. Read in place wherever its
    type needs no conversion and its samples along `axis` lie a positive stride apart.
taps : array_like
    The filter: one axis, or as many axes as `signal`; then the other axes broadcast
    against the signal's and each row has a filter of its own.
mode : {'full', 'same', 'valid', 'causal', 'leading'}
    Which outputs: all n+k-1; n centred ones; the n-k+1 whose window lies inside the
    signal; n that read no later sample; n that read no earlier sample.
axis : int
    The axis of `signal` that is filtered.
boundary : {'zero', 'constant', 'nearest', 'reflect', 'mirror', 'wrap'}
    What lies beyond the ends, in scipy.ndimage's words.
constant : number
    The value beyond the ends for ``boundary='constant'``.
origin : int, optional
    Which tap (after any reversal) sits on the output's own position; each mode has a default.
accuracy : {'standard', 'strict', 'fast'}
    'strict' bounds each element's error by its own terms.
device : str
    'auto', 'cpu', 'cuda', 'cuda:N', several as 'cuda:0,1', or 'cuda:all', for arrays in host memory. CuPy arrays, PyTorch tensors and
    JAX arrays on a GPU stay where they are, and the result is of their kind (docs/python.md).
out : numpy.ndarray, optional
    Written and returned (for a signal on a GPU, an array there); any real type for real input (rounded to even and saturated
    for integers). It must not overlap `signal`.
dtype : data-type, optional
    The output's type: by default NumPy's promotion for floating types, int64 for integers.
scale, bias : float
    The result is ``scale * sum + bias``, in the same pass.
clamp : (float, float), optional
    Limits of the result; NaN passes.
overflow : {'error', 'wrap', 'truncate'}
    Whether an integer result that does not fit raises ValueError or keeps its low bits. 'truncate' is for an integer result of
    floating taps: it loses its fraction and keeps its low bits, as a cast in C does, where it would be rounded and saturated.
threads : int
    CPU threads; 0: all that this process may run on.

Returns
-------
numpy.ndarray, or the signal's kind of array if it is on a GPU

Raises
------
ValueError, TypeError, NotImplementedError
    The message names the argument, its value and the remedy.
)";

inline const std::string kConvolveDoc = "convolve" + kConvolveSignature +
                                        "Convolve signals with a filter along one axis; by default numpy.convolve.\n" +
                                        kConvolveParameters + R"(
Examples
--------
>>> import numpy as np, tapline
>>> tapline.convolve([1.0, 2.0, 3.0], [0.0, 1.0, 0.5])
array([0. , 1. , 2.5, 4. , 1.5])
>>> tapline.convolve(np.arange(6, dtype=np.float32), [0.25, 0.5, 0.25], "same", boundary="nearest")
array([0.25, 1.  , 2.  , 3.  , 4.  , 4.75])

Rows of a matrix, each with a filter of its own, and a running mean down its columns:

>>> x = np.arange(8.0).reshape(2, 4)
>>> tapline.convolve(x, [[1.0, -1.0], [1.0, 1.0]], "valid")
array([[ 1.,  1.,  1.],
       [ 9., 11., 13.]])
>>> tapline.convolve(x, [0.5, 0.5], "valid", axis=0)
array([[2., 3., 4., 5.]])

Scaled, limited and rounded to bytes in the same pass:

>>> out = np.empty(3, np.uint8)
>>> tapline.convolve([100.0, 200.0, 300.0], [1.0], out=out, clamp=(0, 255))
array([100, 200, 255], dtype=uint8)
)";

inline const std::string kCorrelateDoc =
    "correlate" + kConvolveSignature +
    "Slide a filter over signals along one axis without reversing it; complex taps are conjugated.\n\n"
    "``sum_t conj(taps[t]) * x(o + t - origin)``; numpy.correlate's default mode is 'valid', this one's is 'full'.\n" +
    kConvolveParameters + R"(
Examples
--------
>>> import tapline
>>> tapline.correlate([1.0, 2.0, 3.0, 4.0], [1.0, -1.0], "valid")
array([-1., -1., -1.])
>>> tapline.correlate([1, 2, 3], [1j], "same")
array([0.-1.j, 0.-2.j, 0.-3.j])
)";

inline constexpr const char* kPlanDoc = R"(A filter prepared for signals of one shape and type.

Parameters are those of `convolve`, but for these.

Parameters
----------
shape : int or tuple of int
    The signal's shape.
dtype : data-type, optional
    The signal's type; by default that of the taps, float64 beside integer taps.
operation : {'convolution', 'correlation'}
    Correlation does not reverse the taps and conjugates complex ones.
effort : {'estimate', 'measure'}
    'measure' times the candidates on this machine before it chooses.
algorithm : str, optional
    One of those that ``tapline.info()`` lists for the device.

Notes
-----
``plan(signal, out=None)`` is the output for one signal, of the plan's shape and type (or one that converts to it without loss), in `out` if
given, which must not overlap `signal`.

Examples
--------
>>> import numpy as np, tapline
>>> plan = tapline.Plan(1000, np.ones(9) / 9, "same")
>>> out = np.empty(1000)
>>> plan(np.ones(1000), out) is out
True
>>> float(out[500].round(12))
1.0
>>> plan
<tapline.Plan: same convolution of 1000 f64 samples with 9 taps, origin 4, zero boundary, 1000 outputs; direct on cpu>
>>> plan.algorithm, plan.device, plan.shape, plan.output_shape, plan.dtype, plan.output_dtype
('direct', 'cpu', (1000,), (1000,), dtype('float64'), dtype('float64'))
>>> plan.taps.size, plan.workspace_bytes >= 0, plan.threads >= 1, plan.predicted_seconds > 0
(9, True, True, True)
>>> print(plan.explain())  # doctest: +ELLIPSIS
problem:   same convolution of 1000 f64 samples with 9 taps, origin 4, zero boundary, 1000 outputs
algorithm: direct on cpu, ...
)";

inline constexpr const char* kPlanExplainDoc = R"(What was chosen, why, and how fast it should be.

Examples
--------
>>> import tapline
>>> print(tapline.Plan(100, [1.0, 2.0, 1.0], "valid").explain().splitlines()[0])
problem:   valid convolution of 100 f64 samples with 3 taps, origin 0, zero boundary, 98 outputs
)";

inline constexpr const char* kPlanPlotDoc = R"(Draw the filter: its taps and its magnitude response, with matplotlib.

Parameters and result are those of `tapline.plot_taps`.

Examples
--------
>>> import numpy as np, tapline
>>> figure = tapline.Plan(1000, np.ones(9) / 9).plot(rate=48_000)  # doctest: +SKIP
)";

inline constexpr const char* kClearPlanCacheDoc = R"(Forget the plans of recent calls.

Examples
--------
>>> import tapline
>>> tapline.clear_plan_cache()
>>> tapline.info()["plan_cache"]["plans"]
0
)";

inline constexpr const char* kSetPlanCacheLimitDoc =
    R"(Set how much memory the plans of recent calls may hold on the host, and as much again on GPUs.

Parameters
----------
bytes : int
    0 keeps none. What is too much is forgotten at once: first what took the fewest seconds to prepare for each byte it holds and was
    not asked for lately. At first 1 GiB, or what the environment variable TAPLINE_PLAN_CACHE_BYTES says.

Examples
--------
>>> import tapline
>>> tapline.set_plan_cache_limit(64 << 20)
>>> tapline.info()["plan_cache"]["limit_bytes"]
67108864
>>> tapline.set_plan_cache_limit(1 << 30)
)";

}  // namespace tapline::python
