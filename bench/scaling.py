#!/usr/bin/env python3
"""Several GPUs of one host against one of them: as JSON, and docs/scale.md's figures from it.

    python3 bench/scaling.py measure --out bench/results/scaling_NAME.json [--devices 2] [--quick] [--limit SECONDS]
    python3 bench/scaling.py report bench/results/scaling_*.json
    python3 bench/scaling.py bars FILE --output BARS.json

`measure` takes all GPUs that are there, or so many. Signals are random float32. Every result is compared with one GPU's bits
before it is timed, for several cuts. Data resident: parts lie on the GPUs, 2^28 samples on each (weak) and in all (strong). Host
to host: from and to NumPy arrays. Process groups: tapline.torch.conv1d of a sequence in parts, forward and backward, one process a
GPU. What did not run is in the file with the reason.
"""

import argparse
import os
import statistics
import sys
import time
import traceback
from typing import Any

import numpy as np

import page
import scaling_bars
import scaling_copies
import timing

TAPS = (127, 2047, 65535)
GROUP_TAPS = (4, 4096)
STEPS = 20  # between two synchronisations at most
LOG2 = 28
SEED = 7
HOST_HEAD = """From host memory to host memory, 2^28 samples. The bar is 0.9 of the devices' number of times one GPU's speed where
copies alone gain as much, else 0.9 of their speed:"""
BEGIN, END = "<!-- made by bench/scaling.py -->", "<!-- end -->"


# ---- Data resident ----


def everywhere(cupy, devices):
    for device in range(devices):
        with cupy.cuda.Device(device):
            cupy.cuda.runtime.deviceSynchronize()


def seconds_of(cupy, devices, call, seconds):
    """Of one call among many that follow each other: a long run less a short one, so that beginning and end do not count."""

    def run(calls):
        everywhere(cupy, devices)
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        everywhere(cupy, devices)
        return time.perf_counter() - begin

    run(2)
    once = max(run(4) / 4, 1e-6)
    calls = max(4, int(seconds / 5 / once))
    short = max(1, calls // 4)
    return timing.spread([(run(calls) - run(short)) / (calls - short) for _ in range(9)])


def filled(cupy, n, device):
    with cupy.cuda.Device(device):
        generator = cupy.random.Generator(cupy.random.XORWOW(SEED + device))
        return generator.standard_normal(n, dtype=cupy.float32)


def check_ends(cupy, x, taps, y):
    """Some outputs from float64."""
    n, k = x.size, taps.size
    for first in (0, n // 2, n - 256):
        begin, end = first - k // 2, first - k // 2 + 256 + k - 1
        part = np.pad(x[max(begin, 0) : min(end, n)].get().astype(np.float64), (max(-begin, 0), max(end - n, 0)))
        exact = np.convolve(part, taps.astype(np.float64), "valid")
        timing.require("one GPU", timing.relative_error(y[first : first + 256].get(), exact), 1e-5)


def parts_of(cupy, x, lengths):
    parts, at = [], 0
    for device, n in enumerate(lengths):
        with cupy.cuda.Device(device):
            part = cupy.empty(n, cupy.float32)
            cupy.cuda.runtime.memcpyPeer(part.data.ptr, device, x.data.ptr + 4 * at, 0, 4 * n)
        parts.append(part)
        at += n
    return parts


def same_bits(cupy, y, parts):
    """Whether y, on the first GPU, is what the parts are together."""
    at = 0
    with cupy.cuda.Device(0):
        for device, part in enumerate(parts):
            there = cupy.empty(part.size, cupy.float32)
            cupy.cuda.runtime.memcpyPeer(there.data.ptr, 0, part.data.ptr, device, part.nbytes)
            same = bool((there.view(cupy.uint32) == y[at : at + part.size].view(cupy.uint32)).all())
            at += part.size
            if not same:
                return False
    return at == y.size


def other_cuts(n, devices):
    """Cuts that are no multiples of anything, and parts that are short."""
    third = [n // (3 * devices) * 2 + 1 + i for i in range(devices - 1)]
    return [[*third, n - sum(third)], [1001 + i for i in range(devices - 1)] + [n - sum(1001 + i for i in range(devices - 1))]]


def shortly(one):
    def text(d):
        weak, strong = (d[name]["median"] / one["median"] for name in ("weak", "strong"))
        return f"{d['devices']}: weak {weak:.3f}, strong {strong:.3f}, bits {d['same_bits']}"

    return text


def resident(counts, log2, seconds, taps_lengths):
    import cupy

    import tapline
    import tapline.devices

    rows = []
    rng = np.random.default_rng(SEED)
    for k in taps_lengths:
        taps = (rng.standard_normal(k) / k).astype(np.float32)
        x = filled(cupy, 1 << log2, 0)
        y = cupy.empty_like(x)
        plan = tapline.Plan(x.shape, taps, "same", device="cuda:0")
        plan(x, out=y)
        check_ends(cupy, x, taps, y)
        one = seconds_of(cupy, 1, lambda plan=plan, x=x, y=y: plan(x, out=y), seconds)
        row = {"taps": k, "samples_log2": log2, "one": one, "algorithm": plan.algorithm, "devices": []}
        for devices in counts:
            name = "cuda:" + ",".join(str(d) for d in range(devices))
            bits = []
            for lengths in [None, *other_cuts(x.size, devices)]:
                sharded = tapline.devices.Plan(x.shape, taps, "same", devices=name, lengths=lengths)
                parts = parts_of(cupy, x, sharded.lengths)
                out = sharded(parts)
                everywhere(cupy, devices)
                bits.append(same_bits(cupy, y, out))
                if lengths is None:
                    strong = seconds_of(cupy, devices, lambda p=sharded, i=parts, o=out: p(i, o), seconds)
                    explained = sharded.explain()
                del sharded, parts, out
            n = x.size * devices
            weak_plan = tapline.devices.Plan((n,), taps, "same", devices=name)
            parts = [filled(cupy, m, d) for d, m in enumerate(weak_plan.lengths)]
            out = weak_plan(parts)
            weak = seconds_of(cupy, devices, lambda p=weak_plan, i=parts, o=out: p(i, o), seconds)
            row["devices"].append(
                {"devices": devices, "weak": weak, "strong": strong, "same_bits": bits, "explain": explained.splitlines()}
            )
            del weak_plan, parts, out
            for d in range(devices):
                with cupy.cuda.Device(d):
                    cupy.get_default_memory_pool().free_all_blocks()
        rows.append(row)
        print(f"resident, {k} taps: one {one['median'] * 1e3:.3f} ms", *map(shortly(one), row["devices"]), sep="; ", flush=True)
    return rows


# ---- Host to host ----


def host_to_host(counts, log2, runs, taps_lengths):
    import cupy

    import tapline

    rows = []
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal(1 << log2, dtype=np.float32)
    y, first = np.empty_like(x), np.empty_like(x)

    def timed(plan, out):
        plan(x, out=out)
        return timing.spread(timing.repeat(lambda: plan(x, out=out), 0, least=runs, most=runs))

    def of_first(devices, taps):
        name = "cuda:" + ",".join(str(d) for d in range(devices))
        return tapline.Plan(x.shape, taps, "same", device=name)

    # A machine's memory becomes faster with use in the first seconds (two H100s: from 57 to 27 ms a call).
    os.environ["TAPLINE_CUDA_TAKE_ALL"] = "1"
    copier = {devices: of_first(devices, np.ones(1, np.float32)) for devices in (1, *counts)}
    end = time.perf_counter() + (0.1 if runs < 5 else 3)
    while time.perf_counter() < end:
        copier[1](x, out=y)
    plainly = {devices: scaling_copies.through_gpus(cupy, y, x, devices, runs) for devices in copier}
    memory = scaling_copies.between_arrays(y, x, runs)
    print("copies by a program of their own:", *(f"{d}: {t['median'] * 1e3:.1f} ms" for d, t in plainly.items()))

    def copies(devices):
        """By that program, or by tapline with a filter that only copies: beside what is compared."""
        return min(plainly[devices], timed(copier[devices], y), key=lambda t: t["median"])

    for k in taps_lengths:
        taps = (rng.standard_normal(k) / k).astype(np.float32)
        os.environ["TAPLINE_CUDA_TAKE_ALL"] = "1"
        row = {"taps": k, "samples_log2": log2, "one": timed(of_first(1, taps), first)}
        row["copies"], row["memory"], row["devices"] = copies(1), memory, []
        for devices in counts:
            alone = copies(devices)
            seconds = timed(of_first(devices, taps), y)
            same = bool(np.array_equal(y.view(np.uint32), first.view(np.uint32)))
            bar = scaling_copies.bar_of(devices, *(t["median"] for t in (row["one"], seconds, row["copies"], alone)))
            row["devices"].append({"devices": devices, "seconds": seconds, "copies": alone, "same_bits": same, **bar})
        os.environ["TAPLINE_CUDA_TAKE_ALL"] = "0"
        chosen = tapline.Plan(x.shape, taps, "same", device="cuda:all")
        row["chosen"] = {"device": chosen.device, "why": chosen.explain().splitlines()[2], "seconds": timed(chosen, y)}
        row["cpu"] = timed(tapline.Plan(x.shape, taps, "same", device="cpu"), y)
        rows.append(row)
        text = [
            f"{d['devices']}: {d['seconds']['median'] * 1e3:.1f} ms, bits {d['same_bits']}, {d['reached']:.2f} of {d['bar']}"
            for d in row["devices"]
        ]
        print(f"host to host, {k} taps: one {row['one']['median'] * 1e3:.1f} ms", *text, sep="; ")
        print(f"  cpu {row['cpu']['median'] * 1e3:.1f} ms, chosen {row['chosen']}", flush=True)
    return rows


# ---- Process groups ----


def group_process(rank, size, port, shape, taps_lengths, runs, results, on_cpu):
    try:
        results.put((rank, group_measure(rank, size, port, shape, taps_lengths, runs, on_cpu)))
    except Exception:  # noqa: BLE001
        results.put((rank, traceback.format_exc()))


class Group:
    """What a process of a group measures."""

    def __init__(self, rank, size, port, shape, on_cpu):
        import torch
        import torch.distributed as dist

        self.torch, self.dist, self.rank, self.size, self.shape = torch, dist, rank, size, shape
        self.device = torch.device("cpu") if on_cpu else torch.device("cuda", rank)
        if on_cpu:
            torch.set_num_threads(1)
        else:
            torch.cuda.set_device(self.device)
        where = {"init_method": f"tcp://127.0.0.1:{port}", "rank": rank, "world_size": size}
        if on_cpu:
            dist.init_process_group("gloo", **where)
        else:  # messages go before the blocks of what is computed meanwhile
            urgent = dist.ProcessGroupNCCL.Options(is_high_priority_stream=True)
            dist.init_process_group("nccl", pg_options=urgent, device_id=self.device, **where)
        self.generator = torch.Generator(self.device).manual_seed(SEED)
        self.whole, self.weights = self.random(*shape), self.random(*shape)  # the same in all

    def random(self, *shape):
        return self.torch.randn(shape, device=self.device, generator=self.generator)

    def synchronize(self):
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)

    def timed(self, call, runs, together):
        """Of steps that follow each other, as in training; slow ones fewer."""
        call()
        begin = time.perf_counter()
        for _ in range(2):
            call()
        self.synchronize()
        once = self.torch.tensor((time.perf_counter() - begin) / 2, device=self.device)
        if together:
            self.dist.all_reduce(once, self.dist.ReduceOp.MAX)
        steps = int(min(max(0.2 / once.item(), 1), STEPS))
        times = []
        for _ in range(runs if steps == STEPS else 3):
            self.synchronize()
            if together:
                self.dist.barrier()
                self.synchronize()
            begin = time.perf_counter()
            for _ in range(steps):
                call()
            self.synchronize()
            times.append((time.perf_counter() - begin) / steps)
        return timing.spread(times)

    def step(self, x, taps, weights, options):
        import tapline.torch

        x.grad = taps.grad = None
        y = tapline.torch.conv1d(x, taps, **options)
        y.backward(weights)
        return [y.detach(), x.grad, taps.grad]

    def row(self, k, runs):
        own = self.shape[-1] // self.size
        mine = slice(self.rank * own, (self.rank + 1) * own)
        taps = (self.random(self.shape[1], k) / k).requires_grad_()
        x = self.whole.clone().requires_grad_()
        y, of_x, of_taps = self.step(x, taps, self.weights, {})
        of_one = [y[..., mine].clone(), of_x[..., mine].clone(), of_taps.clone()]
        one = self.timed(lambda: self.step(x, taps, self.weights, {}), runs, False) if self.rank == 0 else None
        part, weights = self.whole[..., mine].clone().requires_grad_(), self.weights[..., mine].clone()
        options = {"group": self.dist.group.WORLD, "lengths": [own] * self.size}
        of_all = self.step(part, taps, weights, options)
        same = [bool(self.torch.equal(a, b)) for a, b in zip(of_one, of_all, strict=True)]
        errors = [float((a - b).norm() / a.norm()) for a, b in zip(of_one, of_all, strict=True)]
        if max(errors) > 1e-5:
            raise RuntimeError(f"{k} taps: {errors} from one process")
        self.dist.barrier()
        together = self.timed(lambda: self.step(part, taps, weights, options), runs, True)
        return {"taps": k, "shape": list(self.shape), "one": one, "all": together, "same_bits": same, "errors": errors}


def group_measure(rank, size, port, shape, taps_lengths, runs, on_cpu):
    group = Group(rank, size, port, shape, on_cpu)
    rows = [group.row(k, runs) for k in taps_lengths]
    group.dist.destroy_process_group()
    return rows


def free_port():
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def groups(counts, shape, runs, on_cpu=False):
    import torch.multiprocessing as mp

    rows = []
    for size in counts:
        context = mp.get_context("spawn")
        results = context.SimpleQueue()
        arguments = (size, free_port(), shape, GROUP_TAPS, runs, results, on_cpu)
        processes = mp.start_processes(group_process, arguments, size, join=False, start_method="spawn")
        found = dict(results.get() for _ in range(size))
        processes.join()
        wrong = [r for r in found.values() if isinstance(r, str)]
        if wrong:
            raise RuntimeError(wrong[0])
        for own in zip(*(found[rank] for rank in range(size)), strict=True):
            slowest = max((r["all"] for r in own), key=lambda t: t["median"])
            same = [all(each) for each in zip(*(r["same_bits"] for r in own), strict=True)]
            errors = [max(each) for each in zip(*(r["errors"] for r in own), strict=True)]
            rows.append({**own[0], "devices": size, "all": slowest, "same_bits": same, "errors": errors})
            speedup = rows[-1]["one"]["median"] / slowest["median"]
            print(
                f"process group of {size}, {rows[-1]['taps']} taps: {speedup:.2f} times, bits {same}, errors {errors}", flush=True
            )
    return rows


# ---- All of it ----


def counts_of(devices):
    return [d for d in (2, 4, 8, 16) if d <= devices] or ([devices] if devices > 1 else [])


def measure(a):
    begin = time.perf_counter()
    result: dict[str, Any] = {"machine": timing.machine(), "not_run": {}}
    if a.cpu:
        result["gpus"] = []
        result["groups"] = groups([4], (1, 8, 1 << 16), 5, on_cpu=True)
        result["not_run"] = {"resident": "no GPU was asked for", "host": "no GPU was asked for"}
        return finish(result, a)
    import cupy

    there = cupy.cuda.runtime.getDeviceCount()
    result["gpus"] = [cupy.cuda.runtime.getDeviceProperties(d)["name"].decode() for d in range(there)]
    result["driver"] = cupy.cuda.runtime.driverGetVersion()
    counts = counts_of(min(there, a.devices or there))
    log2 = 22 if a.quick else LOG2
    parts = {
        "resident": lambda: resident(counts, log2, 0.1 if a.quick else 0.4, TAPS),
        "groups": lambda: groups(counts, (1, 256, 1 << (log2 - 6)), 5 if a.quick else 12),
        "host": lambda: host_to_host(counts, log2, 3 if a.quick else 5, TAPS),
    }
    for name, run in parts.items():
        if time.perf_counter() - begin > a.limit:
            result["not_run"][name] = f"{a.limit:g} s had passed"
            continue
        if a.only and name not in a.only:
            result["not_run"][name] = "not asked for"
            continue
        try:
            result[name] = run()
        except Exception as error:  # noqa: BLE001
            traceback.print_exc()
            result["not_run"][name] = f"failed: {error}"
        if name == "resident":
            for d in range(there):
                with cupy.cuda.Device(d):
                    cupy.get_default_memory_pool().free_all_blocks()
        finish(result, a)
    for devices in (2, 4, 8):
        if devices > there:
            result["not_run"][f"{devices} GPUs"] = f"the machine had {there}"
    finish(result, a)
    return None


def finish(result, a):
    import json
    import pathlib

    if a.out:
        pathlib.Path(a.out).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


# ---- docs/scale.md ----


def ratio(a, b):
    return f"{a['median'] / b['median']:.3f}"


def used(count, f):
    """So many of a file's GPUs, or processes."""
    if not f["gpus"]:
        return f"{count} CPU processes (Gloo)"
    there = len(f["gpus"])
    return f"{count} x {f['gpus'][0]}" if count == there else f"{count} of {there} x {f['gpus'][0]}"


def resident_table(found):
    rows = [
        [
            used(d["devices"], f),
            f"{row['taps']:,}",
            page.seconds_text(row["one"]["median"]),
            ratio(d["weak"], row["one"]),
            ratio(d["strong"], row["one"]),
            "yes" if all(d["same_bits"]) else "no",
        ]
        for f in found
        for row in f.get("resident", [])
        for d in row["devices"]
    ]
    head = ["GPUs", "taps", "one, 2^28 samples", "as many on each: times", "2^28 in all: times", "bits of one, all cuts"]
    return page.table(head, rows, "lrrrrr")


def group_table(found):
    rows = []
    for f in found:
        for r in f.get("groups", []):
            shape = " x ".join(page.count_text(n) for n in r["shape"])
            speedup = f"{r['one']['median'] / r['all']['median']:.2f}"
            rows.append(
                [
                    used(r["devices"], f),
                    shape,
                    f"{r['taps']:,}",
                    page.seconds_text(r["one"]["median"]),
                    speedup,
                    f"{max(r['errors']):.0e}",
                ]
            )
    return page.table(
        ["processes", "batch x channels x samples", "taps", "one", "times as fast", "largest difference"], rows, "llrrrr"
    )


def host_table(found):
    rows = []
    for f in found:
        for r in f.get("host", []):
            for d in r["devices"]:
                times = (r["one"], d["seconds"], d["copies"], r["cpu"], r["chosen"]["seconds"])
                one, seconds, copies, cpu, chosen = (page.seconds_text(t["median"]) for t in times)
                rows.append(
                    [
                        used(d["devices"], f),
                        f"{r['taps']:,}",
                        one,
                        seconds,
                        copies,
                        f"{d['reached']:.2f} of {d['bar']}",
                        cpu,
                        f"{chosen} on {r['chosen']['device']}",
                    ]
                )
    head = ["GPUs", "taps", "one", "all", "copies alone", "bar (met from 1.00 on)", "CPU alone", "`cuda:all` takes"]
    return page.table(head, rows, "lrrrrrrl")


def dask_table(found):
    """Medians of the runs."""
    rows = []
    for f in found:
        runs = f.get("dask", [])
        for way in dict.fromkeys(r["way"] for r in runs):
            own = [r for r in runs if r["way"] == way]
            beside = "tapline.dask, in memory" if way.endswith("in memory") else "tapline.dask"
            row = [f"{own[0]['side']:,} x {own[0]['side']:,}", way]
            for name in ("seconds", "cpu_seconds"):
                seconds = median(runs, way, name)
                row += [page.seconds_text(seconds), f"{seconds / median(runs, beside, name):.2f}"]
            rows.append([*row, f"{max(r['peak_mib'] for r in own):,.0f} MiB"])
    head = ["samples", "way", "elapsed", "times tapline.dask", "processors' time", "times tapline.dask", "memory"]
    return page.table(head, rows, "llrrrrr")


def median(runs, way, name):
    return statistics.median(r[name] for r in runs if r["way"] == way)


def missing(found):
    """What no file has, with the reason of each."""
    measured = {d["devices"] for f in found for r in f.get("resident", []) for d in r["devices"]}
    lines = [f"- {devices} GPUs: not measured yet." for devices in (2, 4, 8) if devices not in measured]
    for f in found:
        name = f"{len(f.get('gpus', []))} GPUs"
        lines += [
            f"- {name}: {what}: {why}." for what, why in f.get("not_run", {}).items() if not what.endswith("GPUs") and f["gpus"]
        ]
    return "\n".join(lines)


def report(a):
    found = [page.read(path) for path in a.files]
    tables = {
        "resident": ("Parts on the GPUs, float32, mode `same`; times are those of one GPU with 2^28 samples:", resident_table),
        "groups": ("Process groups, forward and backward, beside one process with everything:", group_table),
        "dask": (
            "Dask, from Zarr to Zarr or in memory: float32, chunks of 2,500, a Gaussian of 41 x 41, two cores:",
            dask_table,
        ),
        "host": (
            HOST_HEAD,
            host_table,
        ),
    }
    parts = [text for name, (head, table) in tables.items() if any(f.get(name) for f in found) for text in (head, table(found))]
    parts.append("Not run:\n\n" + (missing(found) or "- nothing."))
    path = page.DOCS / "scale.md"
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, behind = rest.split(END)
    path.write_text(before + BEGIN + "\n" + "\n\n".join(parts) + "\n" + END + behind, encoding="utf-8")


def bars(a):
    return scaling_bars.write(a.file, a.output)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("measure")
    one.add_argument("--out")
    one.add_argument("--devices", type=int)
    one.add_argument("--quick", action="store_true", help="2^22 samples: to try the script")
    one.add_argument("--cpu", action="store_true", help="process groups of four processes on the CPU alone")
    one.add_argument("--only", nargs="*", choices=["resident", "groups", "host"])
    one.add_argument("--limit", type=float, default=1e9, help="seconds after which no further part begins")
    one.set_defaults(run=measure)
    other = commands.add_parser("report")
    other.add_argument("files", nargs="+")
    other.set_defaults(run=report)
    another = commands.add_parser("bars")
    another.add_argument("file")
    another.add_argument("--output", required=True)
    another.set_defaults(run=bars)
    a = parser.parse_args()
    return a.run(a)


if __name__ == "__main__":
    sys.exit(main())
