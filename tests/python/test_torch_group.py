"""Sequence-parallel tapline.torch.conv1d on four Gloo processes against one process with everything; skipped where there is no
PyTorch."""

import datetime
import os
import socket
import time
import traceback
from unittest import mock

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as mp  # noqa: E402

import tapline.torch  # noqa: E402
from tapline import _torch_group  # noqa: E402

if not dist.is_available():
    pytest.skip("PyTorch without torch.distributed", allow_module_level=True)

PROCESSES = 4


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def work(rank, port, failures):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=PROCESSES, timeout=datetime.timedelta(seconds=60)
    )
    for test in (
        disagreement,
        other_taps,
        said_lengths,
        halos_and_gradients,
        messages_between_neighbours,
        ends_on_their_own,
        all_to_all,
        second_gradients,
        one_filter,
        dtensors,
    ):
        try:
            test(rank)
        except Exception:  # noqa: BLE001
            failures.put(f"process {rank}, {test.__name__}: {traceback.format_exc()}")
            break
        dist.barrier()
    dist.destroy_process_group()


def drawn(seed, *shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def pieces(lengths):
    ends = np.cumsum(lengths)
    return [slice(end - n, end) for n, end in zip(lengths, ends.tolist(), strict=True)]


def compare(rank, x, taps, sizes, padding, **options):
    """Output and gradients of a part beside those of the whole, and that both ways give the same."""
    own = pieces(sizes)[rank]
    whole_x, whole_taps = x.clone().requires_grad_(), taps.clone().requires_grad_()
    whole = tapline.torch.conv1d(whole_x, whole_taps, padding)
    weights = drawn(3, *whole.shape)
    (whole * weights).sum().backward()
    part_x, part_taps = x[..., own].clone().requires_grad_(), taps.clone().requires_grad_()
    part = tapline.torch.conv1d(part_x, part_taps, padding, group=dist.group.WORLD, **options)
    (part * weights[..., own]).sum().backward()
    torch.testing.assert_close(part, whole[..., own], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(part_x.grad, whole_x.grad[..., own], rtol=1e-11, atol=1e-11)
    torch.testing.assert_close(part_taps.grad, whole_taps.grad, rtol=1e-11, atol=1e-11)


def halos_and_gradients(rank):
    for lengths, k in (((10, 10, 10, 10), 4), ((5, 1, 2, 30), 9), ((7, 3, 8, 4), 22), ((3, 3, 3, 3), 40)):
        x, taps = drawn(1, 2, 3, sum(lengths)), drawn(2, 3, k)
        for padding in ("causal", "same"):
            for method in ("auto", "halo"):
                compare(rank, x, taps, lengths, padding, method=method, lengths=lengths if method == "halo" else None)


def messages_between_neighbours(rank):
    """As where ends are many samples."""
    with mock.patch.object(_torch_group, "_FEW_BYTES", 0):
        halos_and_gradients(rank)
        second_gradients(rank)


def ends_on_their_own(rank):
    """As GPUs do it under long filters."""
    with mock.patch.object(_torch_group, "_FEW_BYTES", 0), mock.patch.dict(_torch_group._LONG, cpu=2):
        for lengths, k in (((20, 20, 20, 20), 9), ((16, 17, 30, 16), 9), ((4, 4, 4, 4), 3)):
            x, taps = drawn(13, 2, 3, sum(lengths)), drawn(14, 3, k)
            for padding in ("causal", "same"):
                compare(rank, x, taps, lengths, padding)


def all_to_all(rank):
    for lengths, shape in (((6, 5, 4, 7), (2, 3)), ((6, 6, 6, 6), (1, 2)), ((1, 2, 3, 4), (3, 8))):
        x, taps = drawn(4, *shape, sum(lengths)), drawn(5, shape[1], 15)
        compare(rank, x, taps, lengths, "causal", method="all_to_all")


def second_gradients(rank):
    x, taps = drawn(6, 1, 2, 12), drawn(7, 2, 5)
    own = pieces((3, 3, 3, 3))[rank]

    def twice(x, taps, own, **options):
        x, taps = x.clone().requires_grad_(), taps.clone().requires_grad_()
        y = tapline.torch.conv1d(x, taps, **options)
        (first,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad((first**2).sum(), x)
        return second if own is None else second[..., own]

    expected = twice(x, taps, own)
    torch.testing.assert_close(twice(x[..., own], taps, None, group=dist.group.WORLD), expected, rtol=1e-10, atol=1e-10)


def one_filter(rank):
    lengths = (4, 6, 2, 8)
    compare(rank, drawn(8, 3, 2, 20), drawn(9, 7), lengths, "same")
    compare(rank, drawn(8, 3, 20), drawn(9, 19), lengths, "causal", method="all_to_all")


def dtensors(rank):
    try:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import Shard, distribute_tensor
    except ImportError:
        return
    mesh = init_device_mesh("cpu", (PROCESSES,))
    x, taps = drawn(10, 2, 3, 22), drawn(11, 3, 5)
    y = tapline.torch.conv1d(distribute_tensor(x, mesh, [Shard(2)]), taps)
    assert y.placements == (Shard(2),)
    torch.testing.assert_close(y.full_tensor(), tapline.torch.conv1d(x, taps))


def disagreement(rank):
    x = torch.ones(1, 2, 8)
    with pytest.raises(ValueError, match="differ"):
        tapline.torch.conv1d(x, torch.ones(2, 3 + (rank == 2)), group=dist.group.WORLD)
    dtype = torch.float32 if rank == 3 else torch.float64
    with pytest.raises(ValueError, match="differ in type"):
        tapline.torch.conv1d(x.to(dtype), torch.ones(2, 3, dtype=dtype), group=dist.group.WORLD)
    with pytest.raises(ValueError, match="padding"):
        tapline.torch.conv1d(x, torch.ones(2, 3), padding=1, group=dist.group.WORLD)
    with pytest.raises(ValueError, match="lengths"):
        tapline.torch.conv1d(x, torch.ones(2, 3), group=dist.group.WORLD, lengths=(8, 8))
    with pytest.raises(ValueError, match="check"):
        tapline.torch.conv1d(x, torch.ones(2, 3), group=dist.group.WORLD, check="often")
    with pytest.raises(ValueError, match="method"):
        tapline.torch.conv1d(x, torch.ones(2, 3), group=dist.group.WORLD, method="ring")


def other_taps(rank):
    """A tap that differs in one bit in one process."""
    group = dist.new_group(list(range(PROCESSES)))
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        x, taps = torch.ones(1, 2, 8, dtype=dtype), drawn(12, 2, 3).to(dtype)
        same = tapline.torch.conv1d(x, taps, group=group)
        other = taps.clone()
        if rank == 2:
            bits = other.view(torch.int16)
            bits[1, -1] ^= 1
        with pytest.raises(ValueError, match="processes 0 and 2 of the group differ in values of taps"):
            tapline.torch.conv1d(x, other, group=group)
        tapline.torch.conv1d(x, other, group=group, check="never")
        torch.testing.assert_close(tapline.torch.conv1d(x, taps, group=group), same, rtol=0, atol=0)
    assert _torch_group._fingerprint(torch.tensor([1.0, 2.0])) != _torch_group._fingerprint(torch.tensor([2.0, 1.0]))


def said_lengths(rank):
    """They are compared in some calls, counted for each group, and always where that is asked for."""
    group = dist.new_group(list(range(PROCESSES)))
    x, taps = torch.ones(1, 2, 8), torch.ones(2, 3)
    other = taps + 1 if rank == 1 else taps
    checked = []
    for call in range(1, 9):
        try:
            tapline.torch.conv1d(x, other, group=group, lengths=(8, 8, 8, 8))
        except ValueError as error:  # noqa: PERF203
            checked.append((call, "processes 0 and 1 of the group differ in values of taps" in str(error)))
    assert checked == [(call, True) for call in (1, 2, 4, 8)]
    with pytest.raises(ValueError, match="values of taps"):
        tapline.torch.conv1d(x, other, group=group, lengths=(8, 8, 8, 8), check="always")
    with pytest.raises(ValueError, match="differ in lengths="):
        tapline.torch.conv1d(x, taps, group=group, lengths=(8, 8, 8, 8 + (rank == 3)), check="always")
    with pytest.raises(ValueError, match=r"have \[8, 8, 8, 8\] samples"):
        tapline.torch.conv1d(x, taps, group=group, lengths=(8, 8, 7, 8), check="always")


def one_that_ends(rank, port, failures):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=PROCESSES, timeout=datetime.timedelta(seconds=600)
    )
    x, taps = torch.ones(1, 2, 8, requires_grad=True), torch.ones(2, 12)
    y = tapline.torch.conv1d(x, taps, group=dist.group.WORLD, timeout=3)
    dist.barrier()
    if rank == PROCESSES - 1:
        os._exit(0)
    try:
        begin = time.monotonic()
        told = "has ended or not answered within 3 s"
        if rank == PROCESSES - 2:  # whose gradient needs the one that ended
            with pytest.raises(RuntimeError, match=told):
                y.sum().backward()
        with pytest.raises(RuntimeError, match=told):
            tapline.torch.conv1d(x, taps, group=dist.group.WORLD, timeout=3)
        assert time.monotonic() - begin < 30
    except Exception:  # noqa: BLE001
        failures.put(f"process {rank}: {traceback.format_exc()}")
    os._exit(0)


def test_a_process_that_ends_is_told_to_all():
    context = mp.get_context("spawn")
    failures = context.SimpleQueue()
    mp.start_processes(one_that_ends, (free_port(), failures), PROCESSES, start_method="spawn")
    assert failures.empty(), failures.get()


def test_parts_in_four_processes():
    context = mp.get_context("spawn")
    failures = context.SimpleQueue()
    mp.start_processes(work, (free_port(), failures), PROCESSES, start_method="spawn")
    assert failures.empty(), failures.get()
