"""What this build and this machine offer."""

from tapline import _core


def info():
    """What this build and this machine offer.

    Returns
    -------
    dict
        ``version``; ``engines``, each with ``name``, ``available``, the ``reason`` why not, and ``devices``;
        ``cpu_target``, the instruction set in use, of ``cpu_targets``; ``threads`` that this process may run on;
        ``wisdom_path``, where `tapline tune` remembers what it measured.

    Examples
    --------
    >>> import tapline
    >>> [engine["name"] for engine in tapline.info()["engines"]]
    ['cpu', 'cuda']
    >>> tapline.info()["engines"][0]["available"]
    True
    """
    return {
        "version": _core.__version__,
        "engines": _core.engines(),
        "cpu_target": _core.cpu_target(),
        "cpu_targets": _core.cpu_targets(),
        "threads": _core.available_threads(),
        "wisdom_path": _core.wisdom_path(),
    }
