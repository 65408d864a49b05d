"""`mbsim bench` and the study behind it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from ending import Command

from multibody_cli.cli import bench as bench_verb
from multibody_cli.studies import bench
from multibody_cli.studies.bench import Block, bytes_of, count_long_enough, growth, time_blocks

CHAIN = """\
mbsim: 1
name: chain
vars: {n: 2}
repeat:
  - count: "${n}"
    index: i
    bodies: {"link${i}": {mass: 1, shapes: [{type: box, size: [0.1, 0.1, 1]}]}}
    joints:
      "joint${i}": {type: revolute, parent: "${'world' if i == 0 else concat('link', i - 1)}",
                    child: "link${i}", axis: [0, 1, 0], child_origin: {position: [0, 0, 1]}, q: 0.1}
simulation: {duration: 1, step: 1 ms}
"""


@pytest.fixture
def chain(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(bench, "SHORTEST_BLOCK", 0.001)
    (folder / "chain.yaml").write_text(CHAIN)
    return "chain.yaml"


@pytest.mark.parametrize("exponent", [-1.0, 0.0, 1.0, 2.5])
def test_growth_finds_the_exponent(exponent: float) -> None:
    sizes = [2.0, 4.0, 10.0, 50.0]
    fit = growth(sizes, [3e-6 * size**exponent for size in sizes])
    assert fit is not None
    assert fit.standard_error is not None
    np.testing.assert_allclose(fit.exponent, exponent, atol=1e-12)
    np.testing.assert_allclose(fit.standard_error, 0.0, atol=1e-12)


def test_growth_of_scattered_costs_has_the_error_of_linear_regression() -> None:
    x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.5, 1.5, 3.0])
    fit = growth(np.exp(x), np.exp(y))
    assert fit is not None
    # slope 0.9; residuals -0.15, 0.45, -0.45, 0.15; sqrt(0.45 / 2 / 5)
    np.testing.assert_allclose([fit.exponent, fit.standard_error], [0.9, np.sqrt(0.045)])


def test_growth_needs_two_sizes() -> None:
    assert growth([], []) is None
    assert growth([3.0, 3.0], [1.0, 2.0]) is None
    two = growth([1.0, 2.0], [1.0, 2.0])
    assert two is not None
    assert two.standard_error is None


def test_blocks_last_long_enough_and_the_median_is_of_costs() -> None:
    def block(count: int) -> Block:
        return Block(seconds=1e-6 * count, done=count)

    count = count_long_enough(block)
    assert 0.02 <= 1e-6 * count <= 0.1
    timing = time_blocks(block, count, 5)
    np.testing.assert_allclose([timing.median, timing.fastest, timing.slowest], 1e-6)


def test_blocks_stay_short_of_a_divergence() -> None:
    count = count_long_enough(lambda count: Block(1e-9 * count, count, sound=count < 1000))
    assert 1 <= count < 1000


def test_bytes_of_nested_arrays() -> None:
    assert bytes_of((np.zeros(3), (np.zeros((2, 2)), 5), ())) == 56


def test_json_alone_on_stdout(mbsim: Command, chain: str) -> None:
    ending = mbsim("bench", chain, "--method", "aba", "--size", "vars.n=2,4,8", "--repeat", "3", "--json", "-")
    assert ending.code == 0
    data = json.loads(ending.stdout)
    assert data["status"] == "complete"
    assert [one["bodies"] for one in data["measurements"]] == [2, 4, 8]
    for one in data["measurements"]:
        for timing in (one["step"], one["evaluation"]):
            assert 0 < timing["fastest"] <= timing["median"] <= timing["slowest"]
        np.testing.assert_allclose(one["real_time_factor"], 1e-3 * one["steps_per_second"], rtol=1e-9)
        assert one["first_call"] > 0
    small, _, large = (one["memory"] for one in data["measurements"])
    assert small < large < 4 * small
    [fits] = data["growth"].values()
    assert set(fits) == {"step", "evaluation"}


def test_table_and_json_file(mbsim: Command, chain: str, folder: Path) -> None:
    ending = mbsim("bench", chain, "--size", "vars.n=2,4", "--repeat", "1", "--json", "bench.json")
    assert ending.code == 0
    head, *rows = ending.stdout.splitlines()
    assert "step us" in head
    assert len([row for row in rows if row.startswith("chain  aba")]) == 2
    assert "grows as size^" in ending.stdout
    assert len(json.loads((folder / "bench.json").read_text())["measurements"]) == 2


def test_what_was_measured_before_an_interruption_is_kept(
    mbsim: Command, chain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = bench_verb._measure

    def interrupt(case: bench_verb.Case, repeat: int) -> bench.Measurement:
        if case.size == 4:
            raise KeyboardInterrupt
        return measure(case, repeat)

    monkeypatch.setattr(bench_verb, "_measure", interrupt)
    ending = mbsim("bench", chain, "--size", "vars.n=2,4", "--repeat", "1", "--json", "-")
    assert ending.code == 130
    data = json.loads(ending.stdout)
    assert data["status"] == "interrupted"
    assert len(data["measurements"]) == 1


def test_a_scene_that_is_refused_ends_with_2_and_keeps_the_rest(mbsim: Command, chain: str) -> None:
    ending = mbsim("bench", chain, "missing.yaml", "--repeat", "1", "--json", "-")
    assert ending.code == 2
    assert "missing.yaml" in ending.stderr
    assert len(json.loads(ending.stdout)["measurements"]) == 1
