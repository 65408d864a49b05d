"""The resolved scene, written as text, is the same scene again."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scene_texts import HEAD, load
from test_resolve import CHAIN

from multibody_cli.document.formats import yaml
from multibody_cli.nodes import Problems, plain
from multibody_cli.scene.dump import dump_resolved


def test_resolved_scene_loads_again_as_the_same(tmp_path):
    first = load(tmp_path, CHAIN)
    again = load(tmp_path, first.text)
    assert again.scene == first.scene
    assert again.text == first.text
    assert "${" not in first.text
    assert not again.data.keys() & {"vars", "repeat", "include"}


def test_overrides_are_in_the_text(tmp_path):
    first = load(tmp_path, HEAD, "simulation.step=5 ms")
    assert load(tmp_path, first.text).scene.simulation.step == 0.005


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
keys = texts.filter(lambda key: key != "<<")  # refused as a key, whoever writes it
leaves = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | texts
trees = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.dictionaries(keys, trees, min_size=1, max_size=4))
@example(data={"a": ["<<", {"b": "<<"}], "<": {"<<<": "<<"}})
def test_any_data_survives_the_round_trip(data):
    problems = Problems()
    found = plain(yaml.read(dump_resolved(data), "scene.yaml", problems))
    assert found == data
    assert len(problems) == 0


@pytest.mark.parametrize("data", [{"<<": 1}, {"a": {"<<": 1}}, {"a": [{"b": {"<<": {}}}]}])
def test_a_merge_key_is_refused_at_any_depth(data):
    problems = Problems()
    yaml.read(dump_resolved(data), "scene.yaml", problems)
    assert len(problems) == 1


@pytest.mark.parametrize(
    "text", ["no", "1e-3", "true", "~", "", "a: b", "#x", "- a", "12:30", "\u2028", "\ufeff", "\x7f"]
)
def test_text_that_looks_like_a_number_stays_text(text):
    assert plain(yaml.read(dump_resolved({"name": text}), "scene.yaml", Problems())) == {"name": text}
