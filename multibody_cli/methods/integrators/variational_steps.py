"""Steps of a variational method: the discrete Euler-Lagrange equations in the form of positions and momenta.

A discrete Lagrangian L_d(q, q') of a step h leads from (q, p) to (q', p') by

    p = -D_1 L_d - h k f(q, v, t)              solved for q'
    p' = D_2 L_d + h (1 - k) f(q', v', t')     M(q') v' = p'

Its kinetic part is that of the strides of all bodies (`strides`), projected onto the motions that the joints allow at
either end; f is everything that pushes, taken at the ends of the step.  With k = 1/2 this is the trapezoidal rule,
symmetric and of second order; with k = 1 all of a step's push comes at its start, which is of first order in v and
takes bodies through the very same positions.

The first equation is solved by quasi-Newton: what the bodies lack to stride as they do is an impulse, and the response
of the mechanism to it, by the factors that the method has for the start, corrects the mean rates (RIQN).  What is left
of it at last is carried into the next step, so that it adds up to nothing.

Where something restrains the mechanism, rows push with impulses at the start so that positions hold at the end, and
with others at the end so that velocities do (RATTLE).

The pieces stand in `variational`: `strides`, `search`, `arrival`, and for what differs `free` and `held`.

Sources: Lee, Liu, Park and Srinivasa 2016, (17)-(25) and Alg. 3; Bruedigam and Manchester 2020, (24)-(33); Marsden and
West, Discrete mechanics and variational integrators, Acta Numerica 10 (2001), 2.1-2.3; Hairer, Lubich and Wanner,
Geometric Numerical Integration, VII.1.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from multibody_cli.constraint_solver.solver import Restraint, answer
from multibody_cli.kernel import bound_kernel, kernel
from multibody_cli.methods.contract import Dynamics, Kernel, conclude, evaluate, restore, resume
from multibody_cli.methods.integrators.vectors import is_finite, is_sound
from multibody_cli.variational.constrained import (
    begin_rows,
    carry_over_held,
    correct_held,
    holds_rows,
    prepare_held,
    settle_held,
)
from multibody_cli.variational.contacts import meet, meet_nothing
from multibody_cli.variational.discrete_motion import find_momentum, stride_energy
from multibody_cli.variational.energy import begin_energy, modify_energy
from multibody_cli.variational.iterate_poses import look_held
from multibody_cli.variational.newton_constraints import correct_exactly, fill_answers, prepare_exactly
from multibody_cli.variational.root_finding import find_step, search
from multibody_cli.variational.step_end import arrive_at, begin
from multibody_cli.variational.unconstrained import (
    begin_no_rows,
    carry_over_free,
    correct_free,
    correct_free_by,
    holds_nothing,
    look_free,
    prepare_free,
    settle_free,
)
from multibody_cli.variational.workspace import TOLD_FALLBACKS, TOLD_HALVINGS, TOLD_LOST

AT_ONCE = "riqn"
"""The root finder for which the factors of the start answer at once where nothing restrains the mechanism."""

PARTS = 1024
"""Parts into which a step may be cut where it cannot be found as a whole."""


# --- many steps -----------------------------------------------------------------------------------------------------
def find_otherwise(system, work, ahead, t, h, q, v):
    """Stand for the search by another root finder."""
    return False


def advance_one(system, work, touch, ahead, t, h, q, v, a, powers, ledger) -> bool:
    """Take one basic step of h from t, or as many parts as it takes where that is allowed; whether it succeeded."""
    reached, part = 0, PARTS
    while reached < PARTS:
        dt, now = h * part / PARTS, t + h * reached / PARTS
        if not meet(system, work, touch, ahead, now, dt, q, v, a, powers, ledger):
            return False
        found = find_step(system, work, ahead, now, dt, q, v)
        if not found:
            found = find_otherwise(system, work, ahead, now, dt, q, v)
            ahead.told[TOLD_FALLBACKS] += found
        if found:
            reached += part
            kinetic = stride_energy(system.tree.links, ahead.strides, dt)
            arrive_at(system, work, ahead, t + h * reached / PARTS, dt, q, v, a, powers, ledger)
            modify_energy(system, work, ahead, kinetic, q)
            for i in range(len(ledger)):
                ledger[i] += 0.5 * dt * (ahead.before[i] + powers[i])
                ahead.before[i] = powers[i]
            part = min(part, PARTS - reached)
        else:
            part //= 2
            if part == 0 or not ahead.settings.adaptive:
                ahead.told[TOLD_LOST] = 1.0 + farthest(ahead.change)
                return False
            ahead.told[TOLD_HALVINGS] += 1.0
    return True


@kernel
def farthest(x):
    """Where the largest absolute value stands, or the first that is no number."""
    place = 0
    for j in range(len(x)):
        if not abs(x[j]) < math.inf:
            return j
        if abs(x[j]) > abs(x[place]):
            place = j
    return place


def take_variational_steps(system, state, work, scratch, h, start, first, count) -> int:
    """Take `count` steps of h; how many ended sound, -1 if the accelerations at the start are not finite."""
    time, q, v, a, ledger = state.time, state.q, state.v, state.a, state.ledger
    ahead, powers, touch = scratch
    if first == 0:
        restore(system, work, time[0], q, v, a, ledger)
        begin(system, work, ahead, time[0], q, v, a, ahead.before)
        if not is_finite(a):
            return -1
        begin_energy(system, work, ahead, q)
    else:
        resume(touch, a)
    stages = ahead.settings.stages
    for step in range(first + 1, first + count + 1):
        for k in range(len(stages)):
            if not advance_one(system, work, touch, ahead, time[0], stages[k] * h, q, v, a, powers, ledger):
                return step - first - 1
            time[0] += stages[k] * h
        time[0] = start + step * h
        if not is_sound(v, a):
            return step - first - 1
    find_momentum(ahead.strides, ahead.momentum)
    evaluate(system, work, time[0], q, v, a, powers)
    conclude(system, work, touch, time[0], h, q, v, a, powers)
    return count


# --- binding ------------------------------------------------------------------------------------------------------
class Finder(NamedTuple):
    """A way to find a step: a word for its kernels, and those that `search` leaves open."""

    prepare: Kernel
    look: Kernel
    correct: Kernel
    holds: Kernel
    carry_over: Kernel

    @property
    def kernels(self) -> dict[str, Kernel]:
        """Give the kernels by the names that stand for them."""
        return self._asdict()


@kernel
def find_nothing(system, work, ahead, t, h, q, v):
    """There is no other way to find a step."""
    return False


Answers = tuple[tuple[str, Callable[[Kernel], Kernel], Kernel | None], ...]
"""Root finders in the order of their use: a word, what makes a kernel `answer_lacks` from the kernel `answer`
of the method, and its kernel `answer_again` if it asks rows where a step ends."""


@cache
def bind_free(dynamics: Dynamics, respond: Kernel, answers: Answers) -> Kernel:
    """Bind the steps of a mechanism that nothing restrains to the kernels of a method."""
    answer_ = bound_kernel(answer, respond=respond)
    finders = []
    for word, make, _ in answers:
        if word == AT_ONCE:
            correct = bound_kernel(correct_free, respond=respond)
        else:
            correct = bound_kernel(correct_free_by, answer_lacks=make(answer_))
        finders.append(Finder(prepare_free, look_free, correct, holds_nothing, carry_over_free))
    settle = bound_kernel(settle_free, respond=respond)
    return bind(dynamics, settle, begin_no_rows, bind_meeting(dynamics, respond), *finders)


@cache
def bind_held(dynamics: Dynamics, bound: Restraint, respond: Kernel, answers: Answers) -> Kernel:
    """Bind the steps of a mechanism that rows restrain."""
    answer_ = bound_kernel(answer, respond=respond)
    prepare = bound_kernel(prepare_held, build_delassus=bound.build_delassus)
    finders = []
    for _, make, again in answers:
        lacks = make(answer_)
        if again is not None:
            exactly = bound_kernel(fill_answers, answer_again=again)
            kernels = {"answer_lacks": lacks, "answer_again": again, "fill_answers": exactly}
            correct = bound_kernel(correct_exactly, **kernels)
            finders.append(Finder(prepare_exactly, look_held, correct, holds_rows, carry_over_held))
        else:
            kernels = {"answer_lacks": lacks, "answer": answer_, "build_delassus": bound.build_delassus}
            correct = bound_kernel(correct_held, **kernels)
            finders.append(Finder(prepare, look_held, correct, holds_rows, carry_over_held))
    settle = bound_kernel(settle_held, answer=answer_, project=bound.project)
    return bind(dynamics, settle, begin_rows, bind_meeting(dynamics, respond), *finders)


def bind_meeting(dynamics: Dynamics, respond: Kernel) -> Kernel:
    """Bind contacts, where anything touches."""
    if not dynamics.touches:
        return meet_nothing
    answer_ = bound_kernel(answer, respond=respond)
    return bound_kernel(meet, answer=answer_, collide=dynamics.collide, evaluate=dynamics.evaluate)


def bind_search(finder: Finder) -> Kernel:
    """Bind the search for a step to a root finder."""
    searching = bound_kernel(search, look=finder.look, correct=finder.correct)
    return bound_kernel(find_step, search=searching, **finder.kernels)


def bind(dynamics: Dynamics, settle: Kernel, beginning: Kernel, meeting: Kernel, *finders: Finder) -> Kernel:
    """Bind the templates of a step, from the parts upward, to one or two root finders."""
    searches = [bind_search(finder) for finder in finders]
    one = bound_kernel(
        advance_one,
        meet=meeting,
        find_step=searches[0],
        find_otherwise=searches[1] if len(searches) > 1 else find_nothing,
        arrive_at=bound_kernel(arrive_at, evaluate=dynamics.evaluate, settle=settle),
    )
    return bound_kernel(
        take_variational_steps,
        advance_one=one,
        begin=bound_kernel(begin, evaluate=dynamics.evaluate, begin_rows=beginning),
        evaluate=dynamics.evaluate,
        restore=dynamics.restore,
        conclude=dynamics.conclude,
        resume=dynamics.resume,
    )
