"""Frequency responses with closed forms."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.errors import ArgumentError
from multibody_cli.pictures.bode import draw_response
from multibody_cli.studies.vibration.response import read_frequencies, response_of, write_response

SETTINGS = "simulation: {duration: 1 s, step: 1 ms}\n"


def oscillator(damping: float) -> str:
    """Return a mass of 2 kg on a spring of 50 N/m."""
    rail = f"{{type: prismatic, axis: [1, 0, 0], child: box, stiffness: 50, damping: {damping}}}"
    body = "{mass: 2, inertia: {principal: [1, 1, 1]}}"
    return f"mbsim: 1\ngravity: [0, 0, 0]\nbodies: {{box: {body}}}\njoints: {{rail: {rail}}}\n{SETTINGS}"


@pytest.mark.parametrize("damping", [0.0, 1e-3, 4.0, 20.0, 100.0])
def test_an_oscillator_has_the_response_of_textbooks(damping: float) -> None:
    """1/(m s^2 + d s + k) of the position, s and s^2 times it of rate and acceleration; 20 N s/m are critical."""
    outputs = ["joints/rail/q", "joints/rail/v", "joints/rail/acceleration"]
    found = response_of(mbsim.linearize(oscillator(damping), outputs=outputs))
    assert (found.inputs, found.outputs) == (("force/rail",), tuple(outputs))
    s = 2j * np.pi * found.frequencies
    exact = 1.0 / (2 * s**2 + damping * s + 50)
    for k, factor in enumerate((1.0, s, s**2)):
        np.testing.assert_allclose(found.values[:, k, 0], factor * exact, rtol=1e-9)
    # the phase is that of the response, and falls from 0 to -180 degrees without a jump to the other side
    phase = found.phases[:, 0, 0]
    np.testing.assert_allclose(np.exp(1j * np.radians(phase)), exact / np.abs(exact), atol=1e-5)
    assert abs(phase[0]) < 75.0
    assert phase[-1] == pytest.approx(-180.0, abs=15.0)
    assert (np.diff(phase) < 1e-6).all()


def test_the_phase_rises_at_a_zero_without_damping() -> None:
    """Two masses on springs: the first one stands still at the frequency of the second on its spring."""
    rail = "type: prismatic, axis: [1, 0, 0]"
    body = "{mass: 1, inertia: {principal: [1, 1, 1]}}"
    system = mbsim.linearize(
        f"""mbsim: 1
gravity: [0, 0, 0]
bodies: {{a: {body}, b: {body}}}
joints: {{a: {{{rail}, child: a, stiffness: 100}}, b: {{{rail}, child: b, parent: a, stiffness: 100}}}}
{SETTINGS}""",
        inputs=["force/a"],
        outputs=["joints/a/q"],
    )
    found = response_of(system, 0.5, 10.0)
    w = np.array([0.7, 1.2, 1.8, 5.0]) * 2 * np.pi  # below, between and above 6.18, 10 and 16.2 rad/s
    phases = [np.interp(x / (2 * np.pi), found.frequencies, found.phases[:, 0, 0]) for x in w]
    np.testing.assert_allclose(phases, [0, -180, 0, -180], atol=1e-3)
    np.testing.assert_allclose(np.abs(system.response(np.array([10j]))), 0.0, atol=1e-12)


def test_damped_resonances_are_among_the_frequencies() -> None:
    found = response_of(mbsim.linearize(oscillator(0.001), outputs=["joints/rail/q"]))
    assert np.abs(found.values).max() == pytest.approx(1.0 / (0.001 * 5.0), rel=1e-6)


def test_tables_and_pictures(tmp_path: Path) -> None:
    system = mbsim.linearize(oscillator(4.0), outputs=["joints/rail/q", "joints/rail/v"])
    found = response_of(system, 0.1, 10.0)
    write_response(found, tmp_path / "response.csv")
    with (tmp_path / "response.csv").open(encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    assert names[:3] == [
        "frequency (Hz)", "magnitude of joints/rail/q by force/rail (SI)", "phase of joints/rail/q by force/rail (deg)",
    ]  # fmt: skip
    table = np.array(rows, float)
    np.testing.assert_array_equal(table[:, 0], found.frequencies)
    np.testing.assert_array_equal(table[:, 3], np.abs(found.values[:, 1, 0]))
    magnitude, phase = draw_response(found).axes
    assert [line.get_ydata().tolist() for line in phase.lines] == found.phases[:, :, 0].T.tolist()
    assert [text.get_text() for text in magnitude.get_legend().get_texts()] == ["joints/rail/q", "joints/rail/v"]


def test_ranges_are_two_frequencies() -> None:
    assert read_frequencies("0.1, 20 Hz") == (0.1, 20.0)
    assert read_frequencies(None) == (None, None)
    for text in ("1", "1,2,3", "low,high"):
        with pytest.raises(ArgumentError, match="expected two frequencies"):
            read_frequencies(text)
    system = mbsim.linearize(oscillator(4.0))
    for low, high in ((2.0, 1.0), (0.0, 1.0), (1.0, float("inf")), (float("nan"), 1.0)):
        with pytest.raises(ArgumentError, match="expected two frequencies above 0"):
            response_of(system, low, high)
