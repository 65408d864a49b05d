"""The last sample of scenes, by every method."""

from __future__ import annotations

from multibody_cli import MemorySink, prepare
from multibody_cli.methods import METHODS

CHANNELS = ("bodies/position", "bodies/linear_velocity", "bodies/angular_velocity", "energy/total")
OF_JOINTS = ("/force", "/acceleration")


def last_instants(paths):
    """Run every scene with every method; return the last sample by scene and method."""
    found = {}
    for path in paths:
        for method in METHODS:
            sink = MemorySink()
            prepare(path, [f"simulation.method={method}"]).run(sink)
            run = sink.trajectory()
            account = {name: run.channel(name).values for name in run.paths if name.startswith("energy/dissipation/")}
            of_joints = [name for name in run.paths if name.startswith("joints/") and name.endswith(OF_JOINTS)]
            last = {name: run.channel(name).values[-1].tolist() for name in (*CHANNELS, *of_joints)}
            last |= {name: float(values[-1]) for name, values in account.items()}
            last["energy/rise"] = float(
                max(run.channel("energy/total").values[1:] - run.channel("energy/total").values[:-1])
            )
            last["energy/first"] = float(run.channel("energy/total").values[0])
            errors = [run.channel(name).values for name in run.paths if name.endswith("/constraint_error")]
            last["constraint_error"] = max((float(abs(values).max()) for values in errors), default=0.0)
            last |= {"creep": float(run.channel("contacts/creep").values[-1])}
            last |= {name: values.tolist() for name, values in run.contacts(-1).items()}
            found[path.stem, method] = last
    return found
