"""Channels: every sample of a run is written, with the documented name, units and sign."""

from __future__ import annotations

import json

import numpy as np
import pytest
from fakes import ANGLE, LENGTH, RICH, names_of, part_of, samples_of

from multibody_cli.errors import ArgumentError
from multibody_cli.model import Account
from multibody_cli.output.channels import CHANNELS
from multibody_cli.output.elements import DIMENSIONS, EXPANSIONS
from multibody_cli.output.history import History
from multibody_cli.output.schema import describe, render_markdown
from multibody_cli.output.series import select_channels, series_of
from multibody_cli.output.sink import block_rows

TIME = np.linspace(0.0, 1.0, 41)


def read_all(names, samples, sizes):
    """Read every series of a run that is written in blocks of these sizes."""
    history, start, blocks = History(names), 0, []
    for size in sizes:
        blocks.append(history.block(part_of(samples, start, start + size), size))
        start += size
    return {one.path: np.concatenate([one.read(block) for block in blocks]) for one in series_of(names)}


def test_every_series_has_its_declared_shape():
    values = read_all(RICH, samples_of(RICH, TIME), [41])
    for one in series_of(RICH):
        assert values[one.path].shape == (41, *one.shape)


def test_every_path_of_the_registry_expands():
    for channel in CHANNELS:
        assert channel.expansion in EXPANSIONS
        assert set(channel.dimensions) <= set(DIMENSIONS)
        assert channel.description.endswith(".")
        assert channel.units
    assert len({channel.path for channel in CHANNELS}) == len(CHANNELS)


def test_each_joint_has_its_own_columns():
    samples = samples_of(RICH, TIME)
    values = read_all(RICH, samples, [41])
    np.testing.assert_array_equal(values["joints/bolt10/q"], samples.coordinates[:, 1:3])
    np.testing.assert_array_equal(values["joints/bolt9/v"], samples.velocity[:, 3:4])
    np.testing.assert_array_equal(values["joints/bolt9/force"], samples.reaction[:, 3])
    assert "joints/weld/q" not in values
    assert values["joints/weld/force"].shape == (41, 6)


def test_units_follow_the_coordinates():
    units = {one.path: one.units for one in series_of(RICH)}
    assert units["joints/hinge/q"] == "rad"
    assert units["joints/bolt9/acceleration"] == "m/s^2"
    assert units["joints/bolt10/v"] == "rad/s, m/s"
    free = names_of(joints=[("base", (LENGTH,) * 3 + (ANGLE,) * 3)])
    assert {one.path: one.units for one in series_of(free)}["joints/base/q"] == "m, m, m, rad, rad, rad"


def test_residual_closes_the_ledger():
    samples = samples_of(RICH, TIME)
    values = read_all(RICH, samples, [7, 1, 33])
    total = samples.kinetic + samples.potential + samples.elastic
    work = values["energy/work/joints/hinge/force"] + values["energy/work/forces/wind"]
    missing = total - total[0] - (work - work[0])
    loss = values["energy/dissipation/joints/hinge/damping"]
    np.testing.assert_allclose(values["energy/ledger_residual"], missing + loss - loss[0], atol=1e-14)
    np.testing.assert_allclose(values["energy/total"], total)


@pytest.mark.parametrize("sizes", [[41], [1] * 41, [20, 21]])
def test_quaternions_are_continuous_over_blocks(sizes):
    angle = np.linspace(0.0, 9.0 * np.pi, 41)
    turning = np.stack([np.cos(angle / 2), 0 * angle, np.sin(angle / 2), 0 * angle], axis=1)
    random_signs = np.random.default_rng(1).choice([-1.0, 1.0], (41, 2, 1))
    samples = samples_of(RICH, TIME)._replace(quaternion=random_signs * turning[:, None])
    found = read_all(RICH, samples, sizes)["bodies/quaternion"]
    # four and a half turns: w follows the cosine of half the angle through both signs
    np.testing.assert_allclose(found, np.stack([turning, turning], axis=1), atol=1e-15)


def test_first_quaternion_has_a_sign_even_where_w_is_zero():
    half_turn = np.array([[[0.0, 0.0, -1.0, 0.0], [0.0, 0.6, -0.8, 0.0]]])
    samples = samples_of(RICH, [0.0])._replace(quaternion=half_turn)
    found = read_all(RICH, samples, [1])["bodies/quaternion"]
    np.testing.assert_array_equal(found, [[[0, 0, 1, 0], [0, 0.6, -0.8, 0]]])


def test_channels_are_selected_by_path_group_and_wildcard():
    def chosen(*patterns):
        return [one.path for one in select_channels(patterns, RICH)]

    assert chosen("joints/hinge/q") == ["time", "joints/hinge/q"]
    assert chosen("momentum", "time") == ["time", "momentum/linear", "momentum/angular"]
    assert chosen("joints/*/v") == ["time", "joints/hinge/v", "joints/bolt10/v", "joints/bolt9/v"]
    assert chosen() == ["time"]
    assert select_channels(None, RICH) == series_of(RICH)
    # `joints/bolt1` is no group although the text starts the same
    with pytest.raises(ArgumentError):
        chosen("joints/bolt1")


def test_a_group_may_be_empty():
    nothing = names_of(joints=())
    assert [one.path for one in select_channels(["joints", "energy/work"], nothing)] == ["time"]


def test_all_unknown_channels_are_reported_with_suggestions():
    with pytest.raises(ArgumentError) as refused:
        select_channels(["joints/hing/q", "energie", "time"], RICH)
    first, second = str(refused.value).splitlines()
    assert "joints/hing/q" in first
    assert "did you mean `joints/hinge/q`?" in first
    assert "did you mean `energy`?" in second


def test_names_cannot_escape_their_group():
    names = names_of(
        joints=[("..", (ANGLE,)), ("a/b", (ANGLE,)), (".", (ANGLE,)), ("a.b", (ANGLE,)), ("{q}", (ANGLE,))]
    )
    paths = [one.path for one in series_of(names) if one.path.startswith("joints/") and one.path.endswith("/q")]
    assert paths == ["joints/%2E%2E/q", "joints/a%2Fb/q", "joints/%2E/q", "joints/a%2Eb/q", "joints/%7Bq%7D/q"]


@pytest.mark.parametrize("rows", [1, 2, 999, 1001, 1500, 10_001, 100_001])
def test_blocks_have_about_a_thousand_rows_and_cover_all_rows(rows):
    size = block_rows(rows, RICH)
    blocks = -(-rows // size)
    assert size <= 1500
    assert size >= min(rows, 666)
    assert blocks * size - rows < blocks


def test_blocks_of_a_large_model_stay_small():
    names = names_of(joints=[(f"j{i}", (ANGLE,)) for i in range(5000)], bodies=[f"b{i}" for i in range(5000)])
    assert 1 <= block_rows(100_000, names) * 5000 * 26 * 8 <= 1.6 * 2**26


def test_the_description_lists_every_channel_once():
    listed = json.loads(json.dumps(describe()))["datasets"]
    assert [entry["path"].replace("<", "{").replace(">", "}") for entry in listed] == [one.path for one in CHANNELS]
    page = render_markdown()
    assert all(page.count(f"| `{entry['path']}` |") == 1 for entry in listed)


def test_a_model_without_ledger_entries_has_no_such_channels():
    names = names_of(accounts=[Account("work", "forces/wind")])
    paths = [one.path for one in series_of(names)]
    assert "energy/work/forces/wind" in paths
    assert not any(path.startswith("energy/dissipation") for path in paths)
