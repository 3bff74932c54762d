#!/usr/bin/env python3
"""tapline beside NumPy, SciPy and OpenCV in one run, as JSON.

For every number of taps: `tapline bench` checks, times and copies; then each peer convolves random data of the same size, and
all shares refer to the copy of that case. Errors are relative L2 errors on the same random data against float64.

    python3 bench/sweep.py --tapline build/default/bin/tapline --library build/default/libtapline.so --output bench/results/cpu.json
"""

import argparse
import ctypes
import functools
import json
import pathlib
import statistics
import subprocess
import tempfile

import cv2
import numpy as np
import scipy
import scipy.signal

import command
import timing

TAPS = [3, 8, 16, 32, 64, 127, 255, 511, 1023, 2047, 4095, 8191, 16383, 65535, 262143, 1048576]
# The slowest a peer may be predicted to be before it is left out: seconds for one convolution.
PEER_LIMIT_SECONDS = 5.0


class Library:
    """The C interface, on NumPy arrays: for errors on the very data that the peers get."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.tapline_last_error.restype = ctypes.c_char_p
        pointer, size = ctypes.c_void_p, ctypes.c_int64
        self.lib.tapline_convolve_f32.argtypes = [pointer, size, pointer, size, pointer, size, ctypes.c_int]
        self.same = 1  # TAPLINE_MODE_SAME

    def convolve(self, x, h):
        out = np.full(x.size, np.nan, np.float32)
        status = self.lib.tapline_convolve_f32(out.ctypes.data, out.size, x.ctypes.data, x.size, h.ctypes.data, h.size, self.same)
        if status != 0:
            raise RuntimeError(self.lib.tapline_last_error().decode())
        return out


def bench(tapline, length, taps, dtype="f32", algorithms="auto", threads=0):
    words = [tapline, "bench", "--lengths", str(length), "--taps", str(taps), "--mode", "same", "--dtype", dtype]
    return command.run([*words, "--algorithms", algorithms, "--threads", str(threads), "--json", "-"])


def median_seconds(call):
    call()
    return statistics.median(timing.repeat(call, seconds=3, least=1, most=5))


def opencv_row(x, h):
    return cv2.filter2D(x[None, :], -1, h[::-1][None, :].copy(), borderType=cv2.BORDER_CONSTANT)[0]


PEERS = {
    "numpy.convolve": (lambda x, h: np.convolve(x, h, "same"), lambda n, k: n * k / 2e9),
    "scipy.signal.oaconvolve": (lambda x, h: scipy.signal.oaconvolve(x, h, "same"), lambda n, k: n * 3e-8),
    "scipy.signal.fftconvolve": (lambda x, h: scipy.signal.fftconvolve(x, h, "same"), lambda n, k: n * 6e-8),
    "cv2.filter2D": (opencv_row, lambda n, k: n * k / 2e9 if k < 2000 else 1e9),
}


def errors(library, random, taps, length=1 << 18):
    length = max(length, 4 * taps)
    x = random.standard_normal(length).astype(np.float32)
    h = random.standard_normal(taps).astype(np.float32)
    exact = scipy.signal.oaconvolve(x.astype(np.float64), h.astype(np.float64), "same")
    row = {"tapline": timing.relative_error(library.convolve(x, h), exact)}
    row["scipy.signal.oaconvolve"] = timing.relative_error(scipy.signal.oaconvolve(x, h, "same"), exact)
    if taps <= 4095:
        row["numpy.convolve"] = timing.relative_error(np.convolve(x, h, "same"), exact)
    return row


def transforms(library):
    """What convolves by transforms, where an error at one place may reach others."""
    peers = ("scipy.signal.oaconvolve", "scipy.signal.fftconvolve")
    return {"tapline": library.convolve} | {name: PEERS[name][0] for name in peers}


def loud_and_quiet(library, random, taps=127, length=1 << 16):
    """A signal whose second half is a million times louder: the relative error of the quiet half's outputs."""
    x = random.standard_normal(length).astype(np.float32)
    x[length // 2 :] *= np.float32(1e6)
    h = random.standard_normal(taps).astype(np.float32)
    exact = np.convolve(x.astype(np.float64), h.astype(np.float64), "same")
    quiet = slice(0, length // 2 - taps)
    return {name: timing.relative_error(f(x, h)[quiet], exact[quiet]) for name, f in transforms(library).items()}


def one_nan(library, random, taps=127, length=1 << 16):
    """Outputs that one NaN in the signal spoils; exact: as many as there are taps."""
    x = random.standard_normal(length).astype(np.float32)
    x[length // 2] = np.nan
    h = random.standard_normal(taps).astype(np.float32)
    return {name: int(np.count_nonzero(~np.isfinite(f(x, h)))) for name, f in transforms(library).items()}


def throughput(options, library, random, length, taps_list):
    rows = []
    for taps in taps_list:
        row = bench(options.tapline, length, taps)[0]
        x = random.standard_normal(length).astype(np.float32)
        h = random.standard_normal(taps).astype(np.float32)
        ours = library.convolve(x, h).astype(np.float64)
        row["peers"] = {}
        for name, (call, predicted) in PEERS.items():
            if predicted(length, taps) <= PEER_LIMIT_SECONDS:
                timing.require(name, timing.relative_error(call(x, h), ours), 1e-5)
                row["peers"][name] = median_seconds(functools.partial(call, x, h))
        again = bench(options.tapline, length, taps)[0]  # before and after the peers: the machine may have changed
        if again["copy_fraction"] > row["copy_fraction"]:
            row.update(again)
        print(
            f"{length} x {taps}: {row['algorithm']} {100 * row['copy_fraction']:.1f}% of the copy, "
            + ", ".join(f"{n} {100 * row['copy_seconds'] / s:.1f}%" for n, s in row["peers"].items()),
            flush=True,
        )
        rows.append(row)
    return rows


def write_float_wav(path, samples, rate):
    data = np.ascontiguousarray(samples, dtype="<f4").tobytes()
    channels = samples.shape[1]
    header = b"RIFF" + (36 + len(data)).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little")
    header += (3).to_bytes(2, "little") + channels.to_bytes(2, "little") + rate.to_bytes(4, "little")
    header += (rate * channels * 4).to_bytes(4, "little") + (channels * 4).to_bytes(2, "little") + (32).to_bytes(2, "little")
    path.write_bytes(header + b"data" + len(data).to_bytes(4, "little") + data)


def file_to_file(options, random):
    """300 s of 48 kHz stereo float against a stereo impulse response of 2 s, from file to file."""
    rate = 48000
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        signal, room = folder / "signal.wav", folder / "room.wav"
        write_float_wav(signal, 0.1 * random.standard_normal((300 * rate, 2)), rate)
        decay = np.exp(-3 * np.arange(2 * rate) / rate)[:, None]
        write_float_wav(room, 0.01 * random.standard_normal((2 * rate, 2)) * decay, rate)
        commands = {
            "tapline": [options.tapline, "convolve", signal, room, "-o", folder / "ours.wav"],
            "ffmpeg_afir": [
                *("ffmpeg", "-y", "-v", "error", "-i", signal, "-i", room, "-lavfi", "afir"),
                *("-c:a", "pcm_f32le", folder / "theirs.wav"),
            ],
        }
        run = functools.partial(subprocess.run, check=True, stdin=subprocess.DEVNULL)
        calls = {name: functools.partial(run, words) for name, words in commands.items()}
        timing.in_turns(calls, 1)  # files and programs in memory
        seconds = timing.medians(timing.in_turns(calls, 7))
    print(f"file to file: {seconds['tapline']:.3f} s, ffmpeg afir {seconds['ffmpeg_afir']:.3f} s", flush=True)
    return {f"{name}_seconds": value for name, value in seconds.items()}


def machine():
    return timing.machine() | {"numpy": np.__version__, "scipy": scipy.__version__, "opencv": cv2.__version__}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapline", required=True, help="the command")
    parser.add_argument("--library", required=True, help="libtapline.so, for errors on the peers' data")
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="a few numbers of taps, no files")
    options = parser.parse_args()
    random = np.random.default_rng(1)
    library = Library(options.library)
    taps_list = [3, 32, 511] if options.quick else TAPS
    options.output.parent.mkdir(parents=True, exist_ok=True)
    result = {
        "machine": machine(),
        "info": json.loads(subprocess.run([options.tapline, "info", "--json"], check=True, capture_output=True, text=True).stdout),
    }
    result["one_signal"] = throughput(options, library, random, 1 << 24, taps_list)
    result["short_signal"] = throughput(options, library, random, 1_500_000, [2047])
    result["small_call"] = bench(options.tapline, 1000, 9, threads=1)
    if not options.quick:
        result["f64"] = [bench(options.tapline, 1 << 24, k, "f64")[0] for k in TAPS]
        result["complex64"] = [bench(options.tapline, 1 << 24, k, "complex64")[0] for k in TAPS]
        result["file_to_file"] = file_to_file(options, random)
    result["errors"] = {str(k): errors(library, random, k) for k in taps_list if k <= 65535}
    result["loud_and_quiet"] = loud_and_quiet(library, random)
    result["one_nan"] = one_nan(library, random)
    options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
