"""`mbsim inverse`: output, files and refusals."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
from command_result import Command

from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.studies.inverse.motion import read_columns

SCENE = """mbsim: 1
gravity: [0, -9.81, 0]
bodies:
  base: {mass: 1, inertia: {principal: [0.01, 0.01, 0.01]}}
  arm: {mass: 1.5, inertia: {principal: [0.01, 0.002, 0.01]}, com: [0.15, 0, 0]}
joints:
  lift: {type: prismatic, child: base, axis: [0, 1, 0]}
  elbow: {type: revolute, parent: base, child: arm, axis: [0, 0, 1], q: 0.3, coordinate_names: elbow_flexion, force: 1}
muscles:
  biceps:
    path: [{body: base, point: [0, 0.3, 0]}, {body: arm, point: [0.05, 0, 0]}]
    max_isometric_force: 500
    optimal_length: 0.28
    activation: 0
simulation: {duration: 1, step: 1 ms}
"""


def prepare(folder: Path) -> None:
    (folder / "arm.yaml").write_text(SCENE)
    t = np.linspace(0.0, 0.2, 21)
    rows = [f"{a!r}\t{20.0 + 100.0 * a!r}\t1.0" for a in t.tolist()]
    head = f"arm\nnRows={len(t)}\nnColumns=3\ninDegrees=yes\nendheader\ntime\telbow_flexion\tmarker"
    (folder / "arm.mot").write_text("\n".join([head, *rows]) + "\n")


def test_forces_of_a_motion(mbsim: Command, folder: Path) -> None:
    prepare(folder)
    ending = mbsim("inverse", "arm.yaml", "--motion", "arm.mot", "-o", "arm.h5", "-o", "arm.sto")
    assert ending.code == 0
    assert ending.stdout.splitlines()[0] == "21 instants from 0 s to 0.2 s"
    assert ending.stdout.splitlines()[-2:] == ["arm.h5", "arm.sto"]
    assert "nothing: residual" in ending.stdout
    assert "columns that move nothing: marker" in ending.stderr
    assert "unknown forces, which do not act: joints/elbow/force" in ending.stderr
    assert "neither the motion nor the constraints determine lift: they keep the values of the start" in ending.stderr
    times, names, values, *_ = read_columns(folder / "arm.sto")
    assert names == ["lift_force", "elbow_flexion_moment"]
    angle = np.radians(20.0 + 100.0 * times)
    np.testing.assert_allclose(values[:, 1], 1.5 * 9.81 * 0.15 * np.cos(angle), rtol=1e-9)
    ending = mbsim("rerun", "arm.h5")
    assert (ending.code, "arm.h5 has no run but `inverse_dynamics`" in ending.stderr) == (2, True)
    recorded = read_trajectory(folder / "arm.h5").channel("actuators/elbow_flexion/force").values[:, 0]
    np.testing.assert_array_equal(recorded, values[:, 1])


def test_muscles_and_the_summary_as_json(mbsim: Command, folder: Path) -> None:
    prepare(folder)
    ending = mbsim("inverse", "arm.yaml", "--motion", "arm.mot", "--muscles", "--json", "-o", "arm.csv")
    data = json.loads(ending.stdout)
    assert (ending.code, data["instants"], data["residuals"], data["held"]) == (0, 21, ["lift"], ["lift"])
    assert [row["muscle"] for row in data["muscles"]] == ["biceps"]
    head = (folder / "arm.csv").read_text().splitlines()[0]
    assert head == (
        "time (s),lift_force (N),elbow_flexion_moment (N m),lift_reserve (N),elbow_flexion_reserve (N m),"
        "biceps_activation (1),biceps_tension (N)"
    )


def test_refusals(mbsim: Command, folder: Path) -> None:
    prepare(folder)
    for words, message in (
        (["--on", "knee"], "--on knee: no coordinate `knee` that can have a force"),
        (["-o", "arm.txt"], "arm.txt: expected a name that ends in .h5"),
        (["-o", "arm.mot"], "arm.mot exists: use --force"),
        (["--muscles", "--reserve", "0"], "--reserve 0: expected a force above 0"),
        (["--muscles", "--set", "muscles={}"], "--muscles: the scene has no muscles"),
        (["--from", "1"], "arm.mot has no instant from 1 s to 0.2 s"),
    ):
        ending = mbsim("inverse", "arm.yaml", "--motion", "arm.mot", *words)
        assert ending.code == 2, words
        assert message in ending.stderr
    assert mbsim("inverse", "arm.yaml", "--motion", "none.mot").code == 2


SLIDER = """mbsim: 1
gravity: [0, 0, -10]
world: {shapes: [{type: plane}]}
bodies:
  box: {mass: 2, inertia: {principal: [0.1, 0.1, 0.1]}, shapes: [{type: box, size: [0.4, 0.3, 0.2]}]}
joints:
  base:
    type: composite
    child: box
    parts: [{type: prismatic, axis: [1, 0, 0]}, {type: prismatic, axis: [0, 0, 1]}]
    q: [0, 0.1]
contacts: {friction: 0.2}
simulation: {duration: 1, step: 1 ms}
output: {every: 10 ms}
"""


def test_closed_contacts_slip_with_the_friction_of_their_speed(mbsim: Command, folder: Path) -> None:
    """A force of m g (mu_k + (mu_s - mu_k) exp(-(v/v_S)^2)) keeps the speed v of a box, to either side."""
    (folder / "push.yaml").write_text(
        SLIDER.replace("friction: 0.2", "friction: {static: 0.5, kinetic: 0.2, stribeck_speed: 0.5}")
    )
    words = ("inverse", "push.yaml", "--motion", "way.csv", "--contacts", "1mm")
    for rate, on, force in (
        (0.5, ("--on", "base/0"), 20 * (0.2 + 0.3 * math.exp(-1))),
        (-1.0, ("--on", "base/0"), -20 * (0.2 + 0.3 * math.exp(-4))),
    ):
        (folder / "way.csv").write_text(
            "\n".join(["time,base/0,base/1", *(f"{0.1 * k!r},{0.1 * rate * k!r},0.1" for k in range(11))])
        )
        assert mbsim(*words, *on, "-o", "push.csv", "--force").code == 0
        _, names, values, *_ = read_columns(folder / "push.csv")
        np.testing.assert_allclose(values[:, names.index("base/0_force")], force, atol=1e-9)


def test_closed_contacts(mbsim: Command, folder: Path) -> None:
    """A box that is pushed at a constant speed, against a friction of 0.2 m g."""
    (folder / "push.yaml").write_text(SLIDER)
    rows = [f"{0.1 * k!r},{0.05 * k!r},0.1" for k in range(11)]
    (folder / "way.csv").write_text("\n".join(["time,base/0,base/1", *rows]))
    words = ("inverse", "push.yaml", "--motion", "way.csv", "--contacts", "1mm", "--on", "base/0")
    ending = mbsim(*words, "--json", "-o", "push.csv", "-o", "push.h5")
    data = json.loads(ending.stdout)
    assert ending.code == 0
    assert data["residuals"] == ["base/1"]
    assert [(row["body"], row["most contacts"], row["instants"]) for row in data["contacts"]] == [
        ("world", 4, 11),
        ("box", 4, 11),
    ]
    _, names, values, *_ = read_columns(folder / "push.csv")
    of = dict(zip(names, values.T, strict=True))
    np.testing.assert_allclose(of["base/0_force"], 4.0, atol=1e-9)
    np.testing.assert_allclose(of["box_contact_force_x"], -4.0, atol=1e-9)
    np.testing.assert_allclose(of["world_contact_force_z"], -20.0, atol=1e-9)
    recorded = read_trajectory(folder / "push.h5").channel("bodies/contact_force").values[:, 0]
    np.testing.assert_allclose(recorded, np.tile([-4.0, 0.0, 20.0], (11, 1)), atol=1e-9)
    assert mbsim("inverse", "push.yaml", "--motion", "way.csv", "--contacts", "1kg").code == 2
    ending = mbsim("inverse", "push.yaml", "--motion", "way.csv", "--slip", "1mm/s")
    assert (ending.code, "--slip has no effect without --contacts" in ending.stderr) == (2, True)
    slow = mbsim(*words, "--slip", "1 m/s", "-o", "slow.csv")  # within the cone, neither friction nor a push
    assert slow.code == 0
    _, names, values, *_ = read_columns(folder / "slow.csv")
    np.testing.assert_allclose(values[:, names.index("base/0_force")], 0.0, atol=1e-9)
