"""Report of a benchmark: tables for stdout and Markdown, and the complete data as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import llvmlite
import numpy as np

from multibody_cli.cli.tables import markdown_table, table_lines, to_json
from multibody_cli.immutable import Immutable, asdict
from multibody_cli.kernel.target import architecture
from multibody_cli.studies.bench.accuracy import Accuracy, Study, displayed_error
from multibody_cli.studies.bench.against import PeerComparison
from multibody_cli.studies.bench.batches import BatchMeasurement
from multibody_cli.studies.bench.campaign import Findings
from multibody_cli.studies.bench.measurement import Measurement, series_of
from multibody_cli.studies.bench.options import Setup
from multibody_cli.studies.bench.timing import TimedPair, WallTime
from multibody_cli.version import __version__, commit, full_version

Row = Mapping[str, Any]


class Section(Immutable):
    """A part of the report: a title, a table, and notes below it."""

    title: str
    rows: Sequence[Row]
    sentences: Sequence[str] = ()


def as_text(found: Findings) -> Iterator[str]:
    """Yield the lines for stdout."""
    for number, section in enumerate(_sections(found)):
        if number > 0:
            yield from ("", section.title)
        yield from table_lines(section.rows)
        yield from section.sentences


def as_markdown(found: Findings, status: str) -> str:
    """Return a page with all tables and a description of the machine."""
    machine = ", ".join(f"{key} {value}" for key, value in describe_machine().items() if value)
    lines = ["# Benchmark", "", f"mbsim {full_version()}; {machine}."]
    if status != "complete":
        lines += ["", f"The benchmark was {status}; these are the measurements made so far."]
    for section in _sections(found):
        lines += ["", f"## {section.title}", "", *markdown_table(section.rows)]
        for sentence in section.sentences:
            lines += ["", f"{sentence[0].upper()}{sentence[1:]}."]
    return "\n".join(lines) + "\n"


def as_json(found: Findings, status: str) -> str:
    """Return all data; times in s, memory in bytes, errors in m."""
    return to_json(
        {
            "format": "mbsim-bench",
            "format_version": 1,
            "mbsim_version": __version__,
            "mbsim_commit": commit(),
            "status": status,
            "machine": describe_machine(),
            "units": {"time": "s", "memory": "bytes", "error": "m"},
            "measurements": [asdict(one) for one in found.measurements],
            "growth": {
                series.name: {quantity: asdict(fit) for quantity, fit in series.growth.items()}
                for series in series_of(found.measurements)
            },
            "not_measured": [asdict(one) for one in found.not_measured],
            "accuracy": [_study_as_data(study) for study in found.studies],
            "peers": [asdict(one) for one in found.comparisons],
            "batches": [asdict(one) for one in found.batches],
        }
    )


def _study_as_data(study: Study) -> dict[str, Any]:
    advice = study.recommendation
    runs = [asdict(run) | {"on_front": flag} for run, flag in zip(study.runs, study.front, strict=True)]
    return asdict(study) | {"runs": runs, "recommended": advice.index, "recommendation": advice.sentence}


def _sections(found: Findings) -> Iterator[Section]:
    if found.measurements:
        growth = [
            f"{series.name}: {quantity} grows as size^{fit}"
            for series in series_of(found.measurements)
            for quantity, fit in series.growth.items()
        ]
        yield Section("Cost", _trimmed([_cost_row(one) for one in found.measurements]), growth)
    if found.not_measured:
        rows = _trimmed([{**_setup(one), "reason": f"{one.status}: {one.reason}"} for one in found.not_measured])
        yield Section("Not measured", rows)
    for study in found.studies:
        if study.runs:
            yield _accuracy_section(study)
    if found.comparisons:
        reasons = [f"{one.peer}: {one.reason}" for one in found.comparisons if one.reason]
        rows = _trimmed([_peer_row(one) for one in found.comparisons])
        yield Section("Against peers", rows, list(dict.fromkeys(reasons)))
        rows = [_quality_row(one) for one in found.comparisons if one.theirs is not None]
        if rows:
            yield Section("Accuracy after the steps of a block, here and in the peer", _trimmed(rows))
    if found.batches:
        reasons = [f"{one.scene}: single runs, because lanes do not support {one.reason}" for one in found.batches
                   if one.reason]  # fmt: skip
        rows = _trimmed([row for one in found.batches for row in _batch_rows(one)])
        yield Section("Batches of runs", rows, list(dict.fromkeys(reasons)))


def _cost_row(one: Measurement) -> Row:
    return {
        **_setup(one),
        "bodies": one.bodies,
        "DoF": one.n_dofs,
        "preprocessing s": one.preprocessing,
        "first call s": one.first_call,
        "step us": one.step.median * 1e6,
        "(min - max)": _spread(one.step),
        "evaluation us": one.evaluation.median * 1e6,
        "(min - max) ": _spread(one.evaluation),
        "steps/s": one.steps_per_second,
        "x real time": one.real_time_factor,
        "memory KiB": one.memory / 1024,
    }


def _setup(one: Setup) -> Row:
    return {
        "scene": one.scene,
        "set": " ".join(one.settings),
        "method": one.method,
        "integrator": one.integrator,
        "step or tolerance": one.stepping,
        "size": one.size,
    }


def _accuracy_section(study: Study) -> Section:
    size = "" if study.size is None else f" of size {study.size:g}"
    changed = f" with {' '.join(study.settings)}" if study.settings else ""
    advice, reference = study.recommendation, study.reference
    order = sorted(range(len(study.runs)), key=lambda k: (study.runs[k].error is None, study.runs[k].error or 0.0))
    rows = [_accuracy_row(study, k, k == advice.index) for k in order]
    about = (
        f"errors are the largest displacement of a body at {study.instants} instants in {study.duration:g} s; the "
        f"reference, {reference.method} with {reference.integrator} ({', '.join(reference.settings)}), is accurate to "
        f"{reference.error:.1e} m"
    )
    return Section(
        f"Cost against accuracy: {study.scene}{size}{changed}", rows, [about, f"{study.scene}{size}: {advice.sentence}"]
    )


def _accuracy_row(study: Study, k: int, recommended: bool) -> Row:
    run: Accuracy = study.runs[k]
    mark = "front, recommended" if recommended else "front" if study.front[k] else ""
    return {
        "method": run.method,
        "integrator": run.integrator,
        "step or tolerance": run.stepping,
        "error m": _error(run, study.reference.error),
        "cost s/s": None if run.cost is None else run.cost.median,
        "(min - max)": "" if run.cost is None else f"({run.cost.fastest:.3g} - {run.cost.slowest:.3g})",
        "x real time": None if run.cost is None else 1.0 / run.cost.median,
        "": mark,
    }


def _error(run: Accuracy, reference_error: float) -> str:
    if run.error is None:
        return run.status
    return f"{'' if run.resolved else '< '}{displayed_error(run.error, reference_error):.3g}"


def _peer_row(one: PeerComparison) -> Row:
    return {
        **_setup(one),
        "peer": one.program,
        "difference": None if one.difference is None else f"{one.difference:.0e}",
        **_pair("evaluation", one.evaluation),
        **_pair("step", one.step),
        "": "" if one.status == "timed" else one.status,
    }


def _quality_row(one: PeerComparison) -> Row:
    row = {**_setup(one), "peer": one.program, "steps": one.step.ours.count if one.step else None}
    for key, unit in (("loop_error", "m"), ("energy_change", "J"), ("penetration", "m"), ("speed", "m/s")):
        for whose, quality in (("", one.ours), ("peer's ", one.theirs)):
            value = getattr(quality, key, None)
            row[f"{whose}{key.replace('_', ' ')} {unit}"] = None if value is None else f"{value:.1e}"
    return {**row, "unsolved steps": one.unsolved}


def _batch_rows(one: BatchMeasurement) -> Iterator[Row]:
    rows = [("batch", one.batch, None, one.threads, one.runs), ("single runs", *one.single, 1, None)]
    rows += [(name, *found, one.threads, None) for name, found in one.peers.items()]
    for name, timing, ratio, threads, runs in rows:
        yield {
            **_setup(one),
            "steps": one.steps,
            "program": name,
            "runs": runs,
            "in lanes": one.in_lanes if runs else None,
            "threads": threads,
            "steps/s": 1.0 / timing.median,
            "(min - max)": f"({1.0 / timing.slowest:.4g} - {1.0 / timing.fastest:.4g})",
            "batch is faster by": ratio,
        }


def _pair(quantity: str, pair: TimedPair | None) -> Row:
    ours, peer, ratio = (pair.ours.median * 1e6, pair.peer.median * 1e6, pair.ratio) if pair else (None, None, None)
    return {f"{quantity} us": ours, f"peer's {quantity} us": peer, f"{quantity} ratio": ratio}


def _spread(timing: WallTime) -> str:
    return f"({timing.fastest * 1e6:.4g} - {timing.slowest * 1e6:.4g})"


def _trimmed(rows: Sequence[Row]) -> Sequence[Row]:
    """Remove the columns that are empty in every row, except the size."""
    said = [key for key in rows[0] if key == "size" or any(row[key] not in (None, "") for row in rows)]
    return [{key: row[key] for key in said} for row in rows]


def describe_machine() -> dict[str, Any]:
    """Return a description of the machine."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "llvmlite": llvmlite.__version__,
        "target": architecture(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
