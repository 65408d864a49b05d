"""Selection of channels and components; selectors without a match are reported with suggestions."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import ANGLE, LENGTH, RICH, names_of, record, samples_of

from multibody_cli.errors import ResultError
from multibody_cli.output.bodies import BODY_CHANNELS
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.selection import select, select_energies
from multibody_cli.output.sink import MemorySink, Outcome
from multibody_cli.output.trajectory import read_trajectory

TIME = np.arange(5) * 0.1


@pytest.fixture(scope="module", params=["file", "memory"])
def run(request, tmp_path_factory):
    """The same run, read from a file and from memory: labels of components are the same."""
    path = tmp_path_factory.mktemp("runs") / "run.h5"
    sink = Hdf5Sink(path) if request.param == "file" else MemorySink()
    record(sink, RICH, samples_of(RICH, TIME), Outcome("complete"))
    return read_trajectory(path) if request.param == "file" else sink.trajectory()


def names(run, *words):
    return [str(scalar) for scalar in select(run, words)]


def test_selected_values_are_those_of_the_named_channel(run):
    samples = samples_of(RICH, TIME)
    for word, expected in {
        "bodies/position[y]": [samples.position[:, 0, 1], samples.position[:, 1, 1]],
        "bodies/hand/position[z]": [samples.position[:, 1, 2]],
        "joints/bolt9/force[fx]": [samples.reaction[:, 3, 3]],
        "joints/bolt10/q": [samples.coordinates[:, 1], samples.coordinates[:, 2]],
        "momentum/linear[x]": [samples.linear_momentum[:, 0]],
    }.items():
        found = [run.channel(one.channel).values.reshape(5, -1)[:, one.column] for one in select(run, [word])]
        np.testing.assert_array_equal(found, expected, err_msg=word)


def test_selectors_are_paths_groups_patterns_and_components(run):
    assert names(run, "energy/total", "time") == ["energy/total", "time"]
    assert set(names(run, "momentum/*[z]")) == {"momentum/angular[z]", "momentum/linear[z]"}
    assert names(run, "joints/hinge/force[f*]") == [f"joints/hinge/force[{one}]" for one in ("fx", "fy", "fz")]
    # the one coordinate of a joint needs no number, but may have it
    assert names(run, "joints/hinge/q") == names(run, "joints/hinge/q[0]") == ["joints/hinge/q"]
    assert names(run, "joints/bolt10/v") == ["joints/bolt10/v[0]", "joints/bolt10/v[1]"]
    assert names(run, "bodies/*/com[x]") == ["bodies/arm/com[x]", "bodies/hand/com[x]"]
    assert {one.partition("[")[0] for one in names(run, "bodies/arm")} == {
        f"bodies/arm/{quantity}" for quantity in BODY_CHANNELS if not quantity.startswith("contact_")
    }
    assert "time" not in names(run, "*")


def test_selected_channels_are_in_the_order_of_the_scene(run):
    assert names(run, "joints/*/q") == ["joints/hinge/q", "joints/bolt10/q[0]", "joints/bolt10/q[1]", "joints/bolt9/q"]
    quantities = [name.partition("[")[0].rpartition("/")[2] for name in names(run, "joints/hinge")]
    assert list(dict.fromkeys(quantities)) == ["q", "v", "acceleration", "force", "constraint_error"]


def test_a_component_is_selected_once(run):
    both = names(run, "bodies/arm/position[x]", "bodies/position[x]")
    assert both == ["bodies/arm/position[x]", "bodies/hand/position[x]"]
    # arrays of all bodies stand for those of each
    assert names(run, "bodies") == names(run, "bodies/*")
    assert not any("com" in one for one in names(run, "bodies"))


def test_units_are_those_of_each_component(run):
    units = {str(one): one.units for one in select(run, ["joints/hinge/force", "joints/bolt10/v"])}
    assert (units["joints/hinge/force[mz]"], units["joints/hinge/force[fx]"]) == ("N m", "N")
    assert (units["joints/bolt10/v[0]"], units["joints/bolt10/v[1]"]) == ("rad/s", "m/s")


def test_error_channels_are_marked(run):
    found = {one.name: one.is_error for one in select(run, ["energy", "joints/hinge/constraint_error"])}
    assert {name for name, is_error in found.items() if is_error} == {
        "energy/ledger_residual",
        "joints/hinge/constraint_error",
    }


def test_all_selectors_without_a_match_are_reported(run):
    with pytest.raises(ResultError) as refused:
        select(run, ["joints/hing/q[0]", "energy/total[x]", "joints/hinge/force[fq]", "bodies/hand/con", "time"])
    assert str(refused.value).splitlines() == [
        f"{run.source} has no channel or group `joints/hing/q`: did you mean `joints/hinge/q`?",
        f"{run.source}: energy/total has no component `x`: it is a single number",
        f"{run.source}: joints/hinge/force has no component `fq`: valid: fx, fy, fz, mx, my, mz",
        f"{run.source} has no channel or group `bodies/hand/con`: did you mean `bodies/hand/com`?",
    ]


@pytest.mark.parametrize(
    ("word", "remedy"),
    {
        "bodies/hand/com[fz]": "did you mean `z`?",
        "joints/hinge/force[z]": "did you mean `fz` or `mz`?",
    }.items(),
)
def test_vectors_and_wrenches_suggest_their_own_components(run, word, remedy):
    with pytest.raises(ResultError) as refused:
        select(run, [word])
    assert str(refused.value).endswith(remedy)


def test_missing_sources_of_a_body_channel_are_reported():
    memory = MemorySink(["bodies/position"])
    record(memory, RICH, samples_of(RICH, TIME), Outcome("complete"))
    run = memory.trajectory()
    assert {one.name for one in select(run, ["bodies/arm"])} == {"bodies/arm/position"}
    with pytest.raises(ResultError, match="bodies/arm/com requires bodies/quaternion"):
        select(run, ["bodies/arm/com"])
    with pytest.raises(ResultError, match=r"has no energies, which `output\.channels` excludes"):
        select_energies(run)


def test_energies_include_ledger_entries_with_nonzero_values():
    samples = samples_of(RICH, TIME)
    samples.accounts[:, 1] = 0.0  # the work of forces/wind
    memory = MemorySink()
    record(memory, RICH, samples, Outcome("complete"))
    assert [str(one) for one in select_energies(memory.trajectory())] == [
        "energy/kinetic",
        "energy/potential",
        "energy/elastic",
        "energy/total",
        "energy/work/joints/hinge/force",
        "energy/dissipation/joints/hinge/damping",
        "energy/ledger_residual",
    ]


def test_each_coordinate_of_a_joint_has_its_own_units():
    names_of_base = names_of(joints=[("base", (LENGTH,) * 3 + (ANGLE,) * 3)])
    memory = MemorySink()
    record(memory, names_of_base, samples_of(names_of_base, TIME), Outcome("complete"))
    units = [one.units for one in select(memory.trajectory(), ["joints/base/q"])]
    assert units == ["m", "m", "m", "rad", "rad", "rad"]
