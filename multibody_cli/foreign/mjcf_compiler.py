"""MuJoCo's own compiler of MJCF, in a process of its own.

The compiler is C: a model may crash it, exhaust memory or never end, and none of it may end the program that asks.  The
process prints the compiled model as an archive of arrays.  This file is also its program, which imports nothing of the
package.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

LONGEST = 120.0
"""Longest time of a compilation, s."""

REFUSED = 3
"""Exit status of the process for a model that the compiler refuses."""

NAMED = ("body", "jnt", "geom", "site", "mesh", "tendon", "actuator", "eq", "key", "mat")
"""Prefixes of the kinds of objects whose names are needed, as in `name_bodyadr`."""

PREFIXES = ("qpos0", "qpos_", *(f"{kind}_" for kind in (*NAMED, "dof", "exclude", "pair", "wrap")))
"""Starts of the names of the arrays that are needed."""


class CompilerError(Exception):
    """The compiler is absent, refuses the model, or fails; the message is one line."""


def compile_model(path: Path) -> Any:
    """Return the compiled model of an MJCF file.

    Returns
    -------
    model
        Arrays with the names and shapes of MuJoCo's `mjModel` as attributes, such as `body_mass` (nbody,); `names`,
        lists of names by kind; `option`, the fields of `mjOption`; `disabled`, the flags of the file, by name, that
        disable a part of the engine; `mesh_files`, file names by mesh, or empty;
        `mesh_references`, `refpos` and `refquat` by mesh; `densities`, those of geoms; and at the start and in each of
        n keyframes `state_turns` (1 + n, nbody, 4) and `state_spins` (1 + n, nbody, 3), quaternions and angular
        velocities of the bodies in the axes of the world, rad/s, and the largest errors of equalities, `eq_openings`
        (1 + n, neq), and of the ranges of ropes, `tendon_openings` (1 + n, ntendon), m or rad.

    Raises
    ------
    CompilerError
        MuJoCo is not installed, refuses the model, crashes, or takes longer than `LONGEST`.
    """
    if importlib.util.find_spec("mujoco") is None:
        raise CompilerError("MJCF files need MuJoCo's compiler: pip install 'multibody-cli[import]'")
    with tempfile.TemporaryDirectory() as folder:  # MuJoCo writes its log into the working directory
        try:
            found = subprocess.run(
                [sys.executable, "-P", __file__, str(path.absolute())],
                capture_output=True,
                cwd=folder,
                env={**os.environ, "MUJOCO_GL": "disable"},  # no windows, whose library takes a third of the time
                timeout=LONGEST,
            )
        except subprocess.TimeoutExpired:
            raise CompilerError(f"MuJoCo's compiler did not end within {LONGEST:g} s") from None
    if found.returncode != 0:
        if found.returncode != REFUSED:
            message = " ".join(found.stderr.decode(errors="replace").split())
            raise CompilerError(f"MuJoCo's compiler failed (exit status {found.returncode}): {message[-200:]}")
        with np.load(io.BytesIO(found.stdout), allow_pickle=False) as archive:
            raise CompilerError("MuJoCo's compiler refuses the model: " + " ".join(str(archive["refusal"]).split()))
    with np.load(io.BytesIO(found.stdout), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return SimpleNamespace(**json.loads(str(arrays.pop("properties"))), **arrays)


def _print_compiled(path: str) -> None:
    import mujoco

    try:
        spec = mujoco.MjSpec.from_file(path)
        model = spec.compile()
    except Exception as error:
        np.savez(sys.stdout.buffer, refusal=str(error))
        raise SystemExit(REFUSED) from None
    arrays = {name: getattr(model, name) for name in dir(model) if name.startswith(PREFIXES)}
    arrays = {name: value for name, value in arrays.items() if isinstance(value, np.ndarray)}
    speeds = (np.zeros(model.nv), *model.key_qvel)
    states = [_state(mujoco, model, q, v) for q, v in zip((model.qpos0, *model.key_qpos), speeds, strict=True)]
    arrays |= {name: np.array([state[name] for state in states]) for name in states[0]}
    meshes = sorted(spec.meshes, key=lambda mesh: mesh.id)
    properties = {
        "names": {kind: [_name(model, address) for address in getattr(model, f"name_{kind}adr")] for kind in NAMED},
        "disabled": _disabled(mujoco, model),
        "option": {name: _plain(getattr(model.opt, name)) for name in dir(model.opt) if not name.startswith("_")},
        "mesh_files": [_file_of(spec, mesh) for mesh in meshes],
        "mesh_references": [[_plain(mesh.refpos), _plain(mesh.refquat)] for mesh in meshes],
        "densities": _densities(spec, model),
    }
    np.savez(sys.stdout.buffer, properties=json.dumps(properties), **arrays)


def _disabled(mujoco: Any, model: Any) -> list[str]:
    """Return the flags that are set, by name: their bits differ between releases."""
    flags, prefix = mujoco.mjtDisableBit, "mjDSBL_"
    bits = {name: int(getattr(flags, name)) for name in dir(flags) if name.startswith(prefix)}
    return [name.removeprefix(prefix).lower() for name, bit in bits.items() if model.opt.disableflags & bit]


def _state(mujoco: Any, model: Any, q: Any, v: Any) -> dict[str, Any]:
    """Return the motion of the bodies and the openings at coordinates, those with limits within them."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, v
    limited = model.jnt_limited.astype(bool) & (model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE))
    limited &= not {"limit", "constraint"} & set(_disabled(mujoco, model))
    places = model.jnt_qposadr[limited]
    data.qpos[places] = np.clip(data.qpos[places], *model.jnt_range[limited].T)
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_comVel(model, data)
    return {
        "state_turns": data.xquat.copy(),
        "state_spins": data.cvel[:, :3].copy(),
        "eq_openings": [_opening(mujoco, model, data, index) for index in range(model.neq)],
        "tendon_openings": [_excess(mujoco, model, data, index) for index in range(model.ntendon)],
    }


def _opening(mujoco: Any, model: Any, data: Any, index: int) -> float:
    """Return the largest error of an equality in a state; that of a weld may be an angle."""
    rows = (data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)) & (data.efc_id == index)
    errors = np.abs(data.efc_pos[rows])
    if model.eq_type[index] == int(mujoco.mjtEq.mjEQ_WELD) and (scale := model.eq_data[index, 10]):
        sine = min(float(np.linalg.norm(errors[3:])) / scale, 1.0)  # MuJoCo has that of half the angle
        errors[3:] = 2.0 * np.arcsin(sine)
    return float(errors.max(initial=0.0))


def _excess(mujoco: Any, model: Any, data: Any, index: int) -> float:
    """Return the distance of the length of a rope from its range in a state; 0 for a fixed tendon."""
    rows = (data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_LIMIT_TENDON)) & (data.efc_id == index)
    is_fixed = model.wrap_type[model.tendon_adr[index]] == int(mujoco.mjtWrap.mjWRAP_JOINT)
    return 0.0 if is_fixed else float(-data.efc_pos[rows].min(initial=0.0))


def _name(model: Any, address: int) -> str:
    end = model.names.index(b"\0", address)
    return str(model.names[address:end], errors="replace")


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value if isinstance(value, int | float | str | list) else str(value)


def _densities(spec: Any, model: Any) -> list[Any]:
    """Return the density of each geom, kg/m^3, from which the mass of its body follows; None where it does not."""
    options = spec.compiler
    is_adjusted = options.boundmass or options.boundinertia or options.balanceinertia
    scale = 1.0
    if options.settotalmass > 0.0:
        options.settotalmass = -1.0
        scale = float(model.body_mass.sum() / spec.compile().body_mass.sum())
    lowest, highest = options.inertiagrouprange
    found: list[Any] = []
    for geom in sorted(spec.geoms, key=lambda one: one.id):
        has_own = int(options.inertiafromgeom) == 0 or (
            int(options.inertiafromgeom) == 2 and geom.parent.explicitinertial
        )
        if is_adjusted or has_own:
            found.append(None)
        elif not lowest <= geom.group <= highest or geom.mass == 0.0:
            found.append(0.0)
        elif geom.mass == geom.mass or int(geom.typeinertia) != 0:  # a mass of its own, or that of a shell
            found.append(None)
        else:
            found.append(scale * float(geom.density))
    return found


def _file_of(spec: Any, mesh: Any) -> str:
    """Return the file of a mesh, absolute; empty if the file of the model holds its vertices."""
    if not mesh.file:
        return ""
    name = Path(mesh.file).name if spec.strippath else mesh.file
    return str(Path(spec.modelfiledir, spec.meshdir, name))


if __name__ == "__main__":
    _print_compiled(sys.argv[1])
