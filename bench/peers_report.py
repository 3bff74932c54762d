"""docs/peers.md of what bench/peers.py measured: where a peer is faster first, then everything."""

from typing import Any

import page
import peers_threads

OURS = ("tapline", "tapline upfirdn")
OURS_PREPARED = "tapline, prepared"
PREPARED = ("IPP Convolve", "IPP FIR", "MKL VSL")  # what can be prepared is, and the result goes into an array that is there
HOMES = {"cpu": "On a CPU", "gpu": "On a GPU"}


def case_text(row: dict[str, Any]) -> str:
    return f"{page.count_text(row['length'])} x {row['taps']:,}, {row['dtype']}"


def own_of(peer: str, seconds: dict[str, float]) -> str:
    """Our call that is compared with a peer's: prepared, into an array that is there, where the peer's is."""
    if peer in PREPARED and OURS_PREPARED in seconds:
        return OURS_PREPARED
    return next((name for name in OURS if name in seconds), "")


def losses(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Every peer that is faster, where it is most first."""
    found = []
    for row in rows:
        seconds = row["seconds"]
        for peer, theirs in seconds.items():
            own = own_of(peer, seconds)
            if peer in (*OURS, OURS_PREPARED, "copy") or not own or seconds[own] <= theirs:
                continue
            factor = seconds[own] / theirs
            found.append((factor, [row["what"], peer, page.seconds_text(theirs), page.seconds_text(seconds[own]), f"{factor:.2f}"]))
    return [cells for _, cells in sorted(found, key=lambda each: -each[0])]


def full_table(rows: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row["seconds"] if name != "copy"))
    lines = []
    for row in rows:
        copy = row["seconds"]["copy"]
        shares = [page.share_text(copy / row["seconds"][name]) if name in row["seconds"] else "-" for name in names]
        lines.append([case_text(row), *shares])
    return page.table(("samples x taps", *names), lines, "l" + "r" * len(names))


def left_out_text(rows: list[dict[str, Any]]) -> str:
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for name, reason in row["left_out"].items():
            reasons.setdefault((name, reason), []).append(case_text(row))
    lines = []
    for (name, reason), where in reasons.items():
        place = "everywhere" if len(where) == len(rows) else f"at {'; '.join(where)}"
        lines.append(f"- {name}, {place}: {reason}")
    return "\n".join(lines) if lines else "Nobody was left out."


def rates_table(rates: dict[str, Any]) -> str:
    rows = [[name, page.seconds_text(each), f"{rates['errors'][name]:.0e}"] for name, each in rates["seconds"].items()]
    return page.table(("48 to 44.1 kHz, a minute, float64", "time", "relative error"), rows, "lrr")


def section(home: str) -> str:
    path = page.RESULTS / f"peers_{home}.json"
    if not path.exists():
        return f"## {HOMES[home]}\n\nNot measured yet.\n"
    data = page.read(path)
    rows, machine = data["cases"], data["machine"]
    compared = [row | {"what": case_text(row)} for row in rows]
    if "rates" in data:
        compared.append(data["rates"] | {"what": "48 to 44.1 kHz, a minute, float64"})
    lost = losses(compared)
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    count = f" {machine['threads']} threads," if home == "cpu" else ""
    parts = [f"## {HOMES[home]}", f"{machine['processor']},{count} {machine['date']}; {packages}."]
    if machine.get("busy"):
        parts.append(
            "Other programs ran at the same time: all times are processor time of all threads together, the fastest round of each."
        )
    if "note" in machine:
        parts.append(machine["note"])
    parts.append("### Where a peer is faster")
    heads = ("case", "peer", "its time", "tapline's", "times as long")
    parts.append(page.table(heads, lost, "llrrr") if lost else "Nowhere in these cases.")
    parts += ["### Share of the copy's speed", full_table(rows)]
    if "rates" in data:
        parts += ["### A change of rate", rates_table(data["rates"])]
    if home == "cpu" and (threads := peers_threads.section()):
        parts.append(threads)
    parts += ["### Left out", left_out_text(rows)]
    return "\n\n".join(parts) + "\n"


def write() -> None:
    text = """# Peers, side by side

Made by `make bench-peers`, which measures and checks; nothing here is typed by hand. 100% means that convolving one signal of
random samples (mode same) took as long as copying it. Every result was compared with float64 sums first; who was wrong is not
timed, and named at the end. Peers run as they come: with as many threads as they take by themselves. "Prepared" is a
`tapline.Plan` that writes into an array that is there; it is what IPP and MKL, which do the same, are compared with. The others
are compared with `tapline.convolve`, which allocates its result as they do.

"""
    page.write("peers.md", text + "\n".join(section(home) for home in HOMES))
