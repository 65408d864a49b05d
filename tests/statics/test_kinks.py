"""Derivatives and equilibria beside kinks of forces are those of their side, and at a kink of one side."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mbsim
from multibody_cli.statics import dual_evaluation
from multibody_cli.statics.slopes import slopes_along
from multibody_cli.studies import curves, exact_derivatives

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

GAPS = (1e-1, 1e-3, 1e-6, 1e-9)


def slider(springs: str = "", force: str = "0", q: float = 0.0, inputs: str = "") -> str:
    """Return a mass of 2 kg on a spring of 100 N/m, with other springs and a force."""
    return f"""mbsim: 1
gravity: [0, 0, 0]
{f"inputs: {{{inputs}}}" if inputs else ""}
bodies: {{mass: {{mass: 2, inertia: {{principal: [1, 1, 1]}}}}}}
joints: {{slide: {{type: prismatic, axis: [0, 0, 1], child: mass, stiffness: 100, q: {q!r}, force: "{force}"}}}}
springs: {{{springs}}}
simulation: {{duration: 1 s, step: 1 ms}}
"""


def rope(slack: float, end: float = -1.0, name: str = "rope") -> str:
    """Return an elastic rope of 300 N/m from (0, 0, end) to the mass."""
    return (
        f"{name}: {{between: [{{body: world, point: [0, 0, {end}]}}, {{body: mass}}], "
        f"rest_length: [0, {abs(end) + slack!r}], stiffness: 300}}"
    )


def by_length(found: mbsim.Statics) -> np.ndarray:
    """Return the stiffness of all sides (s, k), N/m."""
    sides = found.found.sides
    assert sides is not None
    return np.array(sides.stiffness) / np.linalg.norm(found.found.directions[:, 0]) ** 2


@pytest.mark.parametrize("largest", [60, 0])
@pytest.mark.parametrize("gap", GAPS)
def test_a_rope_near_its_length_is_slack_or_taut(gap: float, largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With dual numbers, and without: large models have differences to one side."""
    monkeypatch.setattr(dual_evaluation, "LARGEST", largest)
    for slack, stiffness in ((gap, 100.0), (-gap, 400.0)):
        found = mbsim.linearize(slider(rope(slack)))
        np.testing.assert_allclose(found.A, [[0.0, 1.0], [-stiffness / 2, 0.0]], rtol=0, atol=1e-4 * stiffness)
        if gap > 1e-9:
            np.testing.assert_allclose(found.A[1, 0], -stiffness / 2, rtol=1e-8)
            assert not found.remarks


@pytest.mark.parametrize("gap", GAPS)
def test_play_between_two_ropes(gap: float) -> None:
    """Kinks to both sides: exact derivatives agree with the differences of small offsets alone."""
    found = mbsim.linearize(slider(rope(gap) + ", " + rope(gap, 1.0, "upper")))
    np.testing.assert_allclose(found.A[1], [-50.0, 0.0], rtol=1e-11, atol=1e-11)
    assert not found.remarks


@pytest.mark.parametrize("sign", [1, -1])
def test_a_rope_of_exactly_its_length_has_the_stiffness_of_one_side(sign: int) -> None:
    found = mbsim.linearize(slider(rope(0.0, -1.0 * sign)))
    [remark] = found.remarks
    side = sign if "increases" in remark else -sign
    assert remark.startswith("a force has a kink at this state: the derivatives are those of the side on which joint")
    assert found.A[1, 0] == pytest.approx(-200.0 if side > 0 else -50.0, rel=1e-11)


def test_a_damper_to_one_side_has_a_kink_at_rest_along_the_rate() -> None:
    found = mbsim.linearize(slider(force="-6*max(v, 0)"))
    [remark] = found.remarks
    assert "the rate of joint slide" in remark
    np.testing.assert_allclose(found.A[1], [-50.0, -3.0 if "increases" in remark else 0.0], rtol=1e-11, atol=1e-11)


def test_a_valve_has_a_kink_along_its_input() -> None:
    found = mbsim.linearize(slider(force="6*max(inputs.gas, 0)", inputs="gas: 0"), inputs=["inputs/gas"])
    [remark] = found.remarks
    assert "`inputs/gas`" in remark
    np.testing.assert_allclose(found.B[:, 0], [0.0, 3.0 if "increases" in remark else 0.0], rtol=1e-11, atol=1e-11)


def test_smooth_forces_have_no_kink() -> None:
    """Neither a force with steep slopes, nor one whose second derivative jumps at the state."""
    for force in ("-tanh(1000*q)", "-q*abs(q)", "-abs(q)**3 - 1000*v*abs(v)"):
        found = mbsim.linearize(slider(force=force))
        slope = -550.0 if "tanh" in force else -50.0
        assert found.A[1, 0] == pytest.approx(slope, rel=1e-8)
        assert not found.remarks


@pytest.mark.parametrize("largest", [60, 0])
@pytest.mark.parametrize("gap", GAPS[:3])
def test_an_equilibrium_beside_a_kink_has_the_stiffness_of_its_side(
    gap: float, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A taut rope moves the equilibrium of the spring by 300 gap/400."""
    monkeypatch.setattr(dual_evaluation, "LARGEST", largest)
    for slack, stiffness in ((gap, 100.0), (-gap, 400.0)):
        found = mbsim.equilibrium(slider(rope(slack)))
        assert (found.stability, found.derivatives) == ("stable", "exact" if largest == 60 else "differences")
        length = found.found.directions[0, 0]
        np.testing.assert_allclose(found.found.stiffness, [stiffness * length**2], rtol=1e-8)
        assert found["slide"] == pytest.approx(min(0.0, 0.75 * slack), abs=1e-10)
        [mode] = mbsim.modes(slider(rope(slack)), equilibrium=True).modes
        assert mode.exponent.imag == pytest.approx(math.sqrt(stiffness / 2), rel=1e-8)
        assert not found.kinks
        shares = {"joints.slide": 100 / stiffness, "springs.rope": 1 - 100 / stiffness}
        for name, share in shares.items():
            assert mode.elements.get(name, 0.0) == pytest.approx(share, abs=1e-8)


@pytest.mark.parametrize("largest", [60, 0])
@pytest.mark.parametrize("gap", [1e-10, -1e-10])
def test_an_equilibrium_nearer_to_a_kink_than_round_off_is_at_the_kink(
    gap: float, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stiffness is the least of both sides, that of the slack rope."""
    monkeypatch.setattr(dual_evaluation, "LARGEST", largest)
    found = mbsim.equilibrium(slider(rope(gap)))
    assert (found.stability, found.kinks) == ("stable", ("slide decreases",))
    np.testing.assert_allclose(np.sort(by_length(found)[:, 0]), [100.0, 400.0], rtol=1e-4)
    [mode] = mbsim.modes(slider(rope(gap)), equilibrium=True).modes
    assert mode.exponent.imag == pytest.approx(math.sqrt(50.0), rel=1e-4)


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_an_equilibrium_in_the_play_of_two_ropes(gap: float) -> None:
    found = mbsim.equilibrium(slider(rope(gap) + ", " + rope(gap, 1.0, "upper")))
    assert (found.stability, found.kinks) == ("stable", ())
    np.testing.assert_allclose(found.found.stiffness, [100.0 * found.found.directions[0, 0] ** 2], rtol=1e-11)


@pytest.mark.parametrize("gap", [1e-3, 1e-6])
def test_the_play_of_two_ropes_counts_beside_a_heavy_body(gap: float) -> None:
    text = slider(rope(gap) + ", " + rope(gap, 1.0, "upper"))
    text = text.replace("bodies: {", "bodies: {heavy: {mass: 1e10, inertia: {principal: [1, 1, 1]}}, ")
    text = text.replace(
        "joints: {", "joints: {heavy: {type: prismatic, axis: [1, 0, 0], child: heavy, stiffness: 1e10}, "
    )
    found = mbsim.equilibrium(text)
    lengths = np.abs(found.found.directions).max(axis=0)
    assert found.stability == "stable"
    np.testing.assert_allclose(found.found.stiffness, [100.0, 1e10] * lengths**2, rtol=1e-8)


def test_an_equilibrium_at_a_kink_names_its_side() -> None:
    found = mbsim.equilibrium(slider(rope(0.0)))
    [side] = found.kinks
    assert side in ("slide increases", "slide decreases")
    stiffness = 400.0 if side == "slide increases" else 100.0
    np.testing.assert_allclose(found.found.stiffness, [stiffness * found.found.directions[0, 0] ** 2], rtol=1e-11)


def test_an_inverted_pendulum_is_held_by_a_rope_that_is_taut_alone() -> None:
    """Each of two ropes at its middle adds 300 N/m times (0.5 m)^2 if it is taut, and m g l = 19.62 J is against it."""
    point = "{body: rod, point: [0, 0, 0.5]}"
    for slack in (1e-3, 1e-6, -1e-6):
        found = mbsim.equilibrium(f"""mbsim: 1
bodies: {{rod: {{mass: 2, com: [0, 0, 1], inertia: {{principal: [0, 0, 0]}}}}}}
joints: {{hinge: {{type: revolute, axis: [0, 1, 0], child: rod}}}}
springs:
  a: {{between: [{{body: world, point: [-1, 0, 0.5]}}, {point}], rest_length: [0, {1 + slack!r}], stiffness: 300}}
  b: {{between: [{{body: world, point: [1, 0, 0.5]}}, {point}], rest_length: [0, {1 + slack!r}], stiffness: 300}}
simulation: {{duration: 1 s, step: 1 ms}}
""")
        assert found.stability == ("unstable" if slack > 0 else "stable")


@pytest.mark.parametrize("kink", [0.0, 1e-9, 1e-6, -1e-3, 0.2])
def test_slopes_along_a_line_are_those_of_the_side(kink: float) -> None:
    """A smooth function with a kink: its slope at 0 is that of the side of 0, or at the kink that of either side."""

    def values(offset: float) -> np.ndarray:
        x = offset * np.arange(-3, 4)
        return (np.sin(x) + 5.0 * np.maximum(x - kink, 0.0))[:, None]

    stencils = curves.CENTRAL, curves.FORWARD, curves.BACKWARD
    found = slopes_along(values, stencils, curves.OFFSETS, curves.FINER, lambda rows: float(np.abs(rows).max()), 1.0)
    slope = 6.0 if kink < 0.0 or (kink == 0.0 and found.best.side == 1) else 1.0
    assert found.has_kink == (kink == 0.0)
    assert found.best.value[0] == pytest.approx(slope, rel=1e-8)
    assert abs(found.best.value[0] - slope) <= max(100.0 * found.best.error[0], 1e-15)


@pytest.mark.parametrize(("factor", "by"), [(1.0, "exact"), (1.0 + 1e-9, "exact"), (1.0 + 1e-5, "differences")])
def test_an_exact_derivative_that_disagrees_is_refused(factor: float, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A derivative by dual numbers with an error of 1e-5 of a row is no derivative: the differences remain."""
    right = exact_derivatives._DualMotion.derivatives

    def wrong(motion: exact_derivatives._DualMotion) -> tuple[np.ndarray, ...]:
        q, v, a = right(motion)
        return q, v, factor * a

    monkeypatch.setattr(exact_derivatives._DualMotion, "derivatives", wrong)
    found = mbsim.linearize(slider(rope(1e-6)))
    assert found.derivatives == by
    assert found.A[1, 0] == pytest.approx(-50.0, rel=1e-8)


def two_sliders(springs: str, a: str = "0", b: str = "0") -> str:
    """Return two masses of 1 kg on a line along x, on springs of 100 N/m, with forces and other springs."""
    return f"""mbsim: 1
gravity: [0, 0, 0]
bodies: {{a: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}, b: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}}}
joints:
  a: {{type: prismatic, axis: [1, 0, 0], child: a, stiffness: 100, force: "{a}"}}
  b: {{type: prismatic, axis: [1, 0, 0], origin: {{position: [1, 0, 0]}}, child: b, stiffness: 100, force: "{b}"}}
springs: {{{springs}}}
simulation: {{duration: 1 s, step: 1 ms}}
"""


@pytest.mark.parametrize("largest", [60, 0])
@pytest.mark.parametrize(
    ("force", "stability", "stiffness"),
    [
        ("140*max({})", "unstable", (-40.0, 100.0)),
        ("-140*max({})", "stable", (100.0, 240.0)),
        ("150*q + 20*max({})", "unstable", (-70.0, -50.0)),
        ("-140*min({})", "stable", (100.0, 240.0)),
        ("140*min({})", "unstable", (-40.0, 100.0)),
        ("100*max({})", "neutral", (0.0, 100.0)),
    ],
)
def test_the_stability_at_a_kink_is_that_of_both_sides(
    force: str, stability: str, stiffness: tuple[float, ...], largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both spellings of the force have the same bits, with dual numbers and without."""
    monkeypatch.setattr(dual_evaluation, "LARGEST", largest)
    first, second = (mbsim.equilibrium(slider(force=force.format(each))) for each in ("q, 0", "0, q"))
    for found in (first, second):
        assert (found.stability, found.is_unique) == (stability, None if stability == "neutral" else True)
        np.testing.assert_allclose(np.sort(by_length(found)[:, 0]), stiffness, rtol=1e-9, atol=1e-9)
        assert found.found.stiffness[0] == min(side[0] for side in found.found.sides.stiffness)
    assert first.kinks == second.kinks
    np.testing.assert_array_equal(first.found.sides.stiffness, second.found.sides.stiffness)


def test_a_motion_leaves_an_equilibrium_that_one_side_makes_unstable() -> None:
    """To its side of 40 N/m, a start of 1 mm/s grows as sinh(sqrt(20/s^2) t)."""
    text = slider(force="140*max(0, q)")
    assert mbsim.equilibrium(text).stability == "unstable"
    moved = mbsim.load(text.replace("q: 0.0", "q: 0.0, v: 1e-3")).run()["joints/slide/q"].values[-1]
    assert float(moved[0]) == pytest.approx(1e-3 / math.sqrt(20.0) * math.sinh(math.sqrt(20.0)), rel=1e-3)


def test_kinks_of_two_coordinates_have_four_sides() -> None:
    """Each force adds 50 N/m, or takes 150 N/m, to one side of its coordinate."""
    for a, b, stability, least in (
        ("-50*max(q, 0)", "-50*min(0, q)", "stable", 100.0),
        ("-50*max(q, 0)", "150*min(0, q)", "unstable", -50.0),
        ("150*max(0, q)", "150*max(q, 0)", "unstable", -50.0),
    ):
        found = mbsim.equilibrium(two_sliders("", a, b))
        sides = by_length(found)
        assert found.stability == stability
        assert sides[:, 0].min() == pytest.approx(least, rel=1e-9)
        assert len({tuple(np.round(side, 3)) for side in sides}) == (
            4 if a[0] == "-" and stability == "unstable" else 3
        )


@pytest.mark.parametrize(("force", "stability", "least"), [("0", "stable", 100.0), ("150*q", "unstable", -50.0)])
def test_a_rope_between_two_sliders_has_one_kink_of_two_coordinates(force: str, stability: str, least: float) -> None:
    """Taut, it adds 300 N/m along (1, -1), 600 N/m of its eigenvalue, and slack nothing.

    The search ends within 1e-10 m of the kink: differences over 5e-5 m have errors of that ratio.
    """
    rope = "rope: {between: [{body: a}, {body: b}], rest_length: [0, 1.0], stiffness: 300}"
    found = mbsim.equilibrium(two_sliders(rope, force, force))
    assert found.stability == stability
    for side in by_length(found):
        is_taut = side[1] > 2.0 * abs(least)
        np.testing.assert_allclose(side, [least, least + 600.0 * is_taut], rtol=1e-5)
    assert set(found.kinks) in ({"a increases", "b decreases"}, {"a decreases", "b increases"})


@pytest.mark.parametrize(("force", "stability"), [("-50*max(q, 0)", "unknown"), ("150*max(0, q)", "unstable")])
def test_kinks_in_five_directions_are_too_many_for_all_sides(force: str, stability: str) -> None:
    body, count = "{mass: 1, inertia: {principal: [1, 1, 1]}}", 5
    joint = f'type: prismatic, axis: [1, 0, 0], stiffness: 100, force: "{force}"'
    found = mbsim.equilibrium(f"""mbsim: 1
gravity: [0, 0, 0]
bodies: {{{", ".join(f"b{k}: {body}" for k in range(count))}}}
joints: {{{", ".join(f"j{k}: {{{joint}, child: b{k}}}" for k in range(count))}}}
simulation: {{duration: 1 s, step: 1 ms}}
""")
    assert (found.stability, found.is_unique) == (stability, None)
    assert "more than 4 independent directions" in found.found.sides.reason
    assert len(found.kinks) == count


def test_planes_of_kinks_that_cross_between_coordinates_leave_the_stability_unknown() -> None:
    """Ropes along the diagonals of two sliders: along each coordinate both ropes act, and not all sides are known."""
    ropes = ", ".join(
        f"{name}: {{between: [{{body: world, point: [{x}, -1, 0]}}, {{body: b}}], "
        f"rest_length: [0, {math.sqrt(2.0)!r}], stiffness: 300}}"
        for name, x in (("left", -1), ("right", 1))
    )
    found = mbsim.equilibrium(f"""mbsim: 1
gravity: [0, 0, 0]
bodies: {{a: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}, b: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}}}
joints:
  a: {{type: prismatic, axis: [1, 0, 0], child: a, stiffness: 100}}
  b: {{type: prismatic, axis: [0, 1, 0], parent: a, child: b, stiffness: 100}}
springs: {{{ropes}}}
simulation: {{duration: 1 s, step: 1 ms}}
""")
    assert (found.stability, found.is_unique) == ("unknown", None)
    assert "not all of their sides are known" in found.found.sides.reason
