"""Channels of the results at one instant, or at several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from multibody_cli.errors import UnknownName
from multibody_cli.kernel.dual_numbers import with_duals
from multibody_cli.methods.contract import Recording, Report
from multibody_cli.methods.method import Method
from multibody_cli.model import Floats, Model, State
from multibody_cli.output.bodies import body_paths, find_body_channel
from multibody_cli.output.channel import AXES, INSTANT, suggest_component
from multibody_cli.output.contact_channels import NEEDS, STEP, find_pair, force_of_pair, suggest
from multibody_cli.output.element_rows import element_rows
from multibody_cli.output.history import History
from multibody_cli.output.observers import contact_observers, observe, observe_report, report_fields
from multibody_cli.output.samples import samples_for
from multibody_cli.output.series import series_of


class Observer:
    """Computes the channels of a model at one instant, or at up to `count` ones, the rows of `samples`.

    `history` has the data that they carry from earlier ones.
    """

    def __init__(self, model: Model, method: Method, count: int = 1) -> None:
        self._model, self._work, self._contact_work = model, method.work, method.contact_work
        self._rows, self.samples = element_rows(model), samples_for(model.names, count)
        self._contacts, self._fields = contact_observers(model.names), report_fields(model.names)
        self._state: State | None = None
        self._fill: list[Callable[[int], None]] = []
        self._series = {one.path: one for one in series_of(model.names) if one.channel.per == INSTANT}
        self._contact_series = {one.path: one for one in series_of(model.names) if one.path in NEEDS}
        self.history = History(model.names)
        self._block = self.history.block(self.samples, 0)

    @property
    def has_contacts(self) -> bool:
        """Whether the model may have contacts."""
        return bool(self._contact_series)

    def observe(self, state: State, report: Report) -> None:
        """Compute all channels of a state."""
        self.fill(state, report, 0)
        self.finish(1)

    def fill(self, state: State, report: Report, k: int) -> None:
        """Fill row k of the samples from a state."""
        if self._state is not state:
            self._state, leading = state, (self._model.system, state, self._work, self._rows, self.samples)
            of_contacts = self._model.system, self._contact_work, self._rows, self.samples
            self._fill = [observe.on(*leading), *(one.on(*of_contacts) for one in self._contacts)]
        for fill in self._fill:
            fill(k)
        observe_report(self._fields, report, self.samples, slice(k, k + 1))

    def observe_beside(self, system: Any, state: Any, work: Any) -> None:
        """Compute all channels but those of contacts of an evaluated state beside the last one.

        The system and the work arrays are those of the evaluation; numbers may be dual.
        """
        rows, samples = self._rows, self.samples
        if state.q.dtype == object:
            rows, samples = with_duals((rows, samples))
        observe(system, state, work, rows, samples, 0)
        self._block = self.history.beside(samples)

    def finish(self, count: int) -> None:
        """Compute the channels of the first `count` rows, which follow the instants of the last call."""
        self._block = self.history.block(self.samples, count)

    def recording(self, method: Method, state: State) -> Recording | None:
        """Return the compiled loop that fills rows of the samples, if the method has one."""
        return method.recording(state, observe, self._rows, self.samples)

    def value(self, path: str) -> Floats:
        """Return a copy of a channel of the last observed state, or of a component: `joints/hinge/force[fz]`."""
        return np.array(self.values(path)[-1])

    def values(self, path: str) -> Floats:
        """Return a channel, or a component, of all observed states; their axis is the first."""
        name, bracket, component = path.removesuffix("]").partition("[")
        values, labels = self._channel(name)
        if not bracket:
            return values
        if component not in labels:
            remedy = suggest_component(component, labels) if labels else "it is a single number"
            raise UnknownName(f"channel `{name}` has no component `{component}`: {remedy}")
        return values[..., labels.index(component)]

    def labels(self, path: str) -> tuple[str, ...]:
        """Return the labels of the components of a channel; none of a number, of a component, and of several axes."""
        name, bracket, _ = path.partition("[")
        values, labels = self._channel(name)
        return labels if values.ndim == 2 and not bracket else ()

    def _channel(self, path: str) -> tuple[Floats, tuple[str, ...]]:
        """Return a channel at all instants, and the labels of its last axis."""
        if path in self._series:
            series = self._series[path]
            return series.read(self._block), series.labels[-1] if series.labels else ()
        names = self._model.names
        pair = find_pair(path, names.bodies)
        if pair and self._contact_series:
            step = self._series[STEP].read(self._block)
            contacts = [self._contact_series[need].read(self._block) for need in NEEDS]
            instant = self._block.contacts.instant - (self.history.instants - len(step))
            return force_of_pair(pair, step, instant, *contacts), AXES["xyz"]
        found = find_body_channel(path, names.bodies)
        if found is None or not set(found[0].paths) <= self._series.keys():
            known = [*self._series, *body_paths(names.bodies, self._series)]
            remedy = "the scene has no contacts" if pair else suggest(path, names.bodies, known)
            raise UnknownName(f"no channel `{path}`: {remedy}")
        channel, body = found
        stored = [self._series[need] for need in channel.paths]
        values = channel.compute(*(series.read(self._block)[:, body] for series in stored), self._model.com[body])
        return values, stored[0].labels[-1]
