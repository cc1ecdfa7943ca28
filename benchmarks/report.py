"""Draws docs/benchmarks.md from the kept results, and from nothing else: `python -m benchmarks.report`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import geometric_mean

from benchmarks import results
from benchmarks.measure import SELECTED, Measured, Spread, figures, ratios, values
from benchmarks.results import Result

PAGE = Path("docs/benchmarks.md")
_HEAD = """# Benchmarks

Drawn from the files in `benchmarks/results` by `python -m benchmarks.report`; no figure here was typed by hand.
`make benchmark` measures anew, in about half an hour; `python -m benchmarks.suite --help` tells how to choose cases
and sizes.

Peers answer the same question in turn, each round beginning with another one. Z-order and liquid tables are told to
make files of the mean size of ours. Files of peers have timestamps of the same type as ours (8 bytes, with bounds),
but for results of days before 2026-11-29: there they have Spark's own, of 12 bytes and without bounds. The first call
of a case is told apart from the warm ones that follow. Seconds are by the wall clock and of CPU, the latter of the
driver's JVM and all Python processes together. A cell gives the median and in brackets the quartiles; a ratio is the
figure of the first column over that of the peer, the median of the ratios within a round: less is better, and 0.5 ×
is half as long. Goals that say "faster" have it the other way round.
"""


def main() -> None:
    """Writes the page."""
    kept = [Result.read(path) for path in sorted(results.KEPT.glob("*.json"))]
    PAGE.write_text(page(kept))
    print(f"{PAGE}: {len(kept)} results")


def page(kept: Sequence[Result]) -> str:
    """The page as Markdown."""
    parts = [_HEAD]
    for result in kept:
        parts += ["", *_section(result)]
    return "\n".join(parts) + "\n"


def _section(result: Result) -> Iterator[str]:
    yield f"## {result.workload}, {result.setting['options']['size']}"
    yield ""
    yield _setting(result)
    single = [case for case in result.cases if not case.is_class]
    classes = [case for case in result.cases if case.is_class]
    if single:
        yield from ("", *_medians(single))
    if result.workload == "tpch":
        yield from ("", *_means(single))
    for peer in _others(classes):
        goals = " and ".join(dict.fromkeys(case.goal for case in classes if case.goal))
        wanted = f"; wanted of the time: {goals}" if goals else ""
        yield from ("", f"Ours over {peer}'s: the median of the boxes / the worst tenth{wanted}.")
        yield from ("", *_ratios(classes, peer))


def _setting(result: Result) -> str:
    machine, versions, options = (result.setting[name] for name in ("machine", "versions", "options"))
    told = [f"{name} {value}" for name, value in options.items() if name not in ("size", "rounds")]
    told += [f"rounds {_rounds(result.cases)}"]
    told += [f"seed {result.setting['seed']}"]
    on = f"{machine['processor']}, {machine['cores']} cores, {machine['memory GiB']} GiB"
    software = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"{result.setting['day']}; {', '.join(told)}; {on}, load {machine['load before']} before; {software}."
    )


def _rounds(cases: Sequence[Measured]) -> str:
    """How often the cases were asked after the first call."""
    rounds = sorted({len(readings) for case in cases for readings in case.warm.values()})
    return " and ".join(map(str, rounds))


def _medians(cases: Sequence[Measured]) -> Iterator[str]:
    """A row for each case and figure, a column for each peer."""
    peers = list(dict.fromkeys(peer for case in cases for peer in case.warm))
    yield _row("case", "figure", *peers, "ratio", "wanted")
    yield _row(*["---"] * (len(peers) + 4))
    for case in cases:
        name = case.name
        if case.first:
            yield _row(name, "first call, s", *(_first(case, peer) for peer in peers), "", case.goal)
            name = ""
        for figure in figures(case):
            cells = [_median(values(case, peer, figure)) for peer in peers]
            against = ", ".join(f"{_ratio(spread.median)} × {peer}" for peer, spread in ratios(case, figure))
            yield _row(name, _title(figure), *cells, against, case.goal if name else "")
            name = ""


def _means(cases: Sequence[Measured]) -> Iterator[str]:
    """Of each figure the first peer over the others, in the geometric mean of the cases."""
    for figure in figures(cases[0]):
        of_peers: dict[str, list[float]] = {}
        for case in cases:
            for peer, spread in ratios(case, figure):
                of_peers.setdefault(peer, []).append(spread.median)
        means = (f"{geometric_mean(each):.2f} × {peer}" for peer, each in of_peers.items())
        yield f"- Geometric mean of {_title(figure)}: {', '.join(means)}."


def _ratios(cases: Sequence[Measured], peer: str) -> Iterator[str]:
    """A row for each class, a column for each figure of the first peer over that of another."""
    names = [name for name in figures(cases[0]) if name != SELECTED]
    yield _row("class", *map(_title, names))
    yield _row(*["---"] * (len(names) + 1))
    for case in cases:
        spreads = [dict(ratios(case, figure)).get(peer) for figure in names]
        yield _row(case.name, *(f"{s.median:.2f} / {s.worst:.2f}" if s else "" for s in spreads))


def _others(classes: Sequence[Measured]) -> list[str]:
    return list(classes[0].warm)[1:] if classes else []


def _title(figure: str) -> str:
    return {"wall": "wall, s", "cpu": "CPU, s"}.get(figure, figure)


def _first(case: Measured, peer: str) -> str:
    reading = case.first.get(peer)
    return f"{reading.wall:.3g}, CPU {reading.cpu:.3g}" if reading else ""


def _median(of_peer: Sequence[float]) -> str:
    if not of_peer:
        return ""
    spread = Spread.of(of_peer)
    if spread.low == spread.high:
        return _number(spread.median)
    return f"{_number(spread.median)} [{_number(spread.low)}–{_number(spread.high)}]"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"


def _ratio(value: float) -> str:
    """Two digits behind the point, and of small ratios two that tell something."""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def _row(*cells: str) -> str:
    """A row of a table; a bar in a cell would begin another cell."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    main()
