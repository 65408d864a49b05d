"""The threads of a team that solves islands: they wait in compiled code, without the lock of the interpreter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Thread
from typing import Any
from weakref import finalize

from multibody_cli.contact_solver.solution import SOLVERS, serve
from multibody_cli.contact_solver.team import dismiss
from multibody_cli.contact_solver.workspace import ContactWorkspace, contact_workspace_for, island_workspace_for
from multibody_cli.kernel import bound_kernel, is_interpreted
from multibody_cli.kernel.workers import cores
from multibody_cli.model import System

MOST_THREADS = 8
"""Largest number of threads of a run: each has work arrays for the largest island."""

BODIES_PER_THREAD = 8
"""Number of bodies for each thread: waking one takes as long as the solution of an island of a few bodies."""

THREAD_NAME = "islands"

_most = ContextVar("_most", default=MOST_THREADS)


@contextmanager
def at_most_threads(number: int) -> Iterator[None]:
    """Limit the number of threads of the runs that are prepared within a `with` statement."""
    token = _most.set(number)
    try:
        yield
    finally:
        _most.reset(token)


def workspace_with_team(owner: Any, system: System) -> ContactWorkspace:
    """Allocate the work arrays of a system with contacts or joint friction, and start the threads of its team.

    They solve islands beside the thread that steps, on the other cores, until `owner` is collected.  Without contacts
    or with few bodies, and in plain Python, there are none.
    """
    contact_work = contact_workspace_for(system)
    if is_interpreted() or not len(system.contacts.geometry.geoms):
        return contact_work
    options, bodies = system.contacts.options, len(system.tree.links) - 1
    threads = min(cores(), _most.get(), bodies // BODIES_PER_THREAD)
    serve_islands = bound_kernel(serve, solve_island=SOLVERS[options.staggered])
    serve_islands.prepared((options, contact_work), ())  # compiled for any number of cores, as in a wheel
    for _ in range(threads - 1):
        own: Any = contact_work._replace(island=island_workspace_for(system))
        Thread(target=serve_islands.prepared((options, own), ()), name=THREAD_NAME, daemon=True).start()
    if threads > 1:
        finalize(owner, dismiss, contact_work.team).atexit = False  # at the end of the process, they just end
    return contact_work
