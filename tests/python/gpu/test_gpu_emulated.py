"""The tests of arrays in GPU memory on the emulated engine, which a build of the tests holds; TAPLINE_EMULATED_CUDA names it. And
what JAX asks for."""

import contextlib
import os
import pathlib
import subprocess
import sys
import threading
import types

import pytest

from tapline._gpu import calls
from tapline._gpu.libraries import _Jax

HERE = pathlib.Path(__file__).parent


def test_on_the_emulated_engine():
    engine = os.environ.get("TAPLINE_EMULATED_CUDA", "")
    if not os.path.exists(engine):
        pytest.skip("the emulated engine was not built")
    files = [str(file) for file in sorted(HERE.glob("test_gpu*.py")) if file.name != pathlib.Path(__file__).name]
    environment = dict(os.environ, TAPLINE_TEST_EMULATED=engine, TAPLINE_REQUIRE_GPU="1")
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
        env=environment,
        capture_output=True,
        text=True,
        cwd=HERE,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout[-5000:]
    assert " passed" in answer.stdout


class ArrayOfJax:
    def __init__(self, name, log):
        self.name, self.log = name, log

    def unsafe_buffer_pointer(self):
        return ord(self.name)

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream=None):
        self.log.append((self.name, stream))
        return f"capsule of {self.name}"

    def is_ready(self):
        return False


def test_work_for_jax_is_queued_on_the_stream_that_jax_waits_for():
    """from_dlpack names a stream, another one each time, and waits for what was queued on it when it has the capsule."""
    log, streams = [], iter((71, 72))

    def from_dlpack(export):
        stream = next(streams)
        capsule = export.__dlpack__(stream=stream)
        log.append(("taken in", stream))
        return ArrayOfJax(capsule[-1], log)

    library = _Jax(types.SimpleNamespace(dlpack=types.SimpleNamespace(from_dlpack=from_dlpack)))
    library.empty = lambda shape, dtype, device: ArrayOfJax("w", log)
    planned = types.SimpleNamespace(workspace_bytes=9, run=lambda *places: log.append(("run", places)))
    for stream in (71, 72):
        log.clear()
        x, y = ArrayOfJax("x", log), ArrayOfJax("y", log)
        result = calls.launch(library, types.SimpleNamespace(device=0), x, planned, library, y, None)
        assert result.name == "y"
        assert log[:4] == [("y", stream), ("x", stream), ("w", stream), ("run", (ord("y"), ord("x"), ord("w"), stream))]
        assert log[4:] == [("y", stream), ("taken in", stream)]
        assert len(library.pending) == stream - 70  # what is read lives on


def test_what_jax_still_reads_is_kept_whichever_threads_look():
    both = threading.Barrier(2)

    class Ready:
        def is_ready(self):
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(0.2)  # if the other thread can look as well, it does
            return True

    class Busy:
        def is_ready(self):
            return False

    library = _Jax(types.SimpleNamespace(dlpack=types.SimpleNamespace(from_dlpack=lambda export: Busy())))
    library.pending.extend([(Ready(), "read"), (Busy(), "still being read")])
    threads = [threading.Thread(target=library.written, args=(None, None, f"read by {i}")) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(keep for _, keep in library.pending) == ["read by 0", "read by 1", "still being read"]


def test_jax_without_64_bits_is_refused():
    class Narrow:
        dtype = types.SimpleNamespace(name="float32")

        def astype(self, dtype):
            return self

    library = _Jax(types.SimpleNamespace(numpy=types.SimpleNamespace(empty=lambda shape, dtype, device: Narrow())))
    library.devices[0] = None
    assert isinstance(library.astype(Narrow(), "float32"), Narrow)
    assert isinstance(library.empty((3,), "float32", 0), Narrow)
    with pytest.raises(TypeError, match="jax_enable_x64"):
        library.astype(Narrow(), "float64")
    with pytest.raises(TypeError, match="jax_enable_x64"):
        library.empty((3,), "float64", 0)
