"""Every form of a rotation has the quaternion of SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from multibody_cli.spec.rotations import read_rotation

angles = st.floats(-3.0, 3.0).map(lambda angle: round(angle, 6))
vectors = st.tuples(angles, angles, angles)


def same(quaternion, expected: Rotation) -> bool:
    w, x, y, z = quaternion
    return (Rotation.from_quat([x, y, z, w]) * expected.inv()).magnitude() < 1e-9


@given(vector=vectors)
def test_rotvec(vector):
    assert same(read_rotation({"rotvec": list(vector)}), Rotation.from_rotvec(vector))


@given(vector=vectors, order=st.sampled_from(["XYZ", "ZXZ", "xyz", "zyx", "YXY"]))
def test_euler(vector, order):
    assert same(read_rotation({"euler": list(vector), "order": order}), Rotation.from_euler(order, vector))


def test_euler_is_about_turned_axes_unless_said_otherwise():
    assert same(read_rotation({"euler": [0.1, 0.2, 0.3]}), Rotation.from_euler("XYZ", [0.1, 0.2, 0.3]))


@given(vector=vectors)
def test_matrix(vector):
    expected = Rotation.from_rotvec(vector)
    assert same(read_rotation({"matrix": expected.as_matrix().tolist()}), expected)


@pytest.mark.parametrize("axis", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1]])
def test_matrix_of_half_turns(axis):
    expected = Rotation.from_rotvec(np.pi * np.array(axis) / np.linalg.norm(axis))
    assert same(read_rotation({"matrix": expected.as_matrix().tolist()}), expected)


def test_axis_and_angle():
    found = read_rotation({"axis": [0, 2, 0], "angle": "90 deg"})
    assert found == pytest.approx((np.sqrt(0.5), 0, np.sqrt(0.5), 0))


def test_quaternion_is_made_unit():
    found = read_rotation({"quaternion": [0.7071, 0.7071, 0, 0]})
    assert found == pytest.approx((np.sqrt(0.5), np.sqrt(0.5), 0, 0), abs=1e-15)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 0, 0, 0], "expected a rotation, one of"),
        ({}, "expected exactly one of"),
        ({"rotvek": [0, 0, 0]}, "did you mean `rotvec`"),
        (
            {"rotvec": [0, 0, 1], "angle": 1},
            "`angle` cannot be combined with `rotvec`",
        ),
        ({"axis": [0, 0, 1]}, "`axis` requires an `angle`"),
        ({"axis": [0, 0, 0], "angle": 1}, "a nonzero `axis`"),
        ({"quaternion": [1, 0, 0]}, "requires a list of 4 numbers, found a list of 3"),
        ({"euler": [0, 0, 0], "order": "XyZ"}, "an `order` of three axes"),
        ({"matrix": [[1, 0, 0], [0, 1, 0]]}, "three rows"),
    ],
)
def test_refusals(value, message):
    with pytest.raises(ValueError, match=message):
        read_rotation(value)
