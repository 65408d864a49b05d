"""`mbsim equations`: writes the equations of motion M(q) dv/dt + h(q, v) = tau of a scene."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import SCENE, replaced_values
from multibody_cli.cli.source import Time, scene_of
from multibody_cli.cli.tables import counted, show, show_json
from multibody_cli.errors import ArgumentError
from multibody_cli.immutable import asdict

if TYPE_CHECKING:
    from multibody_cli.studies.equations import Equations

_GREEK = {"tau": "\\tau"}

_ROWS = ("w_x", "w_y", "w_z", "v_x", "v_y", "v_z")


@click.command("equations", cls=Verb, short_help="Write the equations of motion of a scene.")
@click.argument("scene", type=SCENE)
@click.option("--at", metavar="T", type=Time(), help="Evaluate the terms at this time of a run, as in `0.5 s`.")
@click.option("--latex", is_flag=True, help="Write formulas in LaTeX.")
@replaced_values
@click.option("--json", "as_json", is_flag=True, help="Write the equations as JSON.")
def verb(scene: Path, at: float | None, latex: bool, overrides: tuple[str, ...], as_json: bool) -> int:
    """Write M(q) dv/dt + h(q, v) = tau of SCENE, and the Jacobian of each body.

    SCENE is a scene file or a result file, which contains its scene.

    The terms are formulas if the scene has few coordinates and no time is given, otherwise numbers. The coordinates are
    those of the tree joints. Loop closures and forces between bodies are listed by name, not expanded.
    """
    from multibody_cli.studies.equations import equations_of

    found = equations_of(scene_of(scene), overrides, at)
    if latex and found.state is not None:
        raise ArgumentError("--latex requires formulas, but the terms are numbers: omit --at, or use a smaller scene")
    if as_json:
        show_json(_as_data(found, latex))
    elif found.state is None:
        _show_latex(found) if latex else _show_formulas(found)
    else:
        _show_numbers(found)
    return 0


# --- formulas -----------------------------------------------------------------------------------------------------
def _written(formula: Any, latex: bool) -> str:
    from multibody_cli.equations.simplified import latex_of, text_of

    return latex_of(formula) if latex else text_of(formula)


def _show_formulas(found: Equations) -> None:
    _show_head(found, "")
    for place, formula in _terms(found, False):
        show(f"{place} = {formula}")
    for body, J in found.jacobians.items():
        show(f"\nJ of {body}, [w; v] of its frame in its own axes:")
        for word, row in zip(_ROWS, J, strict=True):
            show(f"  {word}: {'  |  '.join(_written(formula, False) for formula in row)}")
    _show_rest(found, "")


def _show_latex(found: Equations) -> None:
    _show_head(found, "% ")
    lines = [f"{_subscript(place)} &= {formula}" for place, formula in _terms(found, True)]
    show("\\begin{aligned}")
    show(" \\\\\n".join(lines))
    show("\\end{aligned}")
    for body, J in found.jacobians.items():
        rows = " \\\\ ".join(" & ".join(_written(formula, True) for formula in row) for row in J)
        name = body.replace("_", "\\_")
        show(f"% [w; v] of the frame of {body} in its own axes")
        show(f"J_{{\\text{{{name}}}}} = \\begin{{bmatrix}} {rows} \\end{{bmatrix}}")
    _show_rest(found, "% ")


def _terms(found: Equations, latex: bool) -> Iterator[tuple[str, str]]:
    """Yield the entries of the lower triangle of M, of h and of tau as text, with their indices."""
    for word, formula in found.intermediate.items():
        yield word, _written(formula, latex)
    for i, row in enumerate(found.M):
        for j in range(i + 1):
            yield f"M[{i + 1}, {j + 1}]", _written(row[j], latex)
    for i, formula in enumerate(found.h):
        yield f"h[{i + 1}]", _written(formula, latex)
    for i, effort in enumerate(_efforts(found, latex)):
        yield f"tau[{i + 1}]", effort


def _efforts(found: Equations, latex: bool) -> list[str]:
    from multibody_cli.equations.simplified import sum_of

    return [sum_of([_written(one, latex) for one in summands]) for summands in found.tau]


def _subscript(place: str) -> str:
    word = place.rstrip("[]0123456789, ")
    number = place.removeprefix(word).strip("[]").replace(" ", "")
    return f"{_GREEK.get(word, word)}_{{{number}}}"


# --- numbers ------------------------------------------------------------------------------------------------------
def _show_numbers(found: Equations) -> None:
    _show_head(found, "")
    assert found.state is not None
    show(f"at t = {found.state['time']:.9g} s")
    for word in ("q", "v", "a"):
        _show_row("dv/dt" if word == "a" else word, found.state[word])
    _show_row("h", found.h)
    _show_row("tau", found.tau)
    _show_matrix("M", found.M)
    for body, J in found.jacobians.items():
        _show_matrix(f"J of {body}, [w; v] of its frame in its own axes", J)
    _show_rest(found, "")


def _show_row(word: str, numbers: Sequence[float]) -> None:
    show(f"{word:5} {_row(numbers)}")


def _show_matrix(word: str, matrix: Any) -> None:
    show(f"\n{word}:")
    for row in matrix:
        show(f"      {_row(row)}")


def _row(numbers: Sequence[float]) -> str:
    return " ".join(f"{0.0 if number == 0.0 else number:13.6g}" for number in numbers)


# --- both ---------------------------------------------------------------------------------------------------------
def _show_head(found: Equations, margin: str) -> None:
    show(f"{margin}{found.name}: M(q) dv/dt + h(q, v) = tau, {counted(len(found.h), 'coordinate')}")
    for one in found.coordinates:
        positions = ", ".join(f"q{k}" for k in one.positions)
        show(f"{margin}  v{one.number} with {positions}: {one.joint}")
    for iq, (lower, upper) in found.within.items():
        show(f"{margin}  for q{iq + 1} from {lower:.10g} to {upper:.10g}")


def _show_rest(found: Equations, margin: str) -> None:
    if found.beside:
        included = "in tau" if found.state is not None else "beside tau"
        show(f"{margin}{included}: {'; '.join(found.beside)}")


def _as_data(found: Equations, latex: bool) -> dict[str, Any]:
    data = asdict(found)
    if found.state is None:
        formulas = {word: data[word] for word in ("M", "h", "intermediate", "jacobians")}
        data |= _converted(formulas, lambda formula: _written(formula, latex))
        return data | {
            "tau": _efforts(found, latex),
            "within": {f"q{iq + 1}": ends for iq, ends in found.within.items()},
        }
    del data["intermediate"], data["within"]
    converted: dict[str, Any] = _converted(data, lambda value: value.tolist() if hasattr(value, "tolist") else value)
    return converted


def _converted(data: Any, convert: Callable[[Any], Any]) -> Any:
    """Return nested mappings and lists with converted entries."""
    if isinstance(data, dict):
        return {word: _converted(value, convert) for word, value in data.items()}
    return [_converted(value, convert) for value in data] if isinstance(data, list | tuple) else convert(data)
