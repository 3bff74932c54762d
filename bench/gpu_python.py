"""The Python module on a GPU against CuPy and PyTorch: `python3 bench/gpu_python.py [--out FILE.json] [--quick]`.

Each result is checked before it is timed. A time is the median of runs between two events, each over enough calls that the GPU, not
Python, sets the pace; `copy_ms` is the copy of the same bytes in the same run. Data are random.
"""

import argparse
import json
import statistics

import numpy as np


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="where the results go as JSON (default: only printed)")
    parser.add_argument("--quick", action="store_true", help="smaller problems, fewer runs: to try the script")
    parser.add_argument("--only", choices=["cupy", "torch"])
    return parser.parse_args()


def median_ms(run, make_event, runs, budget_ms=60.0):
    """Median and spread of one call's time, in milliseconds."""

    def timed(calls):
        begin, end = make_event(), make_event()
        begin.record()
        for _ in range(calls):
            run()
        end.record()
        end.synchronize()
        return elapsed(begin, end) / calls

    timed(2)
    once = timed(1)
    calls = max(1, min(50, int(budget_ms / runs / max(once, 1e-3))))
    times = [timed(calls) for _ in range(runs)]
    return statistics.median(times), min(times), max(times)


def elapsed(begin, end):
    if hasattr(begin, "elapsed_time"):
        return begin.elapsed_time(end)
    import cupy

    return cupy.cuda.get_elapsed_time(begin, end)


def relative_error(got, wanted):
    return float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted))


def against_cupy(quick, runs):
    import cupy
    from cupyx.scipy import signal as theirs

    import tapline

    def event():
        return cupy.cuda.Event()

    rng = np.random.default_rng(1)
    rows = []
    for log2n in (20,) if quick else (20, 24, 26):
        x = rng.standard_normal(1 << log2n, dtype=np.float32)
        there = cupy.asarray(x)
        y = cupy.empty_like(there)
        copy = median_ms(lambda: cupy.copyto(y, there), event, runs)[0]
        for k in (127, 2047) if quick else (9, 127, 511, 2047, 8191, 65535):
            h = (rng.standard_normal(k) / k).astype(np.float32)
            taps = cupy.asarray(h)
            ours = {"gpu_taps": lambda: tapline.convolve(there, taps, "same"), "host_taps": lambda: tapline.convolve(there, h, "same"),
                    "drop_in": lambda: tapline.signal.oaconvolve(there, taps, "same")}
            peers = {"fftconvolve": lambda: theirs.fftconvolve(there, taps, "same"), "oaconvolve": lambda: theirs.oaconvolve(there, taps, "same")}
            if k <= 2047:
                peers["convolve_direct"] = lambda: theirs.convolve(there, taps, "same", method="direct")
            # The middle, in float64 by NumPy.
            at, m = x.size // 2, 256
            part = x[at - k : at + m + k].astype(np.float64)
            wanted = np.convolve(part, h.astype(np.float64), "same")[k : k + m] if part.size == m + 2 * k else None
            row = {"n": x.size, "taps": k, "copy_ms": copy, "times_ms": {}, "error": {}}
            for name, run in {**ours, **peers}.items():
                try:
                    result = run()
                    if wanted is not None:
                        error = relative_error(result[at : at + m].get().astype(np.float64), wanted)
                        if not error < 1e-4:
                            raise RuntimeError(f"{name}: relative error {error} at {k} taps")
                        row["error"][name] = error
                    del result
                    middle, least, most = median_ms(run, event, runs)
                except (cupy.cuda.memory.OutOfMemoryError, NotImplementedError, ValueError) as refused:
                    row["times_ms"][name] = None
                    row.setdefault("refused", {})[name] = str(refused)[:200]
                    continue
                row["times_ms"][name] = {"median": middle, "min": least, "max": most}
            best = min((row["times_ms"][name]["median"], name) for name in peers if row["times_ms"][name])
            plan = tapline.Plan(x.shape, h, "same", dtype="float32", device="cuda:0")
            row["algorithm"], row["best_peer"] = plan.algorithm, best[1]
            row["times_faster"] = best[0] / row["times_ms"]["gpu_taps"]["median"]
            row["share_of_copy"] = copy / row["times_ms"]["gpu_taps"]["median"]
            rows.append(row)
            print(f"n=2^{log2n} k={k:6} {plan.algorithm:18} ours {row['times_ms']['gpu_taps']['median']:8.4f} ms (host taps "
                  f"{row['times_ms']['host_taps']['median']:8.4f}), {best[1]} {best[0]:8.3f} ms: {row['times_faster']:6.1f}x, "
                  f"{100 * row['share_of_copy']:.0f}% of copy", flush=True)
    return rows


def against_torch(quick, runs):
    import torch

    import tapline.torch

    def event():
        return torch.cuda.Event(enable_timing=True)

    rows = []
    shape = (2, 64, 8192) if quick else (8, 2048, 8192)
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for k in (4, 64) if not quick else (4,):
            torch.manual_seed(1)
            x = torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True)
            taps = (torch.randn(shape[1], k, device="cuda") / k**0.5).to(dtype).requires_grad_()
            g = torch.randn(shape, device="cuda", dtype=dtype)
            n = shape[2]

            def ours_forward():
                return tapline.torch.conv1d(x, taps)

            def theirs_forward():
                return torch.nn.functional.conv1d(x, taps[:, None], padding=k - 1, groups=shape[1])[..., :n]

            row = {"shape": shape, "dtype": str(dtype), "taps": k, "times_ms": {}}
            out = torch.empty_like(g)
            row["copy_ms"] = median_ms(lambda: out.copy_(g), event, runs)[0]
            # Checked on a few channels in float64, gradients and all.
            some = slice(0, shape[1], max(1, shape[1] // 8))
            a, b = x[:, some].detach().double().requires_grad_(), taps[some].detach().double().requires_grad_()
            z = torch.nn.functional.conv1d(a, b[:, None], padding=k - 1, groups=a.shape[1])[..., :n]
            z.backward(g[:, some].double())
            y = ours_forward()
            of_x, of_taps = torch.autograd.grad(y, (x, taps), g)
            limit = {torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 2e-3}[dtype]
            row["error"] = {}
            for name, got, wanted in (("y", y[:, some], z), ("grad_x", of_x[:, some], a.grad), ("grad_taps", of_taps[some], b.grad)):
                error = float((got.double() - wanted).norm() / wanted.norm())
                if not error < limit:
                    raise RuntimeError(f"{name}: relative error {error}")
                row["error"][name] = error
            del a, b, z, y, of_x, of_taps
            runners = {
                "ours_forward": ours_forward,
                "theirs_forward": theirs_forward,
                "ours_both": lambda: torch.autograd.grad(ours_forward(), (x, taps), g),
                "theirs_both": lambda: torch.autograd.grad(theirs_forward(), (x, taps), g),
            }
            for name, run in runners.items():
                middle, least, most = median_ms(run, event, runs, 200.0)
                row["times_ms"][name] = {"median": middle, "min": least, "max": most}
            t = {name: value["median"] for name, value in row["times_ms"].items()}
            row["times_faster"] = t["theirs_both"] / t["ours_both"]
            row["times_faster_forward"] = t["theirs_forward"] / t["ours_forward"]
            row["share_of_five_passes"] = 2.5 * row["copy_ms"] / t["ours_both"]  # x and y, then grad_y, x and grad_x
            rows.append(row)
            print(f"{shape} {dtype} k={k}: forward {t['ours_forward']:.3f} ({t['theirs_forward']:.3f}), both {t['ours_both']:.3f} ms "
                  f"({t['theirs_both']:.3f}): {row['times_faster']:.1f}x; copy {row['copy_ms']:.3f}, "
                  f"{100 * row['share_of_five_passes']:.0f}% of the memory's speed", flush=True)
            del x, taps, g, out
            torch.cuda.empty_cache()
    return rows


def main():
    options = parse()
    runs = 3 if options.quick else 9
    results = {"format": 1}
    import torch

    results["device"] = torch.cuda.get_device_name()
    if options.only != "cupy":
        results["depthwise"] = against_torch(options.quick, runs)
    if options.only != "torch":
        results["convolve"] = against_cupy(options.quick, runs)
    if options.out:
        with open(options.out, "w") as file:
            json.dump(results, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
