"""Objectives and constraints of an optimization: numbers that a run is reduced to, and their bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from multibody_cli.document.table_file import NO_UNIT
from multibody_cli.errors import ArgumentError, MbsimError, ResultError
from multibody_cli.immutable import Immutable, replace
from multibody_cli.model import Floats
from multibody_cli.output.rows import Column
from multibody_cli.spec.quantities import decimal_point
from multibody_cli.spec.units import kind_of, parse_unit, quantity, split_quantity
from multibody_cli.studies.expect import blank_trajectory
from multibody_cli.studies.fit import FreeParameter, read_parameter
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.studies.sweep.kept_channels import Kept, instants_of, kept_numbers, read_kept

INEQUALITIES = ("<=", ">=")
RELATIONS = (*INEQUALITIES, "==")

MOST_RESIDUALS = 1000
"""Largest number of residuals: each is a column of the table, and so is each of its derivatives."""

FEASIBLE = 1e-7
"""Largest violation of a constraint that is round-off, relative to its bound, or in SI units if the bound is 0."""


class Constraint(Immutable):
    """A number of a run that is at most, at least or equal to a bound, in SI units."""

    text: str
    kept: Kept
    relation: str
    bound: float
    unit: str = ""  # that in which the bound is written; empty for a number in SI units

    def margin(self, value: float) -> float:
        """Return the distance to the bound: negative if a value violates an inequality, not zero for an equality."""
        return self.bound - value if self.relation == "<=" else value - self.bound

    def is_satisfied(self, value: float) -> bool:
        """Whether a value satisfies the constraint, up to round-off."""
        return self.violation(value) <= FEASIBLE

    def violation(self, value: float) -> float:
        """Return by how much a value violates the constraint, relative to its bound; 0 or less if it satisfies it."""
        margin = self.margin(value) / (abs(self.bound) or 1.0)
        return abs(margin) if self.relation == "==" else -margin

    @property
    def sign(self) -> float:
        """Derivative of the margin with respect to the value."""
        return -1.0 if self.relation == "<=" else 1.0


class Problem(Immutable):
    """A problem of minimization: its objectives, parameters and constraints.

    Parameters
    ----------
    parameters
        The n parameters.
    objectives
        The minimized numbers, one or more.
    constraints
        The constraints.
    residuals
        Expressions whose sum of squares is the objective; see `read_problem`.
    """

    parameters: tuple[FreeParameter, ...]
    objectives: tuple[Kept, ...]
    constraints: tuple[Constraint, ...] = ()
    residuals: tuple[Kept, ...] = ()

    @property
    def kept(self) -> tuple[Kept, ...]:
        """The kept numbers of a run: each once, those of the objectives first, and residuals last."""
        return (*self.reduced, *self.residuals)

    @property
    def reduced(self) -> tuple[Kept, ...]:
        """The objectives and the constrained numbers: one number each."""
        return tuple(dict.fromkeys([*self.objectives, *(one.kept for one in self.constraints)]))

    def at_instants(self, times: Sequence[float]) -> Problem:
        """Return the problem with the residuals at the output instants, s.

        Raises
        ------
        ArgumentError
            There are too many of them.
        """
        count = len(self.residuals) * len(times)
        if count > MOST_RESIDUALS:
            raise ArgumentError(
                f"--least-squares: {count} residuals, of {len(times)} output instants, are more than {MOST_RESIDUALS}: "
                "have fewer instants by output.every"
            )
        return replace(self, residuals=tuple(Kept(one.channel, tuple(times)) for one in self.residuals))

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Least and largest values (n,) of the parameters."""
        low, high = zip(*((one.low, one.high) for one in self.parameters), strict=True)
        return np.array(low), np.array(high)

    def overrides(self, values: Floats) -> tuple[str, ...]:
        """Return values (n,) as `--set` accepts them."""
        return tuple(one.override(value) for one, value in zip(self.parameters, values.tolist(), strict=True))

    def is_feasible(self, numbers: Floats, constraints: Sequence[Constraint] | None = None) -> bool:
        """Whether the numbers of a run satisfy the constraints, by default those of the problem."""
        own = self.constraints if constraints is None else constraints
        return bool(np.isfinite(numbers).all()) and all(
            one.is_satisfied(float(numbers[self.kept.index(one.kept)])) for one in own
        )

    def violation(self, numbers: Floats) -> float:
        """Return the sum of the relative violations of the constraints; infinite for a run that failed."""
        if not np.isfinite(numbers).all():
            return math.inf
        pairs = ((one, float(numbers[self.kept.index(one.kept)])) for one in self.constraints)
        return sum(one.violation(value) for one, value in pairs if not one.is_satisfied(value))

    def nearest_miss(self, numbers: Iterable[Floats]) -> str:
        """Return the constraint that no run satisfies by the least, its value in this run, and a remedy."""

        def worst(run: Floats) -> tuple[float, Constraint, float]:
            values = [float(run[self.kept.index(one.kept)]) for one in self.constraints]
            violations = [one.violation(value) for one, value in zip(self.constraints, values, strict=True)]
            k = int(np.argmax(violations))
            return violations[k], self.constraints[k], values[k]

        runs = [worst(run) for run in numbers if np.isfinite(run).all()]
        if not runs:
            return "no run has finite numbers: start elsewhere"
        _, missed, value = min(runs, key=lambda run: run[0])
        factor = parse_unit(missed.unit).factor if missed.unit else 1.0
        reached = f"{value / factor:.6g} {missed.unit}".rstrip()
        return f"the nearest one has {reached} in `{missed.text}`: relax it, widen the bounds or start elsewhere"


def read_objective(text: str, option: str = "--minimize") -> Kept:
    """Read `EXPRESSION@REDUCTION`; without `@`, the value at the end.

    Raises
    ------
    ArgumentError
        The reduction is unknown, or there are several.
    """
    try:
        kept = read_kept(text)
    except ArgumentError as error:
        raise ArgumentError(str(error).replace(f"--keep {text}", f"{option} {text}")) from None
    if len(kept.reductions) > 1:
        raise ArgumentError(f"{option} {text}: expected one reduction, as in `joints.hinge.q@max`")
    return kept


_OF_NEGATIVE = {"max": "min", "min": "max", **{word: word for word in ("final", "initial", "mean", "sum")}}
"""The reduction of the negative values of an expression that is the negative of a reduction of its values."""


def negative_of(text: str) -> str:
    """Return the text of the objective whose least value is the negative of the largest one of another.

    Raises
    ------
    ArgumentError
        It is no expression, or a reduction of its negative is not the negative of the reduction.
    """
    kept = read_objective(text, "--maximize")
    (reduction,) = kept.reductions
    word = _OF_NEGATIVE.get(reduction) if isinstance(reduction, str) else text.partition("@")[2]
    if kept.expression is None or word is None:
        raise ArgumentError(
            f"--maximize {text}: expected an expression of channels, as in `joints.hinge.q@max`, and one of "
            f"{', '.join(_OF_NEGATIVE)} or a time after `@`"
        )
    return f"-({kept.channel})@{word}"


def read_problem(
    parameters: Sequence[str], objectives: Sequence[str], residuals: Sequence[str], constraints: Sequence[str]
) -> Problem:
    """Read the texts of a problem; with residuals, the objective is their sum of squares over all output instants.

    Raises
    ------
    ArgumentError
        A text is not of its form, something is given twice, or there are both objectives and residuals or neither.
    """
    if bool(objectives) == bool(residuals):
        found = "found both" if objectives else "found neither"
        raise ArgumentError(f"expected --minimize or --maximize EXPRESSION, or --least-squares EXPRESSION, {found}")
    squares = tuple(map(_read_residual, residuals))
    total = " + ".join(f"({one.channel})**2" for one in squares)
    problem = Problem(
        tuple(map(read_parameter, parameters)),
        tuple(map(read_objective, objectives)) or (Kept(total, ("sum",)),),
        tuple(map(read_constraint, constraints)),
        squares,
    )
    keys = [one.key for one in problem.parameters]
    for fault, given in (
        ("a parameter is varied", keys),
        ("an objective is given", problem.objectives),
        ("a residual is given", squares),
    ):
        if len(set(given)) < len(given):
            raise ArgumentError(f"{fault} twice")
    return problem


def _read_residual(text: str) -> Kept:
    kept = None if "@" in text else read_objective(text, "--least-squares")
    if kept is None or kept.expression is None:
        raise ArgumentError(
            f"--least-squares {text}: expected an expression of channels, whose values at all output instants are "
            "residuals, as in `bodies.pen.position.x - 1`"
        )
    return kept


def read_constraint(text: str) -> Constraint:
    """Read `EXPRESSION@REDUCTION <= NUMBER`, or with `>=` or `==`; the number may have a unit.

    Raises
    ------
    ArgumentError
        It is not of this form.
    """
    relations = [relation for relation in RELATIONS if relation in text]
    expected = f"--subject-to {text}: expected an expression, one of {', '.join(RELATIONS)}, and a number"
    if len(relations) != 1 or text.count(relations[0]) != 1:
        raise ArgumentError(f"{expected}, as in 'joints.hinge.q@max <= 30 deg'")
    left, right = (part.strip() for part in text.split(relations[0]))
    try:
        number = quantity(right)
    except MbsimError as error:
        raise ArgumentError(f"--subject-to {text}: {error}") from None
    if number is None or not left or not math.isfinite(number[0]):
        raise ArgumentError(f"{expected}, as in 'joints.hinge.q@max <= 30 deg'{decimal_point(right)}")
    unit = (split_quantity(right) or ("", ""))[1]
    return Constraint(text, read_objective(left, "--subject-to"), relations[0], number[0], unit)


def require_units(problem: Problem, columns: Sequence[Column]) -> None:
    """Refuse bounds with a unit of another quantity than their channel; expressions have no unit.

    Raises
    ------
    ArgumentError
        There is one.
    """
    of = {kept: column.units for kept, column in zip(problem.reduced, columns, strict=False)}
    for one in problem.constraints:
        possible = of[one.kept].split(" or ")  # a multiplier is a force or a moment
        if not one.unit or {"", "SI"}.intersection(possible):
            continue
        given = parse_unit(one.unit)
        if given.dimension not in [parse_unit("rad" if unit == NO_UNIT else unit).dimension for unit in possible]:
            raise ArgumentError(
                f"--subject-to {one.text}: `{one.kept.channel}` is in {of[one.kept]}, but `{one.unit}` is the unit of "
                f"{kind_of(given.dimension)}"
            )


def columns_of(kept: Sequence[Kept], simulation: PreparedSimulation) -> list[Column]:
    """Return the column of each number of a run: one for each reduction.

    Raises
    ------
    ArgumentError
        The run has no such channel, or a word selects several numbers.
    """
    timing, names = simulation.compiled.timing, simulation.compiled.model.names
    end, duration = timing.outputs * timing.every, simulation.scene.simulation.duration
    near = [round(time / timing.every) * timing.every for time in instants_of(kept)]
    trajectory = blank_trajectory(names, None, np.unique(np.clip([0.0, end, *near], 0.0, duration)))
    columns: dict[Kept, list[Column]] = {}
    for one in reversed(kept):  # residuals before the sum of their squares, whose text is not the user's
        try:
            columns[one] = [number.column for number in kept_numbers([one], trajectory)]
        except ResultError as error:
            raise ArgumentError(f"`{one.channel}`: {error}") from None
        if len(columns[one]) != len(one.reductions):
            some = ", ".join(f"`{column.name}`" for column in columns[one][:3])
            raise ArgumentError(f"`{one.channel}` selects {len(columns[one])} numbers, {some}, ...: select one")
    return [column for one in kept for column in columns[one]]
