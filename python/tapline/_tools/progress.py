"""How far something has come that takes longer than two seconds."""

import importlib.util
import sys
import time

PATIENCE = 2.0  # seconds without a word


def check(show):
    if show not in ("auto", None) and not callable(show):
        raise TypeError(f"progress: {show!r}; give a function of (done, total), 'auto' or None")


class Progress:
    """Counts steps. `show` is a function that is called with (done, total) after each step; "auto": a bar of tqdm from two seconds
    on, where tqdm is installed and somebody watches; None: nothing."""

    def __init__(self, total, show="auto", text="", done=0):
        check(show)
        self.total, self.done, self.text = total, done, text
        self._call = show if callable(show) else None
        self._watched = show == "auto" and _is_watched() and importlib.util.find_spec("tqdm") is not None
        self._begin = time.perf_counter()
        self._bar = None

    def step(self):
        self.done += 1
        if self._call is not None:
            self._call(self.done, self.total)
        elif self._bar is not None:
            self._bar.update()
        elif self._watched and self.done < self.total and time.perf_counter() - self._begin >= PATIENCE:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=self.total, initial=self.done, desc=self.text, leave=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._bar is not None:
            self._bar.close()


def _is_watched():
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
