"""Tables of runs: every format returns the numbers of the result file, bit for bit, with their units."""

from __future__ import annotations

import csv
import sys
import tracemalloc

import numpy as np
import pytest
from fakes import RICH, TOUCHING, record, samples_of
from scipy.io import loadmat

from multibody_cli.cli.app import main
from multibody_cli.document.table_file import read_table
from multibody_cli.errors import ArgumentError, ResultError
from multibody_cli.limits import Usage
from multibody_cli.output import table
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.selection import select_instants
from multibody_cli.output.sink import Outcome
from multibody_cli.output.table import table_of
from multibody_cli.output.table_formats import FORMATS, LONGEST, variable_names
from multibody_cli.output.trajectory import read_trajectory

TIME = np.linspace(0.0, 2.0, 41)
SAMPLES = samples_of(RICH, TIME)
TOUCHES = samples_of(TOUCHING, TIME)


def run_of(path, names, samples):
    record(Hdf5Sink(path), names, samples, Outcome("complete"))
    return read_trajectory(path)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return run_of(tmp_path_factory.mktemp("runs") / "run.h5", RICH, SAMPLES)


@pytest.fixture(scope="module")
def touching(tmp_path_factory):
    return run_of(tmp_path_factory.mktemp("runs") / "touching.h5", TOUCHING, TOUCHES)


def written(path, run, *words, instants=None):
    """Write a table in the format of the suffix."""
    chosen = table_of(run, words, select_instants(run) if instants is None else instants)
    path.touch()
    FORMATS[path.suffix[1:]].write(chosen, path)
    return chosen


def read_csv(path):
    """Return header and columns as the csv module and `float` read them."""
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    return head, [[float(cell) for cell in column] for column in zip(*rows, strict=True)]


def read_npz(path):
    with np.load(path, allow_pickle=False) as archive:
        names = archive["columns"].tolist()
        return names, archive["units"].tolist(), [archive[name] for name in names]


def read_mat(path):
    content = loadmat(path, squeeze_me=True)
    names = content["channels"].dtype.names
    values = [content[name] for name in names]
    return [str(content["channels"][name]) for name in names], [str(content["units"][name]) for name in names], values


def read_parquet(path):
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(path)
    units = frame.attrs["units"]
    return list(frame.columns), [units[name] for name in frame.columns], [frame[name] for name in frame.columns]


BINARY = {".npz": read_npz, ".mat": read_mat, ".parquet": read_parquet}


def bits(values):
    return np.asarray(values, float).view(np.int64).tolist()


def expected_columns(run):
    """Columns in the order of the file, read channel by channel."""
    columns = {"time": ("s", TIME)}
    for path in run.paths:
        found = run.channel(path)
        units = found.units.split(", ")
        labels = found.labels[-1] if found.labels and len(found.labels[-1]) > 1 else ("",)
        for k, values in enumerate(found.values.reshape(len(TIME), -1).T):
            group, _, quantity = path.rpartition("/")
            body = f"/{found.labels[0][k // len(labels)]}" if len(found.labels) == 2 else ""
            label = labels[k % len(labels)]
            name = f"{group}{body}/{quantity}" if group else quantity
            columns.setdefault(name + (f"[{label}]" if label else ""), (units[k % len(units)], values))
    return columns


def test_csv_has_every_number_to_the_bit_and_units_in_the_header(run, tmp_path):
    written(tmp_path / "a.csv", run)
    head, columns = read_csv(tmp_path / "a.csv")
    expected = expected_columns(run)
    assert head == [f"{name} ({unit})" for name, (unit, _) in expected.items()]
    assert {"joints/hinge/force[mx] (N m)", "joints/hinge/q (rad)", "bodies/arm/position[x] (m)"} <= set(head)
    assert [bits(column) for column in columns] == [bits(values) for _, values in expected.values()]


def test_csv_keeps_hard_numbers(tmp_path):
    hard = [0.1 + 0.2, 5e-324, -0.0, 1.7976931348623157e308, np.inf, -np.inf, np.nan, 1 / 3, 2.0**-1074 * 3, -1e-310]
    samples = samples_of(RICH, np.arange(10.0))
    samples.kinetic[:] = hard
    run = run_of(tmp_path / "hard.h5", RICH, samples)
    written(tmp_path / "hard.csv", run, "energy/kinetic")
    _, (_, values) = read_csv(tmp_path / "hard.csv")
    frame = pytest.importorskip("pandas").read_csv(tmp_path / "hard.csv")
    for found in (values, frame["energy/kinetic (J)"]):
        assert np.isnan(found).tolist() == np.isnan(hard).tolist()
        assert bits(np.where(np.isnan(found), 1.0, found)) == bits(np.where(np.isnan(hard), 1.0, hard))


@pytest.mark.parametrize("suffix", [".sto", ".mot"])
def test_storages_of_opensim_have_every_number_to_the_bit(run, tmp_path, suffix):
    written(tmp_path / f"a{suffix}", run)
    found = read_table(tmp_path / f"a{suffix}", Usage())
    rows = [[float(cell) for cell in cells] for _, cells in found.rows]  # as many as the header states
    expected = expected_columns(run)
    assert [heading.text for heading in found.headings] == list(expected)
    assert not found.in_degrees
    assert [bits(column) for column in zip(*rows, strict=True)] == [bits(values) for _, values in expected.values()]


def test_opensim_reads_a_storage(run, tmp_path):
    opensim = pytest.importorskip("opensim")
    opensim.Logger.setLevelString("off")
    written(tmp_path / "a.sto", run, "energy/kinetic", "joints/hinge/q")
    storage = opensim.Storage(str(tmp_path / "a.sto"))
    assert [storage.getColumnLabels().get(k) for k in range(3)] == ["time", "energy/kinetic", "joints/hinge/q"]
    column = opensim.ArrayDouble()
    storage.getDataColumn("joints/hinge/q", column)
    found = [column.get(k) for k in range(column.getSize())]
    np.testing.assert_allclose(found, run.channel("joints/hinge/q").values.ravel(), rtol=1e-14)


def test_a_storage_has_no_text(tmp_path):
    class Outcomes:
        names, units = ["point", "outcome"], ["1", "1"]

        def blocks(self):
            yield [np.arange(2), np.array(["complete", "diverged"])]

    with pytest.raises(ArgumentError, match=r"\.sto files have numbers only, and `outcome` is text: write \.csv"):
        FORMATS["sto"].write(Outcomes(), tmp_path / "c.sto")


@pytest.mark.parametrize("suffix", BINARY)
def test_binary_formats_have_every_number_to_the_bit_with_units(run, tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    written(tmp_path / f"a{suffix}", run)
    names, units, columns = BINARY[suffix](tmp_path / f"a{suffix}")
    expected = expected_columns(run)
    assert (names, units) == (list(expected), [unit for unit, _ in expected.values()])
    assert [bits(column) for column in columns] == [bits(values) for _, values in expected.values()]
    assert {np.asarray(column).dtype.kind for column in columns} == {"f", "i"}


def test_parquet_fields_have_units_and_descriptions(run, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    written(tmp_path / "a.parquet", run, "joints/hinge")
    about = parquet.read_schema(tmp_path / "a.parquet").field("joints/hinge/force[fz]").metadata
    assert about[b"units"] == b"N"
    assert about[b"description"].startswith(b"Total wrench")


@pytest.mark.parametrize("suffix", [".csv", ".mat", ".npz", ".parquet"])
def test_the_same_run_gives_the_same_bytes(run, tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    for name in "ab":
        written(tmp_path / f"{name}{suffix}", run)
    first, second = ((tmp_path / f"{name}{suffix}").read_bytes() for name in "ab")
    # the text of a MATLAB header has the time of writing
    start = 128 if suffix == ".mat" else 0
    assert first[start:] == second[start:]


def test_contacts_have_one_row_each_with_the_time_of_their_instant(touching, tmp_path):
    for words in (["contacts"], ["contacts/gap", "contacts/point[z]", "contacts/body_a"]):
        written(tmp_path / "c.csv", touching, *words)
        head, columns = read_csv(tmp_path / "c.csv")
        found = dict(zip(head, columns, strict=True))
        assert head[:2] == ["time (s)", "contacts/instant (1)"]
        pairs = [(k, place) for k, count in enumerate(TOUCHES.contact_count) for place in range(count)]
        assert found["time (s)"] == [TIME[k] for k, _ in pairs]
        assert found["contacts/instant (1)"] == [k for k, _ in pairs]
        assert found["contacts/gap (m)"] == [TOUCHES.contact_gap[pair] for pair in pairs]
        assert found["contacts/point[z] (m)"] == [TOUCHES.contact_point[pair][2] for pair in pairs]
        assert found["contacts/body_a (1)"] == [TOUCHES.contact_body_a[pair] for pair in pairs]


def test_contacts_of_some_instants(touching, tmp_path):
    rows = select_instants(touching, 0.2, 1.0, 0.2)
    assert rows.tolist() == [4, 8, 12, 16, 20]
    written(tmp_path / "c.csv", touching, "contacts/gap", instants=rows)
    _, (_, instants, gaps) = read_csv(tmp_path / "c.csv")
    assert instants == [k for k in rows for _ in range(TOUCHES.contact_count[k])]
    assert gaps == [TOUCHES.contact_gap[k, place] for k in rows for place in range(TOUCHES.contact_count[k])]


def test_instants_without_contacts_give_a_header_alone(touching, tmp_path):
    [row, *_] = np.flatnonzero(TOUCHES.contact_count == 0)
    written(tmp_path / "c.csv", touching, "contacts/gap", instants=np.array([row]))
    assert (tmp_path / "c.csv").read_text() == "time (s),contacts/instant (1),contacts/gap (m)\n"
    written(tmp_path / "c.npz", touching, "contacts/gap", instants=np.array([row]))
    assert [len(column) for column in read_npz(tmp_path / "c.npz")[2]] == [0, 0, 0]


def test_contacts_and_instants_do_not_share_a_table(touching):
    with pytest.raises(ResultError, match="contacts/gap has one row for each contact, energy one for each output inst"):
        table_of(touching, ["contacts/gap", "energy"], select_instants(touching))
    with pytest.raises(ResultError, match="no channel or group `contacts/gab`: did you mean `contacts/gap`"):
        table_of(touching, ["contacts/gab"], select_instants(touching))
    assert table_of(touching, ["contacts/count"], select_instants(touching)).names == ["time", "contacts/count"]


def test_instants_are_selected_by_time(run):
    assert select_instants(run).tolist() == list(range(41))
    assert select_instants(run, 0.1, 0.25).tolist() == [2, 3, 4, 5]
    assert select_instants(run, end=0.1, every=0.05).tolist() == [0, 1, 2]
    assert select_instants(run, start=0.31, every=0.6).tolist() == [7, 19, 31]  # 0.35, 0.95, 1.55 s
    with pytest.raises(ResultError, match=r"does not have an output instant every 0\.06 s: give a multiple of 0\.05 s"):
        select_instants(run, every=0.06)
    with pytest.raises(ResultError, match=r"does not have an output instant every 0\.02 s"):
        select_instants(run, every=0.02)
    with pytest.raises(ResultError, match="no output instant from 3 s to 4 s: it has 41 from 0 s to 2 s"):
        select_instants(run, 3.0, 4.0)


def test_tables_are_read_in_blocks_with_the_same_result(run, touching, tmp_path, monkeypatch):
    for suffix, reader in ((".csv", read_csv), (".npz", read_npz)):
        for one, words in ((run, ["*"]), (touching, ["contacts"])):
            rows = select_instants(one, every=0.1)
            written(tmp_path / f"whole{suffix}", one, *words, instants=rows)
            with monkeypatch.context() as patch:
                patch.setattr(table, "BLOCK", 500)
                patch.setattr(table, "COLUMNS", 90)
                written(tmp_path / f"parts{suffix}", one, *words, instants=rows)
            whole, parts = (reader(tmp_path / f"{name}{suffix}") for name in ("whole", "parts"))
            np.testing.assert_equal(parts, whole)


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".mat"])
def test_memory_does_not_grow_with_the_table(tmp_path, monkeypatch, suffix):
    time = np.arange(4_000) * 1e-3
    run = run_of(tmp_path / "long.h5", RICH, samples_of(RICH, time))
    rows = select_instants(run)
    monkeypatch.setattr(table, "BLOCK", 2**14)
    monkeypatch.setattr(table, "COLUMNS", 2**14)
    written(tmp_path / f"first{suffix}", run, instants=rows)  # imports and caches
    tracemalloc.start()
    chosen = written(tmp_path / f"a{suffix}", run, instants=rows)
    largest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert largest < 0.5 * 8 * len(time) * len(chosen.scalars)


def test_progress_ends_at_the_number_of_values(run, tmp_path):
    for suffix in (".csv", ".npz"):
        seen = []
        chosen = table_of(run, ["energy"], select_instants(run), lambda done, total: seen.append((done, total)))  # noqa: B023
        (tmp_path / f"p{suffix}").touch()
        FORMATS[suffix[1:]].write(chosen, tmp_path / f"p{suffix}")
        assert seen[-1] == (41 * len(chosen.scalars),) * 2


def test_names_of_matlab_variables_are_valid_and_different():
    names = variable_names(["joints/a/q", "joints/a-q", "joints/a q[0]", "bodies/Stößel/com[x]", "x" * 80, "x" * 81])
    assert names[:3] == ["joints_a_q", "joints_a_q_2", "joints_a_q_0"]
    assert names[3] == "bodies_St_el_com_x"
    assert len(set(names)) == len(names)
    assert max(map(len, names)) == LONGEST
    assert all(name.isidentifier() and name.isascii() for name in names)


@pytest.fixture
def export(run, touching, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_of(tmp_path / "swing.h5", RICH, SAMPLES)

    def call(*words):
        with pytest.raises(SystemExit) as end:
            main(["export", *words])
        shown = capsys.readouterr()
        return int(end.value.code or 0), shown.out, shown.err

    return call


def test_the_verb_writes_a_table_beside_the_plots(export, tmp_path):
    assert export("swing.h5", "energy/kinetic", "--from", "500 ms", "--to", "1s", "--every", "0.25") == (
        0,
        "outputs/tables/swing-energy-kinetic.csv\n",
        "",
    )
    head, (time, kinetic) = read_csv(tmp_path / "outputs/tables/swing-energy-kinetic.csv")
    assert head == ["time (s)", "energy/kinetic (J)"]
    assert time == [0.5, 0.75, 1.0]
    assert kinetic == SAMPLES.kinetic[[10, 15, 20]].tolist()
    assert [path.name for path in (tmp_path / "outputs/tables").iterdir()] == ["swing-energy-kinetic.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["swing.h5", "-o", "a.xls"], "a.xls: expected a name that ends in .csv, .parquet, .mat, .npz, .sto or .mot"),
        (["swing.h5", "swing.h5", "energi", "-o", "a.csv"], "swing.h5 has no channel or group `energi`: did you mean"),
        (["swing.h5", "--to", "3 m"], "Invalid value for '--to': expected a time (s), but `3 m` is a length"),
        (["swing.h5", "--to", "fmi"], "expected a time (s), found `fmi`; or a format of models: `mjcf`, `urdf`, `fmu`"),
        (["swing.h5", "--every", "0"], "Invalid value for '--every': expected a time (s) above 0, found `0`"),
        (["swng.h5"], "swng.h5 does not exist: did you mean `swing.h5`?"),
    ],
)
def test_invalid_arguments_are_refused(export, tmp_path, words, message):
    code, out, err = export(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert not (tmp_path / "a.csv").exists()


def test_an_existing_table_is_kept_unless_forced(export, tmp_path):
    (tmp_path / "a.csv").write_text("precious")
    code, _, err = export("swing.h5", "-o", "a.csv")
    assert (code, err) == (2, "error: a.csv exists: use --force to replace it, or -o to choose another name\n")
    assert (tmp_path / "a.csv").read_text() == "precious"
    assert export("swing.h5", "-o", "a.csv", "--force")[0] == 0
    assert (tmp_path / "a.csv").read_text().startswith("time (s),")


def test_without_pyarrow_the_error_names_the_package_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "pyarrow.parquet", raising=False)
    with pytest.raises(ArgumentError, match=r"pip install 'multibody-cli\[parquet\]'"):
        FORMATS["parquet"].require()


# --- reactions --------------------------------------------------------------------------------------------------------
HANGING = """\
mbsim: 1
name: hanging
bodies:
  upper: {mass: 2, inertia: {principal: [0.1, 0.1, 0.1]}}
  lower: {mass: 3, com: [0, 0.2, 0], inertia: {principal: [0.1, 0.1, 0.1]}}
joints:
  top: {type: fixed, child: upper}
  bottom: {type: fixed, parent: upper, child: lower, child_origin: {rotation: {axis: [1, 0, 0], angle: 90 deg}}}
simulation: {duration: 2 ms, step: 1 ms}
output: {every: 1 ms}
"""


def code_of(words):
    with pytest.raises(SystemExit) as exit_:
        main(words)
    return exit_.value.code


@pytest.mark.compiled
@pytest.mark.parametrize(("frame", "weight"), [("world", "z"), ("joint", "z"), ("body", "y"), (None, "z")])
def test_reactions_of_a_hanging_chain_are_its_weights(frame, weight, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hanging.yaml").write_text(HANGING)
    assert code_of(["run", "hanging.yaml", "-q", "-o", "hanging.h5"]) == 0
    options = ["--frame", frame] if frame else []
    assert code_of(["export", "hanging.h5", "--reactions", *options, "--every", "1ms", "-o", "table.csv"]) == 0
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["joint (1)"] for row in rows] == ["top", "bottom"] * 3
    assert [float(row["time (s)"]) for row in rows] == [0, 0, 1e-3, 1e-3, 2e-3, 2e-3]
    assert [float(row["Fz (N)"]) for row in rows[::2]] == pytest.approx([5 * 9.81] * 3)
    # in the frame of the joint, z is up: body and world differ by a quarter turn about x
    sign = -1.0 if weight == "y" else 1.0
    assert [sign * float(row[f"F{weight} (N)"]) for row in rows[1::2]] == pytest.approx([3 * 9.81] * 3)
    assert code_of(["export", "hanging.h5", "--reactions", "-o", "table.npz"]) == 0
    with np.load(tmp_path / "table.npz") as archive:
        assert archive["joint"].tolist() == ["top", "bottom"] * 3


@pytest.mark.compiled
def test_reactions_refuse_what_has_no_effect(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hanging.yaml").write_text(HANGING)
    assert code_of(["run", "hanging.yaml", "-q", "-o", "hanging.h5"]) == 0
    assert code_of(["export", "hanging.h5", "energy", "--reactions"]) == 2
    assert "--reactions writes the wrenches of all joints: it takes no channels" in capsys.readouterr().err
    (tmp_path / "ball.yaml").write_text(
        "mbsim: 1\nname: b\nbodies: {a: {kind: point, mass: 1}}\nsimulation: {duration: 1 ms, step: 1 ms}\n"
    )
    assert code_of(["run", "ball.yaml", "-q", "-o", "ball.h5"]) == 0
    assert code_of(["export", "ball.h5", "--reactions"]) == 2
    assert "ball.h5 has no joints, so that it has no reactions" in capsys.readouterr().err
