"""Response surfaces, main effects and indices in pictures of sweeps, against functions in closed form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import qmc

from multibody_cli.errors import ArgumentError, ResultError
from multibody_cli.output.rows import Column, Rows
from multibody_cli.output.sweep_table import KeyValues, SweepTable, write_sweep_table
from multibody_cli.pictures.responses import GROUPS, effects_of
from multibody_cli.pictures.style import STYLES
from multibody_cli.pictures.sweeps import draw_sweep

Z = Column("z final", "m", "A number.")


def table_of(path: Path, keys: dict[str, np.ndarray], z: np.ndarray, definition: str = "{}") -> SweepTable:
    """Write a table with a row for each value."""
    runs = np.arange(len(z))
    columns = [
        KeyValues(
            Column(name, "", "A key."), lambda some, own=own: own[some], own.dtype.itemsize * (own.dtype.kind == "S")
        )
        for name, own in keys.items()
    ]
    rows = Rows(runs, [("complete", "", "")] * len(z), (Z,), z.reshape(-1, 1))
    attributes = {"definition": definition, "name": "t"}
    lengths = {"status": 8, "reason": 0, "alarms": 0}
    write_sweep_table(path, attributes, columns, [Z], lengths, runs, lambda some: [_some(rows, some)])
    return SweepTable(path)


def _some(rows: Rows, some: np.ndarray) -> Rows:
    return Rows(some, [rows.endings[k] for k in some], rows.columns, rows.values[some])


def grid(xs: np.ndarray, ys: np.ndarray) -> dict[str, np.ndarray]:
    """Return the keys of a grid, the last one fastest."""
    x, y = np.meshgrid(xs, ys, indexing="ij")
    return {"vars.x": x.ravel(), "vars.y": y.ravel()}


def anywhere(*_: object) -> dict[str, np.ndarray]:
    """Return keys of random points in the unit square."""
    x, y = np.random.default_rng(3).uniform(size=(2, 40))
    return {"vars.x": x, "vars.y": y}


@pytest.mark.parametrize("design", [grid, anywhere])
def test_contours_of_a_linear_function_are_its_lines(tmp_path: Path, design: Callable) -> None:
    keys = design(np.linspace(0.0, 1.0, 4), np.array([0.0, 0.2, 1.0]))
    table = table_of(tmp_path / "t.h5", keys, 2.0 * keys["vars.x"] - 3.0 * keys["vars.y"])
    figure, remarks = draw_sweep(table, [], STYLES["screen"], "surface")
    axes = figure.axes[0]
    lines = axes.collections[1]
    count = 0
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        for x, y in path.vertices:
            assert 2.0 * x - 3.0 * y == pytest.approx(level, abs=1e-12)
            count += 1
    assert count > 20
    assert remarks == []
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("vars.x", "vars.y")


def test_labels_of_close_contours_do_not_overlap(tmp_path: Path) -> None:
    """Contours of a function that is flat but near an edge stand close together."""
    keys = grid(np.linspace(0.0, 1.0, 21), np.linspace(0.0, 1.0, 5))
    table = table_of(tmp_path / "t.h5", keys, 1e3 * keys["vars.x"] ** 16 + 1e-3 * keys["vars.y"])
    figure, _ = draw_sweep(table, [], STYLES["screen"], "surface")
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) >= 2
    assert not any(box.overlaps(other) for k, box in enumerate(boxes) for other in boxes[:k])


def test_a_surface_leaves_out_runs_without_numbers(tmp_path: Path) -> None:
    keys = grid(np.arange(4.0), np.arange(3.0))
    z = keys["vars.x"] + keys["vars.y"]
    z[0] = np.nan
    table = table_of(tmp_path / "t.h5", keys, z)
    figure, remarks = draw_sweep(table, [], STYLES["screen"], "surface")
    assert remarks == ["1 of 12 runs have no number and are left out"]
    corners = np.vstack([path.vertices for path in figure.axes[0].collections[0].get_paths()])
    assert np.hypot(*corners.T).min() == pytest.approx(1.0)  # the cell of the run at (0, 0) is empty


def test_runs_on_a_line_and_other_keys_have_no_surface(tmp_path: Path) -> None:
    x = np.linspace(0.0, 1.0, 5)
    line = table_of(tmp_path / "line.h5", {"vars.x": x, "vars.y": 2.0 * x}, x**2)
    with pytest.raises(ResultError, match="too few, or on one line, for a surface"):
        draw_sweep(line, [], STYLES["screen"], "surface")
    texts = table_of(tmp_path / "texts.h5", {"vars.x": x, "method": np.array([b"a", b"b", b"a", b"b", b"a"])}, x)
    with pytest.raises(ArgumentError, match=r"requires a sweep of two keys of numbers, found vars\.x, method"):
        draw_sweep(texts, [], STYLES["screen"], "surface")
    with pytest.raises(ArgumentError, match="requires a complete sweep with --sampling saltelli"):
        draw_sweep(texts, [], STYLES["screen"], "indices")


def test_main_effects_of_a_sum_are_its_terms(tmp_path: Path) -> None:
    """On a grid, z = x^2 + sin(y) has the means x^2 + mean(sin(y)) and sin(y) + mean(x^2)."""
    xs, ys = np.array([-1.0, 0.0, 2.0]), np.linspace(0.0, 3.0, 6)
    keys = grid(xs, ys)
    table = table_of(tmp_path / "t.h5", keys, keys["vars.x"] ** 2 + np.sin(keys["vars.y"]))
    figure, _ = draw_sweep(table, [], STYLES["screen"], "effects")
    expected = ((xs, xs**2 + np.sin(ys).mean()), (ys, np.sin(ys) + (xs**2).mean()))
    for axes, (places, means) in zip(figure.axes, expected, strict=True):
        mean, effect = axes.lines
        np.testing.assert_allclose(effect.get_xydata(), np.column_stack([places, means]), atol=1e-14)
        assert mean.get_ydata()[0] == pytest.approx(np.mean(xs**2) + np.mean(np.sin(ys)), abs=1e-14)


def test_values_that_all_differ_are_grouped_with_the_means_of_a_line() -> None:
    x = np.random.default_rng(1).permutation(np.linspace(0.0, 1.0, 4 * GROUPS))
    places, means = effects_of(x, 3.0 * x + 1.0)
    assert len(places) == GROUPS
    np.testing.assert_allclose(means, 3.0 * places + 1.0, atol=1e-14)


def test_indices_are_drawn_with_their_intervals(tmp_path: Path) -> None:
    """Of x + 2 y with N points A, N points B and those of A with one key of B; the default form of such a table."""
    base = 256
    a, b = np.split(2.0 * qmc.Sobol(4, rng=np.random.default_rng(0)).random(base) - 1.0, 2, axis=1)
    points = np.vstack([a, b, np.column_stack([b[:, 0], a[:, 1]]), np.column_stack([a[:, 0], b[:, 1]])])
    keys = {"vars.x": points[:, 0], "vars.y": points[:, 1]}
    table = table_of(tmp_path / "t.h5", keys, points @ [1.0, 2.0], f'{{"saltelli": {base}}}')
    figure, _ = draw_sweep(table, [], STYLES["screen"])
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    assert heights == pytest.approx([0.2, 0.8, 0.2, 0.8], abs=0.05)
