"""`mbsim reproduce`: the tables and figures of papers, beside the published numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import PATH
from multibody_cli.cli.progress import ProgressBar
from multibody_cli.cli.tables import markdown_table, show, table_lines, to_json
from multibody_cli.errors import ArgumentError
from multibody_cli.escaping import escaped

if TYPE_CHECKING:
    from multibody_cli.studies.papers.contract import Reproduction
    from multibody_cli.studies.papers.reading import PaperSpec

ALL = "all"

EXPERIMENTS = {"bar_format": "{n:.0f} of {total:.0f} experiments made, {desc}[{elapsed}]"}
"""Settings of the bar of experiments, which take different times."""


@click.command("reproduce", cls=Verb, short_help="Reproduce the tables and figures of papers.")
@click.argument("names", metavar="PAPER...", nargs=-1, required=True)
@click.option("--quick", is_flag=True, help="Use smaller experiments: about half a minute for all papers.")
@click.option("--only", metavar="NAME", multiple=True, help="Run only this experiment.")
@click.option("--json", "json_file", metavar="FILE", help="Write all data as JSON; `-`: to stdout, without tables.")
@click.option("--markdown", metavar="FOLDER", type=PATH, help="Write a page for each paper, FOLDER/PAPER.md.")
@click.option("--plot", metavar="FOLDER", type=PATH, help="Draw each figure, FOLDER/PAPER-NAME.png.")
def verb(
    names: tuple[str, ...],
    quick: bool,
    only: tuple[str, ...],
    json_file: str | None,
    markdown: Path | None,
    plot: Path | None,
) -> int:
    """Run the experiments of each PAPER in its order, and compare the results with the published ones.

    A PAPER is one of `baraff1996`, `siguenter2011`, `bruedigam2020`, `lee2016` and `redmax`, or `all`. Each claim of a
    paper has a verdict: it holds, holds better, or does not hold, with the reason.

    Exit code: 0 if each claim holds or the reason is known, otherwise 1; 130 if interrupted, after the experiments made
    so far are written.
    """
    from multibody_cli.studies.papers.reading import papers, read_paper
    from multibody_cli.studies.papers.running import reproduce
    from multibody_cli.studies.simulation import prepare

    if plot is not None:
        from multibody_cli.pictures.style import require_format

        require_format(plot / "figure.png")
    for folder in (markdown, plot, Path(json_file).parent if json_file not in (None, "-") else None):
        if folder is not None:  # before the first experiment, which may take minutes
            folder.mkdir(parents=True, exist_ok=True)
    chosen = {name: read_paper(name, quick) for name in dict.fromkeys(papers() if ALL in names else names)}
    _require_experiments(only, [name for _, paper in chosen.values() for name in paper.experiments])
    found: dict[str, tuple[PaperSpec, list[Reproduction]]] = {}
    total = sum(not only or name in only for _, paper in chosen.values() for name in paper.experiments)
    interrupted = False
    try:
        with ProgressBar("experiments", EXPERIMENTS) as bar:

            def announce(title: str) -> None:
                bar.show(sum(len(done) for _, done in found.values()), total, title)

            for name, (folder, paper) in chosen.items():
                done: list[Reproduction] = []
                found[name] = (paper, done)
                _show_head(paper, json_file)
                for one in reproduce(folder, paper, only, prepare, announce):
                    done.append(one)
                    _show(one, json_file)
    except KeyboardInterrupt:
        interrupted = True
    for name, (paper, done) in found.items():
        if markdown is not None:
            _write_page(markdown / f"{name}.md", name, paper, done, quick)
        if plot is not None:
            _draw(plot, name, done)
    if json_file is not None:
        _write_json(json_file, found, quick)
    if interrupted:
        messages.error("interrupted: the experiments made so far are reported")
        return messages.INTERRUPTED
    verdicts = [verdict for _, done in found.values() for one in done for verdict in one.verdicts]
    return int(any(verdict.is_unexplained for verdict in verdicts))


def _require_experiments(only: Sequence[str], there: Sequence[str]) -> None:
    unknown = [name for name in only if name not in there]
    if unknown:
        raise ArgumentError(f"no experiment `{unknown[0]}`; available: {', '.join(there)}")


# --- tables ---------------------------------------------------------------------------------------------------------
def _show_head(paper: PaperSpec, json_file: str | None) -> None:
    if json_file != "-":
        show(paper.title)


def _show(one: Reproduction, json_file: str | None) -> None:
    if json_file == "-":
        return
    show("")
    show(f"{one.name}: {one.title} ({one.source})")
    for line in table_lines(one.outcome.rows):
        show(f"  {line}")
    for verdict in one.verdicts:
        show(f"  {verdict}: {verdict.claim}" + (f" [{verdict.measured}]" if verdict.measured else ""))


def _write_page(path: Path, name: str, paper: PaperSpec, done: Sequence[Reproduction], quick: bool) -> None:
    from multibody_cli.output.file_replacement import write_text

    write_text(path, escaped("\n".join(_page(name, paper, done, quick)) + "\n"))


def _page(name: str, paper: PaperSpec, done: Sequence[Reproduction], quick: bool) -> Iterator[str]:
    from multibody_cli.cli.bench_report import describe_machine
    from multibody_cli.version import full_version

    machine = ", ".join(f"{key} {value}" for key, value in describe_machine().items() if value)
    yield f"# {paper.title}"
    yield ""
    yield f"By `mbsim reproduce {name}{' --quick' if quick else ''}`, mbsim {full_version()}; {machine}."
    for note in paper.notes:
        yield from ("", note.strip())
    for one in done:
        yield from ("", f"## {one.title}", "", f"{one.source[0].upper()}{one.source[1:]}.", "")
        yield from markdown_table(one.outcome.rows)
        if one.verdicts:
            rows = [{"claim": each.claim, "verdict": str(each), "measured": each.measured} for each in one.verdicts]
            yield from ("", *markdown_table(rows))
    yield from _list("Other claims", "Shown by scenes, tests and pages.", "claim", "shown by", paper.elsewhere)
    yield from _list("Differences", "Solved otherwise, or left out.", "subject", "reason", paper.differences)
    independent = "Found by finite differences and independent formulations."
    yield from _list("Errata", independent, "place", "correction", paper.errata)
    yield from ("", "The [index of equations](../theory/README.md) names the functions that implement them.")


def _list(title: str, head: str, key: str, value: str, entries: Mapping[str, str]) -> Iterator[str]:
    """Write a section with a table of two columns, if it has entries."""
    if entries:
        yield from ("", f"## {title}", "", head, "")
        yield from markdown_table([{key: one, value: text.strip()} for one, text in entries.items()])


def _draw(folder: Path, paper: str, done: Sequence[Reproduction]) -> None:
    from multibody_cli.pictures.papers import draw

    for one in done:
        if one.outcome.plot is not None:
            draw(one.outcome.plot, f"{one.title} ({one.source})", folder / f"{paper}-{one.name}.png")


# --- JSON -----------------------------------------------------------------------------------------------------------
def _write_json(file: str, found: dict[str, tuple[PaperSpec, list[Reproduction]]], quick: bool) -> None:
    from multibody_cli.output.file_replacement import write_text
    from multibody_cli.version import full_version

    papers = {
        name: {"title": paper.title, "experiments": list(map(_data, done))} for name, (paper, done) in found.items()
    }
    text = to_json({"mbsim": full_version(), "quick": quick, "papers": papers})
    if file == "-":
        show(text)
    else:
        write_text(Path(file), text + "\n")


def _data(one: Reproduction) -> dict[str, Any]:
    claims = [
        {"claim": each.claim, "verdict": each.grade.value, "reason": each.reason, "measured": each.measured}
        for each in one.verdicts
    ]
    curves = [] if one.outcome.plot is None else [curve._asdict() for curve in one.outcome.plot.curves]
    head = {"name": one.name, "title": one.title, "source": one.source}
    return {**head, "rows": one.outcome.rows, "values": one.outcome.values, "curves": curves, "claims": claims}
