"""`mbsim fit`: parameters of a scene from measured motion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import PATH, SCENE, run_settings
from multibody_cli.cli.progress import Waiting
from multibody_cli.cli.source import prepare_and_warn, scene_of
from multibody_cli.cli.tables import counted, show, show_json, show_table
from multibody_cli.errors import ArgumentError, SceneError
from multibody_cli.immutable import asdict

if TYPE_CHECKING:
    from multibody_cli.studies.fit import Fit, FittedParameter, FreeParameter

EXIT_CODES = {"converged": 0, "not converged": 1, "interrupted": 130}


@click.command("fit", cls=Verb, short_help="Fit parameters of a scene to measured motion.")
@click.argument("scene", type=SCENE)
@click.option("--data", metavar="FILE", required=True, type=PATH, help="Measured motion, a table.")
@click.option(
    "--vary",
    "starts",
    metavar="KEY=START[,LOW,HIGH]",
    multiple=True,
    required=True,
    help="A parameter: a number of the scene, with its first value and optional bounds.",
)
@click.option(
    "--sigma",
    metavar="COLUMN=VALUE",
    multiple=True,
    help="Standard deviation of a column, in SI units. Default: estimated for all columns.",
)
@run_settings
@click.option("--json", "as_json", is_flag=True, help="Write parameters and covariance as JSON.")
def verb(
    scene: Path,
    data: Path,
    starts: tuple[str, ...],
    sigma: tuple[str, ...],
    overrides: tuple[str, ...],
    as_json: bool,
) -> int:
    """Fit parameters of SCENE to measured motion by weighted least squares.

    The first line of FILE names its columns: `time`, and quantities of a run such as `joints/hinge/q`, each with an
    optional unit, as `mbsim export` writes them. An empty cell is a missing value.

    The output is the value and the standard error of each parameter, correlations, and the options that run the scene
    with the fitted values.

    Exit code: 0 if the fit converges, 1 if not or if a run fails, 2 if an argument, the scene or the data are rejected,
    130 if Ctrl-C interrupts it, which shows the best parameters so far.
    """
    from multibody_cli.studies.fit import fit, read_parameter
    from multibody_cli.studies.measurements import read_measurements

    parameters, measurements = [read_parameter(text) for text in starts], read_measurements(data)
    sigmas = dict(map(_read_sigma, sigma))
    varied = [one.override(one.start) for one in parameters]
    try:
        prepare_and_warn(scene, [*overrides, *varied])
    except SceneError as error:
        given = {f"--set {override}": f"--vary {override}" for override in varied}
        raise error.with_places(lambda place: given.get(place, place)) from None
    with Waiting(f"fitting {scene.name}"):
        found = fit(scene_of(scene), measurements, parameters, overrides, sigmas)
    show_json(_as_data(found)) if as_json else _show(found, parameters)
    if found.status != "converged":
        messages.error(f"{found.status}: the values are the best so far")
    return EXIT_CODES[found.status]


def _read_sigma(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        return name, float(value)
    except ValueError:
        raise ArgumentError(
            f"--sigma {text}: expected COLUMN=VALUE with a number in SI units, as in `joints/hinge/q=0.01`"
        ) from None


def _show(found: Fit, parameters: Sequence[FreeParameter]) -> None:
    show(f"{found.status} after {counted(found.runs, 'run')}")
    show_table([_row(found, k) for k in range(len(parameters))], indent="  ")
    show(
        f"\nresiduals: reduced chi-square {found.chi_square / found.n_free:.4g} with {found.n_free} degrees of freedom"
    )
    show_table([_column_row(column) for column in map(asdict, found.columns)], indent="  ")
    if found.undetermined:
        names = ", ".join(found.undetermined)
        messages.warning(f"the data do not determine {names}: measure more quantities, or fix some of them")
    for one in found.estimates:
        if one.at_bound:
            messages.warning(f"{one.parameter.key} lies at a bound, where its standard error has no meaning")
    for alarm in found.alarms:
        messages.warning(f"the run with these values: {alarm}")
    show("\nto run the scene with these values:")
    show("  " + " ".join(f"--set '{one}'" for one in (*map(_override, found.estimates), *found.settings)))


def _override(one: FittedParameter) -> str:
    """Return the option that sets a parameter; three more digits than shown, since rounding errors of others add up."""
    return one.parameter.override(float(_rounded(one.value, one.standard_error, digits=5)))


def _row(found: Fit, k: int) -> dict[str, Any]:
    """Return the row of a parameter, with its largest correlation."""
    one, errors = found.estimates[k], [estimate.standard_error for estimate in found.estimates]
    others = {
        found.estimates[j].parameter.key: float(found.covariance[k, j]) / (errors[k] * errors[j])
        for j in range(len(errors))
        if j != k and errors[k] * errors[j] > 0.0
    }
    key = max(others, key=lambda name: abs(others[name]), default="")
    return {
        "parameter": one.parameter.key,
        "value": _rounded(one.value, one.standard_error),
        "standard error": _rounded(one.standard_error, one.standard_error),
        "unit": one.parameter.unit,
        "strongest correlation": f"{others[key]:+.3f} {key}" if key else "-",
    }


def _rounded(value: float, error: float, digits: int = 2) -> str:
    """Return a number rounded to the last of the leading digits of its error."""
    if not math.isfinite(value):
        return "-"
    places = digits - 1 - math.floor(math.log10(error)) if 0.0 < error < math.inf else 99
    return f"{round(value, places):.{max(places, 0)}f}" if places <= 12 else f"{value:.8g}"


def _column_row(column: dict[str, Any]) -> dict[str, Any]:
    return {
        "column": column["name"],
        "values": column["count"],
        "root mean square": f"{column['residual']:.4g}",
        "sigma": f"{column['sigma']:.4g}",
        "unit": column["units"],
    }


def _as_data(found: Fit) -> dict[str, Any]:
    return {
        "status": found.status,
        "parameters": [
            {
                "key": one.parameter.key,
                "value": one.value,
                "standard_error": one.standard_error,
                "unit": one.parameter.unit,
                "at_bound": one.at_bound,
            }
            for one in found.estimates
        ],
        "covariance": found.covariance.tolist(),
        "columns": [asdict(column) for column in found.columns],
        "chi_square": found.chi_square,
        "degrees_of_freedom": found.n_free,
        "runs": found.runs,
        "undetermined": list(found.undetermined),
        "settings": list(found.settings),
        "alarms": [alarm.as_data() for alarm in found.alarms],
        "exit_code": EXIT_CODES[found.status],
    }
