"""`mbsim doctor`: examines a scene and advises changes, in order of weight."""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import SCENE, run_settings
from multibody_cli.cli.progress import Waiting
from multibody_cli.cli.source import scene_of
from multibody_cli.cli.tables import counted, show, show_json, show_table
from multibody_cli.immutable import asdict

if TYPE_CHECKING:
    from multibody_cli.studies.doctor.diagnosis import Diagnosis
    from multibody_cli.studies.doctor.elimination import Elimination
    from multibody_cli.studies.doctor.small_motions import Mode

MAX_MODES = 10
"""Largest number of modes that are printed; `--json` contains all."""


@click.command("doctor", cls=Verb, short_help="Examine a scene and advise changes.")
@click.argument("scene", type=SCENE)
@run_settings
@click.option("--json", "as_json", is_flag=True, help="Write the figures and the advice as JSON.")
def verb(scene: Path, overrides: tuple[str, ...], as_json: bool) -> int:
    """Examine SCENE, and print figures and advice, most important first.

    The figures are those of the start: degrees of freedom, frequencies of small motions with the bodies that move, the
    longest stable step of each integrator, condition numbers and mass ratios. A trial run of at most 5 s of the clock
    follows. Nothing is written to a file.

    Exit code: 0, also with advice; 2 if the scene is rejected.
    """
    from multibody_cli.cli.progress import show_compilation
    from multibody_cli.studies.doctor.diagnosis import diagnose

    _warn_of_a_namesake()
    show_compilation(f"the examination of {scene.name}")
    source = scene_of(scene)
    with Waiting(f"examining {scene.name}"):
        diagnosis = diagnose(source, overrides)
    for warning in diagnosis.warnings:
        messages.warning(warning)
    show_json(_as_data(diagnosis)) if as_json else _show(diagnosis)
    return 0


def _warn_of_a_namesake() -> None:
    """Warn if another program is installed whose distribution, folder and command are named `mbsim`."""
    try:
        version = metadata.version("mbsim")
    except metadata.PackageNotFoundError:
        return
    messages.warning(
        f"the distribution `mbsim` {version}, another program, is installed beside `multibody-cli`, and both have a "
        "folder and a command `mbsim`: use `multibody-cli` and `import multibody_cli`, or keep this program alone by "
        "`pip uninstall mbsim && pip install --force-reinstall --no-deps multibody-cli`"
    )


def _show(diagnosis: Diagnosis) -> None:
    show(f"{diagnosis.name}: {counted(len(diagnosis.findings), 'finding')}")
    for head, text in _figures(diagnosis):
        show(f"  {head:19} {text}".rstrip())
    if diagnosis.motions is not None and diagnosis.motions.modes:
        modes = diagnosis.motions.modes
        shown = modes if len(modes) <= MAX_MODES else [*modes[: MAX_MODES // 2], *modes[-(MAX_MODES // 2) :]]
        still = "an equilibrium" if diagnosis.motions.equilibrium else "no equilibrium"
        left_out = f"; {len(shown)} of {len(modes)} are shown" if len(shown) < len(modes) else ""
        show(f"\nsmall motions about the start, at rest, {still}{left_out}")
        show_table([_row(mode) for mode in shown], indent="  ")
    numbers: dict[str, int] = {}
    for number, finding in enumerate(diagnosis.findings, 1):
        head = "\nadvice, most important first\n" if number == 1 else ""
        show(f"{head}  {number}. {finding.where}: {finding.path}: {finding.cause}")
        first = numbers.setdefault(finding.advice, number)
        show(f"     -> {finding.advice if first == number else f'as in {first}'}")
        for setting in finding.settings:
            show(f"        --set '{setting}'")


def _figures(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    from multibody_cli.studies.doctor.steps import written

    yield "degrees of freedom", _count(diagnosis)
    if diagnosis.steps:
        limits = {name: step for name, step in diagnosis.steps.items() if step is not None and math.isfinite(step)}
        words = [f"{name} {written(step)}" for name, step in limits.items()]
        yield "longest stable step", ", ".join([*words, "no limit for the others" if limits else "no limit"])
    if diagnosis.conditioning is not None:
        rows = diagnosis.conditioning.constraints
        text = f"mass matrix {diagnosis.conditioning.mass_matrix:.2g}"
        yield "condition numbers", text if rows is None else f"{text}, constraints {rows:.2g}"
    yield "elimination", _elimination(diagnosis.elimination)
    if diagnosis.mass_ratio is not None:
        ratio, heavy, light = diagnosis.mass_ratio
        yield "largest mass ratio", f"{ratio:.3g}, of {heavy} to {light}"


def _count(diagnosis: Diagnosis) -> str:
    count = diagnosis.count
    terms = [f"{count.of_bodies} of {counted(count.bodies, 'body', 'bodies')}"]
    terms += [f"- {count.of_joints} by {counted(count.joints, 'joint')}"] if count.joints else []
    if count.of_constraints:
        noun = "coupling or constraint", "couplings and constraints"
        terms.append(f"- {count.of_constraints} by {counted(count.constraints, *noun)}")
    terms += [f"- {count.prescribed} prescribed"] if count.prescribed else []
    terms += [f"+ {count.redundant} redundant"] if count.redundant else []
    return f"{count.total} = {' '.join(terms)}"


def _elimination(found: Elimination | None) -> str:
    if found is None:
        return "a dense matrix of the rows that are not joints of the tree"
    if not found.rows:
        return "no fill-in: the joints are a tree"
    rows = f"{counted(found.rows, 'row')} beside the tree, in {counted(found.blocks, 'block')}; "
    fill_in = f"fill-in {found.fill_in} of {counted(found.couplings, 'coupling')}"
    return f"{rows}at most {found.open_rows} pass one joint; {fill_in}"


def _row(mode: Mode) -> dict[str, Any]:
    bodies = [f"{body} {100.0 * share:.0f} %" for body, share in list(mode.shares.items())[:3]]
    return {
        "motion": mode.kind,
        "frequency Hz": mode.frequency,
        "damping ratio": None if mode.damping_ratio is None else _rounded(mode.damping_ratio),
        "time constant s": None if mode.time is None or mode.time > 1e6 else mode.time,
        "bodies": ", ".join(bodies),
    }


def _rounded(ratio: float) -> float:
    """Return 0 for a ratio that is round-off."""
    return 0.0 if abs(ratio) < 1e-6 else ratio


def _as_data(diagnosis: Diagnosis) -> dict[str, Any]:
    motions = diagnosis.motions
    return {
        "name": diagnosis.name,
        "n_dofs": diagnosis.n_dofs,
        "count": None if diagnosis.count is None else asdict(diagnosis.count),
        "equilibrium": None if motions is None else motions.equilibrium,
        "modes": None if motions is None else [asdict(mode) for mode in motions.modes],
        "longest_stable_steps": {
            name: "adaptive" if limit is None else limit for name, limit in diagnosis.steps.items()
        },
        "conditioning": None if diagnosis.conditioning is None else asdict(diagnosis.conditioning),
        "elimination": None if diagnosis.elimination is None else asdict(diagnosis.elimination),
        "mass_ratio": diagnosis.mass_ratio,
        "findings": [{**asdict(finding), "weight": finding.weight.name.lower()} for finding in diagnosis.findings],
    }
