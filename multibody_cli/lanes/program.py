"""A whole run as one generated function: the time steps of a scheme around the accelerations of Method I.

The function advances `LANES` runs from their initial states, and stores q, v and the energy ledger at given steps.  A
run is valid up to the first step whose accelerations are not finite or whose velocities exceed `MAX_SPEED`, like a
single run.  With dual numbers in place of vectors, the same text is the function of one run and its derivatives.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.codegen.equations import METHOD_I, memory_for, write_accelerations
from multibody_cli.codegen.layout import table_for
from multibody_cli.codegen.links import Link, links_of, with_common_structures
from multibody_cli.codegen.runs import plan
from multibody_cli.codegen.text import indented, joined
from multibody_cli.constraints import TABLES
from multibody_cli.constraints.limit import TABLE as LIMITS
from multibody_cli.kernel import LANES
from multibody_cli.lanes.forces import Parameters, write_forces
from multibody_cli.lanes.schemes import Scheme, Sizes, readable
from multibody_cli.lanes.tracing import Tracer
from multibody_cli.methods.integrators.vectors import MAX_SPEED
from multibody_cli.model import Floats, Integers, Model, Records, Tree
from multibody_cli.signals import SCRATCH
from multibody_cli.symbolic.generated import address_of

VECTORS = ("q", "v", "a", "tau", "q_start", "v_start", "u", "u_slope", "v_slope", "memory", "parameters",
           "powers", "ledger", "q_out", "v_out", "ledger_out", "done", "clearance", "bodies", "bias",
           "armature")  # fmt: skip
"""Arrays of vectors of the generated function; `table` is one as well if the constants of the runs differ."""

VECTOR, DUAL = "v", "d"
"""Kinds of the entries of these arrays."""


class Program(NamedTuple):
    """A compiled run.

    Parameters
    ----------
    address
        Of the generated function.
    arguments
        Its arguments, with their kinds.
    memory
        (n,) initial content of the memory, or one (N, n) for each run.
    runs
        The runs of links; see `codegen.layout`.
    tables
        (n,) the table of constants, or one (N, n) for each run.
    parameters
        (N, p) numbers in which the runs differ.
    armature
        (N, nv) armature of the coordinates, of joints and motors.
    signals
        The numbers of the signals that are evaluated for each stage, `TIME` for the time itself.
    """

    address: int
    arguments: dict[str, str]
    memory: Floats
    runs: Integers
    tables: Floats
    parameters: Floats
    armature: Floats
    signals: tuple[int, ...]


def compile_program(models: Sequence[Model], scheme: Scheme, entries: str = VECTOR) -> Program:
    """Write and compile the run of a model, or of one for each run, which differ in constants only.

    Parameters
    ----------
    models
        The models.
    scheme
        The integrator.
    entries
        `VECTOR` for many runs, `DUAL` for one run and its derivatives.
    """
    model = models[0]
    tree, sizes, parameters = model.system.tree, Sizes(model.nq, model.nv, len(model.names.accounts)), Parameters()
    has_armature, placed = coordinates_with_armature(models), places_bodies(model)
    links = with_common_structures([_links_of(one, has_armature, entries == VECTOR) for one in models])
    tau, signals = write_forces([one.system.forces for one in models], *sizes, parameters)
    limits, speeds = _write_clearance(models, parameters), _write_speeds(models, parameters)
    tree_plan = plan(links[0], links[1:])
    arguments = dict.fromkeys(VECTORS, entries) | {
        "table": entries if len(models) > 1 else "f", "settings": "f", "signals": "f", "runs": "i", "steps": "i",
    }  # fmt: skip

    def surround(passes: Sequence[Sequence[str]]) -> list[str]:
        first = 2 if placed else 0  # the passes that compute the bodies precede the forces
        evaluation = [*joined(passes[:first]), *tau, *joined(passes[first:])]
        return _body(scheme, evaluation, speeds, limits, len(signals), sizes, tree)

    gravities = [one.system.tree.gravity for one in models]
    shared = tree.gravity if all(np.array_equal(one, tree.gravity) for one in gravities) else None
    method = METHOD_I._replace(arguments=arguments, surround=surround)
    written = write_accelerations(tree_plan, shared, method, has_body_forces=placed)
    (source,) = written.sources
    tables = np.array([table_for(tree_plan, written.layout.entries, own) for own in links])
    title = f"{LANES} runs" if entries == VECTOR else f"a run and {LANES} derivatives"
    return Program(
        address_of(f"{title} at a time: {source.title}", source.text, "".join(arguments.values())),
        arguments,
        memory_for(written, tree.gravity)
        if shared is not None
        else np.array([memory_for(written, g) for g in gravities]),
        written.layout.runs.ravel(),
        tables if len(models) > 1 else tables[0],
        np.array(parameters.values).reshape(len(parameters.values), len(models)).T.copy(),
        np.array([one.system.tree.armature for one in models]),
        tuple(signals),
    )


def _body(
    scheme: Scheme,
    evaluation: Sequence[str],
    speeds: Sequence[str],
    limits: Sequence[str],
    signals: int,
    sizes: Sizes,
    tree: Tree,
) -> list[str]:
    """Write the statements of the generated function."""
    stages = len(scheme.offsets)
    writers = (scheme.start, scheme.stage, scheme.slope, scheme.step)
    start, stage, slope, step = (write(readable(tree), sizes) for write in writers)
    opening, closing = _add_powers(scheme, sizes.accounts)
    at_step = [*_check(speeds, sizes.nv), *limits, *closing, *_record(sizes), *start]
    if stages == 1:
        inner = [f"row_of_time = {signals} * step", *evaluation, *at_step, *opening]
    else:
        inner = [
            f"for stage in range({stages}):",
            *indented([
                f"row_of_time = {signals} * ({stages} * step + stage)",
                f"reach, weight = settings[1 + stage], settings[{1 + stages} + stage]",
                *_unless_first("stage", stage),
                *evaluation,
                "if stage == 0:",
                *indented(at_step),
                *opening,
                *slope,
            ]),
        ]  # fmt: skip
    return [
        "h, alive, instant = settings[0], 1.0, 0",
        "for step in range(steps[0]):",
        *indented([*inner, *step]),
    ]


def _unless_first(counter: str, lines: Iterable[str]) -> list[str]:
    return [f"if {counter} == 0:", "    pass", "else:", *indented(list(lines))]


def _add_powers(scheme: Scheme, accounts: int) -> tuple[list[str], list[str]]:
    """Write the part of a stage in the energies of the step that it belongs to, and of the step that ends with it."""
    if not accounts:
        return [], []
    weights = 1 + 2 * len(scheme.offsets)

    def add(weight: str) -> list[str]:
        return [
            f"share = settings[{weight}]",
            f"for place in range({accounts}):",
            "    ledger[place] = ledger[place] + share * powers[place]",
        ]

    closing = _unless_first("step", add(f"{weights + len(scheme.offsets)}")) if scheme.closing_power else []
    stage = " + stage" if len(scheme.offsets) > 1 else ""
    return add(f"{weights}{stage}"), closing


def _write_speeds(models: Sequence[Model], parameters: Parameters) -> list[str]:
    """Write the largest velocity, relative to the slowest that counts."""
    tracer = Tracer()
    v = tracer.array("v", models[0].nv)
    slowest = np.array([one.system.tree.rate / one.system.tree.weights for one in models])
    lines = ["fastest = 0.0"]
    for j in range(len(v)):
        tracer.script.store(f"speed{j}", v[j] * parameters.number(tracer, 1.0 / slowest[:, j]))
        lines.append(f"fastest = max(max(fastest, speed{j}), -speed{j})")
    return [*tracer.lines(), *lines]


def _check(speeds: Sequence[str], nv: int) -> list[str]:
    """Write the test of `vectors.is_finite_and_bounded`, and count the valid steps."""
    return [
        *speeds,
        "defect = 0.0",
        f"for place in range({nv}):",
        "    defect += a[place] * 0.0",
        f"alive = min(alive, max(0.0, 1.0 + defect) * min(1.0, max(0.0, ({MAX_SPEED!r} - fastest) * 1e300)))",
        "done[0] = done[0] + alive",
    ]


def _record(sizes: Sizes) -> list[str]:
    """Write the output at the requested steps."""
    lines = []
    for word, size in (("q", sizes.nq), ("v", sizes.nv), ("ledger", sizes.accounts)):
        if size:
            lines += [f"for place in range({size}):", f"    {word}_out[{size} * instant + place] = {word}[place]"]
    return ["if step == steps[1 + instant]:", *indented([*lines, "instant += 1"])]


def _write_clearance(models: Sequence[Model], parameters: Parameters) -> list[str]:
    """Write the smallest distance from a limit since the start, relative to the units of its rows."""
    tables = [limits_of(one) for one in models]
    weights = [one.system.rows["weight"][table["first_row"]] for one, table in zip(models, tables, strict=True)]
    tracer = Tracer()
    q = tracer.array("q", models[0].nq)
    lines = []
    for k, limit in enumerate(tables[0]):
        signs = [one["sign"][k] * weight[k] for one, weight in zip(tables, weights, strict=True)]
        bounds = [one["bound"][k] for one in tables]
        sign, bound = (parameters.number(tracer, np.array(values)) for values in (signs, bounds))
        tracer.script.store(f"gap{k}", sign * (q[int(limit["iq"])] - bound))
        lines.append(f"clearance[0] = min(clearance[0], gap{k})")
    return [*tracer.lines(), *lines]


def content_of(model: Model) -> Hashable:
    """Return everything of a model that the code and the tables of its lanes depend on."""
    system = model.system
    forces = system.forces
    tables = (*forces.tables, forces.points.entries, forces.quantities, limits_of(model))
    arrays = (*system.tree, *_signals_of(model), *tables)
    return tuple(np.asarray(array).tobytes() for array in arrays), tuple(model.joint_maps.items()), model.names.accounts


def have_equal_structure(models: Sequence[Model]) -> bool:
    """Return whether models differ only in the values of the constants of gravity, links, forces and limits."""
    if len(models) == 1:
        return True
    return len({_structure_of(one) for one in models}) == 1


def _structure_of(model: Model) -> Hashable:
    """Return everything that the runs of a batch have in common."""
    has_armature = coordinates_with_armature([model])
    links = tuple((link.parent, link.iq, link.iv, link.structure.parts) for link in _links_of(model, has_armature))
    system = model.system
    signals, forces = system.forces.signals, system.forces
    programs = tuple(
        one.tobytes() for one in (signals.is_table, signals.first, signals.last, signals.code, signals.knots)
    )
    tables = (*forces.tables, forces.points.entries, forces.quantities, limits_of(model))
    return links, programs, tuple(map(_whole_numbers, tables)), len(model.names.accounts)


def _signals_of(model: Model) -> list[Any]:
    """Return the arrays of the signals that evaluations only read."""
    fields = model.system.forces.signals._asdict()
    return [array for name, array in fields.items() if name not in SCRATCH]


def _whole_numbers(table: Records) -> Hashable:
    """Return the integers of all records."""
    fields = [name for name in table.dtype.names or () if table.dtype[name].kind == "i"]
    return len(table), tuple(table[name].tobytes() for name in fields)


def places_bodies(model: Model) -> bool:
    """Return whether forces act on bodies or read their motion."""
    return model.system.forces.acts_on_bodies or model.system.forces.reads_bodies


def coordinates_with_armature(models: Sequence[Model]) -> Any:
    """Return for each coordinate whether it has an armature in any model, (nv,)."""
    return np.any([one.system.tree.armature > 0.0 for one in models], axis=0)


def _links_of(model: Model, has_armature: Any, aligned: bool = True) -> list[Link]:
    """Return the links; aligned axes are no smooth function of the axis of a joint."""
    placed = places_bodies(model)
    return links_of(model.system.tree, model.joint_maps, has_armature, aligned=aligned, placed=placed)


def limits_of(model: Model) -> Records:
    """Return the limits of the joints of a model."""
    return model.system.constraints.tables[TABLES.index(LIMITS)]
