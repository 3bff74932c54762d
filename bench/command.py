"""`tapline bench` as the scripts here call it; it checks, times and copies."""

import json
import subprocess
from collections.abc import Sequence


class BenchError(RuntimeError):
    """It could not be started, failed, or took too long; the text says which."""


def run(words: Sequence[str], timeout: float | None = None) -> list[dict]:
    """The cases that a command `tapline bench ... --json -` prints, one a line."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False)
        if done.returncode != 0:
            raise BenchError((done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1])
        return [json.loads(line) for line in done.stdout.splitlines()]
    except subprocess.TimeoutExpired:
        raise BenchError(f"more than {timeout:.0f} s") from None
    except (OSError, ValueError) as error:
        raise BenchError(str(error)) from error
