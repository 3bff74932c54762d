"""Sequence-parallel `tapline.torch.conv1d`: signals whose parts lie in the processes of a group.

Filters that reach over a part of their neighbours get halos from them; longer ones turn parts of signals into whole signals of some
channels and back (all-to-all). Gradients go the same ways back, to any order.
"""

import contextlib
import datetime
import functools
import importlib
import sys
import time
import weakref
import zlib

import torch
import torch.distributed as dist

from tapline import _core, _parts
from tapline._parts import exchange


class _Places:
    """What every process of the group knows: its place, everybody's samples, and the messages of the window of each."""

    def __init__(self, group, lengths, k, origin, timeout):
        self.group, self.lengths, self.timeout = group, lengths, timeout
        self.rank, self.size = dist.get_rank(group), len(lengths)
        self.cuts = exchange.cuts_of(lengths, "x")
        raw = _core.shard(sum(lengths), k, {"mode": "same"}, origin, self.cuts, (1, 0))
        self.parts = _parts.parts_of(raw)
        self.messages = exchange.messages_of(self.parts)
        self.begin = [0, *self.cuts][self.rank]

    @property
    def window(self):
        return self.parts[self.rank].window

    def of_sender(self, m):
        return slice(m.first - self.begin, m.last - self.begin)

    @property
    def halos(self):
        """Samples of the window before and behind this process's own."""
        first, last = self.window
        return self.begin - first, last - self.begin - self.lengths[self.rank]

    def halo_of(self, m):
        """Which of them a message is for, and where in it."""
        before = self.begin - self.window[0]
        if m.place[0] < before:
            return 0, slice(*m.place)
        own = self.lengths[self.rank]
        return 1, slice(m.place[0] - before - own, m.place[1] - before - own)

    def edges(self, origin, k):
        """Outputs at the beginning and at the end that read halos."""
        before, behind = self.halos
        return origin if before > 0 else 0, k - 1 - origin if behind > 0 else 0


_places = functools.lru_cache(maxsize=64)(lambda rank, size, *of: _Places(*of))


def _wait(works, timeout):
    """Until all are done; with a limit of so many seconds RuntimeError says that a process does not answer."""
    if timeout is None:
        for work in works:
            work.wait()
        return
    end = time.monotonic() + timeout
    try:
        for work in works:
            work.wait(datetime.timedelta(seconds=max(end - time.monotonic(), 1e-3)))
    except RuntimeError as error:  # of the backend: a connection that closed, or a limit that passed
        raise RuntimeError(
            f"conv1d: a process of the group has ended or not answered within {timeout:g} s; start the group anew ({error})"
        ) from error


def _collective(function, *args, group, timeout, **kwargs):
    _wait([function(*args, group=group, async_op=True, **kwargs)], timeout)


def _start(places, outgoing, incoming):
    """Sends (rank, tensor) and receives into (rank, tensor), all at once; between two processes in their order. Returns what to
    wait for."""
    peer = (lambda r: r) if places.group is None else (lambda r: dist.get_global_rank(places.group, r))
    operations = [dist.P2POp(dist.isend, t, peer(r), places.group) for r, t in outgoing]
    operations += [dist.P2POp(dist.irecv, t, peer(r), places.group) for r, t in incoming]
    return dist.batch_isend_irecv(operations) if operations else []


def _transfer(places, outgoing, incoming):
    _wait(_start(places, outgoing, incoming), places.timeout)


class _Window(torch.autograd.Function):
    """(..., own samples) to (..., window): what the outputs of this part read."""

    @staticmethod
    def forward(ctx, x, places):
        ctx.places = places
        first, last = places.window
        window = x.new_zeros((*x.shape[:-1], last - first))
        outgoing, incoming = [], []
        for m in places.messages:
            if m.sender == places.rank and m.receiver != places.rank:
                outgoing.append((m.receiver, x[..., places.of_sender(m)].contiguous()))
            elif m.receiver == places.rank and m.sender != places.rank:
                incoming.append((m, x.new_empty((*x.shape[:-1], m.last - m.first))))
            elif m.receiver == places.rank:
                window[..., slice(*m.place)] = x[..., places.of_sender(m)]
        _transfer(places, outgoing, [(m.sender, t) for m, t in incoming])
        for m, t in incoming:
            window[..., slice(*m.place)] = t
        return window

    @staticmethod
    def backward(ctx, grad):
        return _FromWindow.apply(grad, ctx.places), None


class _FromWindow(torch.autograd.Function):
    """The adjoint of _Window: what each window has for a sample goes to its owner and is added, in the order of the processes."""

    @staticmethod
    def forward(ctx, window, places):
        ctx.places = places
        x = window.new_zeros((*window.shape[:-1], places.lengths[places.rank]))
        outgoing, terms = [], []
        for m in places.messages:
            if m.receiver == places.rank and m.sender != places.rank:
                outgoing.append((m.sender, window[..., slice(*m.place)].contiguous()))
            elif m.sender == places.rank and m.receiver != places.rank:
                terms.append((m, window.new_empty((*window.shape[:-1], m.last - m.first))))
            elif m.sender == places.rank:
                terms.append((m, window[..., slice(*m.place)]))
        _transfer(places, outgoing, [(m.receiver, t) for m, t in terms if m.receiver != places.rank])
        for m, t in terms:
            x[..., places.of_sender(m)] += t
        return x

    @staticmethod
    def backward(ctx, grad):
        return _Window.apply(grad, ctx.places), None


@functools.cache
def _side(device):
    """The stream of a GPU for what happens at a part's ends while the part itself is computed."""
    return torch.cuda.Stream(device, priority=-1)


def _begin_beside(x):
    """From here on what runs beside sees what the current stream has done so far."""
    if x.is_cuda:
        _side(x.device).wait_stream(torch.cuda.current_stream(x.device))


def _beside(x):
    return torch.cuda.stream(_side(x.device)) if x.is_cuda else contextlib.nullcontext()


def _join(x):
    if x.is_cuda:
        torch.cuda.current_stream(x.device).wait_stream(_side(x.device))


class _InPlace(torch.autograd.Function):
    """The outputs of this part from its samples where they lie, those at its ends from a few samples and the halos: nothing as
    large as the part is copied. Halos travel and ends are computed meanwhile, on a GPU by a stream of their own: 4 taps, 256
    channels, 2^20 samples on each of four H100s, forward and backward 2.3 ms with the ends behind the part, 2.0 so.
    (batch, channels, own samples); the filter reaches over half the part at most."""

    @staticmethod
    def forward(ctx, x, taps, places, origin, along):
        ctx.places, ctx.origin, ctx.along = places, origin, along
        if _is_long(taps) and taps.element_size() > 2:  # 16-bit outputs are rounded once
            return _forward_long(ctx, x, taps)
        own, k = x.shape[-1], taps.shape[-1]
        left, right = places.edges(origin, k)
        ends = []  # where outputs belong, and those
        _begin_beside(x)
        y = along(x, taps, origin, own) if x.is_cuda else None  # a GPU has work while messages are started
        with _beside(x):
            halos, incoming, works = _start_halos(x, places)
        y = along(x, taps, origin, own) if y is None else y
        with _beside(x):
            _wait(works, places.timeout)
            for side, place, t in incoming:
                halos[side][..., place] = t
            if left > 0:
                near = torch.cat((halos[0], x[..., : left + k - 1 - origin]), -1)
                ends.append((slice(left), along(near, taps, origin - halos[0].shape[-1], left)))
            if right > 0:
                near = torch.cat((x[..., own - right - origin :], halos[1]), -1)
                ends.append((slice(own - right, own), along(near, taps, 0, right)))
        _join(x)
        for place, outputs in ends:
            y[..., place] = outputs
        ctx.save_for_backward(x, taps, *halos)
        return y

    @staticmethod
    def backward(ctx, grad):
        gradients = importlib.import_module("tapline.torch")._gradients_along

        x, taps, *halos = ctx.saved_tensors
        places, origin = ctx.places, ctx.origin
        if torch.is_grad_enabled():
            return *_again(grad, x, taps, taps, ctx), None, None, None
        if _is_long(taps):
            return *_backward_long(grad, x, taps, halos, ctx), None, None, None
        own, k = x.shape[-1], taps.shape[-1]
        left, right = places.edges(origin, k)
        of_halos, of_taps = list(halos), []  # those of a halo that no output reads are not asked for
        _begin_beside(x)
        inner = gradients(grad, x, taps, origin) if x.is_cuda else None
        with _beside(x):
            for side, outputs, first in ((0, left, origin - halos[0].shape[-1]), (1, right, right + origin)):
                if outputs > 0:
                    part = grad[..., :left] if side == 0 else grad[..., own - right :]
                    of_halos[side], one = gradients(part.contiguous(), halos[side], taps, first)
                    of_taps.append(one)
            terms, works = _start_gradients(x, of_halos, places)
        of_x, of_all_taps = gradients(grad, x, taps, origin) if inner is None else inner
        with _beside(x):
            _wait(works, places.timeout)
            of_ends = functools.reduce(torch.add, of_taps) if of_taps else None
        _join(x)
        if of_ends is not None:
            of_all_taps += of_ends
        for m, t in terms:
            of_x[..., places.of_sender(m)] += t
        return of_x, of_all_taps, None, None, None


class _OfNeighbours(torch.autograd.Function):
    """`_InPlace` where ends are few samples: all processes get the ends of all by one call, and on the way back those of gradients
    with what each has for the taps. Four H100s, 4 taps, 256 channels, 2^20 samples on each, forward and backward: a step keeps a
    processor for 1.1 ms, and for 1.8 with messages between neighbours, a stream of their own and a sum over the group. The GPU
    takes 1.9, and waits where the processor takes longer."""

    @staticmethod
    def forward(ctx, x, taps, places, origin, along):
        ctx.places, ctx.origin, ctx.along = places, origin, along
        own, behind = x.shape[-1], taps.shape[-1] - 1 - origin
        ends = torch.cat((x[..., :behind], x[..., own - origin :]), -1)
        everybody = ends.new_empty(places.size * ends.numel())
        work = dist.all_gather_into_tensor(everybody, ends.flatten(), group=places.group, async_op=True)
        y = along(x, taps, origin, own)
        _wait([work], places.timeout)
        everybody = everybody.view(places.size, *ends.shape)
        ctx.save_for_backward(x, taps, everybody)
        for side, halo, place in _halos_of(everybody, places, origin, behind):
            near = (halo, x[..., : origin + behind]) if side == 0 else (x[..., own - behind - origin :], halo)
            y[..., place] = along(torch.cat(near, -1), taps, 0, halo.shape[-1])
        return y

    @staticmethod
    def backward(ctx, grad):
        gradients = importlib.import_module("tapline.torch")._gradients_along

        x, taps, ends = ctx.saved_tensors
        places, origin, own, k = ctx.places, ctx.origin, x.shape[-1], taps.shape[-1]
        if torch.is_grad_enabled():
            shared = _Shared.apply(taps, places.group, places.timeout)
            return *_again(grad, x, taps, shared, ctx), None, None, None
        behind, rows = k - 1 - origin, x.shape[:-1]
        of_x, of_taps = gradients(grad, x, taps, origin)
        of_halos = [x.new_empty((*rows, origin)), x.new_empty((*rows, behind))]  # where there is none nobody reads it
        for side, halo, place in _halos_of(ends, places, origin, behind):
            of_halos[side], one = gradients(grad[..., place].contiguous(), halo, taps, side * (k - 1))
            of_taps += one
        sent = torch.cat([t.flatten() for t in (*of_halos, of_taps)])
        everybody = sent.new_empty(places.size * len(sent))
        _collective(dist.all_gather_into_tensor, everybody, sent, group=places.group, timeout=places.timeout)
        counts = [of_halos[0].numel(), of_halos[1].numel(), of_taps.numel()]
        before, after, of_all_taps = everybody.view(places.size, -1).split(counts, 1)
        if origin > 0 and places.rank + 1 < places.size:
            of_x[..., own - origin :] += before[places.rank + 1].view(*rows, origin)
        if behind > 0 and places.rank > 0:
            of_x[..., :behind] += after[places.rank - 1].view(*rows, behind)
        return of_x, of_all_taps.sum(0).view_as(taps), None, None, None


def _halos_of(everybody, places, origin, behind):
    """(side, halo, outputs that read it) of each end that has one; `everybody`: first `behind` and last `origin` samples of all."""
    halos = []
    if origin > 0 and places.rank > 0:
        halos.append((0, everybody[places.rank - 1, ..., behind:], slice(origin)))
    if behind > 0 and places.rank + 1 < places.size:
        halos.append((1, everybody[places.rank + 1, ..., :behind], slice(-behind, None)))
    return halos


_FEW_BYTES = 1 << 20  # of all ends together, in every process


def _are_few(signals, taps, lengths):
    k, rows = taps.shape[-1], signals.shape[:-1].numel()
    both_ways = 2 * rows * (k - 1) + taps.numel()
    return 1 < k <= 64 and 2 * (k - 1) <= min(lengths) and len(lengths) * both_ways * signals.element_size() <= _FEW_BYTES


def _again(grad, x, taps, shared, ctx):
    """Gradients that are differentiated themselves: by the way whose every step can be."""
    wanted = [t for t, needed in zip((x, taps), ctx.needs_input_grad, strict=False) if needed]
    y = _by_window(x, shared, ctx.places, ctx.origin, ctx.along)
    found = iter(torch.autograd.grad(y, wanted, grad, create_graph=True))
    return [next(found) if needed else None for needed in ctx.needs_input_grad[:2]]


# Filters of so many taps take longer than starting what happens at the ends, and transforms instead of sums.
_LONG = {"cuda": 65}


def _is_long(taps):
    return taps.shape[-1] >= _LONG.get(taps.device.type, sys.maxsize)


def _ends_of(places, origin, k, halos):
    """(side, outputs that read its halo, which they are, `origin` of a convolution of the halo alone) of each end that has some."""
    own = places.lengths[places.rank]
    left, right = places.edges(origin, k)
    ends = (0, left, slice(left), origin - halos[0].shape[-1]), (1, right, slice(own - right, own), right + origin)
    return [end for end in ends if end[1] > 0]


def _forward_long(ctx, x, taps):
    """_InPlace.forward on a GPU: what halos add to outputs at the ends, which the part alone makes with the others."""
    places, origin, along = ctx.places, ctx.origin, ctx.along
    _begin_beside(x)
    y = along(x, taps, origin, x.shape[-1])
    with _beside(x):
        halos, incoming, works = _start_halos(x, places)
        _wait(works, places.timeout)
        for side, place, t in incoming:
            halos[side][..., place] = t
        ends = _ends_of(places, origin, taps.shape[-1], halos)
        added = [along(halos[side], taps, first, outputs) for side, outputs, _, first in ends]
    _join(x)
    for (_, _, place, _), outputs in zip(ends, added, strict=True):
        y[..., place] += outputs
    ctx.save_for_backward(x, taps, *halos)
    return y


def _backward_long(grad, x, taps, halos, ctx):
    """_InPlace.backward on a GPU: gradients of halos first, as others wait for them, then the part's while they travel. In the same
    stream: 4,096 taps, 256 channels, 2^21 samples on each of two H100s take 20.0 ms forward and backward with ends beside the
    part's kernels, 18.7 so, the part alone 18.4."""
    of = importlib.import_module("tapline.torch")
    places, k = ctx.places, taps.shape[-1]
    ends = _ends_of(places, ctx.origin, k, halos)
    of_halos, turned = list(halos), taps.flip(-1) if ends else taps
    parts = [grad[..., place].contiguous() for _, _, place, _ in ends]
    for (side, _, _, first), part in zip(ends, parts, strict=True):
        of_halos[side] = ctx.along(part, turned, k - 1 - first, halos[side].shape[-1])
    terms, works = _start_gradients(x, of_halos, places)
    of_x, of_taps = of._gradients_along(grad, x, taps, ctx.origin)
    for (side, _, _, first), part in zip(ends, parts, strict=True):
        of_taps += of._dot_rows(halos[side], part, first, k)
    _wait(works, places.timeout)
    for m, t in terms:
        of_x[..., places.of_sender(m)] += t
    return of_x, of_taps


def _start_halos(x, places):
    """(halos before and behind, what comes into a part of one, what to wait for). A message that is a whole halo comes into it."""
    shape = x.shape[:-1]
    halos = [x.new_empty((*shape, n)) for n in places.halos]
    outgoing, incoming, receives = [], [], []
    for m in places.messages:
        if m.sender == places.rank and m.receiver != places.rank:
            outgoing.append((m.receiver, x[..., places.of_sender(m)].contiguous()))
        elif m.receiver == places.rank and m.sender != places.rank:
            side, place = places.halo_of(m)
            whole = m.last - m.first == halos[side].shape[-1]
            t = halos[side] if whole else x.new_empty((*shape, m.last - m.first))
            receives.append((m.sender, t))
            if not whole:
                incoming.append((side, place, t))
    return halos, incoming, _start(places, outgoing, receives)


def _start_gradients(x, of_halos, places):
    """Those of halos to their owners: (what comes for this part's samples, what to wait for)."""
    outgoing, terms = [], []
    for m in places.messages:
        if m.receiver == places.rank and m.sender != places.rank:
            side, place = places.halo_of(m)
            outgoing.append((m.sender, of_halos[side][..., place].contiguous()))
        elif m.sender == places.rank and m.receiver != places.rank:
            terms.append((m, x.new_empty((*x.shape[:-1], m.last - m.first))))
    return terms, _start(places, outgoing, [(m.receiver, t) for m, t in terms])


def _shares(count, size):
    """`count` rows divided among so many processes."""
    return [count // size + (rank < count % size) for rank in range(size)]


def _exchange_all(places, to, from_, to_counts, from_counts):
    _collective(dist.all_to_all_single, to, from_, to_counts, from_counts, group=places.group, timeout=places.timeout)


class _ToRows(torch.autograd.Function):
    """(rows, own samples) to (own rows, all samples) of every process."""

    @staticmethod
    def forward(ctx, x, places):
        ctx.places, ctx.rows = places, x.shape[0]
        shares = _shares(x.shape[0], places.size)
        mine, own = shares[places.rank], places.lengths[places.rank]
        flat = x.new_empty(mine * sum(places.lengths))
        counts = [mine * n for n in places.lengths]
        _exchange_all(places, flat, x.contiguous().flatten(), counts, [rows * own for rows in shares])
        pieces = [piece.view(mine, n) for piece, n in zip(flat.split(counts), places.lengths, strict=True)]
        return torch.cat(pieces, -1)

    @staticmethod
    def backward(ctx, grad):
        return _FromRows.apply(grad, ctx.places, ctx.rows), None


class _FromRows(torch.autograd.Function):
    """The way back, which is the inverse and the adjoint."""

    @staticmethod
    def forward(ctx, y, places, rows):
        ctx.places = places
        shares = _shares(rows, places.size)
        own = places.lengths[places.rank]
        flat = y.new_empty(rows * own)
        pieces = torch.cat([piece.flatten() for piece in y.split(places.lengths, -1)])
        counts = [y.shape[0] * n for n in places.lengths]
        _exchange_all(places, flat, pieces, [share * own for share in shares], counts)
        return flat.view(rows, own)

    @staticmethod
    def backward(ctx, grad):
        return _ToRows.apply(grad, ctx.places), None, None


class _Shared(torch.autograd.Function):
    """Taps that every process has: their gradient is the sum of all."""

    @staticmethod
    def forward(ctx, taps, group, timeout):
        ctx.of = group, timeout
        return taps.view_as(taps)

    @staticmethod
    def backward(ctx, grad):
        return _Sum.apply(grad, *ctx.of), None, None


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group, timeout):
        ctx.of = group, timeout
        total = x.clone()
        _collective(dist.all_reduce, total, group=group, timeout=timeout)
        return total

    @staticmethod
    def backward(ctx, grad):
        return _Sum.apply(grad, *ctx.of), None, None


_TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@functools.lru_cache(maxsize=16)
def _weights(count, seed, device):
    """Odd numbers of 64 bits, the same in all processes."""
    with torch.device("cpu"):
        drawn = torch.randint(-(2**62), 2**62, (count,), generator=torch.Generator().manual_seed(seed))
    return (2 * drawn + 1).to(device)


def _fingerprint(taps):
    """A number that only by chance (2^-63) is another filter's, from the bits of all taps: made where they lie, nothing waits."""
    flat = taps.detach().reshape(-1, taps.shape[-1])
    bits = flat.contiguous().view({2: torch.int16, 4: torch.int32, 8: torch.int64}[taps.element_size()])
    of_rows = (bits * _weights(flat.shape[1], 1, taps.device)).sum(-1)
    return (of_rows * _weights(flat.shape[0], 2, taps.device)).sum()[None]


_ASKED = ("lengths=", "rows", "axes", "taps' length", "filters", "axes of taps", "padding", "type", "values of taps")


def _agreed_lengths(x, taps, origin, group, lengths, timeout, with_values):
    """Everybody's samples. ValueError in all processes where they ask for different convolutions, before anything is sent."""
    given = -1 if lengths is None else zlib.crc32(repr(lengths).encode())
    sizes = [x.shape[:-1].numel(), x.ndim, taps.shape[-1], taps.shape[:-1].numel(), taps.ndim]
    own = torch.tensor([x.shape[-1], given, *sizes, origin, _TYPES.index(x.dtype)], device=x.device)
    own = torch.cat((own, _fingerprint(taps) if with_values else own.new_zeros(1)))
    everybody = own.new_empty(dist.get_world_size(group) * len(own))
    _collective(dist.all_gather_into_tensor, everybody, own, group=group, timeout=timeout)
    everybody = everybody.view(-1, len(own)).tolist()
    for rank, e in enumerate(everybody):
        differing = [name for name, mine, first in zip(_ASKED, e[1:], everybody[0][1:], strict=True) if mine != first]
        if differing:
            raise ValueError(
                f"conv1d: processes 0 and {rank} of the group differ in {', '.join(differing)}; only lengths of x may differ"
            )
    return [e[0] for e in everybody]


# Of a group, that said their lengths. The same in all its processes, as their calls are.
_calls: weakref.WeakKeyDictionary[dist.ProcessGroup, int] = weakref.WeakKeyDictionary()
_MOST_UNCHECKED = 1024


def _is_checked(x, group, check):
    """Whether this call of those that say their lengths is compared between processes: the 1st, 2nd, 4th, ..., 1,024th, 2,048th,
    3,072nd, so that comparing takes no time on the whole. What a graph captures is not."""
    if check != "auto" or (x.is_cuda and torch.cuda.is_current_stream_capturing()):
        return check == "always"
    group = dist.group.WORLD if group is None else group
    count = _calls[group] = _calls.get(group, 0) + 1
    return count % _MOST_UNCHECKED == 0 or (count < _MOST_UNCHECKED and count & (count - 1) == 0)


def _is_far(places, k):
    """Whether halos would move more samples than all-to-all, there and back: over all processes."""
    halos = sum(m.last - m.first for m in places.messages if m.sender != m.receiver)
    return halos > 2 * sum(places.lengths) * (places.size - 1) / places.size


def conv1d(x, taps, origin, group, lengths, method, timeout, check, correlated):
    """`tapline.torch.conv1d` of checked arguments with as many outputs as samples."""
    if dist.get_world_size(group) == 1:
        method, check = "halo", "never"
    lengths = None if lengths is None else [int(n) for n in lengths]
    if lengths is None or _is_checked(x, group, check):
        agreed = _agreed_lengths(x, taps, origin, group, lengths, timeout, check != "never")
        lengths = agreed if lengths is None else lengths
        if lengths != agreed:  # in all processes, so that none waits for others
            raise ValueError(f"lengths: {lengths}; the processes of the group have {agreed} samples")
    if len(lengths) != dist.get_world_size(group) or lengths[dist.get_rank(group)] != x.shape[-1]:
        raise ValueError(
            f"lengths: {lengths}; give the samples of each of {dist.get_world_size(group)} processes, here {x.shape[-1]}"
        )
    k = taps.shape[-1]
    places = _places(dist.get_rank(group), len(lengths), group, tuple(lengths), k, origin, timeout)
    per_channel = taps.ndim == 2
    signals = (x if x.ndim == 3 else x[None]) if per_channel else x.flatten(0, -2)[:, None]
    if method != "all_to_all" and len(lengths) > 1 and _are_few(signals, taps, lengths):  # in all processes, as lengths are
        return _OfNeighbours.apply(signals, taps if per_channel else taps[None], places, origin, correlated).reshape(x.shape)
    taps = _Shared.apply(taps, group, timeout)
    filters = taps if per_channel else taps[None]
    if method == "all_to_all" or (method == "auto" and _is_far(places, k)):
        y = _by_rows(signals, filters, places, origin, correlated)
    else:
        short = 2 * (k - 1) <= signals.shape[-1]  # every process for itself: messages are the same both ways
        way = _in_place if short else _by_window
        y = way(signals, filters, places, origin, correlated)
    return y.reshape(x.shape)


def _in_place(signals, filters, places, origin, correlated):
    return _InPlace.apply(signals, filters, places, origin, correlated)


def _by_window(signals, filters, places, origin, correlated):
    part = places.parts[places.rank]
    window = _Window.apply(signals, places)
    shifted = origin + part.window[0] - part.outputs[0]
    return correlated(window, filters, shifted, part.outputs[1] - part.outputs[0])


def _by_rows(signals, filters, places, origin, correlated):
    """Whole signals of some rows in each process: channels where they have filters of their own."""
    batch, channels, own = signals.shape
    shares = _shares(batch * channels, places.size)
    first = sum(shares[: places.rank])
    # Rows in the order of channels, so that a process has few filters.
    rows = _ToRows.apply(signals.transpose(0, 1).reshape(batch * channels, own), places)
    index = torch.arange(first, first + shares[places.rank], device=signals.device) // batch
    y = correlated(rows[None], filters[index], origin, rows.shape[-1])[0] if len(index) else rows + 0 * filters.sum()
    y = _FromRows.apply(y, places, batch * channels)
    return y.view(channels, batch, own).transpose(0, 1)
