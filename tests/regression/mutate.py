"""Mutation test: whether the regression or the suite notices that one sign of one kernel is wrong.

    python tests/regression/mutate.py [--readers] [--seed S] [--count N] [--jobs J]

With `--readers` a mutant is a wrong operator, check or number in a reader of files, and meets the tests of readers.

Writes a line for each mutant, with the test that caught it or SURVIVED, and ends with 1 if one survived.

A mutant meets the tests listed for its file, compiled.  A kernel is a plain function too: survivors meet scenes
and tests that are short without a compiler, then all scenes, and then the suite.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutants import Mutant, all_mutants, drawn
from reader_mutants import drawn_of_each_operator, reader_mutants

ROOT = Path(__file__).parents[2]
CARRIED = (
    "multibody_cli",
    "tests",
    "scenes",
    "schemas",
    "docs",
    "pyproject.toml",
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
)
SURVIVED = "SURVIVED"
KERNELS = Path(tempfile.gettempdir()) / "mbsim-mutants"
"""Compiled code of all mutants: kernels that a mutant does not reach are compiled once."""

FOLDERS = (
    "plain",
    "unit",
    "joints",
    "physics",
    "contract",
    "contacts",
    "friction",
    "render",
    "lanes",
    "sweep",
    "output",
)
SUITE = tuple(f"tests/{folder}" for folder in FOLDERS)
DAILY = ("-m", "not nightly")
BASELINES = "tests/regression/test_baselines.py"

QUICK = (
    "fixed_joint-aba",
    "prismatic_joint-aba",
    "planar_joint-aba",
    "screw_joint-aba",
    "prismatic_joint-redmax",
    "actuator_table-aba",
    "free_joint-aba",
    "universal_joint-aba",
    "adaptive_tolerance-aba",
    "composite_body-aba",
    "actuator_expression-aba",
    "universal_joint-redmax",
    "free_body-baraff",
    "prismatic_joint-baraff",
)
"""Scenes and methods of the regression that take a few seconds at most without a compiler."""

FIRST = {
    "actuators/": ("tests/physics/test_sampled_controllers.py", "tests/physics/test_state_expressions.py"),
    "alarms/": ("tests/physics/test_alarms.py", "tests/physics/test_untrusted_runs.py"),
    "constraint_solver/projection.py": ("tests/physics/test_constrained_motion.py",),
    "constraints/limit.py": ("limits-aba",),
    "constraints/reduction.py": ("tests/physics/test_constrained_motion.py",),
    "constraints/": ("couplings-aba", "rolling_disc-aba"),
    "contacts/": ("tests/contacts",),
    "contact_solver/contact_step.py": ("tests/physics/test_contact_steps.py",),
    "contact_solver/results.py": ("tests/physics/test_joint_friction.py", "tests/physics/test_contact_steps.py"),
    "contact_solver/rows.py": ("tests/physics/test_contact_steps.py",),
    "contact_solver/friction/": ("tests/friction",),
    "contact_solver/two_directional_friction.py": ("tests/physics/test_disc_friction.py",),
    "contact_solver/friction_limits.py": ("tests/physics/test_tree_friction.py",),
    "contact_solver/joint_columns.py": ("tests/physics/test_tree_friction.py",),
    "contact_solver/staggered_tree_friction.py": ("tests/physics/test_tree_friction.py",),
    "contact_solver/tree_friction.py": ("tests/physics/test_tree_friction.py",),
    "observation/contacts.py": ("tests/physics/test_contact_steps.py",),
    "tree/affine.py": ("affine_body-baraff",),
    "tree/computed_torque.py": ("tests/physics/test_computed_torque.py",),
    "tree/inverse_dynamics.py": ("tests/physics/test_equations_of_motion.py",),
    "constraint_solver/constrained_bodies.py": ("tests/physics/test_row_elimination.py",),
    "constraint_solver/constrained_nodes.py": ("tests/physics/test_row_elimination.py",),
    "constraint_solver/open_rows.py": ("tests/physics/test_row_elimination.py",),
    "constraint_solver/loop_joints.py": ("floating_ring-aba",),
    "constraint_solver/row_": ("tests/physics/test_row_elimination.py",),
    "linalg/free_rows.py": ("tests/unit/test_multipliers.py", "free_body-baraff", "couplings-baraff"),
    "constraint_solver/loop_frames.py": ("floating_ring-aba", "stewart_platform-aba"),
    "constraint_solver/uncertain_rows.py": ("tests/physics/test_eliminated_constraints.py",),
    "constraint_solver/ineffective_rows.py": ("floating_ring-aba", "stewart_platform-aba"),
    "tree/jacobian.py": ("universal_joint-redmax",),
    "kkt/assembly.py": ("affine_body-baraff", "planar_bodies-baraff"),
    "kkt/joint_nodes.py": ("tests/unit/test_joint_nodes.py",),
    "kkt/ldl_joint.py": ("tests/unit/test_joint_nodes.py",),
    "kkt/ldl_general.py": ("affine_body-baraff", "planar_bodies-baraff"),
    "kkt/ld": ("free_body-baraff", "prismatic_joint-baraff"),
    "tree/markers.py": ("affine_body-baraff",),
    "tree/mass_matrix.py": ("universal_joint-redmax",),
    "linalg/multipliers.py": ("tests/unit/test_multipliers.py", "couplings-aba"),
    "linalg/pivoted_lu.py": ("limits-aba", "floating_ring-aba"),
    "tree/projection.py": ("tests/physics/test_mass_matrix.py",),
    "constraint_solver/solver.py": ("couplings-aba", "limits-aba"),
    "forces/body_drag.py": ("viscous_drag-aba",),
    "forces/quadratic_drag.py": ("quadratic_drag-aba",),
    "forces/body_load.py": ("point_force-aba",),
    "forces/joint_control.py": (
        "actuator_table-aba",
        "tests/physics/test_sampled_controllers.py",
        "tests/physics/test_state_expressions.py",
    ),
    "implicit/coupled_forces.py": ("tests/physics/test_coupled_limits.py", "tests/physics/test_coupled_forces.py"),
    "implicit/coupled_impulses.py": ("tests/physics/test_coupled_contacts.py",),
    "implicit/linearization.py": ("tests/plain/test_stable_steps.py",),
    "implicit/": ("tests/physics/test_implicit.py", "tests/physics/test_force_derivatives.py"),
    "initial/linearized_motion.py": ("tests/plain/test_stable_steps.py",),
    "initial/signal_resolution.py": ("tests/physics/test_signal_resolution.py",),
    "joints/directions.py": ("floating_ring-aba",),
    "joints/parts/": ("tests/contract/test_joints.py",),
    "joints/parts/ball.py": ("spherical_joint-aba",),
    "joints/parts/free.py": ("free_joint-aba",),
    "lanes/": ("tests/lanes",),
    "linalg/ranked_lu.py": ("tests/unit/test_ranked_lu.py",),
    "linalg/dense_lu.py": ("tests/physics/test_coupled_forces.py", "tests/physics/test_implicit.py"),
    "methods/baraff.py": ("free_body-baraff",),
    "methods/integrators/dop853.py": ("adaptive_tolerance-aba",),
    "methods/integrators/adaptive_runge_kutta.py": ("adaptive_tolerance-aba",),
    "methods/integrators/linearly_implicit_euler.py": ("tests/physics/test_integrators.py",),
    "methods/redmax.py": ("prismatic_joint-redmax",),
    "methods/recording.py": ("tests/output/test_instants_at_once.py",),
    "methods/symbolic_numeric.py": ("tests/physics/test_symbolic.py",),
    "observation/bodies.py": ("affine_body-baraff",),
    "observation/constraints.py": ("tests/physics/test_constrained_motion.py",),
    "observation/joints.py": ("floating_ring-aba",),
    "observation/moment_arms.py": ("tests/physics/test_muscles.py",),
    "output/observers.py": ("tests/sweep/test_runs_in_lanes.py",),
    "output/": ("tests/output/test_instants_at_once.py",),
    "render/": ("tests/render/test_raster.py", "tests/render/test_images.py", "tests/render/test_picture.py"),
    "spatial/lu.py": ("tests/unit/test_ldu_tree.py",),
    "symbolic/": ("tests/physics/test_symbolic.py", "tests/unit/test_generated_recursion.py"),
    "variational/": ("tests/physics/test_variational_order.py", "tests/physics/test_variational_invariants.py"),
    "signals.py": ("actuator_expression-aba", "actuator_table-aba"),
}
"""Runs that surely reach a file, by the beginning of its name: scenes and methods, or tests where no scene does.

Files that are not listed are reached by any scene.
"""

SCENE_READERS = tuple(
    f"tests/scene/test_{name}.py"
    for name in ("broken", "reader_refusals", "resolve", "scalars", "tables", "size_limits", "schema", "timing", "dump")
)
READERS_FIRST = {
    "comparison/": ("tests/comparison/test_compare.py", "tests/comparison/test_equivalence.py"),
    "escaping.py": ("tests/cli/test_escaping.py",),
    "expressions/": ("tests/expressions", *SCENE_READERS),
    "kernel/": ("tests/contract/test_store.py", "tests/fuzz/test_cache.py"),
    "meshes/": ("tests/meshes",),
    "output/": ("tests/output/test_foreign_files.py", "tests/output/test_carried_state.py"),
    "signals.py": ("tests/unit/test_signals.py",),
    "spec/": ("tests/spec", *SCENE_READERS),
}
"""Tests that reach a reader, by the beginning of its name; those of scenes for all others."""

READERS_SUITE = (
    "scene",
    "spec",
    "expressions",
    "output",
    "comparison",
    "meshes",
    "joints/test_specs.py",
    "fuzz",
    "unit",
)
"""Folders and files of the tests of readers."""

NEEDS_A_COMPILER = "not (nonfinite or test_kernels_run_as_plain_python)"
"""Tests left out of the suite without a compiler: division by zero ends plain Python, and the rest differs by it."""

ONLY_PYTHON = ("IndexError", "OverflowError", "RuntimeWarning", "ValueError", "ZeroDivisionError")
"""Errors of arithmetic that compiled code does not know: a test that fails so is tried once more, compiled."""

LIMIT = 1200.0
"""Time after which a test counts as an endless loop, s."""


@dataclass(frozen=True)
class Stage:
    """A stage of tests: arguments of pytest, with or without a compiler, and its time limit, s."""

    arguments: tuple[str, ...]
    compiled: bool
    limit: float


def stages(file: str) -> list[Stage]:
    """Return the stages for a mutant of a kernel, cheapest first; those without a compiler for an empty name."""
    first = [word for start, words in FIRST.items() if file.startswith(start) for word in words]
    quick = dict.fromkeys([word for word in first if word in QUICK] + [*QUICK])
    plain = [
        Stage(tuple(map(_test_of, quick)), False, LIMIT),
        Stage(("tests/unit", "-k", NEEDS_A_COMPILER), False, LIMIT),
    ]
    if not file:
        return plain
    likely = [Stage((_test_of(word),), True, LIMIT) for word in first]
    rest = [Stage((BASELINES, *DAILY), True, 2 * LIMIT), Stage((*SUITE, *DAILY), True, 3 * LIMIT)]
    return likely + plain + rest


def reader_stages(file: str) -> list[Stage]:
    """Return the stages for a mutant of a reader, cheapest first; the first one for an empty name."""
    suite = Stage((*(f"tests/{name}" for name in READERS_SUITE), *DAILY), True, 3 * LIMIT)
    if not file:
        return [Stage(tuple({word: None for words in READERS_FIRST.values() for word in words}), True, LIMIT)]
    first = next((words for start, words in READERS_FIRST.items() if file.startswith(start)), SCENE_READERS)
    return [Stage(first, True, LIMIT), suite]


def verdict(mutant: Mutant | None, every: list[Stage], workplace: Path) -> str:
    """Return the test of these stages that catches a mutant, or that fails without one; all lies in `workplace`."""
    for name in CARRIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, workplace / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, workplace)
    if mutant is not None:
        path = workplace / "multibody_cli" / mutant.file
        path.write_text(mutant.applied(path.read_text(encoding="utf-8")), encoding="utf-8")
    for stage in every:
        test, why = failure(stage, workplace)
        if not stage.compiled and why.startswith(ONLY_PYTHON):
            stage = Stage((test,), True, LIMIT)
            test, why = failure(stage, workplace)
        if test:
            return test if stage.compiled else f"{test} (not compiled)"
    return SURVIVED


def failure(stage: Stage, workplace: Path) -> tuple[str, str]:
    """Run a stage in a copy of the project; the test that failed first, and why, or two empty words."""
    environment = {**os.environ, "PYTHONPATH": str(workplace), "MBSIM_CACHE_DIR": str(KERNELS)}
    environment |= {"NUMBA_DISABLE_JIT": "0" if stage.compiled else "1", "COLUMNS": "400"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=short", "-p", "no:cacheprovider"]
    process = subprocess.Popen(
        [*command, *stage.arguments], cwd=workplace, env=environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        said, _ = process.communicate(timeout=stage.limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # a mutant may loop for ever, also in a process of a test
        process.communicate()
        return f"no end after {stage.limit:g} s of {stage.arguments[0]}", ""
    if process.returncode == 0:
        return "", ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S.*?)(?: - (.*))?$", said, re.MULTILINE)
    return (failed[1], failed[2] or "") if failed else (f"crash of {stage.arguments[0]}", "")


def _test_of(word: str) -> str:
    return word if word.startswith("tests/") else f"{BASELINES}::test_scene_agrees_with_its_baseline[{word}]"


def _tried(mutant: Mutant | None, stages_of: Callable[[str], list[Stage]]) -> str:
    """Return the verdict on a mutant, in a folder of its own, and report its time."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mbsim-mutant-") as workplace:
        found = verdict(mutant, stages_of(mutant.file if mutant else ""), Path(workplace))
    place = f"{mutant.file}:{mutant.line}" if mutant else "unchanged"
    _report(f"{place}: {time.monotonic() - began:.0f} s: {found}")
    return found


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Draw the mutants, and try one after the other."""
    reader = argparse.ArgumentParser(description="Whether tests notice that one sign of one kernel is wrong.")
    reader.add_argument(
        "--readers", action="store_true", help="change operators and checks of readers of files instead"
    )
    reader.add_argument("--seed", type=int, default=1, help="which mutants are drawn; default %(default)s")
    reader.add_argument("--count", type=int, default=24, help="how many; default %(default)s")
    reader.add_argument("--jobs", type=int, default=1, help="mutants tried at a time; default %(default)s")
    wanted = reader.parse_args()
    if wanted.readers:
        chosen, stages_of = drawn_of_each_operator(reader_mutants(ROOT), wanted.seed, wanted.count), reader_stages
    else:
        chosen, stages_of = drawn(all_mutants(ROOT / "multibody_cli"), wanted.seed, wanted.count), stages
    if (found := _tried(None, stages_of)) != SURVIVED:
        _report(f"the unchanged copy fails {found}: mend that first, it would catch every mutant")
        return 2
    survivors = 0
    with ThreadPoolExecutor(wanted.jobs) as pool:
        for mutant, found in zip(chosen, pool.map(lambda one: _tried(one, stages_of), chosen), strict=True):
            survivors += found == SURVIVED
            change = mutant.described((ROOT / "multibody_cli" / mutant.file).read_text(encoding="utf-8"))
            print(f"{mutant.file}:{mutant.line}: {change}\n    {found}", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} mutants caught")
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())
