"""Function: a coordinate that is a function of others, q = f(q_1, q_2, ...), with exact derivatives of f.

    position      q - f
    velocity      v - sum_k (df/dq_k) v_k
    acceleration  dv/dt - sum_k (df/dq_k) dv_k/dt - sum_kl (d2f/dq_k dq_l) v_k v_l

Splines between coordinates are such functions, as those of the knees of OpenSim, and polynomials, as those of MuJoCo.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from multibody_cli.constraints.contract import ConstraintKind, ConstraintTable, Packed, RowShape
from multibody_cli.constraints.relation import CouplingSpec
from multibody_cli.constraints.rows import write_coefficient, write_level
from multibody_cli.expressions import FORMULA, parse
from multibody_cli.kernel import formula, kernel
from multibody_cli.nodes import NodePath
from multibody_cli.spec.entries import PackingContext
from multibody_cli.spec.formulas import (
    TABLES_DESCRIPTION,
    Formula,
    FunctionTables,
    Name,
    Parameters,
    piecewise_of,
    require_consistent,
)
from multibody_cli.spec.quantities import located_error
from multibody_cli.symbolic.derivative import differentiate
from multibody_cli.symbolic.generated import address_of, call_on_arrays
from multibody_cli.symbolic.program import write_lines
from multibody_cli.symbolic.reading import formula_of
from multibody_cli.symbolic.scalar import Value, fresh_graph, name

MAX_INPUTS = 6

FIRST_SLOPE = 2
"""NodePath of the partial derivatives in the output of generated code, after f and its second derivative along v."""


class FunctionSpec(CouplingSpec):
    """A coordinate is a function of others."""

    type: Literal["function"]
    output: str = Field(description="Coordinate; `wrist/0` is the first of a joint with several.")
    inputs: dict[Name, str] = Field(
        min_length=1, max_length=MAX_INPUTS, description="Coordinates by their names in the expression."
    )
    parameters: Parameters = Field({}, description="Names for constants, with their values.")
    functions: FunctionTables = Field({}, description=TABLES_DESCRIPTION)
    value: Formula = Field(description="The output, rad or m, as an expression of the inputs.")

    UNDEFINED = "its `value`, or a derivative, is not finite there: change the inputs or the expression"

    @model_validator(mode="after")
    def _require_a_function(self) -> Self:
        require_consistent({("value",): self.value}, list(self.inputs), self.parameters, self.functions)
        coordinates = [*self.inputs.values(), self.output]
        for k, (word, coordinate) in enumerate(self.inputs.items()):
            if coordinate in coordinates[:k]:
                raise located_error(f"`{coordinate}` has two names", "inputs", word)
        if self.output in self.inputs.values():
            raise located_error(f"`{self.output}` is also one of the inputs", "output")
        return self

    @property
    def coordinates(self) -> Sequence[tuple[NodePath, str]]:
        """Inputs and output."""
        return [*((("inputs", word), one) for word, one in self.inputs.items()), (("output",), self.output)]


FUNCTION = np.dtype(
    [
        ("first_row", "i8"),
        ("first_term", "i8"),
        ("address", "i8"),  # of the generated code, in the record of the output; 0 in those of inputs
        ("slot", "i8"),  # place of an input among those of the code; of the output, their number
        ("iq", "i8"),
        ("iv", "i8"),
    ]
)
"""One record for each input, then that of the output."""


def pack(spec: FunctionSpec, context: PackingContext) -> Packed:
    """One row, with a term for each coordinate."""
    words = [*spec.inputs.values(), spec.output]
    address = address_of("A coordinate as a function of others.", source_of(spec), "fff")
    codes = [*([0] * len(spec.inputs)), address]
    records = [(0, k, codes[k], k, *context.coordinate(word)) for k, word in enumerate(words)]
    direction = f"between {', '.join(words[:-1])} and {words[-1]}"
    return Packed((RowShape(len(words), holonomic=True, direction=direction),), tuple(records))


def map_of(records: Sequence[tuple[Any, ...]]) -> tuple[tuple[int, int], list[tuple[int, int]], int]:
    """Unpack the records of a function: output and inputs by their indices in q and v, and the address of its code."""
    *inputs, output = ((iq, iv) for *_, iq, iv in records)
    return output, inputs, records[-1][2]


def source_of(spec: FunctionSpec) -> str:
    """Return the source of the function that computes f, its second derivative along v, and its partial derivatives."""
    with fresh_graph():
        q, v = ([name(f"{letter}[{k}]") for k in range(len(spec.inputs))] for letter in "xu")
        values: dict[str, Value] = {**spec.parameters, **dict(zip(spec.inputs, q, strict=True))}
        f = formula_of(parse(spec.value, FORMULA), values, piecewise_of(spec.functions))
        rates = dict(zip(q, v, strict=True))
        curvature = differentiate(differentiate([f], rates), rates)
        slopes = [differentiate([f], {one: 1.0})[0] for one in q]
        lines = write_lines([(f"out[{k}]", number) for k, number in enumerate([f, *curvature, *slopes])])
    return "def generated(x, u, out):\n" + "".join(f"    {line}\n" for line in lines)


@formula
def write(part, signals, points, states, buffers, t, bodies, q, v, rows, terms):
    """Read an input, or write the row with all its terms."""
    write_coefficient(terms[part.first_term], part.iv, 1.0)
    if part.address == 0:
        buffers.x[part.slot], buffers.u[part.slot] = q[part.iq], v[part.iv]
    else:
        out = buffers.out
        call_on_arrays(part.address, (buffers.x, buffers.u, out))
        write_level(rows[part.first_row], q[part.iq] - out[0], 0.0, -out[1])
        for k in range(part.slot):
            terms[part.first_term - part.slot + k].coefficient = -out[FIRST_SLOPE + k]


@kernel
def place_outputs(records, buffers, q, v, keeps_q, keeps_v):
    """Set outputs and their rates from the inputs, in place, but those to keep (nv,)."""
    for i in range(len(records)):
        part = records[i]
        if part.address == 0:
            buffers.x[part.slot], buffers.u[part.slot] = q[part.iq], v[part.iv]
            continue
        call_on_arrays(part.address, (buffers.x, buffers.u, buffers.out))
        if not keeps_q[part.iv]:
            q[part.iq] = buffers.out[0]
        if not keeps_v[part.iv]:
            v[part.iv] = 0.0
            for k in range(part.slot):
                v[part.iv] += buffers.out[FIRST_SLOPE + k] * buffers.u[k]


TABLE = ConstraintTable("function", FUNCTION, write)

KIND = ConstraintKind("function", FunctionSpec, TABLE, pack)
