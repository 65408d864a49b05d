"""Data of a page, decoded here as the page does: positions and rotations within the stated bounds."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from multibody_cli.render.binary import LEVELS, ROTATION_BOUND, Binary, quantized, smallest_three

RNG = np.random.default_rng(1)


def decoded(block: bytes, about: dict) -> np.ndarray:
    count = int(np.prod(about["shape"]))
    raw = np.frombuffer(block, np.uint8, 2 * count, about["offset"]).astype(np.int64)
    folded = (raw[:count] << 8 | raw[count:]).reshape(-1, about["shape"][0])
    change = (folded >> 1) ^ -(folded & 1)
    return (np.cumsum(change, axis=1) % 65536).T.reshape(about["shape"])


def rotation_of(words: np.ndarray, largest: np.ndarray) -> np.ndarray:
    rest = (words * (2.0 / LEVELS) - 1.0) / np.sqrt(2.0)
    q = np.empty((*largest.shape, 4))
    for place in np.ndindex(largest.shape):
        q[place] = np.insert(rest[place], largest[place], np.sqrt(1.0 - (rest[place] ** 2).sum()))
    return q


def test_words_return_from_differences_of_bytes():
    words = RNG.integers(0, 65536, (50, 3, 2)).astype(np.uint16)
    binary = Binary()
    first, about, again = binary.add(np.arange(3.0), "<f4"), binary.add_series(words), binary.add_series(words)
    block = zlib.decompress(binary.compressed())
    assert (decoded(block, about) == words).all()
    assert about == again  # stored once
    assert np.frombuffer(block, "<f4", 3, first["offset"]) == pytest.approx([0.0, 1.0, 2.0])


def test_positions_are_within_half_a_step():
    values = RNG.normal(size=(400, 5, 3)) * [1.0, 1e-6, 0.0] + [0.0, 5.0, 7.0]
    words, origin, step = quantized(values)
    assert (np.abs(origin + step * words - values) <= 0.5 * step + 1e-12).all()
    assert (step <= np.ptp(values, axis=0) / LEVELS).all()


def test_values_that_are_not_finite_do_not_spoil_the_others():
    words, origin, step = quantized(np.array([[1.0], [np.nan], [3.0], [np.inf]]))
    assert (origin + step * words).ravel() == pytest.approx([1.0, 1.0, 3.0, 1.0])


def test_rotations_are_within_the_stated_bound_and_the_bound_is_not_loose():
    q = RNG.normal(size=(4000, 2, 4))
    q[:2000, 1] = [1.0, 1.0, 1.0, 1.0] + 1e-3 * q[:2000, 1]  # where the largest component is least accurate
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    back = rotation_of(*smallest_three(q))
    apart = np.minimum(np.linalg.norm(back - q, axis=-1), np.linalg.norm(back + q, axis=-1))
    angle = 4.0 * np.arcsin(0.5 * apart)
    assert ROTATION_BOUND / 4.0 < angle.max() <= ROTATION_BOUND


def test_a_hundred_bodies_and_ten_thousand_instants_take_less_than_12_megabytes():
    t = np.linspace(0.0, 60.0, 10_000)[:, None, None]
    phase, rate = RNG.uniform(0.0, 6.0, (2, 1, 100, 4))
    position = np.sin(rate * t + phase)[..., :3] + 0.2 * np.sin(7.0 * rate * t)[..., :3]
    quaternion = np.sin(3.0 * rate * t + phase)
    quaternion /= np.linalg.norm(quaternion, axis=-1, keepdims=True)
    binary = Binary()
    binary.add_series(quantized(position)[0])
    for words in smallest_three(quaternion):
        binary.add_series(words)
    assert len(binary.compressed()) * 4 / 3 < 12e6
