"""A scene prepared to run: loaded and compiled, with its method and header."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from multibody_cli.alarms.contract import RunSettings
from multibody_cli.compile import CompiledScene, compile_scene
from multibody_cli.constraints.code_buffers import CodeBuffers
from multibody_cli.document.source import SceneSource
from multibody_cli.errors import Problem, SceneError
from multibody_cli.immutable import Immutable, replace
from multibody_cli.kernel import allocate
from multibody_cli.limits import LimitError, require_within
from multibody_cli.methods import METHODS, integrator_of
from multibody_cli.methods.contract import Integrator
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.methods.method import Method
from multibody_cli.model import Floats, State
from multibody_cli.output.attributes import EarlierScene
from multibody_cli.output.carried_state import Values
from multibody_cli.output.channel import INSTANT
from multibody_cli.output.recorder import States
from multibody_cli.output.series import select_channels
from multibody_cli.output.sink import Header, MemorySink, Sink, block_rows
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.scene.dump import dump_resolved, without_files
from multibody_cli.scene.load import LoadedScene, default_integrator, load_scene
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.shapes.mesh import MeshSpec, convex_parts
from multibody_cli.signals import with_signals
from multibody_cli.studies.expect import find_unreadable
from multibody_cli.timeline import NO_CALLBACKS, Callbacks, Driver, Summary
from multibody_cli.version import __version__, commit


class PreparedSimulation(Immutable):
    """A scene that is ready to run.

    Parameters
    ----------
    loaded
        The scene with the positions of its text.
    compiled
        Its arrays. They are immutable: every run starts from a copy of the state.
    earlier
        The scenes before it, if the run is a branch.
    """

    loaded: LoadedScene
    compiled: CompiledScene
    earlier: tuple[EarlierScene, ...] = ()

    @property
    def scene(self) -> SceneSpec:
        """The scene."""
        return self.loaded.scene

    def fresh_state(self) -> State:
        """Return a copy of the initial state."""
        return self.compiled.state.copy()

    def with_own_scratch(self) -> PreparedSimulation:
        """Return this simulation with scratch of its own, to run in another thread."""
        system = self.compiled.model.system
        own = with_signals(system, system.forces.signals.with_own_scratch())
        points = own.forces.points.with_own_scratch()
        own = own._replace(
            forces=own.forces._replace(points=points, states=own.forces.states.copy()),
            constraints=own.constraints._replace(points=points, buffers=allocate(CodeBuffers)),
        )
        return self.with_compiled(model=replace(self.compiled.model, system=own))

    def with_compiled(self, **parts: Any) -> PreparedSimulation:
        """Return this simulation with other parts of the compiled scene."""
        return replace(self, compiled=replace(self.compiled, **parts))

    def method_for(self, state: State) -> Method:
        """Create the method of the scene for a state."""
        settings = self.scene.simulation
        kind = METHODS[settings.method]
        options = kind.Options.model_validate(settings.options)
        return kind(self.compiled.model, self.integrator, self.compiled.control, state, options)

    @property
    def integrator(self) -> Integrator:
        """The integrator of the scene, or that of its method."""
        return integrator_of(
            self.scene.simulation.method, self.scene.simulation.integrator, self.scene.simulation.options
        )

    def run_settings(self) -> RunSettings:
        """Return the settings that the alarms of the run depend on."""
        settings, contacts = self.scene.simulation, self.compiled.model.system.contacts
        default = INTEGRATORS[default_integrator(self.scene)]
        has_limits = any(entry.one_sided for entry in self.compiled.model.names.constraint_entries)
        driven = any(getattr(joint, "motion", None) is not None for joint in self.scene.joints.values())
        constrained = self.compiled.model.names.looped or self.scene.couplings or self.scene.constraints
        better = METHODS[settings.method].own_integrator is None and default.order > self.integrator.order
        better = better and not self.integrator.implicit  # stiff forces limit the step of an explicit one
        return RunSettings(
            integrator=self.integrator,
            step=settings.step,
            order=1 if has_limits or default.order == 1 else self.integrator.order,
            one_motion=self.compiled.n_dofs == 1 or len(self.compiled.model.names.bodies) == 1,
            rtol=settings.tolerance.rtol,
            options=settings.options,
            driven=driven and bool(constrained),
            staggered=bool(contacts and contacts.options.staggered),
            alternative=default.name if better else "",
            has_springs=self.compiled.model.system.forces.depends_on_motion,
            thresholds=settings.alarms,
            stable_step=self.compiled.stable_step,
            oscillations=self.compiled.oscillations,
            at_start=self.compiled.alarms,
            notes=self.compiled.notes,
            describe=self.loaded.describe,
        )

    def _parts_of(self, *place: str | int) -> list[Floats]:
        """Return the vertices (n, 3) of the convex parts of a mesh with contacts, m."""
        owner = self.scene.world if place[0] == "world" else self.scene.bodies[str(place[1])]
        mesh = owner.shapes[int(place[-1])]
        assert isinstance(mesh, MeshSpec)
        return convex_parts(mesh, self.loaded.resolve_path(mesh.file, *place))

    def header(self) -> Header:
        """Return the metadata of the run that are known before it starts."""
        settings, model = self.scene.simulation, self.compiled.model
        text = dump_resolved(without_files(self.loaded.data, self.compiled.masses, self._parts_of))
        return Header(
            names=model.names,
            com=model.com,
            method=settings.method,
            integrator=self.integrator.name,
            step=settings.step,
            duration=settings.duration,
            scene_yaml=text,
            scene_sha256=hashlib.sha256(text.encode()).hexdigest(),
            mbsim_version=__version__,
            mbsim_commit=commit(),
            options=settings.options,
            name=self.scene.name,
            description=self.scene.description,
            block_rows=block_rows(self.compiled.timing.outputs + 1, model.names),
            earlier=self.earlier,
        )

    @np.errstate(over="ignore", invalid="ignore")  # alarms and expectations report numbers that are not finite
    def run(self, sink: Sink, callbacks: Callbacks = NO_CALLBACKS, carried: Values | None = None) -> Summary:
        """Run the scene from its initial state, or from a carried state; see `timeline.Driver`.

        Raises
        ------
        OutputError
            The sink cannot write.
        LayoutError
            `carried` belongs to another scene.
        """
        return self._driver(sink, callbacks).run(carried)

    def run_in_memory(
        self, channels: Sequence[str] | None = None, callbacks: Callbacks = NO_CALLBACKS
    ) -> tuple[Summary, Trajectory]:
        """Run the scene, and return its summary and the given channels; by default, those that it records."""
        sink = MemorySink(channels)
        return self.run(sink, callbacks), sink.trajectory()

    def load_kernels(self) -> None:
        """Start the run, record its start and take the first steps, so that all kernels are compiled and loaded."""
        answers = iter([False])
        self.run(MemorySink(), Callbacks(stop_asked=lambda: next(answers, True)))

    @np.errstate(over="ignore", invalid="ignore")
    def replay(self, states: States, sink: Sink) -> Summary:
        """Record a complete run whose states after the initial one are known; see `timeline.Driver.replay`."""
        return self._driver(sink).replay(states)

    def _driver(self, sink: Sink, callbacks: Callbacks = NO_CALLBACKS) -> Driver:
        state, model, timing = self.fresh_state(), self.compiled.model, self.compiled.timing
        method, settings, watch = self.method_for(state), self.run_settings(), None
        if events := self.scene.events:
            from multibody_cli.events.watch import Watch  # slow imports
            from multibody_cli.studies.phases import Phases

            if self.integrator.adaptive:  # expressions are evaluated at output instants
                timing = replace(timing, pauses=1)
            watch = Watch(events, model, state, method, timing.step, Phases(self, state))
        return Driver(model, state, method, timing, self.header(), sink, settings, callbacks, watch)


def prepare(source: SceneSource, overrides: Sequence[str] = ()) -> PreparedSimulation:
    """Load and compile a scene; reject it if it cannot run or if its expectations cannot be evaluated.

    Parameters
    ----------
    source
        The scene.
    overrides
        Values to replace, each `KEY=VALUE`.

    Raises
    ------
    SceneError
        With all problems of the scene.
    """
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            compiled = compile_scene(load_scene(source, overrides))
            simulation = PreparedSimulation(compiled.loaded, compiled)
    except ArithmeticError as error:
        # of NumPy, and of Python: `1e200**2` overflows, and `1.0 / 1e-200**2` divides by zero
        message = f"a number is too large or too small to compute with: {error.args[-1]}"
        raise SceneError([Problem(str(source), "", message)]) from None
    _require_fitting_result(simulation)
    _require_readable_expectations(simulation)
    if any(event.changes for event in simulation.scene.events.values()):
        from multibody_cli.studies.phases import require_phases  # slow imports

        require_phases(simulation)
    return simulation


def in_joint_coordinates(
    simulation: PreparedSimulation, source: SceneSource, overrides: Sequence[str] = ()
) -> PreparedSimulation:
    """Return a prepared scene in joint coordinates, for any method."""
    if not METHODS[simulation.scene.simulation.method].maximal:
        return simulation
    return prepare(source, (*overrides, "simulation.method=aba", "simulation.options={}"))


def _require_fitting_result(simulation: PreparedSimulation) -> None:
    scene, compiled = simulation.scene, simulation.compiled
    series = [one for one in select_channels(scene.output.channels, compiled.model.names) if one.channel.per == INSTANT]
    row = sum(np.dtype(one.channel.dtype).itemsize * math.prod(one.shape) for one in series)
    try:
        require_within("result", row * (compiled.timing.outputs + 1))
    except LimitError as error:
        raise simulation.loaded.error(str(error), "output", "every") from None


def _require_readable_expectations(simulation: PreparedSimulation) -> None:
    scene, loaded, compiled = simulation.scene, simulation.loaded, simulation.compiled
    unreadable = find_unreadable(
        scene.expect,
        compiled.model.names,
        scene.output.channels,
        compiled.timing.every,
        scene.simulation.duration,
    )
    if unreadable:
        raise SceneError(
            [problem for number, message in unreadable for problem in loaded.error(message, "expect", number).problems]
        )
