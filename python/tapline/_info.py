"""What this build and this machine offer."""

from tapline import _core


def info():
    """What this build and this machine offer.

    Returns
    -------
    dict
        ``version``; ``engines``, each with ``name``, ``available``, the ``reason`` why not, and ``devices``;
        ``cpu_target``, the instruction set in use, of ``cpu_targets``; ``threads`` that this process may run on;
        ``wisdom_path``, where `tapline tune` remembers what it measured; ``plan_cache``, the plans of recent calls: ``plans``,
        ``host_bytes`` and ``device_bytes`` that they hold (about, as a plan tells only its taps), ``limit_bytes`` of both together,
        the ``preparation_seconds`` they took, and ``hits`` and ``misses`` so far.

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
        "plan_cache": _core.plan_cache_info(),
    }
