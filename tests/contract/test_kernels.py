"""Compiled code: digests, no allocation, compilation once, and loading without numba."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import multibody_cli
from multibody_cli.contacts.shapes.switch import place_geoms
from multibody_cli.errors import MbsimError
from multibody_cli.kernel import Formula, Kernel, cache_root, formula, is_interpreted, kernel, store
from multibody_cli.kernel.arguments import Arguments, Block, kind_of, narrow
from multibody_cli.kernel.loading import LINK
from multibody_cli.kernel.reach import reach_of

TESTS = Path(__file__).parent.parent
compiled = pytest.mark.skipif(is_interpreted(), reason="nothing is compiled")

MAY_CALL = {
    *(
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "cbrt",
        "ceil",
        "cos",
        "cosh",
        "exp",
        "expm1",
        "fabs",
    ),
    *("floor", "fmod", "hypot", "ldexp", "log", "log1p", "memcpy", "memmove", "memset", "pow", "rint", "round", "sin"),
    *("sincos", "sinh", "sqrt", "tan", "tanh", "trunc"),
    LINK,
}
"""Functions that compiled code may call: none allocates, except that which loads a lazy kernel, once."""

RUN = """
import json, sys
sys.path.insert(0, {tests!r})
from machines import *
from test_integrators import mixed_tree
from multibody_cli.kernel import loading
packed = mixed_tree()
states = {{}}
for name in {integrators!r}:
    method, state = packed.method(name, 1e-4), packed.fresh_state()
    method.start(state)
    method.advance(state, 0.01)
    states[name] = state.q.tobytes().hex()
print(json.dumps({{"numba": "numba" in sys.modules, "states": states, "loaded": sorted(loading._loaded)}}))
"""


def functions():
    """(module, name, function) of every kernel and formula that a module of the package defines."""
    for found in pkgutil.walk_packages(multibody_cli.__path__, "multibody_cli."):
        if found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            if isinstance(value, Formula) and value.__module__ == found.name:
                yield found.name, name, value


FUNCTIONS = list(functions())


def test_every_kernel_has_a_digest():
    """Without a digest of all that it reads, an outdated kernel could be loaded."""
    kernels = [value for _, _, value in FUNCTIONS if isinstance(value, Kernel)]
    assert len(kernels) > 400
    for value in kernels:
        assert len(value.reach.digest) == 64, value


def test_no_field_of_a_record_is_an_attribute_of_records():
    """As plain Python, `loop.size` would be the 1 of every NumPy scalar and not the field."""
    reserved = set(dir(np.record))
    for found in pkgutil.walk_packages(multibody_cli.__path__, "multibody_cli."):
        if not found.name.endswith("__main__"):
            for name, value in vars(importlib.import_module(found.name)).items():
                fields = value.names or () if isinstance(value, np.dtype) else ()
                assert not reserved.intersection(fields), f"{found.name}.{name}"


def run_in_a_process(cache, integrators):
    script = RUN.format(tests=str(TESTS), integrators=integrators)
    path = os.pathsep.join([str(TESTS / "physics"), str(TESTS.parent)])
    environment = {**os.environ, "MBSIM_CACHE_DIR": str(cache), "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


FAR = """
import mmap, mbsim
def step(name):
    mbsim.Simulation(mbsim.load(f"{scenes}/{{name}}.yaml")).step(1)
step("anchors")
arrays = [mmap.mmap(-1, 1 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ) for _ in range(6)]
step("contact_filters")
"""


@compiled
@pytest.mark.skipif(sys.platform != "linux", reason="mappings of Linux")
def test_code_is_loaded_behind_large_arrays():
    """Its relative addresses reach 2 GiB; the loader of LLVM would abort the process."""
    script = FAR.format(scenes=TESTS.parent / "scenes/gallery")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@compiled
def test_a_second_process_compiles_nothing_and_does_not_import_numba(tmp_path, monkeypatch):
    """The first process compiles into the cache of all tests; the second has only the code that the first loaded."""
    integrators = ["semi_implicit_euler"]
    first = run_in_a_process(cache_root(), integrators)
    loaded = [store.find(symbol) for symbol in first["loaded"]]
    monkeypatch.setenv("MBSIM_CACHE_DIR", str(tmp_path))
    assert all(store.keep(code) for code in loaded)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("[ekfg]*") if path.is_file()}
    assert files
    second = run_in_a_process(tmp_path, integrators)
    assert second == first | {"numba": False}
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("[ekfg]*") if path.is_file()} == files
    called = set()
    for path in files:
        code = store.from_bytes(path.name, path.read_bytes())
        assert code is not None
        called |= set(code.externals)
    assert called
    assert called <= MAY_CALL, "compiled code calls something that could allocate"


# --- digests ------------------------------------------------------------------------------------------------------
def function_of(text, **names):
    """Define a kernel by its source."""
    found = {"kernel": kernel, "formula": formula, **names}
    exec(text, found)
    return found["function"]


def test_a_digest_does_not_depend_on_what_else_is_imported():
    """A worker that compiles one kernel imports less than the process that asks for it."""
    words = "from multibody_cli.contacts.shapes.switch import place_geoms; print(place_geoms.reach.digest)"
    alone = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True).stdout.strip()
    assert alone == place_geoms.reach.digest


def test_a_digest_does_not_depend_on_comments_and_docstrings():
    plain = function_of("@kernel\ndef function(x):\n    return x + 1.0\n")
    commented = function_of('@kernel\ndef function(x):\n    """One more."""\n    # the next\n\n    return x + 1.0\n')
    assert plain.reach.digest == commented.reach.digest


@pytest.mark.parametrize("changed", ["x + 2.0", "x - 1.0", "1.0 + x", "x", "x + 1"])
def test_a_digest_depends_on_what_is_computed(changed):
    plain = function_of("@kernel\ndef function(x):\n    return x + 1.0\n")
    other = function_of(f"@kernel\ndef function(x):\n    return {changed}\n")
    assert plain.reach.digest != other.reach.digest


def test_a_digest_covers_exactly_the_called_functions():
    text = "@kernel\ndef function(x):\n    return {name}(x) + 1.0\n"
    one = function_of("@formula\ndef function(x):\n    return 2.0 * x\n")
    other = function_of("@formula\ndef function(x):\n    return 3.0 * x\n")
    caller = function_of(text.format(name="scaled"), scaled=one, unused=one)
    assert caller.reach.digest == function_of(text.format(name="scaled"), scaled=one, unused=other).reach.digest
    assert caller.reach.digest != function_of(text.format(name="scaled"), scaled=other, unused=one).reach.digest


def test_an_undefined_name_is_refused():
    with pytest.raises(TypeError, match="function reads scaled, which is not defined"):
        reach_of(function_of("@kernel\ndef function(x):\n    return scaled(x)\n"))


@pytest.mark.parametrize("value", [1.5, 2, (1, 2.0), np.arange(3.0), "word"])
def test_a_digest_covers_the_constants_that_are_read(value):
    text = "@kernel\ndef function(x):\n    return CONSTANT\n"
    assert function_of(text, CONSTANT=value).reach.digest != function_of(text, CONSTANT=7.0).reach.digest


def test_a_digest_covers_the_names_by_which_compiled_code_refers_to_others():
    """A function or class that moves to another module invalidates the code compiled before."""
    text = "@kernel\ndef function(x):\n    return Pair(x)\n"
    pair: Any = NamedTuple("Pair", [("a", float)])
    here = function_of(text, Pair=pair).reach.digest
    assert function_of(text, Pair=pair, __name__="elsewhere").reach.digest != here
    pair.__module__ = "elsewhere"
    assert function_of(text, Pair=pair).reach.digest != here


def large_kernel(result, **names):
    """Define a kernel that is too large to be inlined and returns its argument, with a declared result."""
    text = f"@kernel\ndef function(x) -> {result}:\n" + "    x = -x\n" * 100 + "    return x\n"
    return function_of(text, **names)


def test_a_digest_covers_the_result_that_is_declared():
    """Callers are compiled by it."""
    declared = [large_kernel("'Pair'", Pair=NamedTuple("Pair", [("a", kind)])) for kind in (int, float)]
    declared += [large_kernel(kind) for kind in ("int", "float", "tuple[int, float]")]
    assert not any(one.inlined for one in declared)
    assert len({one.reach.digest for one in declared}) == len(declared)


@compiled
def test_another_result_than_the_declared_one_is_refused():
    with pytest.raises(MbsimError, match="function returns float64, and declares int64"):
        large_kernel("int")(1.5)
    assert large_kernel("float")(1.5) == 1.5


def test_constants_without_a_digest_are_refused():
    with pytest.raises(TypeError, match="reads TABLE, a dict"):
        reach_of(function_of("@kernel\ndef function(x):\n    return TABLE[x]\n", TABLE={1: 2}))


def test_code_of_a_free_chain_does_not_depend_on_contact_shapes():
    from multibody_cli.methods.aba import ABA
    from multibody_cli.methods.evaluation import unconstrained_dynamics

    reach = unconstrained_dynamics(ABA.kernels.accelerate).evaluate.reach
    assert "forward_kinematics" in reach.names
    assert not {"box_box", "contact_points"} & reach.names


def test_kernels_have_neither_closures_nor_defaults():
    """No digest covers them."""
    text = (
        "def outer(c):\n    @kernel\n    def inner(x):\n        return c * x\n    return inner\nfunction = outer(2.0)\n"
    )
    for one in (text, "@kernel\ndef function(x, y=1.0):\n    return x + y\n"):
        with pytest.raises(TypeError, match="a kernel has no closure and no default arguments"):
            reach_of(function_of(one))


def test_a_digest_covers_what_the_writers_of_instructions_call():
    from multibody_cli.kernel import instructions

    def called(text):
        names = {"__name__": "multibody_cli.somewhere"}
        exec(
            f"def helper(builder):\n    {text}\ndef emit(context, builder, types, args):\n    helper(builder)\n", names
        )
        written = instructions(names["emit"])(names["helper"])
        return function_of("@kernel\ndef function(x):\n    written(x)\n", written=written).reach.digest

    assert called("return 1") == called("return 1")
    assert called("return 1") != called("return 2")


class Inner(NamedTuple):
    """A block inside of a block."""

    springs: np.ndarray
    muscles: np.ndarray


class Outer(NamedTuple):
    """A block with a block inside."""

    patches: np.ndarray
    points: np.ndarray
    loads: Any


# --- arguments ----------------------------------------------------------------------------------------------------
def test_unused_fields_do_not_change_the_digest():
    kind = kind_of(Outer(np.zeros(3), np.zeros((2, 2)), Inner(np.zeros(1), np.zeros(2))))
    assert isinstance(kind, Block)
    other = kind_of(Outer(np.zeros(3), np.zeros(2), ()))
    names = frozenset({"patches"})
    assert narrow(kind, names) == narrow(other, names)
    assert narrow(kind, names | {"points"}) != narrow(other, names | {"points"})


def test_the_order_of_fields_changes_the_digest():
    from multibody_cli.kernel.tasks import entry_task

    def symbol(*names):
        pair = namedtuple("pair", names)
        return entry_task(_sums, Arguments((pair(1.0, 2.0),)).kinds).symbol

    assert symbol("a", "b") == symbol("a", "b")
    assert symbol("a", "b") != symbol("b", "a")


def test_tuples_of_blocks_inside_of_blocks_are_refused():
    inner = Inner(np.zeros(1), np.zeros(2))
    with pytest.raises(TypeError, match="is a tuple of blocks: give each a field of its own"):
        kind_of(Inner((inner, inner), np.zeros(1)))


@kernel
def _sums(block, pair, scale, flag, out):
    """Read one of each kind."""
    out[0] = block.patches[1] + block.points[1, 0] + block.loads.springs[1]
    out[1] = pair[0][2] + pair[1]
    out[2] = scale if flag else -scale
    return flag, scale, len(out)


@compiled
def test_arguments_of_every_kind_arrive():
    strided = np.arange(8.0).reshape(4, 2)[:, 0]
    block = Outer(strided, np.arange(4.0).reshape(2, 2), Inner(np.array([5, 7]), np.zeros(0, np.int64)))
    out = np.zeros(3)
    assert _sums(block, (np.arange(3), 4), 0.5, True, out) == (True, 0.5, 3)
    assert out.tolist() == [2.0 + 2.0 + 7.0, 6.0, 0.5]
    assert _sums(block, (np.arange(3), 4), 0.5, np.False_, out)[0] is False
    assert out[2] == -0.5


@kernel
def _sums_of_arrays(x, y, cube, records, out):
    """Add every element of arrays of each form; too long for a formula."""
    for i in range(len(x)):
        out[0] += x[i]
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            out[1] += y[i, j] * (1.0 + i)
    for i in range(cube.shape[0]):
        for j in range(cube.shape[1]):
            for k in range(cube.shape[2]):
                out[2] += cube[i, j, k] * (1.0 + 2.0 * i + 3.0 * j + 5.0 * k)
    for i in range(len(records)):
        out[3] += records[i].b[1]
    out[4] = x.size + y.size + cube.size + records.itemsize


@kernel
def _passes_arrays(x, y, cube, records, out):
    """Pass parts of arrays to a kernel."""
    n = len(x)
    _sums_of_arrays(x[1:n], y[1:], cube, records[: n - 1], out)
    _sums_of_arrays(records[0].b, y[1:], cube, records[: n - 1], out)


@compiled
def test_calls_pass_arrays_of_every_form():
    """Vectors, contiguous, strided and in records, rows of a matrix, three axes, and records, as NumPy reads them."""
    rng = np.random.default_rng(1)
    records = np.zeros(4, np.dtype([("a", "i8"), ("b", "f8", 3)]))
    records["b"] = rng.normal(size=(4, 3))
    cube = rng.normal(size=(2, 3, 4))
    i, j, k = np.indices(cube.shape)
    for x in (rng.normal(size=4), rng.normal(size=(4, 2))[:, 1]):
        for y in (rng.normal(size=(3, 2)), rng.normal(size=(2, 3)).T):
            for c in (cube, cube[::-1]):
                out = np.zeros(5)
                _passes_arrays(x, y, c, records, out)
                expected = [
                    x[1:].sum() + records["b"][0].sum(),
                    2 * (y[1:] * [[1.0], [2.0]]).sum(),
                    2 * (c * (1 + 2 * i + 3 * j + 5 * k)).sum(),
                    2 * records["b"][:3, 1].sum(),
                    3 + 4 + 24 + 32,
                ]
                np.testing.assert_allclose(out, expected, rtol=1e-14)


def test_the_address_of_an_array_is_that_of_its_data():
    """Of each form, as `ctypes` has it: empty, without axes, strided, transposed, of records, read-only."""
    numbers = np.arange(12.0).reshape(3, 4)
    records = np.zeros(3, [("a", "f8"), ("b", "i8")])
    forms = [np.zeros(0), np.array(1.0), numbers, numbers[1:, 1], numbers.T, numbers[::-1], numbers != 0.0]
    forms += [records, records[1:], records["b"], records.view(np.recarray)]
    forms[2].flags.writeable = False
    assert [Arguments((form,)).words[0] for form in forms] == [form.ctypes.data for form in forms]


def test_arguments_that_kernels_do_not_take_are_refused():
    with pytest.raises(TypeError, match="a kernel takes numbers, arrays and tuples of these, not str"):
        Arguments(("word",))


# --- the store ----------------------------------------------------------------------------------------------------
def test_the_cache_folder_is_configurable(tmp_path, monkeypatch):
    monkeypatch.setenv("MBSIM_CACHE_DIR", str(tmp_path / "here"))
    assert cache_root() == tmp_path / "here"
    monkeypatch.delenv("MBSIM_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert cache_root() == tmp_path / "user" / "mbsim"
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert cache_root().parent == tmp_path
