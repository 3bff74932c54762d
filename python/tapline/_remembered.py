"""By what calls are remembered: what stands for their arguments, and dictionaries that forget their oldest entries."""

import math

import numpy as np


class NotKept(Exception):
    """An argument that nothing stands for."""


def frozen(value, most=1 << 14):
    """What stands for an argument's value: equal only where that is the same, of the same type. `most`: bytes of an array."""
    kind = type(value)
    if value is None or kind in (str, int, bool):
        return kind, value
    if kind is float:
        return kind, value, math.copysign(1.0, value)
    if kind is complex:
        return kind, repr(value)
    if kind is tuple or kind is list:
        return kind, *(frozen(each, most) for each in value)
    if kind is np.ndarray and value.nbytes <= most and value.dtype.kind in "biufc":
        return value.shape, value.dtype, value.tobytes()
    raise NotKept


def frozen_arguments(args, at, kwargs, most=1 << 14):
    """The same of a function's arguments but its output, which is args[at] or in kwargs."""
    return (
        tuple(frozen(value, most) for i, value in enumerate(args) if i != at),
        tuple((name, frozen(value, most)) for name, value in kwargs.items() if name != "output") if kwargs else (),
    )


def remember(all_of_them, key, what, most):
    """Keeps it as the latest of so many."""
    if key not in all_of_them:
        while len(all_of_them) >= most:
            all_of_them.pop(next(iter(all_of_them)), None)
    all_of_them[key] = what
