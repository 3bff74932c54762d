"""Calls of tapline.ndimage and tapline.image with small arrays in host memory that are made again: the engine's executions of the
first call, which resolved its arguments, are run on the arrays of the later ones.

What a function does is written down as it does it: `convolve`, `executed`, `is_within`, `put` and `add` are its steps. A step on
memory that no step knows, and `fail`, end that. What was written down is tried before it is kept: it has to give the same bits.
"""

import threading
import typing

import numpy as np

from tapline import _core
from tapline._remembered import NotKept, frozen_arguments, remember

# Of longer arrays nobody notices what a call costs.
_MAX_BYTES = 1 << 20
_MAX_CALLS = 64

# By all that decides them; the oldest go first, and clear_plan_cache() forgets them.
_calls: dict[tuple, typing.Any] = _core.host_calls

_IMAGE, _OUTPUT = 0, 1


class _Gone(Exception):
    """A plan that the cache of plans has forgotten."""


class _Otherwise(Exception):
    """Values of the image that the steps are not made for."""


class _Recorder(threading.local):
    """The call that is written down in this thread, if there is one."""

    call: typing.Any = None


_recorder = _Recorder()


class _Call:
    """The steps of a call on arrays by their numbers: the image, the output, and what is made between."""

    def __init__(self, image, output):
        self.steps: list[typing.Callable] = []
        self.numbers = {_address(image): _IMAGE}
        self.made = [image, output]  # kept, so that no address is another array's
        if output is not None:
            self.numbers[_address(output)] = _OUTPUT

    def number_of(self, x):
        """Of an array that is whole, or is another shape of one that is."""
        number = self.numbers[_address(x)]
        known = self.made[number]
        same = x.shape == known.shape and x.strides == known.strides
        if not same and not (x.size == known.size and x.flags.c_contiguous and known.flags.c_contiguous):
            raise KeyError
        return number

    def number_of_new(self, y):
        number = self.numbers.get(_address(y))
        if number is None:
            number = self.numbers[_address(y)] = len(self.made)
            self.made.append(y)
        else:
            self.number_of(y)
        return number


def _address(x):
    return x.__array_interface__["data"][0]


class _Program:
    """What is run again."""

    def __init__(self, steps, arrays, shape, dtype):
        self.steps, self.shape, self.dtype = steps, shape, dtype
        self.between = (None,) * (arrays - 2)

    def run(self, image, output):
        arrays = [image, output, *self.between]
        for step in self.steps:
            step(arrays)
        return output


def _note(make):
    """Adds a step, if a call is written down; `make` finds the arrays of it."""
    call = _recorder.call
    if call is None:
        return
    try:
        call.steps.append(make(call))
    except (KeyError, AttributeError, TypeError):  # memory that no step knows, or no NumPy array
        _recorder.call = None


def fail():
    """What follows is not written down."""
    _recorder.call = None


def convolve(x, taps, mode, *, out=None, **options):
    """tapline.convolve as a step."""
    if out is not None:
        options["out"] = out
    y = _core.convolve(x, taps, mode, **options)
    if _recorder.call is None:
        return y

    def make(call):
        source, shape, target = call.number_of(x), x.shape, call.number_of_new(y)
        more = {name: value for name, value in options.items() if name != "out"}
        kept = taps.copy() if isinstance(taps, np.ndarray) else taps
        if target == _OUTPUT:

            def step(arrays):
                _core.convolve(arrays[source].reshape(shape), kept, mode, out=arrays[_OUTPUT], **more)

        else:

            def step(arrays):
                arrays[target] = _core.convolve(arrays[source].reshape(shape), kept, mode, **more)

        return step

    _note(make)
    return y


def executed(plan, y, x):
    """plan.execute(y, x) as a step, which has been."""
    if _recorder.call is None:
        return

    def make(call):
        source, target, shape, dtype = call.numbers[_address(x)], call.number_of_new(y), y.shape, y.dtype
        if not plan.is_kept or (target != _OUTPUT and not y.flags.c_contiguous):
            raise KeyError
        execute = plan.execute_again

        def step(arrays):
            if target != _OUTPUT:
                arrays[target] = np.empty(shape, dtype)
            if not execute(arrays[target], arrays[source]):
                raise _Gone

        return step

    _note(make)


def is_within(x, limit):
    """Whether all integers of x are at most `limit` from 0; what follows in a call that is written down is for those that are."""
    if not _core.is_within(x, limit):
        fail()
        return False
    if _recorder.call is None:
        return True

    def make(call):
        source = call.number_of(x)

        def step(arrays):
            if not _core.is_within(arrays[source], limit):
                raise _Otherwise

        return step

    _note(make)
    return True


def put(output, sums):
    """output[...] = sums as a step."""
    output[...] = sums
    if _recorder.call is None:
        return

    def make(call):
        source, target, shape, dtype = call.number_of(sums), call.number_of_new(output), sums.shape, output.dtype

        def step(arrays):
            if arrays[target] is None:
                arrays[target] = np.empty(shape, dtype)
            arrays[target][...] = arrays[source].reshape(shape)

        return step

    _note(make)


def add(output, term):
    """output += term as a step."""
    output += term
    if _recorder.call is not None:

        def make(call):
            target, source, shape = call.number_of(output), call.number_of(term), term.shape

            def step(arrays):
                arrays[target] += arrays[source].reshape(shape)

            return step

        _note(make)
    return output


def _kind(x):
    return x.shape, x.strides, x.dtype


def run(function, name, at, image, args, kwargs):
    """function(image, *args, **kwargs), which has its output at args[at] or in kwargs; `image` is NumPy's."""
    if _recorder.call is not None:  # one function that calls another
        return function(image, *args, **kwargs)
    output = kwargs.get("output", args[at] if len(args) > at else None)
    has_output = type(output) is np.ndarray
    if (output is not None and not has_output) or image.nbytes > _MAX_BYTES or not image.flags.aligned:
        return function(image, *args, **kwargs)
    if has_output and (not output.flags.behaved or np.may_share_memory(image, output)):
        return function(image, *args, **kwargs)
    try:
        key = (
            name,
            _kind(image),
            has_output and _kind(output),
            frozen_arguments(args, at, kwargs),
        )
        program = _calls.get(key)
    except (NotKept, TypeError):
        return function(image, *args, **kwargs)
    if program is not None:
        try:
            return program.run(image, output if has_output else np.empty(program.shape, program.dtype))
        except _Otherwise:
            return function(image, *args, **kwargs)
        except _Gone:  # all is written anew
            _calls.pop(key, None)
    return _written_down(key, function, at, image, output, args, kwargs)


def _written_down(key, function, at, image, output, args, kwargs):
    if output is None and image.dtype.kind in "biufc" and "output" not in kwargs and len(args) <= at:
        # As all of these functions make it, so that their steps know it.
        output = np.empty(image.shape, image.dtype.newbyteorder("="))
        kwargs = {**kwargs, "output": output}
    call = _recorder.call = _Call(image, output)
    try:
        result = function(image, *args, **kwargs)
        kept = _recorder.call is call and bool(call.steps) and result is output
    finally:
        _recorder.call = None
    if not kept:
        return result
    program = _Program(call.steps, len(call.made), result.shape, result.dtype)
    again = np.empty_like(result)
    if again.strides != result.strides:  # where plans would not write to it
        return result
    try:
        program.run(image, again)
    except _Gone:  # its first plan made room for a later one
        return result
    if again.tobytes() == result.tobytes():
        keep(key, program)
    return result


def keep(key, what):
    """Remembers it, as the latest."""
    remember(_calls, key, what, _MAX_CALLS)


def get(key):
    """What keep() was told, or None."""
    return _calls.get(key)
