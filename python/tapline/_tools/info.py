"""What this build and this machine offer."""

import importlib.metadata
import os
import platform
import sys

from tapline import _core

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the package's

# What works together with tapline if it is installed, and what for.
_COMPANIONS = {
    "numpy": "arrays",
    "scipy": "what the drop-ins do not know goes there",
    "cupy": "arrays in GPU memory",
    "torch": "tensors, tapline.torch",
    "jax": "arrays in GPU memory",
    "matplotlib": "plan.plot(), tapline.plot_taps()",
    "tqdm": "progress bars",
}


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


def command_path():
    """The command that lies beside this file, or None."""
    path = os.path.join(_FOLDER, "tapline-command")
    return path if os.access(path, os.X_OK) else None


def _installed(package):
    # CuPy's packages are named after the CUDA that they are for.
    names = [package] if package != "cupy" else ["cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x", "cupy"]
    found = (next(iter(importlib.metadata.distributions(name=name)), None) for name in names)
    return next((distribution.version for distribution in found if distribution is not None), None)


def _config():
    offered = info()
    packages = {name: _installed(name) for name in _COMPANIONS}
    advice = [f"{engine['name']}: {engine['reason']}" for engine in offered["engines"] if not engine["available"]]
    if command_path() is None:
        advice.append("command: not in this installation; build with TAPLINE_BUILD_CLI=ON")
    advice += [f"{name} is not installed ({use}): pip install {name}" for name, use in _COMPANIONS.items() if not packages[name]]
    return {
        "version": offered["version"],
        "folder": _FOLDER,
        "python": f"{platform.python_version()} on {platform.machine()}",
        "command": command_path(),
        "engines": offered["engines"],
        "instruction_sets": {"in use": offered["cpu_target"], "offered": offered["cpu_targets"]},
        "threads": offered["threads"],
        "wisdom": offered["wisdom_path"],
        "packages": packages,
        "advice": advice,
    }


def show_config(mode="stdout"):
    """Print what was found on this machine, and what to do about what was not. For reports of errors, too.

    Parameters
    ----------
    mode : {'stdout', 'dicts'}
        As `numpy.show_config`: print, or return a dictionary.

    Returns
    -------
    dict or None

    Examples
    --------
    >>> import tapline
    >>> config = tapline.show_config("dicts")
    >>> config["version"] == tapline.__version__
    True
    >>> tapline.show_config()  # doctest: +ELLIPSIS
    tapline ...
    """
    if mode not in ("stdout", "dicts"):
        raise ValueError(f"mode: {mode!r}; use 'stdout' or 'dicts'")
    config = _config()
    if mode == "dicts":
        return config
    lines = [("tapline", f"{config['version']} in {config['folder']}"), ("python", config["python"])]
    for engine in config["engines"]:
        devices = [f"{device['name']}: {device['description']}" for device in engine["devices"]]
        lines += [(f"engine {engine['name']}", text) for text in devices or ["not available"]]
    sets = config["instruction_sets"]
    lines += [
        ("instruction set", f"{sets['in use']} of {', '.join(sets['offered'])}"),
        ("threads", str(config["threads"])),
        ("command", config["command"] or "not there"),
        ("wisdom", config["wisdom"]),
        ("packages", ", ".join(f"{name} {version}" for name, version in config["packages"].items() if version)),
    ]
    lines += [("to do" if i == 0 else "", text) for i, text in enumerate(config["advice"])]
    sys.stdout.writelines(f"{name:<17} {text}".rstrip() + "\n" for name, text in lines)
    return None
