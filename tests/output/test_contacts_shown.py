"""Contacts in expectations, plots and lists."""

from __future__ import annotations

import json

import numpy as np
import pytest
from fakes import TOUCHING, record, samples_of

from multibody_cli.cli.app import main
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.sink import MemorySink, Outcome
from multibody_cli.scene.expect import EXPECTATIONS
from multibody_cli.studies.expect import evaluate, find_unreadable

TIME = np.linspace(0.0, 2.0, 25)
SAMPLES = samples_of(TOUCHING, TIME)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record(Hdf5Sink("run.h5"), TOUCHING, SAMPLES, Outcome("complete"))
    return "run.h5"


def command(capsys, *words):
    with pytest.raises(SystemExit) as end:
        main(list(words))
    written = capsys.readouterr()
    return int(end.value.code or 0), written.out, written.err


def test_count_and_creep_can_be_asserted():
    memory = MemorySink()
    record(memory, TOUCHING, SAMPLES, Outcome("complete"))
    worst = float(SAMPLES.creep.max())
    entries = [
        EXPECTATIONS["extreme"](channel="contacts/creep", max=worst),
        EXPECTATIONS["extreme"](channel="contacts/creep", max=worst * (1.0 - 1e-12)),
        EXPECTATIONS["extreme"](channel="contacts/count", min=1),
        EXPECTATIONS["value"](channel="contacts/count", at=0.25, value=float(SAMPLES.contact_count[3]), atol=1e-9),
    ]
    verdicts = evaluate(entries, memory.trajectory())
    assert [verdict.passed for verdict in verdicts] == [True, False, False, True]
    assert [verdict.found for verdict in verdicts[:3]] == [worst, worst, 0.0]
    assert verdicts[0].units == "m/s"


def test_flat_channels_cannot_be_expected():
    entries = [
        EXPECTATIONS["extreme"](channel="contacts/gap", max=1),
        EXPECTATIONS["extreme"](channel="contacts/creep", max=1),
        EXPECTATIONS["period"](channel="contacts/offset", period=1),
    ]
    found = find_unreadable(entries, TOUCHING, None, 0.1, 2.0)
    assert [number for number, _ in found] == [0, 2]
    assert found[0][1] == (
        "contacts/gap has one row for each contact of each output instant, so it is not a function of time: "
        "use contacts/count or contacts/creep, or read it with `mbsim export` or, in Python, with `Trajectory.contacts`"
    )


def test_channels_with_one_value_per_instant_are_drawn(run, capsys):
    assert command(capsys, "plot", run, "contacts", "-o", "contacts.svg")[0] == 0
    words = [f"contacts/{name}" for name in ("count", "creep", "step", "residual", "unsolved")]
    assert command(capsys, "plot", run, *words, "-o", "each.svg")[0] == 0
    with open("contacts.svg", "rb") as group, open("each.svg", "rb") as each:
        assert group.read() == each.read()


def test_flat_channels_are_not_drawn(run, capsys):
    code, _, stderr = command(capsys, "plot", run, "contacts/normal")
    assert code == 2
    assert "run.h5: contacts/normal has one row for each contact of each output instant, so it is not" in stderr


def test_info_lists_them_all(run, capsys):
    _, out, _ = command(capsys, "info", run, "--json")
    shapes = {row["dataset"]: (row["shape"], row["units"]) for row in json.loads(out)["datasets"]}
    contacts = int(SAMPLES.contact_count.sum())
    assert shapes["contacts/point"] == (f"({contacts}, 3)", "m")
    assert shapes["contacts/offset"] == ("(26,)", "1")
    assert shapes["contacts/creep"] == ("(25,)", "m/s")
    assert shapes["contacts/normal_impulse"] == (f"({contacts},)", "N s")
