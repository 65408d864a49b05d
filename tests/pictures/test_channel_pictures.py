"""Plots of channels: panels, labels, and warnings about omitted lines."""

from __future__ import annotations

import re
import sys
import warnings

import numpy as np
import pytest
from drawn_runs import energies, forces, positions, record, run_of
from matplotlib.colors import to_hex

from multibody_cli.errors import ArgumentError, OutputError, ResultError
from multibody_cli.immutable import replace
from multibody_cli.output.selection import select, select_energies
from multibody_cli.pictures.channels import MOST_LINES, LineStyles, PicturedRun, draw
from multibody_cli.pictures.panels import arrange
from multibody_cli.pictures.style import COLORS, STYLES, new_figure, require_format, save

TIME = np.linspace(0.0, 2.0, 41)


def shown(run, *words, label="run"):
    return PicturedRun(label, run, select(run, words) if words else select_energies(run))


def panels_of(figure):
    """Title, label of the axis and legend of each panel, from the top."""
    return [
        (axes.get_title(loc="left"), axes.get_ylabel(), [text.get_text() for text in axes.get_legend().get_texts()])
        if axes.get_legend()
        else (axes.get_title(loc="left"), axes.get_ylabel(), [])
        for axes in figure.axes
    ]


def test_energies_and_the_residual_of_the_ledger():
    lost = "energy/dissipation/joints/elbow/damping"
    run = run_of(*energies(TIME, **{lost: 0.1 * TIME}), time=TIME)
    figure, remarks = draw([shown(run)])
    assert remarks == []
    assert panels_of(figure) == [
        ("energy", "energy, J", ["kinetic", "potential", "elastic", "total", "dissipation/joints/elbow/damping"]),
        ("energy/ledger_residual", "energy, J", []),
    ]
    above, below = figure.axes
    np.testing.assert_array_equal(above.lines[0].get_xydata(), np.stack([TIME, np.sin(TIME) ** 2], axis=1))
    np.testing.assert_array_equal(above.lines[4].get_ydata(), 0.1 * TIME)
    np.testing.assert_array_equal(below.lines[0].get_ydata(), 1e-12 * TIME)
    assert [to_hex(line.get_color()) for line in above.lines] == list(COLORS[:5])
    assert (above.get_xlabel(), below.get_xlabel()) == ("", "time, s")
    assert figure.get_suptitle() == "swing: aba, rk4, step 0.001 s"


def test_a_wrench_has_a_panel_for_moments_and_one_for_forces():
    run = run_of(forces(TIME), time=TIME)
    figure, _ = draw([shown(run, "joints")])
    assert panels_of(figure) == [
        ("joints/hinge/force", "moment, N·m", ["mx", "my", "mz"]),
        ("joints/hinge/force", "force, N", ["fx", "fy", "fz"]),
    ]
    assert figure.axes[1].lines[2].get_ydata()[-1] == 10.0  # fz is the sixth number: 5 t


def test_a_legend_complements_the_title():
    run = run_of(positions(TIME), forces(TIME), forces(TIME, "elbow"), record("joints/a/q", TIME, "m"), time=TIME)

    def titles(*words):
        return [(panel.title, list(panel.labels.values())) for panel in arrange(select(run, words), MOST_LINES)]

    assert titles("bodies/position[x]") == [("bodies/*/position[x]", ["arm", "hand"])]
    assert titles("bodies/hand/position") == [("bodies/hand/position", ["x", "y", "z"])]
    assert titles("joints/*/force[fz]") == [("joints/*/force[fz]", ["hinge", "elbow"])]
    assert titles("joints/hinge/force[fz]") == [("joints/hinge/force[fz]", [""])]
    assert titles("bodies/hand/position[z]", "joints/a/q") == [("", ["bodies/hand/position z", "joints/a/q"])]


@pytest.mark.parametrize(
    ("status", "ending"),
    [
        ("complete", ""),
        ("diverged", ", diverged at 2 s"),
        ("interrupted", ", interrupted at 2 s"),
        ("running", ", cut off at 2 s"),
    ],
)
def test_a_title_has_the_status_of_an_incomplete_run(status, ending):
    run = run_of(*energies(TIME), time=TIME, status=status, integrator="")
    figure, _ = draw([shown(run)])
    assert figure.get_suptitle() == f"swing: aba, step 0.001 s{ending}"


def test_runs_differ_by_line_style_if_components_have_colors():
    runs = [run_of(forces((k + 1) * TIME), time=TIME, method=method) for k, method in enumerate(("aba", "redmax"))]
    figure, _ = draw([shown(run, "joints", label=name) for run, name in zip(runs, ("one", "_two"), strict=True)])
    for axes in figure.axes:
        first, second = axes.lines[:3], axes.lines[3:]
        assert [line.get_color() for line in first] == [line.get_color() for line in second] == list(COLORS[:3])
        assert {line.get_linestyle() for line in first} == {"-"}
        assert {line.get_linestyle() for line in second} == {"--"}
        np.testing.assert_array_equal(second[2].get_ydata(), 2 * first[2].get_ydata())
    [legend] = figure.legends
    assert legend.get_title().get_text() == "swing"
    assert [text.get_text() for text in legend.get_texts()] == [
        "one: aba, rk4, step 0.001 s",
        "_two: redmax, rk4, step 0.001 s",
    ]
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["mx", "my", "mz"]


def test_runs_differ_by_color_if_panels_have_one_component():
    runs = [run_of(forces(TIME), time=TIME) for _ in range(3)]
    figure, _ = draw([shown(run, "joints/hinge/force[fz]") for run in runs])
    [axes] = figure.axes
    assert [line.get_color() for line in axes.lines] == list(COLORS[:3])
    assert axes.get_legend() is None


def test_runs_may_have_different_lengths_and_channels():
    one = run_of(forces(TIME), record("joints/slide/q", TIME, "m"), time=TIME)
    other = run_of(forces(TIME[:7]), record("joints/slide/q", TIME[:7], "rad"), time=TIME[:7])
    figure, _ = draw([shown(one, "joints/*/q"), shown(other, "joints/*/q")])
    assert [(units, len(axes.lines)) for (_, units, _), axes in zip(panels_of(figure), figure.axes, strict=True)] == [
        ("displacement, m", 1),
        ("angle, rad", 1),
    ]
    assert [len(axes.lines[0].get_xdata()) for axes in figure.axes] == [41, 7]


def test_omitted_lines_are_reported():
    bodies = tuple(f"b{k}" for k in range(30))
    run = run_of(positions(TIME, bodies), time=TIME, bodies=bodies)
    figure, remarks = draw([shown(run, "bodies/position")])
    assert len(figure.axes[0].lines) == MOST_LINES
    styles = {str(LineStyles(several=False, alone=False).of_line(0, place)) for place in range(MOST_LINES)}
    assert len(styles) == MOST_LINES  # no two lines look the same
    [remark] = remarks
    assert remark.startswith(f"bodies/*/position: {90 - MOST_LINES} of 90 lines are omitted")
    assert draw([shown(run, "bodies/position[x]")])[1][0].startswith("bodies/*/position[x]: 9 of 30 lines")
    two, remarks = draw([shown(run, "bodies/position"), shown(run, "bodies/position")])
    assert len(two.axes[0].lines) == 2 * len(COLORS)
    assert remarks[0].startswith("bodies/*/position: 83 of 90 lines")


def test_nonfinite_values_are_reported_and_leave_a_break_in_the_line(tmp_path):
    values = TIME.copy()
    values[3:6] = [np.nan, np.inf, -1e300]
    run = run_of(record("joints/slide/q", values, "m"), record("joints/lost/q", 0 * TIME + np.nan, "m"), time=TIME)
    figure, remarks = draw([shown(run, "joints")])
    assert remarks == [
        "run.h5: joints/slide/q is not finite or exceeds 1e+100 at 3 of 41 instants, which are not drawn",
        "run.h5: joints/lost/q is not finite or exceeds 1e+100 at 41 of 41 instants, which are not drawn",
    ]
    assert figure.axes[0].get_ylim()[1] < 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(figure, tmp_path / "gap.png")


@pytest.mark.parametrize("ending", [".png", ".svg", ".SVG", ".pdf"])
def test_the_same_run_gives_the_same_bytes(tmp_path, ending):
    paths = [tmp_path / f"{name}{ending}" for name in "ab"]
    for path in paths:
        run = run_of(*energies(TIME), forces(TIME), time=TIME)
        save(draw([shown(run, "energy", "joints"), shown(run, "energy")])[0], path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert first.startswith({".png": b"\x89PNG", ".pdf": b"%PDF"}.get(ending, b"<?xml"))
    # neither a date nor who drew it
    assert not re.search(rb"20\d\d-\d\d-\d\d|[Mm]atplotlib v|Software|CreationDate|Producer", first)


@pytest.mark.parametrize("name", ["_$x$", "a\\b{", "漢字", "n" * 300])
def test_names_are_drawn_verbatim(tmp_path, name):
    run = run_of(positions(TIME, (name, "b")), time=TIME, bodies=(name, "b"), name=name, source=name)
    figure, _ = draw([shown(run, "bodies/position", label=name), shown(run, "bodies/position[x]", label="b")])
    save(figure, tmp_path / "any.png")
    label = panels_of(figure)[0][2][0]
    assert label == f"{name} x" or (len(label) <= 36 and "…" in label)


def test_a_single_instant_is_a_point(tmp_path):
    run = run_of(*energies(TIME[:1]), time=TIME[:1])
    figure, _ = draw([shown(run)])
    assert {line.get_marker() for axes in figure.axes for line in axes.lines} == {"."}
    save(figure, tmp_path / "point.png")


def test_a_run_without_an_instant_is_refused():
    run = run_of(*energies(TIME[:0]), time=TIME[:0])
    with pytest.raises(ResultError, match=r"run\.h5 has no output instants"):
        draw([shown(run, "energy")])


def test_a_picture_that_cannot_be_written_leaves_no_file(tmp_path):
    (tmp_path / "taken.png").mkdir()
    with pytest.raises(OutputError, match=r"cannot write .*taken\.png: Is a directory"):
        save(new_figure(), tmp_path / "taken.png")
    assert [path.name for path in tmp_path.iterdir()] == ["taken.png"]


def test_the_target_of_a_symbolic_link_is_replaced(tmp_path):
    (tmp_path / "link.png").symlink_to("target.png")
    save(new_figure(), tmp_path / "link.png")
    assert (tmp_path / "link.png").is_symlink()
    assert (tmp_path / "target.png").read_bytes().startswith(b"\x89PNG")


def test_pictures_do_not_depend_on_matplotlib_settings(tmp_path):
    import matplotlib

    run = run_of(*energies(TIME), time=TIME)
    save(draw([shown(run)])[0], tmp_path / "a.png")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "savefig.dpi": 40}):
        save(draw([shown(run)])[0], tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.mark.parametrize("name", ["a.jpg", "a", "png", "a.png.part"])
def test_unknown_suffixes_are_refused(tmp_path, name):
    with pytest.raises(ArgumentError, match=r"a picture is named \*\.png, \*\.svg or \*\.pdf"):
        require_format(tmp_path / name)


def test_a_missing_matplotlib_is_reported(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ArgumentError, match=r"pip install 'multibody-cli\[plot\]'"):
        require_format(tmp_path / "a.png")


def test_text_stays_text(tmp_path):
    run = run_of(forces(TIME), time=TIME, name="swing")
    figure, _ = draw([shown(run, "joints")])
    save(figure, tmp_path / "a.svg")
    texts = re.findall(r"<text[^>]*>([^<]+)</text>", (tmp_path / "a.svg").read_text())
    assert {"moment, N·m", "force, N", "time, s", "mx", "swing: aba, rk4, step 0.001 s"} <= set(texts)
    save(figure, tmp_path / "a.pdf")
    content = (tmp_path / "a.pdf").read_bytes()
    # glyphs of Type 3 fonts are drawings, those of Type 42 characters
    assert b"/Type3" not in content
    assert b"/CIDFontType2" in content


@pytest.mark.parametrize(
    ("units", "label"),
    [
        ("kg m^2/s", "angular momentum, kg·m²/s"),
        ("N or N m", "angular, N or N·m"),
        ("1", "angular"),
    ],
)
def test_a_label_has_the_quantity_and_its_unit(units, label):
    run = run_of(record("momentum/angular", TIME, units), time=TIME)
    [(_, found, _)] = panels_of(draw([shown(run, "momentum")])[0])
    assert found == label


def test_a_label_lists_two_quantities_at_most():
    lengths = [record(f"{group}/a/{name}", TIME, "m") for group, name in (("springs", "length"), ("joints", "q"))]
    run = run_of(*lengths, record("solver/gap", TIME, "m"), time=TIME)
    assert panels_of(draw([shown(run, "springs", "joints")])[0])[0][1] == "length and displacement, m"
    assert panels_of(draw([shown(run, "springs", "joints", "solver")])[0])[0][1] == "values, m"


def test_lines_that_coincide_have_different_strokes():
    run = run_of(record("joints/a/q", TIME, "m"), record("joints/b/q", TIME, "m"), time=TIME)
    first, second = draw([shown(run, "joints")])[0].axes[0].lines
    assert (first.get_linestyle(), second.get_linestyle()) == ("-", "--")
    assert second.get_zorder() >= first.get_zorder()


def test_a_phase_plane():
    run = run_of(record("joints/a/q", np.cos(TIME), "rad"), record("joints/a/v", np.sin(TIME), "rad/s"), time=TIME)
    [x] = select(run, ["joints/a/q"])
    figure, remarks = draw([replace(shown(run, "joints/a/v"), x=x)])
    [axes] = figure.axes
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), np.stack([np.cos(TIME), np.sin(TIME)], axis=1))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("joints/a/q: angle, rad", "angular velocity, rad/s")
    assert remarks == []


def test_selected_instants():
    run = run_of(positions(TIME), time=TIME)
    rows = np.arange(10, 21)
    figure, _ = draw([replace(shown(run, "bodies/hand/position[x]"), instants=rows)])
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_xydata(), np.stack([TIME, 1 + TIME], axis=1)[rows])


def test_differences_are_drawn_at_shared_instants():
    fine = np.linspace(0.0, 2.0, 81)
    one = run_of(record("joints/a/q", np.sin(TIME), "m"), record("joints/a/v", TIME, "m/s"), time=TIME)
    other = run_of(record("joints/a/q", np.sin(fine) + fine**2, "m"), time=fine)
    figure, remarks = draw([shown(one, "joints"), shown(other, "joints")], differences=True)
    assert remarks == []
    above, below = figure.axes[:2]
    assert (above.get_ylabel(), below.get_ylabel()) == ("displacement, m", "difference, m")
    assert len(above.lines) == 2
    [line] = below.lines
    np.testing.assert_array_equal(line.get_xdata(), TIME)
    np.testing.assert_allclose(line.get_ydata(), TIME**2, rtol=0, atol=1e-15)
    assert len(figure.axes[3].lines) == 0  # the other run has no velocity
    apart = run_of(record("joints/a/q", TIME, "m"), time=TIME + 0.01)
    _, remarks = draw([shown(one, "joints"), shown(apart, "joints")], differences=True)
    assert remarks == ["run.h5 and run.h5 share no instants: no differences are drawn"]


def test_differences_of_computed_channels():
    """The position of a centre of mass is no linear function of the stored numbers."""
    angle = np.stack([np.cos(TIME / 2), 0 * TIME, 0 * TIME, np.sin(TIME / 2)], axis=1)[:, None]
    still = np.tile([1.0, 0, 0, 0], (len(TIME), 1))[:, None]
    origin = record("bodies/position", np.zeros((len(TIME), 1, 3)), "m", (("arm",), ("x", "y", "z")))
    runs = [
        run_of(origin, record("bodies/quaternion", one, "1", (("arm",), tuple("wxyz"))), time=TIME, bodies=("arm",))
        for one in (still, angle)
    ]
    for run in runs:
        run.com[:] = [1.0, 0.0, 0.0]
    figure, _ = draw([shown(run, "bodies/arm/com[x]") for run in runs], differences=True)
    np.testing.assert_allclose(figure.axes[1].lines[0].get_ydata(), np.cos(TIME) - 1.0, atol=1e-15)


def test_styles_set_sizes_and_colors(tmp_path):
    run = run_of(forces(TIME), time=TIME)
    width, texts, faces = {}, {}, {}
    for name, style in STYLES.items():
        figure, _ = draw([shown(run, "joints")], style)
        save(figure, tmp_path / f"{name}.png")
        width[name], texts[name] = figure.get_figwidth(), figure.axes[0].yaxis.label.get_fontsize()
        faces[name] = to_hex(figure.get_facecolor())
        assert [to_hex(line.get_color()) for line in figure.axes[0].lines] == list(style.colors[:3])
    assert width["paper"] == pytest.approx(6.3)
    assert texts["paper"] < texts["screen"] < texts["talk"]
    assert {name for name, face in faces.items() if face != "#ffffff"} == {"dark"}


def test_styles_have_as_many_colors_as_runs_need():
    assert {len(set(style.colors)) for style in STYLES.values()} == {len(COLORS)}
