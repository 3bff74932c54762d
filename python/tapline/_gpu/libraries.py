"""The libraries whose arrays may lie in GPU memory: where an array lies, and what is needed to make others beside it.

A library is found by the module of the array's type, so none is imported that the caller does not use.
"""

import collections
import functools
import sys
import threading
import typing

import numpy as np


class Place(typing.NamedTuple):
    """Where an array lies, and how."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes
    dtype: str  # NumPy's name for it
    device: int
    address: int


def itemsize_of(dtype):
    """Bytes of an element; NumPy need not know bfloat16."""
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize


def c_strides(shape, itemsize):
    strides = []
    for count in reversed(shape):
        strides.append(itemsize)
        itemsize *= max(count, 1)
    return tuple(reversed(strides))


def ends_of(place):
    """Bytes from an array's first element to its lowest byte and behind its highest."""
    if 0 in place.shape:
        return 0, 0
    reach = [(n - 1) * stride for n, stride in zip(place.shape, place.strides, strict=True)]
    return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + itemsize_of(place.dtype)


def meet(x, ends_of_x, y, ends_of_y):
    """Whether the stretches of memory from an array's first to its last byte meet, as numpy.may_share_memory looks at it."""
    if x.device != y.device or ends_of_x[0] == ends_of_x[1] or ends_of_y[0] == ends_of_y[1]:
        return False
    return x.address + ends_of_x[0] < y.address + ends_of_y[1] and y.address + ends_of_y[0] < x.address + ends_of_x[1]


@functools.lru_cache(maxsize=64)
def name_of(dtype):
    return dtype.name  # a Python function of NumPy's, which takes microseconds


class _Writable:
    """Of arrays that can be changed."""

    def place(self, x):
        raise NotImplementedError

    def put(self, x, index, value):
        view = x[index]
        if type(value) is not type(x) or self.place(view).address != self.place(value).address:  # else it was changed in place
            view[...] = value
        return x

    def add(self, x, y):
        x += y
        return x

    def may_share_memory(self, x, y):
        x, y = self.place(x), self.place(y)
        return meet(x, ends_of(x), y, ends_of(y))


class _Cupy(_Writable):
    name = "CuPy"
    makes_arrays = True
    promotes_like_numpy = True

    def __init__(self, module):
        self.cupy = module

    def place(self, x):
        data = x.data
        return Place(x.shape, x.strides, name_of(x.dtype), data.device_id, data.ptr)

    def stream(self, device):
        return self.cupy.cuda.get_current_stream(device).ptr

    def empty(self, shape, dtype, device):
        if self.cupy.cuda.runtime.getDevice() == device:
            return self.cupy.ndarray(shape, dtype)  # cupy.empty comes to that later
        with self.cupy.cuda.Device(device):
            return self.cupy.ndarray(shape, dtype)

    def contiguous(self, x):
        with x.device:
            return self.cupy.ascontiguousarray(x)

    def astype(self, x, dtype):
        with x.device:
            return x.astype(dtype)

    def assign(self, to, x):
        to[...] = x

    def to_host(self, x):
        return self.cupy.asnumpy(x)

    def from_host(self, x, device):
        with self.cupy.cuda.Device(device):
            return self.cupy.asarray(x)

    def start_copy(self, x):
        """x on its way to the host: an array, and what to call before it is read."""
        memory = self.cupy.cuda.alloc_pinned_memory(max(x.nbytes, 1))
        host = np.frombuffer(memory, x.dtype, x.size).reshape(x.shape)
        with x.device:
            x.get(out=host, blocking=False)
            event = self.cupy.cuda.Event(disable_timing=True)
            event.record()
        return host, event.synchronize

    def take(self, x, index, axis):
        return self.cupy.take(x, self.cupy.asarray(index), axis)

    def moveaxis(self, x, source, destination):
        return self.cupy.moveaxis(x, source, destination)

    def flip(self, x, axes):
        return self.cupy.flip(x, axes)

    def conj(self, x):
        return x.conj()

    def address(self, x, stream):
        return x.data.ptr, None


class _Torch(_Writable):
    name = "PyTorch"
    makes_arrays = True
    promotes_like_numpy = False

    def __init__(self, module):
        self.torch = module

    def place(self, x):
        if x.requires_grad and self.torch.is_grad_enabled():
            raise ValueError("signal, taps or out: the tensor requires a gradient; use tapline.torch.conv1d, or .detach() it")
        if x.is_conj() or x.is_neg():
            raise ValueError("signal, taps or out: a lazy view; call .resolve_conj().resolve_neg() on it")
        itemsize = x.element_size()
        dtype = str(x.dtype).removeprefix("torch.")
        return Place(tuple(x.shape), tuple(s * itemsize for s in x.stride()), dtype, x.device.index, x.data_ptr())

    def stream(self, device):
        return self.torch.cuda.current_stream(device).cuda_stream

    def empty(self, shape, dtype, device):
        return self.torch.empty(shape, dtype=getattr(self.torch, dtype), device=f"cuda:{device}")

    def contiguous(self, x):
        return x.contiguous()

    def astype(self, x, dtype):
        return x.to(getattr(self.torch, dtype))

    def assign(self, to, x):
        to.copy_(x)

    def _plain(self, x):  # of a type that NumPy has
        x = x.detach().resolve_conj().resolve_neg()
        return x.float() if x.dtype == self.torch.bfloat16 else x

    def to_host(self, x):
        return self._plain(x).cpu().numpy()

    def from_host(self, x, device):
        x = x.copy() if any(step < 0 for step in x.strides) else x  # which one element in reverse has, in C order as it is
        return self.torch.from_numpy(x).to(f"cuda:{device}")

    def start_copy(self, x):
        x = self._plain(x)
        host = self.torch.empty(x.shape, dtype=x.dtype, pin_memory=True)
        host.copy_(x, non_blocking=True)
        event = self.torch.cuda.Event()
        event.record(self.torch.cuda.current_stream(x.device))
        return host.numpy(), event.synchronize

    def take(self, x, index, axis):
        return self.torch.index_select(x, axis, self.torch.as_tensor(index, device=x.device))

    def moveaxis(self, x, source, destination):
        return self.torch.movedim(x, source, destination)

    def flip(self, x, axes):
        return self.torch.flip(x, axes)

    def conj(self, x):
        return x.conj().resolve_conj()

    def address(self, x, stream):
        return x.data_ptr(), None


class _Export:
    """What jax.dlpack.from_dlpack asks: memory of an array, which is written on the stream that JAX names in the question and then
    waits for."""

    def __init__(self, array, write):
        self.array, self.write = array, write

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, stream=None, **_):
        self.write(stream)
        return self.array.__dlpack__(stream=stream)


class _Jax:
    """JAX shows no stream of its own, and names another one each time it takes in an array of others: the engine works on
    that one."""

    name = "JAX"
    makes_arrays = True
    promotes_like_numpy = False

    def __init__(self, module):
        self.jax = module
        self.devices = {}
        self.pending: collections.deque = collections.deque()  # (result, what it reads): kept until the result is ready
        self.one_at_a_time = threading.Lock()  # of `pending`: what another thread sees ready must be what it takes out

    def _device(self, x):
        devices = x.devices()
        if len(devices) != 1:
            raise ValueError(
                f"signal: spread over {len(devices)} devices; gather it on one (jax.device_put) or call once for each shard"
            )
        return next(iter(devices))

    def place(self, x):
        shape = tuple(x.shape)
        device = self._device(x)
        self.devices[device.local_hardware_id] = device
        return Place(
            shape, c_strides(shape, x.dtype.itemsize), name_of(x.dtype), device.local_hardware_id, x.unsafe_buffer_pointer()
        )

    def empty(self, shape, dtype, device):
        return self._of_type(self.jax.numpy.empty(shape, dtype, device=self.devices[device]), dtype)

    def _of_type(self, x, dtype):
        """x, unless JAX made it of a narrower type: it does without 64 bits until told otherwise."""
        if x.dtype.name != (dtype if isinstance(dtype, str) else np.dtype(dtype).name):
            raise TypeError(
                f"signal, taps or result: {dtype} is needed, and JAX has {x.dtype.name} in its place; give signal and taps one "
                "type of 32 bits, or call jax.config.update('jax_enable_x64', True)"
            )
        return x

    def contiguous(self, x):
        return x

    def astype(self, x, dtype):
        return self._of_type(x.astype(dtype), dtype)

    def assign(self, to, x):
        raise ValueError("out: JAX arrays cannot be changed; leave out away")

    def put(self, x, index, value):
        return x.at[index].set(value)

    def add(self, x, y):
        return x + y

    def may_share_memory(self, x, y):
        return True  # what is written is another array in any case

    def to_host(self, x):
        return np.asarray(x.astype("float32") if x.dtype.name == "bfloat16" else x)

    def from_host(self, x, device):
        return self.jax.device_put(x, self.devices[device])

    def take(self, x, index, axis):
        return self.jax.numpy.take(x, index, axis)

    def moveaxis(self, x, source, destination):
        return self.jax.numpy.moveaxis(x, source, destination)

    def flip(self, x, axes):
        return self.jax.numpy.flip(x, axes)

    def conj(self, x):
        return x.conj()

    def address(self, x, stream):
        capsule = x.__dlpack__(stream=stream)  # the stream waits for x; the capsule keeps its memory
        return x.unsafe_buffer_pointer(), capsule

    def written(self, result, write, keep):
        """`result` once write(stream) has been queued; `keep` lives until that is done."""
        result = self.jax.dlpack.from_dlpack(_Export(result, write))
        with self.one_at_a_time:
            while self.pending and self.pending[0][0].is_ready():
                self.pending.popleft()
            self.pending.append((result, keep))
        return result


class _Other:
    """Any library: its arrays are read, and written if the caller gives them as `out`."""

    name = "an unknown library"
    makes_arrays = False
    promotes_like_numpy = False

    def place(self, x):
        interface = x.__cuda_array_interface__
        dtype = np.dtype(interface["typestr"])
        strides = interface.get("strides") or c_strides(interface["shape"], dtype.itemsize)
        device = x.__dlpack_device__()[1] if hasattr(x, "__dlpack_device__") else 0
        if interface.get("mask") is not None:
            raise TypeError("signal: a masked array; tapline has no masks")
        return Place(tuple(interface["shape"]), tuple(strides), dtype.name, device, interface["data"][0])

    def stream_of(self, x):
        return x.__cuda_array_interface__.get("stream") or 0

    def _refuse(self, *_):
        raise TypeError(
            "signal: an array of an unknown library must need no conversion, and its result needs `out`; "
            "or make it an array of CuPy (cupy.asarray), PyTorch or JAX, which costs no copy"
        )

    empty = contiguous = astype = to_host = from_host = put = _refuse
    add = take = moveaxis = flip = conj = assign = may_share_memory = _refuse

    def address(self, x, stream):
        return x.__cuda_array_interface__["data"][0], None


_ROOTS = {"cupy": ("cupy", _Cupy), "torch": ("torch", _Torch), "jax": ("jax", _Jax), "jaxlib": ("jax", _Jax)}
_made: dict[str | None, object] = {}


def library_of(x):
    """The library of an array in GPU memory."""
    return _library_of_type(type(x))  # type: ignore[arg-type]  # mypy takes the hash of a class for that of its objects


@functools.lru_cache(maxsize=64)
def _library_of_type(kind):
    for each in kind.__mro__:
        root = each.__module__.partition(".")[0]
        if root in _ROOTS:
            name, kind = _ROOTS[root]
            if name not in _made:
                _made[name] = kind(sys.modules[name])
            return _made[name]
    return _made.setdefault(None, _Other())
