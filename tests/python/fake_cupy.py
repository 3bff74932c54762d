"""A module `cupy` whose arrays lie in the memory of the emulated GPU (tests/support/emulated_cuda), for machines without one.

Its arrays are NumPy's, so that everything NumPy can do with them works; what a GPU library would refuse, using one as an array of
the host, is an error here too.
"""

import ctypes
import sys
import types

import numpy as np

DEVICES = 2


def install(engine):
    """Puts the module into sys.modules; `engine` is the emulated engine's file."""
    library = ctypes.CDLL(engine)
    library.tapline_emulated_cuda_allocate.restype = ctypes.c_void_p
    library.tapline_emulated_cuda_allocate.argtypes = (ctypes.c_int32, ctypes.c_int64)
    library.tapline_emulated_cuda_free.argtypes = (ctypes.c_int32, ctypes.c_void_p)
    module = types.ModuleType("cupy")
    current = [0]

    class Memory:
        def __init__(self, size, device):
            self.ptr = library.tapline_emulated_cuda_allocate(device, max(size, 1))
            if self.ptr is None:
                raise MemoryError
            self.device = device
            self.__array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (self.ptr, False), "version": 3}

        def __del__(self):
            library.tapline_emulated_cuda_free(self.device, self.ptr)

    class Device:
        def __init__(self, id):
            self.id = id

        def __enter__(self):
            self.before, current[0] = current[0], self.id

        def __exit__(self, *_):
            current[0] = self.before

    class ndarray(np.ndarray):
        def __new__(cls, shape, dtype=np.float64):
            return empty(shape, dtype)

        def __array_finalize__(self, other):
            self._device = getattr(other, "_device", 0)

        @property
        def device(self):
            return Device(self._device)

        @property
        def data(self):
            return types.SimpleNamespace(ptr=self.ctypes.data, device_id=self._device)

        @property
        def __cuda_array_interface__(self):
            return {
                "shape": self.shape,
                "typestr": self.dtype.str,
                "data": (self.ctypes.data, False),
                "strides": self.strides,
                "version": 3,
                "stream": 1,
            }

        def __dlpack_device__(self):
            return 2, self._device

        def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
            if any(type(i) is np.ndarray and i.ndim > 0 for i in inputs):
                raise TypeError("Unsupported type <class 'numpy.ndarray'>")
            plain = [i.view(np.ndarray) if isinstance(i, ndarray) else i for i in inputs]
            if out is not None:
                getattr(ufunc, method)(*plain, out=tuple(o.view(np.ndarray) for o in out), **kwargs)
                return out[0]
            return asarray(getattr(ufunc, method)(*plain, **kwargs))

        def astype(self, dtype, copy=True):
            return asarray(self.view(np.ndarray).astype(dtype))

        def conj(self):
            return asarray(self.view(np.ndarray).conj())

        def get(self, out=None, blocking=True):
            assert blocking or out is not None
            if out is not None:
                out[...] = self.view(np.ndarray)
                return out
            return np.array(self.view(np.ndarray))

    ndarray.__module__ = "cupy"

    def empty(shape, dtype=np.float64):
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = np.asarray(Memory(size, current[0]))
        array = memory.view(dtype).reshape(shape) if size > 0 else np.empty(shape, dtype)
        array = array.view(ndarray)
        array._device = current[0]
        return array

    def asarray(x):
        if isinstance(x, ndarray):
            return x
        x = np.asarray(x)
        if not x.dtype.isnative:
            raise ValueError(f"Unsupported dtype {x.dtype}")
        y = empty(x.shape, x.dtype)
        y.view(np.ndarray)[...] = x
        return y

    def through_numpy(name):
        def function(x, *args):
            return asarray(getattr(np, name)(x.view(np.ndarray), *(np.asarray(a) if isinstance(a, ndarray) else a for a in args)))

        return function

    module.ndarray, module.empty, module.asarray = ndarray, empty, asarray
    module.asnumpy = lambda x: x.get()
    module.ascontiguousarray = through_numpy("ascontiguousarray")
    module.take = through_numpy("take")

    def flip(x, axes):
        if not isinstance(axes, (int, tuple)):
            raise TypeError("'list' object cannot be interpreted as an integer")  # CuPy's, where NumPy takes lists, too
        turned = {axis % x.ndim for axis in (axes if isinstance(axes, tuple) else (axes,))}
        return x[tuple(slice(None, None, -1) if axis in turned else slice(None) for axis in range(x.ndim))]  # a view, as CuPy's

    module.flip = flip
    module.moveaxis = np.moveaxis
    module.cuda = types.SimpleNamespace(
        Device=Device,
        get_current_stream=lambda device: types.SimpleNamespace(ptr=0),
        runtime=types.SimpleNamespace(getDevice=lambda: current[0]),
        alloc_pinned_memory=bytearray,
        Event=lambda disable_timing: types.SimpleNamespace(record=lambda: None, synchronize=lambda: None),
    )
    sys.modules["cupy"] = module
    return module
