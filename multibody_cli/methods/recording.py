"""The loop over output instants in compiled code: steps, and one row of the samples, again and again."""

from __future__ import annotations

from typing import Any

from multibody_cli.kernel import kernel_parameter, template


@kernel_parameter
def take_steps(
    system: Any, state: Any, work: Any, scratch: Any, h: float, start: float, first: int, count: int, fresh: int
) -> Any:
    """Take `count` steps, and return how many ended valid; see `methods.integrators.fixed_step.FixedStepper`."""


@kernel_parameter
def observe(system: Any, state: Any, work: Any, rows: Any, samples: Any, k: int) -> None:
    """Fill row k of the samples from a state and its work arrays."""


@kernel_parameter
def update_work(system: Any, work: Any, state: Any) -> None:
    """Compute the work arrays of a state."""


@template(take_steps, observe)
def record_steps(
    system: Any,
    state: Any,
    work: Any,
    scratch: Any,
    rows: Any,
    samples: Any,
    h: float,
    start: float,
    first: int,
    fresh: int,
    k: int,
    count: int,
    steps: int,
) -> int:
    """Fill `count` rows of the samples from row k, each after `steps` steps; return how many steps ended valid."""
    for row in range(count):
        done = take_steps(system, state, work, scratch, h, start, first + row * steps, steps, fresh)
        if done < steps:
            return row * steps + done
        fresh = 0
        observe(system, state, work, rows, samples, k + row)
    return count * steps


@template(update_work, observe)
def observe_updated(system: Any, state: Any, work: Any, rows: Any, samples: Any, k: int) -> None:
    """Observe a state whose work arrays the steps have not computed."""
    update_work(system, work, state)
    observe(system, state, work, rows, samples, k)
