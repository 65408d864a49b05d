"""Time `aba` against MuJoCo and Pinocchio on the same trees, in one process, block by block in turn.

    pip install '.[peers]' && python docs/benchmarks/peers.py

The accelerations of all are compared first.  Pinocchio is called from Python (convention WORLD), net of the cost of a
call with an empty model; MuJoCo's steps run in C (`nstep`); ours in one compiled call.  Medians of 15 blocks, with the
ratio taken block by block.  `MBSIM_BENCH_CPU=1` counts processor time, for a machine whose cores are shared.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import mujoco
import numpy as np
import pinocchio as pin

from multibody_cli.studies.simulation import prepare

LENGTH, MASS, RADIUS, GRAVITY, STEP = 1.0, 1.0, 0.05, 9.81, 1e-3
ACROSS = MASS * (LENGTH**2 / 12 + RADIUS**2 / 4)
ALONG = MASS * RADIUS**2 / 2
BLOCKS = 15
CLOCK = time.process_time_ns if os.environ.get("MBSIM_BENCH_CPU") else time.perf_counter_ns

Tree = list[tuple[int, str]]  # parent and joint ("x", "y", "ball") of each link


def chain(count: int, joints: str) -> Tree:
    """A chain with joints taken in turn from a list such as "x y"."""
    words = joints.split()
    return [(i - 1, words[i % len(words)]) for i in range(count)]


def binary_tree(count: int) -> Tree:
    """Link i hangs on link (i - 1) // 2."""
    return [((i - 1) // 2 if i else -1, "y" if i % 2 else "x") for i in range(count)]


def scene_text(tree: Tree, q: list[np.ndarray], v: list[np.ndarray]) -> str:
    """The tree as a scene file: rods that hang along -z from joint to joint."""
    lines = ["mbsim: 1", "name: tree", f"gravity: [0, 0, -{GRAVITY}]", "bodies:"]
    inertia = f"{{principal: [{ACROSS!r}, {ACROSS!r}, {ALONG!r}]}}"
    lines += [f"  b{i}: {{mass: {MASS}, com: [0, 0, {-LENGTH / 2}], inertia: {inertia}}}" for i in range(len(tree))]
    lines.append("joints:")
    for i, (parent, joint) in enumerate(tree):
        held = "" if parent < 0 else f", parent: b{parent}, origin: {{position: [0, 0, {-LENGTH}]}}"
        if joint == "ball":
            w, x, y, z = (float(a) for a in q[i])
            speed = [float(a) for a in v[i]]
            turn = f"{{quaternion: [{w!r}, {x!r}, {y!r}, {z!r}]}}"
            lines.append(f"  j{i}: {{type: spherical, child: b{i}{held}, q: {turn}, v: {speed}}}")
        else:
            axis = [1, 0, 0] if joint == "x" else [0, 1, 0]
            state = f"q: {float(q[i][0])!r}, v: {float(v[i][0])!r}"
            lines.append(f"  j{i}: {{type: revolute, child: b{i}{held}, axis: {axis}, {state}}}")
    return "\n".join([*lines, f"simulation: {{duration: 1, step: {STEP}}}"])


def mujoco_xml(tree: Tree) -> str:
    """The tree in MuJoCo's format."""
    children: dict[int, list[int]] = {}
    for i, (parent, _) in enumerate(tree):
        children.setdefault(parent, []).append(i)

    def body(i: int, at: float) -> str:
        joint = tree[i][1]
        word = (
            '<joint type="ball"/>'
            if joint == "ball"
            else f'<joint type="hinge" axis="{"1 0 0" if joint == "x" else "0 1 0"}"/>'
        )
        inside = "".join(body(child, -LENGTH) for child in children.get(i, []))
        inertial = f'<inertial pos="0 0 {-LENGTH / 2}" mass="{MASS}" diaginertia="{ACROSS!r} {ACROSS!r} {ALONG!r}"/>'
        return f'<body name="b{i}" pos="0 0 {at}">{word}{inertial}{inside}</body>'

    flags = '<flag contact="disable" constraint="disable" warmstart="disable"/>'
    option = f'<option timestep="{STEP}" integrator="Euler" gravity="0 0 -{GRAVITY}">{flags}</option>'
    return f"<mujoco>{option}<worldbody>{''.join(body(i, 0.0) for i in children[-1])}</worldbody></mujoco>"


def pinocchio_model(tree: Tree) -> pin.Model:
    """The tree as a Pinocchio model."""
    model = pin.Model()
    model.gravity.linear = np.array([0, 0, -GRAVITY])
    kinds = {"ball": pin.JointModelSpherical, "x": pin.JointModelRX, "y": pin.JointModelRY}
    numbers: list[int] = []
    rod = pin.Inertia(MASS, np.array([0, 0, -LENGTH / 2]), np.diag([ACROSS, ACROSS, ALONG]))
    for i, (parent, joint) in enumerate(tree):
        at = pin.SE3(np.eye(3), np.array([0, 0, 0.0 if parent < 0 else -LENGTH]))
        number = model.addJoint(0 if parent < 0 else numbers[parent], kinds[joint](), at, f"j{i}")
        model.appendBodyToJoint(number, rod, pin.SE3.Identity())
        numbers.append(number)
    return model


def timed(block: Callable[[int], None], count: int) -> float:
    """Microseconds for each of `count` repetitions."""
    began = CLOCK()
    block(count)
    return (CLOCK() - began) / count / 1e3


def measure(name: str, tree: Tree, folder: Path) -> str:
    """One row of the table."""
    numbers = np.random.default_rng(0)
    q, v = [], []
    for _, joint in tree:
        if joint == "ball":
            x = np.array([1.0, *numbers.uniform(-0.5, 0.5, 3)])
            q.append(x / np.linalg.norm(x))
            v.append(numbers.uniform(-1, 1, 3))
        else:
            q.append(numbers.uniform(-1, 1, 1))
            v.append(numbers.uniform(-1, 1, 1))
    path = folder / f"{name}.yaml"
    path.write_text(scene_text(tree, q, v))
    simulation = prepare(path, ())
    state = simulation.fresh_state()
    method = simulation.method_for(state)
    method.start(state)

    # MuJoCo numbers links depth first, as we do; Pinocchio as they were added
    order = _depth_first(tree)
    xml = mujoco.MjModel.from_xml_string(mujoco_xml(tree))
    data = mujoco.MjData(xml)
    data.qpos[:], data.qvel[:] = np.concatenate([q[i] for i in order]), np.concatenate([v[i] for i in order])
    mujoco.mj_forward(xml, data)
    model = pinocchio_model(tree)
    cache = model.createData()
    pin_q = np.concatenate([x[[1, 2, 3, 0]] if len(x) == 4 else x for x in q])
    pin_v, tau = np.concatenate(v), np.zeros(model.nv)
    pin_a = pin.aba(model, cache, pin_q, pin_v, tau, pin.Convention.WORLD).copy()
    ours_in_order = state.a.copy()
    scale = np.abs(data.qacc).max()
    against_mujoco = np.abs(ours_in_order - data.qacc).max() / scale
    slots = np.concatenate([[0], np.cumsum([len(speed) for speed in v])])
    pin_in_order = np.concatenate([pin_a[slots[i] : slots[i + 1]] for i in order])
    against_pin = np.abs(ours_in_order - pin_in_order).max() / scale

    empty, nothing = pin.Model(), np.zeros(0)
    empty_cache = empty.createData()

    def call_pinocchio(count: int) -> None:
        aba, world = pin.aba, pin.Convention.WORLD
        for _ in range(count):
            aba(model, cache, pin_q, pin_v, tau, world)

    def call_nothing(count: int) -> None:
        aba, world = pin.aba, pin.Convention.WORLD
        for _ in range(count):
            aba(empty, empty_cache, nothing, nothing, nothing, world)

    def step_mujoco(count: int) -> None:
        mujoco.mj_step(xml, data, count)

    count = max(20, 40000 // len(tree))
    rows: dict[str, list[float]] = {"ours": [], "pin": [], "ours step": [], "mj_step": []}
    for block in range(BLOCKS + 1):
        still = simulation.fresh_state()
        method = simulation.method_for(still)
        method.start(still)
        found = {
            "ours": timed(partial(method.evaluate_repeatedly, still), count),
            "pin": timed(call_pinocchio, count) - timed(call_nothing, count),
        }
        data.qpos[:] = np.concatenate([q[i] for i in order])
        data.qvel[:] = 0.1 * np.concatenate([v[i] for i in order])
        still.v[:] *= 0.1
        method.start(still)
        steps = min(count, 400)
        found["ours step"] = timed(lambda n, run=method.advance, on=still: run(on, n * STEP), steps)
        found["mj_step"] = timed(step_mujoco, steps)
        if block:  # the first is for warming up
            for key, value in found.items():
                rows[key].append(value)
    ours, pinocchio, step, mj_step = (statistics.median(rows[key]) for key in rows)
    ratio = statistics.median(a / b for a, b in zip(rows["ours"], rows["pin"], strict=True))
    step_ratio = statistics.median(a / b for a, b in zip(rows["ours step"], rows["mj_step"], strict=True))
    evaluation = f"{ours:.2f} | {pinocchio:.2f} | **{ratio:.2f}**"
    stepping = f"{step:.2f} | {mj_step:.2f} | **{step_ratio:.2f}**"
    return f"| {name} | {evaluation} | {stepping} | {against_pin:.0e} | {against_mujoco:.0e} |"


def _depth_first(tree: Tree) -> list[int]:
    children: dict[int, list[int]] = {}
    for i, (parent, _) in enumerate(tree):
        children.setdefault(parent, []).append(i)
    order, waiting = [], list(reversed(children[-1]))
    while waiting:
        i = waiting.pop()
        order.append(i)
        waiting.extend(reversed(children.get(i, [])))
    return order


def main() -> None:
    """Print the table."""
    print(f"MuJoCo {mujoco.__version__}, Pinocchio {pin.__version__}; microseconds")
    print("| tree | aba | Pinocchio | ratio | aba step | mj_step | ratio | difference to Pinocchio | to MuJoCo |")
    print("|---|---|---|---|---|---|---|---|---|")
    with TemporaryDirectory() as folder:
        for name, tree in {
            "RC20, axes y": chain(20, "y"),
            "RC50, axes y": chain(50, "y"),
            "RC100, axes y": chain(100, "y"),
            "RC20, axes x y": chain(20, "x y"),
            "RC100, axes x y": chain(100, "x y"),
            "balls 20": chain(20, "ball"),
            "balls 100": chain(100, "ball"),
            "binary tree 127": binary_tree(127),
        }.items():
            print(measure(name, tree, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
