"""Size of the code that is generated for a model, by Methods I and II of Si and Guenter."""

from __future__ import annotations

import ast
import tracemalloc
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from pydantic import Field

from multibody_cli.codegen.equations import write_gravity_only
from multibody_cli.codegen.kinematics import write_joints
from multibody_cli.codegen.source import GeneratedFunctions
from multibody_cli.kernel import is_interpreted
from multibody_cli.kernel.store import find
from multibody_cli.kernel.tasks import generated_task
from multibody_cli.methods import symbolic_generated, symbolic_numeric
from multibody_cli.model import Model
from multibody_cli.studies.papers.contract import MeasureResult, MeasureSpec, Prepare
from multibody_cli.studies.papers.measures.stepping import RunSpec

UNITS = {"operations": "", "machine code": ", bytes", "generation": ", MB", "evaluation": ", kB"}
"""Quantities, with the text of their units."""


class Measure(MeasureSpec):
    """Size of the generated code of Methods I and II, and the memory of its generation and of an evaluation.

    *operations* are arithmetic operations and calls in the text; *machine code* is the size of the compiled text,
    bytes, None if nothing is compiled; *generation* is the largest memory in Python that writing the text takes, MB;
    *evaluation* is the size of the arrays that an evaluation reads and writes besides the model, kB.  The kernels of
    the numeric recursion, which all models share, are not part of the code of Method II.  Values: `scenes`, the number
    of scenes; `larger`, `heavier` and `smaller`, of those in which Method I has more operations, takes more memory to
    generate, and takes less memory to evaluate.
    """

    type: Literal["code_size"]
    rows: dict[str, RunSpec] = Field(min_length=1, description="Scenes without forces on bodies but gravity, by name.")

    def measure(self, prepare: Prepare) -> MeasureResult:
        """Generate and compile the code of all scenes."""
        found = {name: self._sizes(row, prepare) for name, row in self.rows.items()}
        rows = [{"row": row.label} | _shown(*found[name]) for name, row in self.rows.items()]
        pairs = found.values()
        values = {
            "scenes": len(rows),
            "larger": sum(one["operations"] > two["operations"] for one, two in pairs),
            "heavier": sum(one["generation"] > two["generation"] for one, two in pairs),
            "smaller": sum(one["evaluation"] < two["evaluation"] for one, two in pairs),
        }
        return MeasureResult(rows, values)

    def _sizes(self, row: RunSpec, prepare: Prepare) -> tuple[dict[str, Any], dict[str, Any]]:
        model = prepare(row.scene, ["simulation.method=symbolic", *row.set]).compiled.model
        tree, maps = model.system.tree, model.joint_maps
        none = np.zeros(model.nv, np.bool_)
        return (
            _size(lambda: write_gravity_only(tree, maps, none), _memory_of_generated(model)),
            _size(lambda: write_joints(tree, maps), _memory_of_numeric(model)),
        )


def _shown(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{quantity} {method}{unit}": sizes[quantity]
        for quantity, unit in UNITS.items()
        for method, sizes in (("I", one), ("II", two))
    }


def _size(write: Callable[[], GeneratedFunctions], memory: int) -> dict[str, Any]:
    tracemalloc.start()
    written = write()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    [source] = written.sources
    return {
        "operations": operations_in(source.text),
        "machine code": _machine_code(source.title, source.text, written.kinds),
        "generation": peak / 1e6,
        "evaluation": memory / 1e3,
    }


def operations_in(text: str) -> int:
    """Return the number of arithmetic operations and calls in a generated text, without those of indices and ranges."""
    left: list[ast.AST] = [ast.parse(text)]
    count = 0
    while left:
        node = left.pop()
        if isinstance(node, ast.Subscript | ast.For):
            left += node.body if isinstance(node, ast.For) else []
            continue
        count += isinstance(node, ast.BinOp | ast.Call) or (
            isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant)
        )
        left += ast.iter_child_nodes(node)
    return count


def _machine_code(title: str, text: str, kinds: str) -> int | None:
    """Return the size of the instructions of compiled code, bytes."""
    if is_interpreted():
        return None
    import llvmlite.binding as llvm

    from multibody_cli.symbolic.instructions import InstructionWriter

    code = find(generated_task(title, kinds, InstructionWriter(text)).symbol)
    assert code is not None  # the workspace of the method has compiled it
    sections = llvm.ObjectFileRef.from_data(code.code).sections()
    return sum(int(section.size()) for section in sections if section.is_text())


def _memory_of_generated(model: Model) -> int:
    own: Any = symbolic_generated.workspace(model, None).scratch
    return sum(array.nbytes for array in (own.table, own.memory, own.runs))


def _memory_of_numeric(model: Model) -> int:
    work = symbolic_numeric.workspace(model, None)
    own: Any = work.scratch
    shared = (work.bodies, work.columns)
    return sum(array.nbytes for array in (own.joint_numbers, own.column_numbers, own.table, own.runs, *shared))
