"""The promises of SECURITY.md."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from command_result import Command

import multibody_cli

ROOT = Path(multibody_cli.__file__).parents[1]
BODY = "bodies: {a: {mass: 1 kg, shapes: [{type: sphere, radius: 0.1}]}}\n"
SCENE = f"mbsim: 1\n{BODY}simulation: {{duration: 2 ms, step: 1 ms}}\n"
AUDITED = """
import sys
seen = []
sys.addaudithook(lambda event, words: seen.append((event, str(words[:1]))))
from multibody_cli.cli.app import main
try:
    main(sys.argv[1:])
finally:
    for event, words in seen:
        print("AUDIT", event, words.encode("unicode_escape").decode(), file=sys.stderr)
"""
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def audited(*words: str) -> tuple[int, list[tuple[str, str]]]:
    """Run a command in a process of its own; return its exit code and the audit events of Python."""
    done = subprocess.run(
        [sys.executable, "-c", AUDITED, *words],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=120,
    )
    lines = [line.split(" ", 2) for line in done.stderr.splitlines() if line.startswith("AUDIT ")]
    assert len(lines) > 100
    return done.returncode, [(event, words) for _, event, words in lines]


def test_a_scene_starts_no_program_and_opens_no_connection(mbsim: Command) -> None:
    Path("other.yaml").write_text("mbsim: 1\ndescription: http://localhost/x\n")
    Path("t.csv").write_text("t,f\n0,0\n1,1\n")
    forces = "forces: {f: {body: a, force: [0, 0, {file: t.csv, times: t, values: f}]}}\n"
    Path("s.yaml").write_text(SCENE + forces + "include: [other.yaml]\nvars: {n: \"${concat('a', 1)}\"}\n")
    assert mbsim("run", "s.yaml").code == 0  # kernels are compiled now
    code, events = audited("run", "s.yaml", "--force")
    assert code == 0
    assert any(event == "open" and "t.csv" in words for event, words in events)
    started = ("subprocess.", "os.exec", "os.fork", "os.spawn", "os.posix_spawn", "os.system", "pty.", "socket.connect",
               "socket.bind", "socket.getaddrinfo", "urllib.", "ftplib.", "smtplib.")  # fmt: skip
    # Python itself asks `uname` for the processor; the version of a checkout is that of `git`
    own = ("uname", "('git',)")
    assert [
        words for event, words in events if event.startswith(started) and not any(map(words.__contains__, own))
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        "description: !!python/object/apply:os.system [touch canary]\n",
        "description: !!python/name:os.system\n",
        "description: \"${__import__('os').system('touch canary')}\"\n",
        'description: "${().__class__}"\n',
        "description: \"${open('canary', 'w')}\"\n",
        'description: "${[x for x in (1,)]}"\n',
        'description: "${(lambda: 0)()}"\n',
        "description: \"${f'{1}'}\"\n",
        "forces: {f: {body: a, force: [0, 0, \"__import__('os').system('touch canary')\"]}}\n",
    ],
)
def test_expressions_and_tags_reach_no_python_object(mbsim: Command, text: str) -> None:
    Path("s.yaml").write_text(SCENE + text)
    assert mbsim("validate", "s.yaml").code == 2
    assert not Path("canary").exists()


def test_a_run_writes_its_result_only(mbsim: Command, folder: Path) -> None:
    Path("work").mkdir()
    os.chdir("work")
    Path("s.yaml").write_text(SCENE)
    before = {path for path in folder.rglob("*") if path.is_file()}
    assert mbsim("run", "s.yaml").code == 0
    assert {path for path in folder.rglob("*") if path.is_file()} - before == {folder / "work/outputs/s.h5"}


@pytest.mark.parametrize("name", ["../out", "/tmp/out", ".", "..", "a/b", "a\\0b", ".hidden", "a\\nb"])
def test_the_name_of_a_scene_stays_in_the_folder_of_results(mbsim: Command, name: str) -> None:
    Path("s.yaml").write_text(f'{SCENE}name: "{name}"\n')
    ending = mbsim("run", "s.yaml")
    assert ending.code == 2
    assert "expected a valid file name" in ending.stderr
    assert not Path("outputs").exists()


@pytest.mark.parametrize("kind", ["include", "table", "mesh"])
@pytest.mark.parametrize("file", ["/dev/zero", "pipe.stl", "."])
def test_devices_and_pipes_are_refused_as_included_files(mbsim: Command, kind: str, file: str) -> None:
    os.mkfifo("pipe.stl")
    texts = {
        "include": f"{SCENE}include: [{file}]\n",
        "table": f"{SCENE}forces: {{f: {{body: a, force: [0, 0, {{file: {file}, times: t, values: f}}]}}}}\n",
        "mesh": SCENE.replace("type: sphere, radius: 0.1", f"type: mesh, file: {file}"),
    }
    Path("s.yaml").write_text(texts[kind])
    ending = mbsim("validate", "s.yaml")
    assert ending.code == 2
    assert "not found" in ending.stdout or "not a regular file" in ending.stdout


def test_a_scene_may_be_a_pipe(mbsim: Command) -> None:
    os.mkfifo("scene")
    writer = threading.Thread(target=Path("scene").write_text, args=(SCENE,), daemon=True)
    writer.start()
    assert mbsim("validate", "scene").stdout == "scene: ok\n"
    writer.join(timeout=10)
    assert not writer.is_alive()


def test_a_mesh_reads_no_other_file(mbsim: Command) -> None:
    pytest.importorskip("trimesh")
    Path("canary.mtl").write_text("newmtl m\nmap_Kd canary.png\n")
    Path("canary.png").write_bytes(b"")
    Path("m.obj").write_text(f"mtllib canary.mtl\nusemtl m\n{TETRAHEDRON}")
    Path("s.yaml").write_text(SCENE.replace("type: sphere, radius: 0.1", "type: mesh, file: m.obj"))
    code, events = audited("validate", "s.yaml")
    assert code == 0
    assert any(event == "open" and "m.obj" in words for event, words in events)
    assert [words for event, words in events if event == "open" and "canary" in words] == []


def test_every_promise_names_a_test() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    promises = [entry for entry in re.split(r"\n\n", text) if entry.startswith("**Promise:**")]
    assert len(promises) >= 7
    for promise in promises:
        guards = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", promise)
        assert guards, promise
        for file, name in guards:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name
