"""The recipes of CONTRIBUTING.md, executed: one toy of each kind, added to a copy of the package, runs and is right.

A toy is a file of `recipes/`, and the lines that its recipe names.  The copies run as plain Python.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import yaml

ROOT = Path(__file__).parents[2]
TOYS = Path(__file__).with_name("recipes")
GRAVITY = 9.81


@dataclass(frozen=True)
class Recipe:
    """A toy: its file, its folder in the package, and the lines that are inserted after others in a catalogue."""

    toy: str
    folder: str
    catalogue: str
    lines: tuple[tuple[str, str], ...]


RECIPES = {
    "joint": Recipe(
        "incline", "joints", "joints/__init__.py", (('    "fixed": "screws",\n', '    "incline": "incline",\n'),)
    ),
    "shape": Recipe(
        "octahedron",
        "scene/shapes",
        "scene/shapes/__init__.py",
        (("import mesh, ", "octahedron, "), ("    mesh.KIND,\n", "    octahedron.KIND,\n")),
    ),
    "force element": Recipe(
        "magnetic",
        "forces",
        "forces/elements.py",
        (
            ("    joint_spring,\n    moving_load,", "\n    magnetic,"),
            ("    spring.ELEMENT,\n", "    magnetic.ELEMENT,\n"),
        ),
    ),
    "force on a coordinate": Recipe(
        "cubic_spring",
        "forces",
        "forces/elements.py",
        (
            ("    body_load,\n    bushing,", "\n    cubic_spring,"),
            ("    joint_control.ACTUATORS,\n", "    cubic_spring.ELEMENT,\n"),
        ),
    ),
    "actuator": Recipe(
        "hardening",
        "actuators",
        "actuators/__init__.py",
        (('    "general": "servos.GeneralSpec",\n', '    "hardening": "hardening.HardeningSpec",\n'),),
    ),
    "constraint": Recipe(
        "level",
        "constraints",
        "constraints/__init__.py",
        (("    knife_edge,\n", "    level,\n"), ("        RACK_PINION,\n", "        level.KIND,\n")),
    ),
    "method": Recipe("gauss", "methods", "methods/__init__.py", (('"variational_maximal"', ', "gauss"'),)),
    "law": Recipe(
        "pyramid",
        "contact_solver/laws",
        "contact_solver/laws/__init__.py",
        (('    "convex_cone": "single_qp",\n', '    "pyramid": "pyramid",\n'),),
    ),
    "integrator": Recipe(
        "midpoint",
        "methods/integrators",
        "methods/integrators/__init__.py",
        (('"rk4", "dop853"', ', "midpoint"'),),
    ),
    "adaptive integrator": Recipe(
        "bogacki_shampine",
        "methods/integrators",
        "methods/integrators/__init__.py",
        (('"rk4", "dop853"', ', "bogacki_shampine"'),),
    ),
    "channel": Recipe(
        "speed",
        "observation",
        "output/channels.py",
        (
            (
                "    *CONTACT_CHANNELS,\n",
                '    Channel("joints/{joint}/speed", "m/s or rad/s", "Norm of the joint velocity.", "joint_speed", '
                '"speed"),\n',
            ),
        ),
    ),
    "peer": Recipe(
        "by_hand",
        "peers",
        "peers/__init__.py",
        (
            (
                "from multibody_cli.peers.contract import PeerKind\n",
                "from multibody_cli.peers.by_hand import BY_HAND\n",
            ),
            ("(MUJOCO, PINOCCHIO", ", BY_HAND"),
        ),
    ),
    "verb": Recipe("mass", "cli", "cli/app.py", (('    "info",\n', '    "mass",\n'),)),
    "foreign format": Recipe(
        "chain", "foreign", "foreign/__init__.py", (('    "xacro": (".xacro",),\n', '    "chain": (".chain",),\n'),)
    ),
    "export format": Recipe(
        "rungs",
        "studies/export",
        "studies/export/__init__.py",
        (('    "urdf": ".urdf",\n', '    "rungs": ".rungs",\n'),),
    ),
    "scene format": Recipe(
        "outline",
        "document/formats",
        "document/formats/__init__.py",
        (("formats import yaml", ", outline"), ('    ".yml": yaml.read,\n', '    ".outline": outline.read,\n')),
    ),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package and all toys."""
    folder = tmp_path_factory.mktemp("copy")
    package = folder / "multibody_cli"
    shutil.copytree(ROOT / "multibody_cli", package, ignore=shutil.ignore_patterns("__pycache__"))
    for recipe in RECIPES.values():
        shutil.copy(TOYS / f"{recipe.toy}.py", package / recipe.folder)
        catalogue = package / recipe.catalogue
        text = catalogue.read_text(encoding="utf-8")
        for before, line in recipe.lines:
            assert text.count(before) == 1, (recipe, before)
            text = text.replace(before, before + line)
        catalogue.write_text(text, encoding="utf-8")
    return folder


def call(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy), "NUMBA_DISABLE_JIT": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )


def written(copy: Path, name: str, scene: dict[str, Any]) -> Path:
    """Write a scene without gravity, of 0.1 s in ten steps, unless it says otherwise."""
    simulation = {"duration": 0.1, "step": 0.01, "integrator": "rk4"} | scene.pop("simulation", {})
    path = copy / f"{name}.yaml"
    path.write_text(yaml.safe_dump({"mbsim": 1, "gravity": [0, 0, 0], **scene, "simulation": simulation}))
    return path


def run(copy: Path, name: str, scene: dict[str, Any]) -> dict[str, np.ndarray]:
    """Run a scene in the copy; all datasets of the result by path."""
    return run_file(copy, written(copy, name, scene))


def run_file(copy: Path, scene: Path) -> dict[str, np.ndarray]:
    """Run the file of a scene in the copy; all datasets of the result by path."""
    result = scene.with_suffix(".h5")
    done = call(copy, "-m", "multibody_cli", "run", str(scene), "-o", str(result), "--force")
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, np.ndarray] = {}
    with h5py.File(result) as file:
        file.visititems(lambda path, item: found.update({path: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return found


def on_a_slide(type_: str = "prismatic", **fields: Any) -> dict[str, Any]:
    """One body of 2 kg on a slide."""
    joint = {"type": type_, "child": "body", **({"axis": [1, 0, 0]} if type_ == "prismatic" else {}), **fields}
    return {"bodies": {"body": {"mass": 2, "inertia": {"principal": [1, 1, 1]}}}, "joints": {"slide": joint}}


def test_joint(copy: Path) -> None:
    """A body falls along the axis with the component of gravity along it."""
    found = run(copy, "joint", {**on_a_slide("incline", v=0.5), "gravity": [0, 0, -GRAVITY]})
    t, along = found["time"], 0.8 * GRAVITY
    np.testing.assert_allclose(found["joints/slide/q"][:, 0], 0.5 * t + along * t**2 / 2, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        found["joints/slide/force"][:, 3:], [[0.8 * 0.6 * 2 * GRAVITY, 0, 0.36 * 2 * GRAVITY]] * 11
    )


def test_shape(copy: Path) -> None:
    """An octahedron lies on a face: the plane carries the weight of 4/3 r^3, at the height r/sqrt 3."""
    radius, density, h = 0.3, 500.0, 1e-3
    height = float(radius / np.sqrt(3))
    # turns (1, 1, 1) to -z, about (1, -1, 0)
    down = {"axis": [-1, 1, 0], "angle": float(np.pi - np.arccos(1 / np.sqrt(3)))}
    body = {
        "density": density,
        "shapes": [{"type": "octahedron", "radius": radius}],
        "position": [0, 0, height],
        "rotation": down,
    }
    scene = {
        **{"world": {"shapes": [{"type": "plane"}]}, "contacts": {}, "bodies": {"stone": body}},
        **{
            "gravity": [0, 0, -GRAVITY],
            "simulation": {"duration": 10 * h, "step": h, "integrator": "semi_implicit_euler"},
        },
    }
    found = run(copy, "shape", scene)
    np.testing.assert_allclose(found["bodies/position"][:, 0], [[0, 0, height]] * 11, atol=1e-12)
    assert found["contacts/count"].tolist() == [0] + [3] * 10  # none before the first step
    weight = 4 / 3 * radius**3 * density * GRAVITY
    last = found["contacts/normal_impulse"][found["contacts/instant"] == 10]
    assert last.sum() == pytest.approx(weight * h, rel=1e-9)
    assert last == pytest.approx(weight * h / 3, rel=1e-6)


def test_force_element(copy: Path) -> None:
    """A charge of 1 kg moves on a circle at c/m, and keeps its speed."""
    charge = {"kind": "point", "mass": 1, "velocity": {"linear": [1, 0, 0]}}
    found = run(copy, "force", {"bodies": {"charge": charge}, "forces": {"field": {"body": "charge", "magnetic": 2}}})
    t = found["time"]
    circle = np.stack([np.sin(2 * t), np.cos(2 * t) - 1, 0 * t], axis=1) / 2
    np.testing.assert_allclose(found["bodies/position"][:, 0], circle, atol=1e-9)
    np.testing.assert_allclose(found["energy/work/forces/field"], 0, atol=1e-15)


def test_force_on_a_coordinate(copy: Path) -> None:
    """The kinetic energy is the loss of the spring."""
    scene = {**on_a_slide(q=1.0), "forces": {"spring": {"coordinate": "slide", "cubic": 3}}}
    found = run(copy, "coordinate", scene)
    q, v = found["joints/slide/q"][:, 0], found["joints/slide/v"][:, 0]
    assert q[-1] < 1
    np.testing.assert_allclose(v**2, 3 / 4 * (1 - q**4), atol=1e-9)
    np.testing.assert_allclose(found["energy/elastic"], 3 / 4 * q**4, rtol=1e-14)
    np.testing.assert_allclose(found["energy/ledger_residual"], 0, atol=1e-9)
    scene["forces"]["spring"]["coordinate"] = "slite"
    done = call(copy, "-m", "multibody_cli", "run", str(written(copy, "refused", scene)))
    assert done.returncode == 2
    assert "unknown joint `slite`; did you mean `slide`?" in done.stdout + done.stderr


def test_actuator(copy: Path) -> None:
    """The kinetic energy is the work of the actuator, k/4 times the loss of the fourth power of the error."""
    scene = {**on_a_slide(q=1.0), "actuators": {"servo": {"type": "hardening", "joint": "slide", "k": 3, "target": 0}}}
    found = run(copy, "actuator", scene)
    q, v = found["joints/slide/q"][:, 0], found["joints/slide/v"][:, 0]
    assert q[-1] < 1
    np.testing.assert_allclose(v**2, 3 / 4 * (1 - q**4), atol=1e-9)
    np.testing.assert_allclose(found["energy/work/actuators/servo"], 3 / 4 * (1 - q**4), atol=1e-9)


def test_constraint(copy: Path) -> None:
    """A thrown body glides at its height, and the constraint carries its weight."""
    body = {
        **{"mass": 2, "inertia": {"principal": [1, 1, 1]}},
        **{"position": [0, 0, 1], "velocity": {"linear": [1, 2, 0], "angular": [1, 2, 3]}},
    }
    scene = {
        **{"gravity": [0, 0, -GRAVITY], "bodies": {"body": body}},
        "constraints": {"keep": {"type": "level", "body": "body", "height": 1}},
    }
    found = run(copy, "constraint", scene)
    t = found["time"]
    np.testing.assert_allclose(found["bodies/position"][:, 0], np.stack([t, 2 * t, 0 * t + 1], axis=1), atol=1e-12)
    np.testing.assert_allclose(found["constraints/keep/multiplier"], 2 * GRAVITY, rtol=1e-12)


def test_method(copy: Path) -> None:
    """It has the motion of `aba`: a tree with a free, a universal and a driven joint."""
    inertia = {"mass": 2, "com": [0.1, 0.2, -0.3], "inertia": {"principal": [0.3, 0.4, 0.5]}}
    scene = {
        "bodies": {
            "base": inertia | {"velocity": {"linear": [1, 2, 3], "angular": [3, 1, 2]}},
            **dict.fromkeys(("arm", "hand"), inertia),
        },
        "joints": {
            "shoulder": {"type": "universal", "parent": "base", "child": "arm", "q": [0.3, 0.7], "v": [1, -2]},
            "wrist": {
                **{"type": "revolute", "parent": "arm", "child": "hand", "axis": [0, 0.6, 0.8]},
                "motion": {"position": "sin(3*t)"},
            },
        },
    }
    one, other = (run(copy, name, {**scene, "simulation": {"method": name}}) for name in ("gauss", "aba"))
    for path in ("joints/shoulder/acceleration", "joints/wrist/force", "bodies/position", "bodies/quaternion"):
        np.testing.assert_allclose(one[path], other[path], rtol=1e-9, atol=1e-9, err_msg=path)


@pytest.mark.parametrize("on_rails", [False, True])
def test_law(copy: Path, on_rails: bool) -> None:
    """Friction mu m g along each tangent stops either component of a slide on its own.

    Either rows solve for a free block, or passes for one on two rails with friction of its joints that is negligible.
    """
    h, mu, (u, v) = 0.005, 0.2, (0.5, 0.1)
    block = {"mass": 2, "inertia": {"principal": [1, 1, 1]}, "shapes": [{"type": "box", "size": [1, 1, 0.2]}]}
    scene = {
        **{"gravity": [0, 0, -GRAVITY], "world": {"shapes": [{"type": "plane"}]}},
        **{"bodies": {"block": block}, "contacts": {"friction": mu, "method": "pyramid"}},
        **{"simulation": {"duration": 40 * h, "step": h, "integrator": "semi_implicit_euler"}},
    }
    if on_rails:
        rail = {"type": "prismatic", "friction": {"force": 1e-9}}
        inertia = {"principal": [1, 1, 1]}
        scene["bodies"] |= {"cross": {"mass": 1, "inertia": inertia}, "lift": {"mass": 2, "inertia": inertia}}
        scene["joints"] = {
            "x": {**rail, "child": "cross", "axis": [1, 0, 0], "v": u},
            "y": {**rail, "parent": "cross", "child": "lift", "axis": [0, 1, 0], "v": v},
            "z": {"type": "prismatic", "parent": "lift", "child": "block", "axis": [0, 0, 1], "q": 0.1},
        }
    else:
        block |= {"position": [0, 0, 0.1], "velocity": {"linear": [u, v, 0]}}
    found = run(copy, "law", scene)
    velocity = found["bodies/linear_velocity"][:, list(scene["bodies"]).index("block")]
    masses = (5, 4) if on_rails else (2, 2)
    expected = [np.maximum(s - mu * 2 * GRAVITY / m * found["time"], 0) for s, m in zip((u, v), masses, strict=True)]
    np.testing.assert_allclose(velocity[:, :2], np.transpose(expected), atol=1e-8)


def test_integrator(copy: Path) -> None:
    """An oscillator: the error is of the second order in the step."""
    errors = []
    for step in (0.05, 0.025):
        scene = {**on_a_slide(q=1.0, stiffness=2.0), "output": {"every": 0.5}}
        simulation = {"duration": 0.5, "step": step, "integrator": "midpoint"}
        found = run(copy, "integrator", {**scene, "simulation": simulation})
        errors.append(abs(found["joints/slide/q"][-1, 0] - np.cos(0.5)))
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)


def test_adaptive_integrator(copy: Path) -> None:
    """An oscillator: the error follows the tolerance, and the dense output between steps has the third order."""
    instants = np.linspace(0.0, 0.5, 11)
    errors = []
    for tolerance in (1e-5, 1e-8):
        scene = {**on_a_slide(q=1.0, stiffness=2.0), "output": {"every": 0.05}}
        simulation = {"duration": 0.5, "integrator": "bogacki_shampine", "tolerance": tolerance}
        found = run(copy, "adaptive", {**scene, "simulation": simulation})
        errors.append(np.abs(found["joints/slide/q"][:, 0] - np.cos(instants)).max())
        assert errors[-1] < tolerance
    assert errors[1] < 0.01 * errors[0]


def test_channel(copy: Path) -> None:
    """The recorded speeds are those of the recorded velocities; scenes, lists and schemas know the channel."""
    scene = on_a_slide(v=-2.0)
    scene["joints"]["hook"] = {"type": "universal", "parent": "body", "child": "end", "v": [3, 4]}
    scene["bodies"]["end"] = {"mass": 1, "inertia": {"principal": [1, 1, 1]}}
    expected = {"at": 0, "channel": "joints/hook/speed", "value": 5, "rtol": 1e-15}
    found = run(copy, "channel", {**scene, "expect": [expected]})
    for joint in ("slide", "hook"):
        speeds = np.linalg.norm(found[f"joints/{joint}/v"], axis=1)
        np.testing.assert_allclose(found[f"joints/{joint}/speed"], speeds, rtol=1e-15)
    assert found["joints/hook/speed"][0] == 5
    assert "joints/<joint>/speed" in call(copy, "-m", "multibody_cli", "list", "channels").stdout


def test_peer(copy: Path) -> None:
    """A slide accelerates with the component of gravity along it."""
    path = written(copy, "peer", {**on_a_slide("incline"), "gravity": [0, 0, -GRAVITY]})
    program = (
        "from multibody_cli import prepare\nfrom multibody_cli.peers import PEERS\n"
        "from multibody_cli.peers.mechanism import mechanism_of\n"
        f"compiled = prepare({str(path)!r}).compiled\n"
        "mechanism = mechanism_of(compiled.model, compiled.state, 1e-3, 'semi_implicit_euler')\n"
        "print(*PEERS['by_hand'].build(mechanism).accelerations())"
    )
    done = call(copy, "-c", program)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(0.8 * GRAVITY, rel=1e-14)


def test_verb(copy: Path) -> None:
    """It has help, prints the mass of a ball, and refuses a scene with its problems."""
    ball = {"density": 1000, "shapes": [{"type": "sphere", "radius": 0.1}]}
    path = written(copy, "verb", {"bodies": {"ball": ball}})
    done = call(copy, "-m", "multibody_cli", "mass", str(path), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"ball": pytest.approx(4 / 3 * np.pi * 0.1**3 * 1000, rel=1e-14)}
    assert "  mass " in (help_text := call(copy, "-m", "multibody_cli", "--help").stdout)
    assert "Print the mass of each body of a scene." in help_text
    path.write_text("mbsim: 1\nbodies: {ball: {weight: 2}}\n")
    done = call(copy, "-m", "multibody_cli", "mass", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "verb.yaml:2:25: bodies.ball.weight: unknown key `weight`" in done.stderr


def test_scene_format(copy: Path) -> None:
    """A scene in the new format runs, with variables; problems have the places of its text."""
    path = copy / "fall.outline"
    lines = ["mbsim 1", "vars", "  k 2", "bodies", "  stone", "    kind point", "    mass ${3*k} kg"]
    lines += ["simulation", "  duration 0.1", "  step 0.01"]
    path.write_text("\n".join(lines))
    done = call(copy, "-m", "multibody_cli", "mass", str(path))
    assert done.stdout == "stone: 6 kg\n", done.stderr
    found = run_file(copy, path)
    t = found["time"]
    np.testing.assert_allclose(found["bodies/position"][:, 0], np.outer(-GRAVITY * t**2 / 2, [0, 0, 1]), atol=1e-12)
    path.write_text("\n".join([*lines, "  methed aba"]))
    done = call(copy, "-m", "multibody_cli", "validate", str(path))
    assert "fall.outline:11:10: simulation.methed: unknown key `methed`; did you mean `method`?" in done.stdout


def test_foreign_format(copy: Path) -> None:
    """Two rods fall from rest with the accelerations of a double pendulum; each loss and problem has its line."""
    path = copy / "rods.chain"
    rods = ['<rod name="a" length="1" mass="2"/>', '<rod name="b" length="0.5" mass="3" color="red" weight="1"/>']
    path.write_text("\n".join(["<chain>", *rods, "</chain>"]))
    found = run_file(copy, path)
    accelerations = [found[f"joints/{name}/acceleration"][0, 0] for name in "ab"]
    (l1, m1), (l2, m2) = (1.0, 2.0), (0.5, 3.0)
    coupling = m2 * l1 * l2 / 2  # of a straight chain; the torques are those of the weights
    first, second = m1 * l1**2 / 3 + m2 * l1**2, m2 * l2**2 / 3
    matrix = np.array([[first + second + 2 * coupling, second + coupling], [second + coupling, second]])
    torques = GRAVITY * np.array([m1 * l1 / 2 + m2 * (l1 + l2 / 2), m2 * l2 / 2])
    np.testing.assert_allclose(accelerations, np.linalg.solve(matrix, torques), rtol=1e-12)
    done = call(copy, "-m", "multibody_cli", "import", str(path))
    assert "line 3: <rod color> `b`: rods have no shape" in done.stdout, done.stderr
    assert "line 3: <rod weight> `b`: not known to the importer" in done.stdout
    path.write_text(path.read_text().replace('"0.5"', '"0,5"'))
    done = call(copy, "-m", "multibody_cli", "validate", str(path))
    message = 'rods.chain:3:1: <rod name="b">: `length`: expected a finite number with a decimal point, found `0,5`'
    assert message in done.stdout


def test_export_format(copy: Path) -> None:
    """The height on a slope, by the pose and the slide; losses, and joints without counterpart, have their places."""
    ball = {"type": "sphere", "radius": 0.1}
    scene = {
        "bodies": {"body": {"mass": 2, "inertia": {"principal": [1, 1, 1]}, "shapes": [ball]}},
        "joints": {"slide": {"type": "prismatic", "child": "body", "axis": [0.6, 0, 0.8], "q": 5}},
    }
    scene["joints"]["slide"]["origin"] = {"position": [0, 0, 1]}
    path = written(copy, "export", scene)
    done = call(copy, "-m", "multibody_cli", "export", str(path), "--to", "rungs", "-o", str(copy / "model.rungs"))
    assert done.returncode == 0, done.stderr
    assert "bodies.body.shapes[0]: dropped: rungs have no shape" in done.stderr
    assert (copy / "model.rungs").read_text() == ('<rungs>\n  <rung name="body" z="5.0" mass="2.0" />\n</rungs>\n')
    scene["joints"]["slide"] = {"type": "spherical", "child": "body"}
    path = written(copy, "export", scene)
    done = call(copy, "-m", "multibody_cli", "export", str(path), "--to", "rungs", "-o", str(copy / "other.rungs"))
    assert done.returncode == 2
    assert "joints.slide: rungs has no joint for this motion: `spherical`" in done.stderr


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("name", RECIPES)
def test_the_page_has_the_files_and_the_lines(name: str) -> None:
    """The table of CONTRIBUTING.md: the folder of the file, its lines, the catalogue, and the lines there."""
    recipe = RECIPES[name]
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    [row] = re.findall(rf"^\| {name} \|.*$", page, re.MULTILINE)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    lines = sum(line.count("\n") or 1 for _, line in recipe.lines)
    assert cells[1:] == [
        f"`{recipe.folder}/`",
        str(lines_of(TOYS / f"{recipe.toy}.py")),
        f"`{recipe.catalogue}`",
        str(lines),
    ]
