"""Units of FMI as actuators: the bits of the same law of this program, by all methods; states, delays and refusals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.errors import RunFailed, SceneError
from multibody_cli.methods import METHODS

pytest.importorskip("fmpy")
pytest.importorskip("pythonfmu3")

SERVO = '''\
from pythonfmu3 import Float64, Fmi3Causality, Fmi3Slave, Fmi3Variability
from pythonfmu3.fmi3slave import Fmi3Status, Fmi3StepResult


class cart_servo(Fmi3Slave):
    """u = kp (target - q) - kd v; `count` is the number of steps, and `late` the force of the last step."""

    def __init__(self, **words):
        super().__init__(**words)
        self.time = self.q = self.v = self.kd = self.late = self.count = 0.0
        self.kp, self.target, self.most = 1.0, 0.5, 1e9
        continuous, input = {"variability": Fmi3Variability.continuous}, {"causality": Fmi3Causality.input}
        self.register_variable(Float64("time", causality=Fmi3Causality.independent, **continuous))
        for name in ("q", "v"):
            self.register_variable(Float64(name, **input, **continuous))
        for name in ("kp", "kd", "target", "most"):
            own = {"causality": Fmi3Causality.parameter, "variability": Fmi3Variability.fixed}
            self.register_variable(Float64(name, **own))
        for name, getter in (("force", self.law), ("late", lambda: self.late), ("count", lambda: self.count)):
            self.register_variable(Float64(name, getter=getter, causality=Fmi3Causality.output, **continuous))

    def law(self):
        return self.kp * (self.target - self.q) - self.kd * self.v

    def do_step(self, current_time, step_size):
        assert current_time == self.time
        self.time, self.late, self.count = current_time + step_size, self.law(), self.count + 1
        ending = Fmi3Status.ok if self.count < self.most else Fmi3Status.error
        return Fmi3StepResult(status=ending)
'''

SCENE = """\
mbsim: 1
name: cart
bodies: {{cart: {{mass: 2, inertia: {{principal: [1, 1, 1]}}}}}}
joints: {{slide: {{type: prismatic, child: cart, axis: [1, 0, 0], q: 0.1}}}}
actuators:
  servo: {{joint: slide, period: 10 ms, {law}}}
simulation: {{duration: 0.3 s, step: 1 ms}}
output: {{every: 5 ms}}
"""
UNIT = "type: fmu, file: cart_servo.fmu, inputs: {q: joints.slide.q, v: v}, output: force, start: {kp: 40, kd: 6}"
LAW = "type: pd, kp: 40, kd: 6, target: 0.5"
SWING = """\
mbsim: 1
name: driving_swing
inputs: {torque: 0}
bodies: {rod: {mass: 1, com: [0, 0, -0.5], inertia: {principal: [0.02, 0.02, 0.01]}}}
joints: {hinge: {type: revolute, child: rod, axis: [0, 1, 0], q: 60 deg, force: inputs.torque}}
simulation: {duration: 0.3 s, step: 5 ms, integrator: rk4}
"""
CHANNELS = ["joints/slide/q", "joints/slide/v", "actuators/servo/force", "energy/total"]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the unit."""
    folder = tmp_path_factory.mktemp("unit")
    (folder / "cart_servo.py").write_text(SERVO)
    subprocess.run([sys.executable, "-m", "pythonfmu3", "build", "-f", "cart_servo.py"], cwd=folder, check=True)
    return folder


@pytest.fixture
def unit(packed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the unit, in the working directory."""
    monkeypatch.chdir(packed)
    return packed / "cart_servo.fmu"


def run_of(law: str, **settings: str) -> dict[str, np.ndarray]:
    """Return the channels of a run."""
    run = mbsim.load(SCENE.format(law=law), {f"simulation.{k}": v for k, v in settings.items()}).run(channels=CHANNELS)
    return {path: run[path].values for path in CHANNELS}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("more", ["", ", limits: [-4, 4], delay: 20 ms"])
def test_a_unit_has_the_bits_of_the_same_law(unit: Path, method: str, more: str) -> None:
    found, known = (run_of(law + more, method=method) for law in (UNIT, LAW))
    for path in CHANNELS:
        np.testing.assert_array_equal(found[path], known[path], err_msg=path)
    assert np.ptp(found["joints/slide/q"]) > 0.05


def test_an_adaptive_integrator_stops_at_the_samples(unit: Path) -> None:
    found, known = (run_of(law, integrator="dop853") for law in (UNIT, LAW))
    np.testing.assert_array_equal(found["joints/slide/q"], known["joints/slide/q"])


def test_a_unit_advances_from_sample_to_sample(unit: Path) -> None:
    """At the k-th sample it has made k steps; an output that steps compute is that of the sample before."""
    count = run_of(UNIT.replace("output: force", "output: count"))["actuators/servo/force"][:, 0]
    np.testing.assert_array_equal(count, np.arange(61) // 2)
    late = UNIT.replace("output: force", "output: late")
    found, known = run_of(late), run_of(LAW.replace("pd", "pd, delay: 10 ms"))
    np.testing.assert_array_equal(found["joints/slide/q"], known["joints/slide/q"])


def test_a_scene_that_was_exported_is_an_actuator_of_another(unit: Path) -> None:
    """The pendulum of the unit swings as in its own run, whose angle is the force."""
    from multibody_cli.studies.fmu import write_fmu

    scene = mbsim.load(SWING)
    write_fmu(scene.prepared, ["joints/hinge/q"], Path("driving_swing.fmu"))
    law = "type: fmu, file: driving_swing.fmu, inputs: {inputs.torque: 0.5}, output: joints.hinge.q"
    found = run_of(law)["actuators/servo/force"][::2, 0]
    own = mbsim.load(SWING, {"inputs.torque": 0.5, "output.every": "10 ms"}).run(channels=["joints/hinge/q"])
    np.testing.assert_array_equal(found, own["joints/hinge/q"].values[:, 0])


def test_a_unit_of_version_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pythonfmu")
    monkeypatch.chdir(tmp_path)
    Path("cart_servo.py").write_text("""\
from pythonfmu import Fmi2Causality, Fmi2Slave, Real


class cart_servo(Fmi2Slave):
    def __init__(self, **words):
        super().__init__(**words)
        self.q = self.v = self.kp = self.kd = 0.0
        for name in ("q", "v"):
            self.register_variable(Real(name, causality=Fmi2Causality.input))
        for name in ("kp", "kd"):
            self.register_variable(Real(name, causality=Fmi2Causality.parameter, variability="tunable"))
        own = {"getter": lambda: self.kp * (0.5 - self.q) - self.kd * self.v, "causality": Fmi2Causality.output}
        self.register_variable(Real("force", **own))

    def do_step(self, current_time, step_size):
        return True
""")
    subprocess.run([sys.executable, "-m", "pythonfmu", "build", "-f", "cart_servo.py"], check=True)
    Path("cart.yaml").write_text(SCENE.format(law=UNIT))
    # the packers of both versions embed Python, and do not share a process
    subprocess.run([sys.executable, "-m", "multibody_cli", "run", "cart.yaml", "-o", "cart.h5"], check=True)
    found, known = mbsim.read("cart.h5"), run_of(LAW)
    for path in CHANNELS:
        np.testing.assert_array_equal(found[path].values, known[path], err_msg=path)


def test_a_changed_state_is_sampled_again(unit: Path) -> None:
    simulations = [mbsim.Simulation(mbsim.load(SCENE.format(law=law))) for law in (UNIT, LAW)]
    for one in simulations:
        one.step(20)
        one.q["slide"][:] = 0.3
        one.step(15)
    assert simulations[0].q["slide"][0] == simulations[1].q["slide"][0]


def test_a_checkpoint_cannot_continue_with_the_state_of_a_unit(unit: Path) -> None:
    scene = mbsim.load(SCENE.format(law=UNIT))
    simulation = mbsim.Simulation(scene)
    simulation.step(15)
    data = simulation.save()
    other = mbsim.Simulation(scene)
    other.restore(data)
    with pytest.raises(RunFailed, match=r"actuators\.servo: the state of the unit .* is not kept in checkpoints"):
        other.step(20)
    simulation.step(20)


def test_a_unit_whose_state_can_be_saved_continues_from_a_checkpoint(unit: Path) -> None:
    """The pendulum of the unit swings on from its angle and rate, in a simulation that has not run it before."""
    from multibody_cli.studies.fmu import write_fmu

    swing = mbsim.load(SWING.replace("driving_swing", "saved_swing"))
    write_fmu(swing.prepared, ["joints/hinge/q"], Path("saved_swing.fmu"))
    scene = mbsim.load(SCENE.format(law="type: fmu, file: saved_swing.fmu, output: joints.hinge.q"))
    simulation, other = mbsim.Simulation(scene), mbsim.Simulation(scene)
    simulation.step(115)
    data = simulation.save()
    other.restore(data)
    for one in (simulation, other):
        one.step(100)
    assert other.q["slide"][0] == simulation.q["slide"][0]
    later = simulation.save()
    simulation.restore(data)  # back in time, in the same unit
    simulation.step(100)
    assert simulation.save() == later
    assert simulation.q["slide"][0] == other.q["slide"][0]


@pytest.mark.parametrize("method", METHODS)
def test_one_unit_drives_several_coordinates(unit: Path, method: str) -> None:
    """The second force is the number of steps of the unit: the rate at the end is the sum of k T / m."""
    text = SCENE.replace("bodies: {{cart:", "bodies: {{other: {{mass: 2, inertia: {{principal: [1, 1, 1]}}}}, cart:")
    text = text.replace("joints: {{", "joints: {{second: {{type: prismatic, child: other, axis: [1, 0, 0]}}, ")
    own = "count: {joint: second, period: 10 ms, type: fmu, unit: servo, output: count}"
    text = text.format(law=UNIT).replace("simulation:", f"  {own}\nsimulation:")
    run = mbsim.load(text, {"simulation.method": method}).run(channels=["joints", "actuators"])
    known = run_of(LAW, method=method)
    np.testing.assert_array_equal(run["actuators/servo/force"].values, known["actuators/servo/force"])
    np.testing.assert_array_equal(run["actuators/count/force"].values[:, 0], np.arange(61) // 2)
    assert run["joints/second/v"].values[-1, 0] == pytest.approx(0.01 / 2.0 * sum(range(30)), rel=1e-12)


def test_a_unit_does_not_run_the_module_of_another_one(unit: Path, tmp_path: Path) -> None:
    """Python has one module of a name: the second unit would have the law of the first one."""
    run_of(UNIT)
    (tmp_path / "cart_servo.py").write_text(SERVO.replace("self.kp *", "2 * self.kp *"))
    subprocess.run([sys.executable, "-m", "pythonfmu3", "build", "-f", "cart_servo.py"], cwd=tmp_path, check=True)
    with pytest.raises(RunFailed, match="another Python module `cart_servo`"):
        run_of(UNIT.replace("cart_servo.fmu", str(tmp_path / "cart_servo.fmu")))
    (tmp_path / "fractions.py").write_text(SERVO.replace("class cart_servo", "class fractions"))
    subprocess.run([sys.executable, "-m", "pythonfmu3", "build", "-f", "fractions.py"], cwd=tmp_path, check=True)
    with pytest.raises(RunFailed, match="another Python module `fractions`"):
        run_of(UNIT.replace("cart_servo.fmu", str(tmp_path / "fractions.fmu")))


def test_a_unit_that_fails_ends_the_run_with_its_name(unit: Path) -> None:
    with pytest.raises(RunFailed, match=r"actuators\.servo: the unit .*servo\.fmu failed at 0\.03 s"):
        run_of(UNIT.replace("kd: 6", "kd: 6, most: 3"))


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (UNIT.replace("servo.fmu", "servants.fmu"), "actuators.servo.file: file not found: "),
        (UNIT.replace("servo.fmu", "servo.py"), "actuators.servo.file: cannot read the unit"),
        (UNIT.replace("v: v", "rate: v"), "actuators.servo.inputs.rate: the unit has no input `rate`: valid: q, v"),
        (UNIT.replace("v: v", "kp: v"), "actuators.servo.inputs.kp: the unit has no input `kp`"),
        (UNIT.replace("output: force", "output: forse"), "has no number `forse`: did you mean `force`?"),
        (UNIT.replace("kd: 6", "kdd: 6"), "actuators.servo.start.kdd: the unit has no number `kdd`"),
        (UNIT + ", unit: servo", "actuators.servo: expected either `file` or `unit`"),
        ("type: fmu, unit: motor, output: force", "actuators.servo.unit: no actuator above has a unit `motor`"),
        ("type: fmu, unit: motor, output: force, inputs: {q: q}", "is given where the `file` of the unit is"),
        (UNIT + ", filter: 0.1", "actuators.servo.filter: has no effect on a unit"),
        (UNIT.replace("v: v", "v: w"), "unknown name `w`"),
    ],
)
def test_refusals(unit: Path, law: str, message: str) -> None:
    with pytest.raises(SceneError) as refusal:
        mbsim.load(SCENE.format(law=law))
    assert message in str(refusal.value)


def test_a_unit_without_samples_and_one_without_fmpy_are_refused(unit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SceneError, match="expected `rate` or `period`: a unit is stepped from sample to sample"):
        mbsim.load(SCENE.format(law=UNIT).replace("period: 10 ms, ", ""))
    monkeypatch.setitem(sys.modules, "fmpy", None)
    with pytest.raises(SceneError, match=r"actuators\.servo: needs FMPy: pip install 'multibody-cli\[fmi\]'"):
        mbsim.load(SCENE.format(law=UNIT))
