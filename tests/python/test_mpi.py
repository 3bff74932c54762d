"""tapline.mpi under mpirun with four processes: the bits of one, and no more traffic than halos; skipped where there is no MPI."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

PROCESSES = 4


def main():
    from mpi4py import MPI

    import tapline
    import tapline.mpi

    comm = MPI.COMM_WORLD
    for seed in range(40):
        rng = np.random.default_rng(seed)
        lengths = rng.integers(1, 40, comm.size).tolist()
        n, axis = sum(lengths), int(rng.integers(-2, 2))
        dtype = (np.float32, np.complex128, np.int32)[rng.integers(3)]
        k = int(rng.integers(1, 60))
        mode = ("full", "same", "valid", "causal", "leading")[rng.integers(5)]
        k = min(k, n) if mode == "valid" else k
        boundary = ("zero", "nearest", "reflect", "mirror", "wrap")[rng.integers(5)]
        x = np.moveaxis((rng.standard_normal((3, n)) * 100).astype(dtype), 1, axis)
        taps = (rng.standard_normal(k) * 9).astype(np.int64 if dtype == np.int32 else np.float32)
        begin = sum(lengths[: comm.rank])
        index = [slice(None)] * 2
        index[axis] = slice(begin, begin + lengths[comm.rank])
        y = tapline.mpi.convolve(x[tuple(index)], taps, mode, axis=axis, boundary=boundary)
        whole = tapline.convolve(x, taps, mode, axis=axis, boundary=boundary)
        joined = np.concatenate(comm.allgather(y), axis)
        np.testing.assert_array_equal(joined, whole, err_msg=f"seed {seed}")
    traffic_is_that_of_the_halos(comm)
    with pytest.raises(ValueError, match="different"):
        tapline.mpi.convolve(np.ones(5), np.ones(3 + (comm.rank == 1)))
    if comm.rank == 0:
        print("all the same", flush=True)
    one_that_never_comes(comm)


def traffic_is_that_of_the_halos(comm):
    """What goes through the communicator, counted: k - 1 samples at each border between parts, both ways together."""
    from mpi4py import MPI

    import tapline.mpi

    sent = []

    class Counting(MPI.Intracomm):
        def Isend(self, buffer, dest, tag=0):
            sent.append(buffer[0].nbytes)
            return super().Isend(buffer, dest, tag)

    taps = np.ones(11, np.float32)
    tapline.mpi.convolve(np.ones(100, np.float32), taps, "same", comm=Counting(comm))
    assert comm.allreduce(sum(sent)) == (comm.size - 1) * (taps.size - 1) * 4


def one_that_never_comes(comm):
    """All others are told within the time that they gave."""
    import time

    import tapline.mpi

    other = comm.Dup()
    begin = time.monotonic()
    y = tapline.mpi.convolve(np.ones(50), np.ones(9), comm=other, timeout=60)
    assert len(y) == 50 + (comm.rank == comm.size - 1) * 8
    if comm.rank < comm.size - 1:
        with pytest.raises(TimeoutError, match="answered within 1 s"):
            tapline.mpi.convolve(np.ones(50), np.ones(9), comm=other, timeout=1)
        assert time.monotonic() - begin < 30
    comm.Barrier()
    if comm.rank == 0:
        print("all told", flush=True)
        comm.Abort(0)  # messages are on their way: MPI cannot end otherwise
    time.sleep(30)


def test_four_processes():
    pytest.importorskip("mpi4py")
    mpirun = shutil.which("mpirun", path=os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
    if mpirun is None:
        pytest.skip("no mpirun")
    environment = {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "true",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    call = [mpirun, "-n", str(PROCESSES), sys.executable, __file__]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert "all the same" in done.stdout, done.stderr
    assert "all told" in done.stdout, done.stderr


if __name__ == "__main__":
    main()
