"""Halos between processes: who sends which samples to whom, for `tapline.mpi` and `tapline.torch`.

Pure arithmetic over the parts of one axis; every process computes the same lists.
"""

from typing import NamedTuple


class Message(NamedTuple):
    """Samples [first, last) of the whole axis go from `sender` to `receiver`, to these places of its window: ((first, last),
    step)."""

    sender: int
    receiver: int
    first: int
    last: int
    place: tuple[int, int]
    step: int


def messages_of(parts):
    """Of all parts, in the order in which each pair of processes sends and receives them. One within a part needs no sending."""
    messages = []
    for receiver, part in enumerate(parts):
        if part.is_empty:
            continue
        for s in part.sources:
            place = (s.position - part.window[0], s.position - part.window[0] + s.length)
            messages.append(Message(s.part, receiver, s.first, s.last, place, s.step))
    return messages


def cuts_of(sizes, axis_name="axis"):
    """Where the parts of so many samples begin, without 0. ValueError for a part of none."""
    if any(n < 1 for n in sizes):
        raise ValueError(f"{axis_name}: parts of {list(sizes)} samples; each process needs at least one")
    cuts, at = [], 0
    for n in sizes[:-1]:
        at += n
        cuts.append(at)
    return cuts
