"""States of force elements, such as the lengths of fibers, which integrators advance with the motion.

An evaluation of the forces reads the value of a state and writes its rate.  Two other ways serve integrators that do
not compute stages from rates:

    step      implicit: the value is that at the end of a step of this length from `start`, by the implicit Euler method
    pending   the evaluation is the end of a step of this length from `start`: the element advances the value to it

Source of the stages of a pending step: Alexander, SIAM J. Numer. Anal. 14 (1977), as in `sdirk2`.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.kernel import kernel

STATE = np.dtype(
    [
        ("value", "f8"),
        ("rate", "f8"),
        ("start", "f8"),
        ("step", "f8"),  # s; 0 for a given value
        ("pending", "f8"),  # s; 0 without a step
        ("account", "i8"),  # of the ledger, from which an energy takes its gains; -1 of other states
    ]
)


@kernel
def load_states(states, z):
    """Set the values of all states."""
    for k in range(len(states)):
        states[k].value = states[k].start = z[k]
        states[k].step = states[k].pending = 0.0


@kernel
def store_states(states, z):
    """Copy the values of all states to z (nz,)."""
    for k in range(len(states)):
        z[k] = states[k].value


@kernel
def store_states_after_steps(states, z, ledger):
    """Copy the values of all states to z (nz,), and take the gains of energies from their accounts."""
    for k in range(len(states)):
        if states[k].account >= 0:
            ledger[states[k].account] -= states[k].value - z[k]
        z[k] = states[k].value


@kernel
def store_rates(states, dz):
    """Copy the rates of all states to dz (nz,)."""
    for k in range(len(states)):
        dz[k] = states[k].rate


@kernel
def take_step(states, h):
    """Make the next evaluation the end of a step of h from the present values, or from the starts of implicit steps."""
    for k in range(len(states)):
        if states[k].step == 0.0:
            states[k].start = states[k].value
        states[k].pending = h


@kernel
def move_starts(states, h):
    """Move the starts of implicit steps by h times the rates of the stage before."""
    for k in range(len(states)):
        states[k].start += h * states[k].rate


@kernel
def take_implicitly(states, h):
    """Make evaluations implicit steps of h from the starts; with h = 0 they read the starts."""
    for k in range(len(states)):
        states[k].step = h
        if h == 0.0:
            states[k].value = states[k].start
