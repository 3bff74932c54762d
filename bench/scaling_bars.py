#!/usr/bin/env python3
"""What is wanted of several GPUs, as rows of the receipt (scripts/gpu_receipt.py).

python3 bench/scaling_bars.py FILE --output BARS.json      FILE is of bench/scaling.py measure
"""

import argparse
import json
import pathlib
import sys

# By the number of GPUs: the time of as many samples on each, and of 2^28 in all, at most, in times of one GPU with 2^28; how much
# faster steps of a process group are.
WEAK = {2: 1.04, 4: 1 / 0.95, 8: 1 / 0.93}
STRONG = {2: 0.55, 4: 0.29, 8: 0.16}
STRONG_FROM_TAPS = {8: 2047}
GROUPS = {2: 1.9, 4: 3.7, 8: 7.2}
# What a machine's noise may take of it.
HELD = 0.95
BITS = "share of cuts"


def _row(name, unit, wanted, reached, seconds, device, at_most):
    held = wanted if unit == BITS else wanted / HELD if at_most else wanted * HELD
    met, holds = (reached <= limit if at_most else reached >= limit for limit in (wanted, held))
    both = {"wanted": wanted, "held": held, "unit": unit, "reached": reached, "met": bool(met), "holds": bool(holds)}
    return {"name": name, **both, "seconds": seconds, "device": device}


def rows_of(found):
    """Of one file of bench/scaling.py."""
    gpu = found["gpus"][0] if found["gpus"] else ""
    rows = []
    for r in found.get("resident", []):
        for d in r["devices"]:
            count, one = d["devices"], r["one"]["median"]
            name = f"{count} GPUs, {r['taps']:,} taps"
            for what, kind, limits in (("as many samples on each", "weak", WEAK), ("as many in all", "strong", STRONG)):
                if kind == "strong" and r["taps"] < STRONG_FROM_TAPS.get(count, 0):
                    continue
                seconds = d[kind]["median"]
                rows.append(_row(f"{name}, {what}", "times of one", limits[count], seconds / one, seconds, gpu, True))
            same = 1.0 if all(d["same_bits"]) else 0.0
            rows.append(_row(f"{name}, bits of one", BITS, 1.0, same, None, gpu, False))
    for r in found.get("groups", []):
        seconds = r["all"]["median"]
        name = f"process group of {r['devices']}, conv1d, {r['taps']:,} taps, forward and backward"
        if gpu:
            rows.append(_row(name, "times as fast", GROUPS[r["devices"]], r["one"]["median"] / seconds, seconds, gpu, False))
    for r in found.get("host", []):
        for d in r["devices"]:
            name = f"{d['devices']} GPUs, {r['taps']:,} taps, host to host"
            rows.append(_row(name, f"of {d['bar']}", 1.0, d["reached"], d["seconds"]["median"], gpu, False))
    return rows


def write(path, output):
    """Exit status 1 where one does not hold."""
    rows = rows_of(json.loads(pathlib.Path(path).read_text(encoding="utf-8")))
    pathlib.Path(output).write_text(json.dumps({"bars": rows, "missing": []}, indent=1) + "\n", encoding="utf-8")
    for r in rows:
        met = "yes" if r["met"] else "not yet" if r["holds"] else "NO"
        print(f"{met:8}{r['reached']:.3f} ({r['wanted']:.3f} wanted, {r['unit']}): {r['name']}")
    return 0 if all(r["holds"] for r in rows) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    sys.exit(write(options.file, options.output))
