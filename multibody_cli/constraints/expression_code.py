"""Code of an expression of quantities: its levels and slopes, by exact differentiation, once for each form.

With the values x, rates u = dx/dt and accelerations of the sources of all quantities (`quantities`),

    position      g(x, t)
    velocity      h(x, u, t) = dg/dx . u + dg/dt
    acceleration  dh/du . du/dt + dh/dx . u + dh/dt

An expression of velocities, which must be linear in them, is h itself, and has no level of positions.  The last two
terms are the bias: those of du/dt without accelerations are in it.  Expressions of the same form have one code, and
differ in their bodies, points and parameters, which are numbers in slots.

Sources: Baraff 1996, section 4: constraints as black boxes, which give j and c of j u + c = 0; Sueda, notes (1.14).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from multibody_cli.constraints.quantities import QuantitySpec
from multibody_cli.expressions import FORMULA, parse
from multibody_cli.spatial.values import Vec3
from multibody_cli.spec import Vector
from multibody_cli.symbolic.derivative import differentiate
from multibody_cli.symbolic.program import write_lines
from multibody_cli.symbolic.reading import formula_of
from multibody_cli.symbolic.scalar import Scalar, Value, fresh_graph, name, topological_order
from multibody_cli.symbolic.tables import Piecewise

TIME = "t"

FIRST_SLOPE = 3
"""Place of the slopes in the output of generated code, after error, rate and bias."""

STILL = Vec3(0.0, 0.0, 0.0)


class Form(NamedTuple):
    """The properties that determine the code of an expression.

    Parameters
    ----------
    value
        The expression.
    inputs
        Quantitys by name, each with the slots of its sources; an axis of the world is constant, and has a vector.
    parameters
        Slots of constants by name.
    exponents
        Values of constants in exponents by name.
    functions
        Functions by tables.
    slots
        Number of slots.
    moving
        Slots that move.
    """

    value: str
    inputs: tuple[tuple[str, type[QuantitySpec], tuple[int | Vector, ...]], ...]
    parameters: tuple[tuple[str, int], ...]
    exponents: tuple[tuple[str, float], ...]
    functions: tuple[tuple[str, Piecewise], ...]
    slots: int
    moving: tuple[int, ...]


class Code(NamedTuple):
    """The code of an expression.

    Parameters
    ----------
    source
        Source of the function that computes error, rate, bias, and three slopes for each slot.
    is_linear
        Whether the expression is linear in velocities.
    has_effect
        Whether a slope is other than 0.
    prescribes
        Whether its velocity level is other than 0 at rest, so that it does work.
    """

    source: str
    is_linear: bool
    has_effect: bool
    prescribes: bool


@lru_cache(maxsize=1024)
def code_of(form: Form) -> Code:
    """Differentiate an expression, and write its code."""
    with fresh_graph():
        t = name("x[0]")
        x, u, c = ([_slot(letter, k) for k in range(form.slots)] for letter in "xuc")
        along: dict[Scalar, Value] = {t: 1.0}
        for k in form.moving:
            along |= dict(zip(x[k], u[k], strict=True)) | dict(zip(u[k], c[k], strict=True))
        g: Value = _value_of(form, t, x, u)
        if any(quantity.IS_VELOCITY for _, quantity, _ in form.inputs):
            h, g, rate = g, 0.0, _value_of(form, t, x, [STILL] * form.slots)
        else:
            (h,), (rate,) = differentiate([g], along), differentiate([g], {t: 1.0})
        (bias,) = differentiate([h], along)
        slopes = [
            differentiate([h], {u[k][j]: 1.0})[0] if k in form.moving else 0.0
            for k in range(form.slots)
            for j in range(3)
        ]
        lines = write_lines([(f"out[{k}]", number) for k, number in enumerate([g, rate, bias, *slopes])])
        rates = {one for k in form.moving for one in u[k]}
        is_linear = rates.isdisjoint(topological_order(slopes))
    source = "def generated(x, u, c, out):\n" + "".join(f"    {line}\n" for line in lines)
    return Code(source, is_linear, any(slopes), rate != 0.0)


def _slot(letter: str, k: int) -> Vec3:
    return Vec3(*(name(f"{letter}[{1 + 3 * k + j}]") for j in range(3)))


def _value_of(form: Form, t: Value, x: Sequence[Vec3], u: Sequence[Vec3]) -> Value:
    """Return the expression as a formula of the time, and of the values and rates of the slots."""
    values: dict[str, Value] = dict(form.exponents) | {word: x[k].x for word, k in form.parameters} | {TIME: t}
    for word, quantity, places in form.inputs:
        pairs = [(x[place], u[place]) if isinstance(place, int) else (Vec3(*place), STILL) for place in places]
        values[word] = quantity.formula([one for one, _ in pairs], [rate for _, rate in pairs])
    return formula_of(parse(form.value, FORMULA), values, dict(form.functions))
