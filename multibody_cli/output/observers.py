"""Kernels that fill one row of the samples: the files of `observation` that the channels name.

This module and `recorder`, which uses it, import compiled code; the rest of the package does not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from multibody_cli.cables.moving import update_points
from multibody_cli.kernel import EachNonempty, kernel, kernel_parameter, template
from multibody_cli.method_kernels import complete_state
from multibody_cli.output.channels import CHANNELS, FILES
from multibody_cli.output.contact_channels import GROUP, MOMENTS
from multibody_cli.output.elements import EXPANSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from multibody_cli.methods.contract import Report
    from multibody_cli.model import SceneNames
    from multibody_cli.output.channel import Channel
    from multibody_cli.output.samples import Samples

OF_CONTACT_STEPS = (GROUP, MOMENTS, "friction_joint", "braked_combination", "braked_path", "friction_rope")
"""Elements whose quantities belong to the last step with contacts or dry friction, not to the state."""


def _kernels(channels: Iterable[Channel]) -> dict[str, Any]:
    """Return the kernels of the files that channels name, by file."""
    named = {channel.reader for channel in channels}
    return {file: import_module(f"multibody_cli.observation.{file}").observe for file in FILES if file in named}


def _of_files(channels: Iterable[Channel]) -> EachNonempty:
    """Return the calls of the files that channels name, each if a channel of the model comes from it."""
    kernels = _kernels(channels)
    return EachNonempty(kernels.get(file) for file in FILES)


MOTION = ("state", "bodies", "energy", "momentum")
"""Files of `observation` that read poses and velocities, and neither forces nor accelerations."""

_observe_files = _of_files(one for one in CHANNELS if one.expansion not in OF_CONTACT_STEPS)
_observe_files_of_motion = _of_files(channel for channel in CHANNELS if channel.reader in MOTION)


@kernel
def observe(system: Any, state: Any, work: Any, rows: Any, samples: Any, k: int) -> None:
    """Fill row k of the samples from a state (see `observation`)."""
    update_points(system.forces.points, state.q, state.v)  # of paths, which several files read
    _observe_files(rows.observed, system, state, work, rows, samples, k)


@kernel
def observe_motion(system: Any, state: Any, work: Any, rows: Any, samples: Any, k: int) -> None:
    """`observe` for the quantities of `MOTION`."""
    _observe_files_of_motion(rows.observed, system, state, work, rows, samples, k)


def is_of_motion(channel: Channel) -> bool:
    """Whether a channel is computed from the quantities of `MOTION`."""
    return channel.reader in ("", *MOTION)


@kernel_parameter
def fill_row(system: Any, state: Any, work: Any, rows: Any, samples: Any, k: int) -> None:
    """Fill row k of the samples from a state: `observe` or `observe_motion`."""


@template(complete_state, fill_row)
def observe_states(
    system: Any, state: Any, work: Any, rows: Any, samples: Any, powers: Any,
    time: Any, q: Any, v: Any, ledger: Any, first: int, k: int, count: int,
) -> None:  # fmt: skip
    """Fill rows k to k + count of the samples from known states, from number `first`; the last one stays in `state`."""
    for i in range(count):
        state.time[0] = time[first + i]
        for j in range(len(state.q)):
            state.q[j] = q[first + i, j]
        for j in range(len(state.v)):
            state.v[j] = v[first + i, j]
        for j in range(len(state.ledger)):
            state.ledger[j] = ledger[first + i, j]
        complete_state(system, work, state, powers)
        fill_row(system, state, work, rows, samples, k + i)


def contact_observers(names: SceneNames) -> list[Any]:
    """Return the kernels `observe(system, contact_work, rows, samples, k)` for the contact steps of a model."""
    of_steps = [one for one in CHANNELS if one.expansion in OF_CONTACT_STEPS]
    return [*_kernels(one for one in of_steps if EXPANSIONS[one.expansion].items(names)).values()]


def report_fields(names: SceneNames) -> list[tuple[str, Any]]:
    """Return the fields of a model that come from the report of the method, each with its reader."""
    return [
        (channel.field, channel.reader)
        for channel in CHANNELS
        if callable(channel.reader) and EXPANSIONS[channel.expansion].items(names)
    ]


def observe_report(fields: list[tuple[str, Any]], report: Report, samples: Samples, rows: slice) -> None:
    """Fill rows of the samples from the report of an advance."""
    for field, read in fields:
        getattr(samples, field)[rows] = read(report)
