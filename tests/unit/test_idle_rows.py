"""When a row counts as one without effect: against what its impulses would do to free bodies."""

from __future__ import annotations

from pathlib import Path

import pytest

from multibody_cli.dynamics.idle_rows import SHARE_OF_FORCES, SHARE_OF_MOMENTS, idle_bound
from multibody_cli.studies.simulation import prepare

SCENE = """\
mbsim: 1
gravity: [0, 0, 0]
bodies:
  first: {mass: 2, com: [0.1, 0, 0], inertia: {principal: [0.3, 0.5, 0.6]}}
  second: {mass: 5, inertia: {principal: [0.7, 0.9, 1.1]}, position: [3, 0, 0]}
simulation: {duration: 1, step: 1 ms}
"""


def test_the_bound_adds_up_what_forces_and_moments_would_do_to_free_bodies(tmp_path: Path) -> None:
    scene = tmp_path / "two.yaml"
    scene.write_text(SCENE)
    simulation = prepare(scene)
    state = simulation.fresh_state()
    method = simulation.method_for(state)
    method.start(state)
    work, links = method.work, simulation.compiled.model.system.tree.links
    rows = simulation.compiled.model.names.body_rows
    wrenches = {rows[0]: ([1.0, 2.0, 3.0], [0.0, 4.0, 0.0]), rows[1]: ([0.0, -1.0, 0.5], [0.0, 0.0, -2.0])}
    for row, (t, f) in wrenches.items():
        work.wrenches["t"][row], work.wrenches["f"][row] = t, f
    # about the center of mass of the first body: t - c x f, with c x f = (0, 0, 0.4)
    force = 16.0 / 2.0 + 4.0 / 5.0
    moment = (1.0 + 4.0 + 2.6**2) / (0.3 + 0.5 + 0.6) + 1.25 / (0.7 + 0.9 + 1.1)
    expected = SHARE_OF_FORCES * force + SHARE_OF_MOMENTS * moment
    assert idle_bound(links, work, 0.0) == pytest.approx(expected, rel=1e-12)
    # far off the manifold both shares are the same
    assert idle_bound(links, work, 1.0) == pytest.approx(1e-8 * (force + moment), rel=1e-12)
