#!/usr/bin/env python3
"""The Python module on a GPU against CuPy and PyTorch.

    python3 bench/gpu_python.py [--out FILE.json] [--quick]

Each result is checked before it is timed. A time is the median of runs between two events, each over enough calls that the GPU,
not Python, sets the pace; `copy_ms` is the copy of the same bytes in the same run. Data are random. A peer that fails, is wrong,
runs out of memory or takes more than HOPELESS times as long as the best one is in a row's `left_out` with the reason.
"""

import argparse
import functools
import json
import platform
import statistics
import time

import numpy as np

import timing

HOPELESS = 10
NOT_TRIED_MS = 200  # expected of one call that is hopeless
TAPS = (9, 127, 511, 2047, 8191, 65535)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="where the results go as JSON (default: only printed)")
    parser.add_argument("--quick", action="store_true", help="smaller problems, fewer runs: to try the script")
    parser.add_argument("--only", choices=["cupy", "torch", "overhead"])
    parser.add_argument(
        "--limit", type=float, default=1e9, help="seconds after which no further row begins; what is missing is said [none]"
    )
    return parser.parse_args()


def times_ms(run, events, runs, budget_ms=40.0):
    """Median and spread of one call's time, in milliseconds."""
    return timing.spread(timing.paced(run, events, runs, 1e-3 * budget_ms), 1e3)


def check_convolve(result, x, h):
    """The largest relative error of some outputs of mode 'same', from float64: those at the ends and in the middle."""
    n, k, m = x.size, h.size, 256
    errors = []
    for first in (0, n // 2, n - m):
        begin, end = first - k // 2, first - k // 2 + m + k - 1
        part = np.pad(x[max(begin, 0) : min(end, n)].astype(np.float64), (max(-begin, 0), max(end - n, 0)))
        wanted = np.convolve(part, h.astype(np.float64), "valid")
        errors.append(timing.relative_error(result[first : first + m].get(), wanted))
    return max(errors)


class Peers:
    """cupyx.scipy.signal, as far as it can."""

    def __init__(self, runs):
        self.runs = runs
        self.events = timing.events_of_cupy()
        self.direct: tuple[int, float] | None = (
            None  # (samples x taps, milliseconds of one call) of the last call of the direct method
        )

    def measure(self, x, h, there, taps):
        """Times in milliseconds and errors by method, and why the others have none."""
        from cupyx.scipy import signal as theirs

        times: dict[str, dict] = {}
        errors: dict[str, float] = {}
        left_out: dict[str, str] = {}
        methods = {
            "fftconvolve": lambda: theirs.fftconvolve(there, taps, "same"),
            "oaconvolve": lambda: theirs.oaconvolve(there, taps, "same"),
            "convolve, direct": lambda: theirs.convolve(there, taps, "same", method="direct"),
        }
        for name, run in methods.items():
            best = min((t["median"] for t in times.values()), default=float("inf"))
            work = x.size * h.size
            if name == "convolve, direct" and self.direct is not None:
                expected = self.direct[1] * work / self.direct[0]  # it looks at each tap for each output
                if expected > max(HOPELESS * best, NOT_TRIED_MS):
                    left_out[name] = (
                        f"not tried, {in_ms(expected)} expected from the filter before, {expected / best:,.0f} times the best"
                    )
                    continue
            try:
                error = check_convolve(run(), x, h)
                once = times_ms(run, self.events, 1, 0)["median"]
                if name == "convolve, direct":
                    self.direct = work, once
                if not error < 1e-4:
                    left_out[name] = f"wrong: relative error {error:.1e}"
                elif once > HOPELESS * best:
                    left_out[name] = f"{in_ms(once)} for one call, {once / best:,.0f} times the best"
                else:
                    times[name] = times_ms(run, self.events, self.runs)
                    errors[name] = error
            except Exception as failure:  # noqa: BLE001  out of memory, a transform that cuFFT does not plan: the row says which
                left_out[name] = f"{type(failure).__name__}: {str(failure).strip()[:100]}".replace("\n", " ")
            release_memory()
        return times, errors, left_out


def in_ms(value):
    return f"{value:,.0f} ms" if value >= 10 else f"{value:.1f} ms"


def release_memory():
    """What CuPy keeps: blocks of its pool, and work areas of transforms."""
    import cupy

    cupy.fft.config.get_plan_cache().clear()
    cupy.get_default_memory_pool().free_all_blocks()


def convolve_row(x, there, h, copy, runs, peers):
    """tapline on a CuPy array beside cupyx.scipy.signal, checked and timed."""
    import cupy

    import tapline

    k, taps = h.size, cupy.asarray(h)
    ours = {
        "gpu_taps": lambda: tapline.convolve(there, taps, "same"),
        "host_taps": lambda: tapline.convolve(there, h, "same"),
        "drop_in": lambda: tapline.signal.oaconvolve(there, taps, "same"),
    }
    row: dict = {"n": x.size, "taps": k, "copy_ms": copy, "times_ms": {}, "error": {}}
    for name, run in ours.items():
        row["error"][name] = timing.require(f"{name} at {k} taps", check_convolve(run(), x, h), 1e-4)
        row["times_ms"][name] = times_ms(run, peers.events, runs)
    release_memory()
    times, errors, row["left_out"] = peers.measure(x, h, there, taps)
    row["times_ms"] |= times
    row["error"] |= errors
    t = {name: value["median"] for name, value in row["times_ms"].items()}
    row["best_peer"] = min(times, key=lambda name: t[name], default=None)
    row["algorithm"] = tapline.Plan(x.shape, h, "same", dtype="float32", device="cuda:0").algorithm
    row["times_faster"] = t[row["best_peer"]] / t["gpu_taps"] if times else None
    row["share_of_copy"] = copy / t["gpu_taps"]
    beside = f"{row['best_peer']} {t[row['best_peer']]:8.3f} ms: {row['times_faster']:6.1f}x" if times else "no peer"
    print(
        f"n=2^{x.size.bit_length() - 1} k={k:6} {row['algorithm']:18} ours {t['gpu_taps']:8.4f} ms (host taps "
        f"{t['host_taps']:8.4f}, drop-in {t['drop_in']:8.4f}), {beside}, {100 * row['share_of_copy']:.0f}% of the copy's speed",
        flush=True,
    )
    for name, why in row["left_out"].items():
        print(f"    {name} left out: {why}", flush=True)
    return row


def against_cupy(quick, runs, is_late):
    import cupy

    rng = np.random.default_rng(1)
    peers = Peers(runs)
    for log2n in (20,) if quick else (20, 24, 26, 28):
        if is_late():
            yield {"missing": f"2^{log2n} samples"}
            continue
        x = rng.standard_normal(1 << log2n, dtype=np.float32)
        there = cupy.asarray(x)
        y = cupy.empty_like(there)
        copy = times_ms(functools.partial(cupy.copyto, y, there), peers.events, runs)["median"]
        del y
        for k in (127, 2047) if quick else TAPS:
            if is_late():
                yield {"missing": f"2^{log2n} samples, {k:,} taps"}
            else:
                yield convolve_row(x, there, (rng.standard_normal(k) / k).astype(np.float32), copy, runs, peers)


def depthwise_row(shape, dtype, k, runs):
    """tapline.torch.conv1d beside torch's own, checked and timed."""
    import torch

    import tapline.torch

    torch.manual_seed(1)
    _, channels, n = shape
    x = torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True)
    taps = (torch.randn(channels, k, device="cuda") / k**0.5).to(dtype).requires_grad_()
    g = torch.randn(shape, device="cuda", dtype=dtype)
    out = torch.empty_like(g)

    def ours():
        return tapline.torch.conv1d(x, taps)

    def theirs():
        return torch.nn.functional.conv1d(x, taps[:, None], padding=k - 1, groups=channels)[..., :n]

    row = {"shape": shape, "dtype": str(dtype).removeprefix("torch."), "taps": k, "error": depthwise_errors(ours, x, taps, g)}
    runners = {
        "copy": lambda: out.copy_(g),
        "ours_forward": ours,
        "theirs_forward": theirs,
        "ours_both": lambda: torch.autograd.grad(ours(), (x, taps), g),
        "theirs_both": lambda: torch.autograd.grad(theirs(), (x, taps), g),
    }
    events = timing.events_of_torch()
    row["times_ms"] = {name: times_ms(run, events, runs, 100.0) for name, run in runners.items()}
    t = {name: value["median"] for name, value in row["times_ms"].items()}
    row["times_faster"] = t["theirs_both"] / t["ours_both"]
    row["times_faster_forward"] = t["theirs_forward"] / t["ours_forward"]
    # x and y, then grad_y, x and grad_x: five tensors, a copy moves two.
    row["share_of_memory_speed"] = 2.5 * t["copy"] / t["ours_both"]
    print(
        f"{shape} {row['dtype']} k={k}: forward {t['ours_forward']:.3f} ms ({t['theirs_forward']:.3f}), both {t['ours_both']:.3f} "
        f"({t['theirs_both']:.3f}): {row['times_faster']:.1f}x; copy {t['copy']:.3f}, {100 * row['share_of_memory_speed']:.0f}% of "
        "the memory's speed",
        flush=True,
    )
    return row


def depthwise_errors(ours, x, taps, g):
    """Relative errors of some channels against float64; RuntimeError where one is too large."""
    import torch

    channels, k = taps.shape
    some = slice(0, channels, max(1, channels // 8))
    a, b = x[:, some].detach().double().requires_grad_(), taps[some].detach().double().requires_grad_()
    z = torch.nn.functional.conv1d(a, b[:, None], padding=k - 1, groups=a.shape[1])[..., : x.shape[2]]
    z.backward(g[:, some].double())
    y = ours()
    of_x, of_taps = torch.autograd.grad(y, (x, taps), g)
    limit = {torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 2e-3}[x.dtype]
    errors = {}
    for name, got, wanted in (("y", y[:, some], z), ("grad_x", of_x[:, some], a.grad), ("grad_taps", of_taps[some], b.grad)):
        errors[name] = timing.require(name, float((got.detach().double() - wanted).norm() / wanted.norm()), limit)
    return errors


def against_torch(quick, runs):
    import torch

    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for k in (4,) if quick else (4, 64):
            yield depthwise_row((2, 64, 8192) if quick else (8, 2048, 8192), dtype, k, runs)
            torch.cuda.empty_cache()


def overhead(quick):
    """Microseconds of a call's Python, at 1,000 samples and 9 taps: many calls in a row, waited for at the end."""
    import cupy
    import torch
    from cupyx.scipy import signal as theirs

    import tapline
    import tapline.torch

    rng = np.random.default_rng(1)
    x, h = rng.standard_normal(1000, dtype=np.float32), rng.standard_normal(9, dtype=np.float32)
    there, taps, out = cupy.asarray(x), cupy.asarray(h), cupy.empty(1000, cupy.float32)
    tensor, of_tensor = torch.from_numpy(x).cuda(), torch.from_numpy(h).cuda()
    plan = tapline.Plan(x.shape, h, "same", dtype="float32")
    count = 20 if quick else 1000
    calls = {
        "CuPy array, NumPy taps": lambda: tapline.convolve(there, h, "same"),
        "CuPy array, NumPy taps, out": lambda: tapline.convolve(there, h, "same", out=out),
        "CuPy array, Plan, out": lambda: plan(there, out),
        "CuPy array, CuPy taps": lambda: tapline.convolve(there, taps, "same"),
        "tapline.signal.convolve, CuPy taps": lambda: tapline.signal.convolve(there, taps, "same"),
        "tensor, NumPy taps": lambda: tapline.convolve(tensor, h, "same"),
        "cupy.convolve": lambda: cupy.convolve(there, taps, "same"),
        "cupyx.scipy.signal.convolve, direct": lambda: theirs.convolve(there, taps, "same", method="direct"),
        "tapline.torch.conv1d": lambda: tapline.torch.conv1d(tensor[None, None], of_tensor[None], 4),
        "torch.nn.functional.conv1d": lambda: torch.nn.functional.conv1d(tensor[None, None], of_tensor[None, None], padding=4),
    }
    wanted = np.convolve(x.astype(np.float64), h.astype(np.float64), "same")
    for name, run in calls.items():
        result = run()
        result = (result if isinstance(result, cupy.ndarray) else result.cpu().numpy()).reshape(-1)
        expected = np.correlate(x.astype(np.float64), h.astype(np.float64), "same") if "conv1d" in name else wanted
        got = result.get() if hasattr(result, "get") else result
        timing.require(name, timing.relative_error(got, expected), 1e-5)

        def in_a_row(run=run):
            for _ in range(count):
                run()
            torch.cuda.synchronize()

        torch.cuda.synchronize()
        microseconds = 1e6 * statistics.median(timing.wall(in_a_row) for _ in range(5)) / count
        print(f"{name:36} {microseconds:6.1f} us", flush=True)
        yield {"call": name, "microseconds": microseconds}


def main():
    options = parse()
    begin = time.monotonic()
    runs = 3 if options.quick else 9
    import cupy
    import torch

    versions = {"python": platform.python_version(), "cupy": cupy.__version__, "torch": torch.__version__}
    results: dict = {"format": 1, "device": torch.cuda.get_device_name(), "versions": versions}
    parts: dict[str, tuple] = {
        "convolve": ("cupy", lambda: against_cupy(options.quick, runs, lambda: time.monotonic() - begin > options.limit)),
        "depthwise": ("torch", lambda: against_torch(options.quick, runs)),
        "overhead": ("overhead", lambda: overhead(options.quick)),
    }
    for key, (name, rows) in parts.items():
        if options.only in (None, name):
            results[key] = []
            for row in rows():
                if "missing" in row:
                    results.setdefault("missing", []).append(row["missing"])
                    print(f"{row['missing']}: not measured, for time")
                else:
                    results[key].append(row)
                if options.out:  # after each row, so that a run that ends early leaves what it has
                    write(options.out, results)
            print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)


def write(path, results):
    with open(path, "w") as file:
        json.dump(results, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
