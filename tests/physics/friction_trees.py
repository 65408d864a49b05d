"""Scenes with dry friction of joints, solved by the recursion over the tree or as rows."""

from __future__ import annotations

import numpy as np
import yaml

from multibody_cli import MemorySink, prepare
from multibody_cli.contact_solver import elimination_workspace, tree_friction_workspace

H = 1e-3
PLAIN = ("simulation.alarms.phase=false", "expect=[]")


def prepared(tmp_path, scene, *settings):
    """Return a simulation of a scene given as a mapping."""
    file = tmp_path / "scene.yaml"
    file.write_text(yaml.safe_dump({"mbsim": 1, **scene}), encoding="utf-8")
    return prepare(file, [*PLAIN, *settings])


def started(simulation):
    state = simulation.fresh_state()
    method = simulation.method_for(state)
    method.start(state)
    return state, method


def without_passes(monkeypatch):
    """Let systems solve the rows of their joints."""
    for module in (elimination_workspace, tree_friction_workspace):
        monkeypatch.setattr(module, "is_supported", lambda _system: False)


def started_with_rows(monkeypatch, simulation):
    """Start a simulation that solves the rows of the joints by the proximal method."""
    with monkeypatch.context() as patched:
        without_passes(patched)
        return started(simulation)


def simulated(bodies, joints, integrator="semi_implicit_euler"):
    settings = {"duration": 1.0, "step": H, "integrator": integrator}
    return {"bodies": bodies, "joints": joints, "simulation": settings, "output": {"every": H}}


def friction_of_joints(system, method):
    """Return the wrench of the friction of each joint in the axes of its patches, N m s and N s.

    The discs of a ball may share its torque in different ways; their sum is unique.
    """
    patches, x = system.contacts.joint_friction.patches, method.contact_work.joint_friction.previous_impulses
    along, across = (np.hstack([patches[f"{name}_t"], patches[f"{name}_f"]]) for name in ("along", "across"))
    joints = np.unique(patches["row"])
    return np.array([(x[:, 1:2] * along + x[:, 2:] * across)[patches["row"] == row].sum(axis=0) for row in joints])


def compare_with_rows(tmp_path, monkeypatch, scene, method, steps=30):
    """Compare steps of both solutions from one start."""
    simulation, ends = prepared(tmp_path, scene, f"simulation.method={method}"), []
    for with_rows in (False, True):
        state, stepper = started_with_rows(monkeypatch, simulation) if with_rows else started(simulation)
        for _ in range(steps):
            assert stepper.step(state, 1) is None
        assert stepper.contact_work.factors.rank.any() == with_rows
        rows = stepper.contact_work.step.x[: stepper.contact_work.step.sizes["constraint_rows"][0]].copy()
        ends.append((state, friction_of_joints(simulation.compiled.model.system, stepper), rows))
    (one, friction, rows), (other, expected, expected_rows) = ends
    np.testing.assert_allclose(one.v, other.v, atol=1e-8 * np.abs(other.v).max())
    np.testing.assert_allclose(friction, expected, atol=1e-7 * np.abs(expected).max())
    np.testing.assert_allclose(rows, expected_rows, atol=1e-7 * np.abs(expected_rows).max(initial=0.0))
    np.testing.assert_allclose(one.ledger, other.ledger, atol=1e-8 * np.abs(other.ledger).max())


def most_passes(simulation):
    """Return the largest number of passes of 100 steps, none of which solves rows."""
    state, method = started(simulation)
    assert method.step(state, 100) is None
    report = method.advance(state, float(state.time[0]))
    assert report.unsolved == 0
    assert not method.contact_work.factors.rank.any(), "no rows are solved"
    return report.iterations


def require_losses(simulation):
    """Require that a run only loses energy, in each of its joints."""
    sink = MemorySink()
    simulation.run(sink)
    trajectory = sink.trajectory()
    energy = trajectory.channel("energy/total").values
    assert np.diff(energy).max() <= 1e-12 * np.ptp(trajectory.channel("energy/kinetic").values)
    for joint in simulation.compiled.model.names.joints:
        assert np.diff(trajectory.channel(f"energy/dissipation/joints/{joint.name}/friction").values).min() >= 0.0
