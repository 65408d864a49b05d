"""Simulations that a program advances, observes and changes step by step."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from multibody_cli.api.equations import Equations
from multibody_cli.api.events import Events
from multibody_cli.api.inputs import Inputs
from multibody_cli.api.pieces import end_of_activations, require_activations, require_steps, take_steps, whole_number
from multibody_cli.api.scene import Scene
from multibody_cli.api.views import NamedViews, fresh_state, read_only
from multibody_cli.diagnostics.joint_domains import domain_violation
from multibody_cli.diagnostics.outcome import Before, outcome_of
from multibody_cli.errors import ArgumentError, QuantityError, ResultError, RunFailed
from multibody_cli.initial.largest_force import start_of
from multibody_cli.methods.contract import Report, Status, time_after
from multibody_cli.model import Floats
from multibody_cli.output.checkpoint import packed, target, unpacked
from multibody_cli.output.state_observer import Observer
from multibody_cli.packing.applied_forces import with_applied_forces
from multibody_cli.packing.ropes import follow_ropes
from multibody_cli.scene.timing import integer_multiple, is_adaptive
from multibody_cli.studies.equations_of_motion import places_by_name

Snapshot = tuple[bytes, bytes]


class Simulation(Events, Equations):
    """A scene at one instant, which steps forward in time.

    Each simulation has its own state and memory: any number can exist at the same time, and each can be used in another
    thread.  Compiled code runs without Python's global lock.  One simulation belongs to one thread at a time.
    `copy.copy` and `copy.deepcopy` return a simulation at the same instant; `pickle` is refused.

    Parameters
    ----------
    scene
        The scene, of `load`; the simulation begins at its initial state.

    Attributes
    ----------
    q, v, a
        Coordinates, velocities and accelerations by the names of joints, and of bodies that move freely: views of the
        state, which may be written except `a`.  Rotations of `spherical` and `free` joints are quaternions (w, x, y, z)
        in q, and angular velocities in v; `docs/conventions.md` has the components of each joint.  `q[...]` (nq,) and
        `v[...]` (nv,) are the whole arrays.  Views of joints that close loops, and of prescribed coordinates, are
        read-only.
    ended_by
        Name of the event at which the simulation has ended; empty if none has.
    force
        Applied forces by the names of joints, N or N m: views that may be written between steps.  They are held
        constant over each step, in addition to the forces of the scene.  Their work is the channel
        `energy/work/joints/<joint>/applied`.  Joints with prescribed coordinates have none.

    Raises
    ------
    ArgumentError
        The scene is something else, such as a path.
    RunFailed
        The initial accelerations cannot be computed.
    """

    def __init__(self, scene: Scene) -> None:
        if not isinstance(scene, Scene):
            raise ArgumentError(f"expected a scene, as in Simulation(load('scene.yaml')), found {scene!r}")
        prepared, self.scene = scene.prepared, scene
        actuated = with_applied_forces(prepared.compiled.model)
        self._model, self._forces, self._force_columns = actuated.model, actuated.forces, actuated.columns
        self._written = actuated.forces
        self._memory, self._state = fresh_state(prepared.fresh_state(), self._model)
        self._method = prepared.with_compiled(model=self._model).method_for(self._state)
        self._settings, self._adaptive = prepared.run_settings(), is_adaptive(prepared.scene.simulation)
        self._watch_events(prepared, self._method)
        self._has_domains = any(joint.domains for joint in self._model.names.joints)
        positions, columns, fixed = places_by_name(self._model)
        self._q = NamedViews("joint or free body", self._state.q, positions, fixed)
        self._v = NamedViews("joint or free body", self._state.v, columns, fixed)
        self._a = NamedViews("joint or free body", read_only(self._state.a), columns, frozenset())
        self._force = NamedViews("joint with applied forces", self._written, actuated.joints, frozenset())
        self._inputs = Inputs(lambda: self._model, lambda: setattr(self, "_seen", (self._seen[0], b"")))
        self._is_stepping, self._end = False, end_of_activations(prepared.scene)
        report = self._method.start(self._state)
        if self._watch:
            self._watch.begin(report)
        self._start = start_of(self._state, self._method.work)
        self._seen = self._snapshot()
        self._require_success(report, self._seen[0])
        self._observer = Observer(self._model, self._method)
        self._observer.observe(self._state, report)  # the energy balance refers to the first observation
        self._initial = self._carried()

    def __repr__(self) -> str:
        return f"<mbsim.Simulation of {self.scene.name} at t = {self.time:.9g} s>"

    def __copy__(self) -> Simulation:
        """Return a simulation of the same scene at the same instant, with its own state and memory."""
        copy = type(self)(self.scene)
        copy.restore(self.save())
        return copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Simulation:
        return self.__copy__()

    def __reduce__(self) -> NoReturn:
        raise ArgumentError(
            "a simulation cannot be pickled: `save` returns its state as bytes, which `restore` accepts in a "
            "simulation of the same scene"
        )

    @property
    def q(self) -> NamedViews:
        """Coordinates by name."""
        return self._q

    @property
    def v(self) -> NamedViews:
        """Velocities by name."""
        return self._v

    @property
    def a(self) -> NamedViews:
        """Accelerations by name, read-only."""
        return self._a

    @property
    def force(self) -> NamedViews:
        """Applied forces by name, N or N m."""
        return self._force

    @property
    def inputs(self) -> Inputs:
        """Inputs by name, in SI units; setting one changes the motion from the next step on."""
        return self._inputs

    @property
    def time(self) -> float:
        """The present time, s."""
        return float(self._state.time[0])

    # --- motion ---------------------------------------------------------------------------------------------------
    def step(self, count: int = 1) -> None:
        """Take steps of `scene.step`.

        The state and the applied forces may be changed before.  Then the first step begins afresh from them; otherwise
        the motion has the same bits as that of `Scene.run`.  An event that ends the run ends the steps at its instant.

        Raises
        ------
        ArgumentError
            The count is not a whole number, another thread is stepping, excitations end with the duration before, or an
            event has ended the simulation.
        RunFailed
            A step failed: the message is that of `mbsim run`, unless values written before are not finite.  `reset` and
            `restore` make the simulation usable again.
        """
        if type(count) is not int:
            count = whole_number(count)
        if self._is_stepping:  # tested here, since each call counts
            self._refuse_while_stepping()
        require_activations(self._end, self.time + count * self.scene.step)
        if self._watch:
            self._refuse_after_the_end()
        failed: Report | None
        self._is_stepping = True
        try:
            before = memory, forces = self._memory.tobytes(), self._written.tobytes()
            if before != self._seen:
                self._begin_afresh()
            if self._watch:
                failed = self._pass_events(time_after(self.time, self.scene.step, require_steps(count)))
            elif count == 1:
                failed = self._method.step(self._state, 1)
            else:
                failed = take_steps(self._method, self._state, count)
            self._seen = self._memory.tobytes(), forces
        finally:
            self._is_stepping = False
        if failed is not None or self._has_domains:
            self._require_success(failed or Report(), memory)

    def advance(self, until: float) -> None:
        """Advance to a time, s: a whole number of steps after the present one, or any later time if they are adaptive.

        Raises
        ------
        ArgumentError
            The time is no number, is past, or not a whole number of steps away; the message names the nearest.
        RunFailed
            As for `step`.
        """
        if not isinstance(until, (float, int, np.number)):
            raise ArgumentError(f"expected a time in s, found {until!r}")
        if not until >= self.time:
            raise ArgumentError(f"cannot advance to {until:.9g} s: the present time is {self.time:.9g} s")
        require_activations(self._end, until)
        if self._adaptive:
            self._advance_adaptively(until)
        elif until > self.time:
            try:
                count = integer_multiple(until - self.time, self.scene.step, "until - time", "step")
            except QuantityError as error:
                raise ArgumentError(str(error)) from None
            self.step(count)

    def reset(self) -> None:
        """Return to the initial state of the scene, without applied forces."""
        self._refuse_while_stepping()
        self._restore(self._initial)
        self._seen = self._snapshot()

    def save(self) -> bytes:
        """Return all that the motion from here on depends on, applied forces included.

        `restore` continues with the same bits; it accepts the bytes in another process as well.

        Raises
        ------
        RunFailed
            A coordinate, a velocity or an applied force is not finite.
        """
        self._refuse_while_stepping()
        self._require_finite(self._memory, "save")
        values = self._carried()
        values |= {"changed": self._snapshot() != self._seen, "target": target(), "scene": self._scene_hash}
        return packed(values)

    def restore(self, data: bytes) -> None:
        """Return to an instant that `save` returned, of this or another simulation of the same scene.

        Raises
        ------
        ArgumentError
            The data are not bytes.
        ResultError
            The data are damaged, or those of another scene, version or kind of processor.
        """
        if not isinstance(data, bytes):
            raise ArgumentError(f"expected the bytes that `save` returned, found {type(data).__name__}")
        values = unpacked(data)
        changed = values.pop("changed", False)
        if values.pop("scene", None) != self._scene_hash:
            raise ResultError("the checkpoint is that of another scene: restore it in a simulation of its own scene")
        if values.pop("target", None) != target():
            raise ResultError("the checkpoint was saved on another kind of processor, where results have other bits")
        self._refuse_while_stepping()
        self._restore(values)
        self._seen = (b"", b"") if changed else self._snapshot()

    @cached_property
    def _scene_hash(self) -> str:
        return self.scene.prepared.header().scene_sha256

    def _refuse_while_stepping(self) -> None:
        """Refuse a call while another thread steps."""
        if self._is_stepping:
            raise ArgumentError("the simulation is stepping in another thread: give each thread one of its own")

    def _snapshot(self) -> Snapshot:
        """Return the arrays that a program may change between steps: state and applied forces."""
        return self._memory.tobytes(), self._written.tobytes()

    def _begin_afresh(self) -> None:
        """Use nothing of earlier steps but the turns of ropes, if the state or the forces were changed."""
        if self._snapshot() != self._seen:
            follow_ropes(self._model, self._state, np.frombuffer(self._seen[0])[: len(self._state.q)])
            self._seen = self._memory.tobytes(), b""
            self._forces[:] = self._written
            self._method.restart()
            if self._watch:
                self._watch.begin(self._method.advance(self._state, self.time))

    def _advance_adaptively(self, until: float) -> None:
        self._refuse_while_stepping()
        self._refuse_after_the_end()
        self._is_stepping = True
        try:
            before = self._snapshot()
            self._begin_afresh()
            report = self._pass_events(until) if self._watch else self._advance_in_pieces(until)
            self._seen = self._snapshot()
        finally:
            self._is_stepping = False
        self._require_success(report, before[0])

    def _advance_in_pieces(self, until: float) -> Report:
        report, pieces = Report(), max(1, math.ceil((until - self.time) / self.scene.step))
        start, step = self.time, (until - self.time) / pieces
        for piece in range(1, pieces + 1):
            report = self._method.advance(self._state, until if piece == pieces else start + piece * step)
            if report.status is not Status.OK:
                break
        return report

    def _require_success(self, report: Report, before: bytes) -> None:
        """Raise the error of an advance that failed, from the bytes of q and v before it."""
        if report.status is not Status.OK:
            self._require_finite(np.frombuffer(before), "step")
        violation = domain_violation(self._model, self._state)
        if report.status is Status.OK and not violation:
            return
        last = Before(self.time, np.frombuffer(before)[len(self._state.q) :])
        outcome = outcome_of(self._model, self._state, report, last, violation, self._settings, self._start)
        raise RunFailed(f"{outcome.status}: {outcome.message}")

    def _require_finite(self, memory: Floats, action: str) -> None:
        """Refuse an action on q and v, side by side, or on applied forces that are not finite."""
        nq = len(self._state.q)
        self._q.require_finite("q", memory[:nq], action)
        self._v.require_finite("v", memory[nq:], action)
        self._force.require_finite("force", self._written, action)

    # --- observation ----------------------------------------------------------------------------------------------
    def channel(self, path: str) -> Floats:
        """Return a channel of the results at the present instant, such as `bodies/rod/com` or `energy/total`.

        `contacts/A:B/force` is the force of A on B, two bodies or a body and the `world`, of the contacts between them.
        A component may follow in brackets, as in `joints/hinge/force[fz]`.  `scene.channels` lists those of results.
        Reactions and accelerations are those of the state and the applied forces as they are now.

        Raises
        ------
        UnknownName
            There is no such channel, or it has no such component.
        """
        self._observer.observe(self._state, self._evaluate())
        return self._observer.value(path)

    def _evaluate(self) -> Report:
        """Compute accelerations, reactions and contacts of the present instant."""
        self._refuse_while_stepping()
        self._begin_afresh()
        report = self._method.advance(self._state, self.time)
        self._seen = self._snapshot()
        return report
