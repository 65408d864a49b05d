"""Operations that zeros and ones of S save in the elimination of joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pydantic import Field

from multibody_cli.codegen import recursion
from multibody_cli.codegen.joint_steps import Emitter, JointStep, Slot, steps_of
from multibody_cli.codegen.links import links_of
from multibody_cli.codegen.runs import Site, plan
from multibody_cli.spatial.values import Force, Inertia, Mat3, Motion, Sym3, Vec3
from multibody_cli.studies.papers.contract import MeasureResult, MeasureSpec, Prepare
from multibody_cli.studies.papers.measures.stepping import RunSpec
from multibody_cli.symbolic.scalar import Value, fresh_graph, topological_order
from multibody_cli.symbolic.script import Script, used_by


class Measure(MeasureSpec):
    """Arithmetic operations of (24) to (33) for the joints of scenes, with and without knowledge of S.

    The joints eliminate their coordinates from a full articulated inertia of the links behind them.  *with* is the code
    of Method I, in which zeros and ones of S are folded; *without* is the same elimination for an S whose entries are
    numbers in memory.  Values of row `name`: `name`, the ratio; `least`, the smallest ratio of all rows.
    """

    type: Literal["elimination"]
    rows: dict[str, RunSpec] = Field(min_length=1, description="Scenes by name.")

    def measure(self, prepare: Prepare) -> MeasureResult:
        """Count the operations of each different joint of the scenes."""
        rows, values = list[dict[str, Any]](), dict[str, float]()
        for name, row in self.rows.items():
            model = prepare(row.scene, ["simulation.method=symbolic", *row.set]).compiled.model
            links = links_of(model.system.tree, model.joint_maps, np.zeros(model.nv, np.bool_))
            sites = [site for kind in plan(links).kinds for site in kind.sites]
            known, opaque = (sum(eliminations(site, is_opaque) for site in sites) for is_opaque in (False, True))
            coordinates = sum(part.nv for site in sites for part in site.structure.parts)
            values[name] = opaque / known
            counts = {"with": known, "without": opaque, "ratio": values[name]}
            rows.append({"row": row.label, "joints": len(sites), "coordinates": coordinates, **counts})
        return MeasureResult(rows, {**values, "least": min(values.values())})


def eliminations(site: Site, is_opaque: bool) -> int:
    """Return the number of arithmetic operations of (24) to (33) for a link.

    Parameters
    ----------
    site
        The link.
    is_opaque
        Whether zeros and ones of S are unknown.
    """
    with fresh_graph():
        known: dict[Slot, Value] = {}
        steps_of(Emitter(Script(), site, False, known))  # the outward pass, which knows constants of the joint
        script = Script()
        emitter = Emitter(script, site, True, known)
        steps = steps_of(emitter)
        if is_opaque:
            steps = [_opaque(script, step) for step in steps]
        full = [script.load("outer", f"outer[{k}]") for k in range(27)]
        outer = recursion.ArticulatedInertia(_inertia(full[:21]), _force(full[21:]))
        own = _force([script.load("own", f"own[{k}]") for k in range(6)])
        A, p = recursion.propagate_to_parent(emitter, steps, recursion.add_link_inertia(emitter, own, outer))
        for number in (*A.J, *A.H.x, *A.H.y, *A.H.z, *A.M, *p.t, *p.f):
            script.store("result", number)
        statements = script.live(lambda _: True)
        used = topological_order([value for statement in statements for value in used_by(statement)])
        return sum(node.operation != "name" for node in used)


def _opaque(script: Script, step: JointStep) -> JointStep:
    """Return a step with an S whose entries are loaded."""

    def loaded(axes: Sequence[Value]) -> Vec3:
        return Vec3(*(script.load("S", "S") for _ in axes))

    columns = [column._replace(S=Motion(loaded(column.S.w), loaded(column.S.v))) for column in step.columns]
    return step._replace(columns=columns)


def _inertia(numbers: Sequence[Value]) -> Inertia:
    H = Mat3(*(Vec3(*numbers[k : k + 3]) for k in (6, 9, 12)))
    return Inertia(Sym3(*numbers[:6]), H, Sym3(*numbers[15:21]))


def _force(numbers: Sequence[Value]) -> Force:
    return Force(Vec3(*numbers[:3]), Vec3(*numbers[3:]))
