"""The program `mbsim`: dispatches to a verb and converts every outcome into an exit code and a message.

A verb returns its exit code. Exceptions of the `MbsimError` family carry a message for the user; any other exception is
reported in one line as an internal error.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

from multibody_cli.cli import messages
from multibody_cli.cli.tables import STDOUT
from multibody_cli.errors import ArgumentError, MbsimError, SceneError, nearest
from multibody_cli.version import full_version

VERBS = (
    "new",
    "run",
    "rerun",
    "sweep",
    "certify",
    "validate",
    "info",
    "import",
    "doctor",
    "fit",
    "equilibrium",
    "modes",
    "linearize",
    "optimize",
    "inverse",
    "kinematics",
    "plot",
    "export",
    "render",
    "list",
    "compare",
    "regress",
    "bench",
    "reproduce",
    "equations",
    "codegen",
    "schema",
    "warm",
    "cache",
    "completion",
)


class Verbs(click.Group):
    """The group of verbs; each verb is imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb; None if there is no such verb."""
        if cmd_name not in VERBS:
            return None
        verb: click.Command = import_module(f"multibody_cli.cli.{cmd_name}").verb
        return verb

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb that the arguments name."""
        word = args[0]
        if word not in VERBS and not word.startswith("-"):
            ctx.fail(f"there is no verb `{word}`: {nearest(word, VERBS)}")
        return super().resolve_command(ctx, args)


def _show_version(context: click.Context, _option: click.Parameter, is_wanted: bool) -> None:
    if is_wanted:
        from multibody_cli.cli.tables import show

        show(f"mbsim, version {full_version()}")
        context.exit()


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Print the version."
)
def app() -> None:
    """Simulate multibody systems that are described by YAML scenes.

    Results are written to stdout, messages to stderr. `mbsim VERB --help` describes a verb.

    Exit code: 0 on success, 1 on failure, also of writing a file or stdout, 2 if the arguments or the input are
    rejected. The verbs whose codes mean more describe them.
    """


app.params += messages.switches()


def enter() -> NoReturn:
    """Run the process `mbsim`."""
    gc.disable()  # imported objects persist, and a run creates no reference cycles
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # pydantic would search the installed packages
    use_one_blas_thread()
    code = _run(None)
    sys.stderr.flush()
    os._exit(code)  # without the cost of destroying all objects


def main(words: Sequence[str] | None = None) -> NoReturn:
    """Run `mbsim` and exit with `sys.exit`.

    Parameters
    ----------
    words
        Arguments after `mbsim`; None takes those of this process.
    """
    sys.exit(_run(words))


def _run(words: Sequence[str] | None) -> int:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the calling process
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # file names may contain characters that the terminal cannot encode
            stream.reconfigure(errors="backslashreplace")
    code = _call(words)
    try:
        sys.stdout.flush()
    except OSError as error:
        error.filename = STDOUT
        code = _stream_failed(error)
    return code


def _call(words: Sequence[str] | None) -> int:
    settings: dict[str, Any] = {
        "prog_name": "mbsim",
        "standalone_mode": False,
        "color": messages.colors_wanted(),
    }
    try:
        if any("\0" in word for word in words or ()):
            raise ArgumentError("an argument contains a NUL character, which no file name and no value may have")
        return app.main(words, **settings) or 0
    except click.ClickException as error:
        text = io.StringIO()
        error.show(text)
        usage, refused, message = text.getvalue().removesuffix("\n").partition("Error: ")
        if usage:
            messages.usage(usage.removesuffix("\n"))
        if refused:
            messages.error(message.replace("\n\t", " "))  # click lists choices with tabs, which are escaped
        return error.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        if isinstance(error.__cause__, EOFError):  # click takes it for the end of the input of a prompt
            return _explain_fault(error.__cause__)
        messages.error("interrupted")
        return messages.INTERRUPTED
    except SceneError as error:
        messages.problems(str(error))
        return error.exit_code
    except MbsimError as error:
        messages.error(str(error))
        return error.exit_code
    except MemoryError:
        messages.error("out of memory: use fewer bodies or fewer output instants")
        return 1
    except OSError as error:
        return _stream_failed(error)
    except Exception as error:
        return _explain_fault(error)


def _stream_failed(error: OSError) -> int:
    """Report that a file or stdout could not be written; silent if the reader of a pipe has exited."""
    if not isinstance(error, BrokenPipeError):
        place = f"{error.filename}: " if error.filename else ""
        messages.error(f"{place}{error.strerror or error}")
    # flushing the rest of the buffer at exit would fail again
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    return 1


def _explain_fault(error: Exception) -> int:
    if os.environ.get("MBSIM_DEBUG"):
        raise error
    text = " ".join(str(error).split())
    if isinstance(error, EOFError) and "marshal" in text:
        folder = Path(__file__).parents[1]
        messages.error(
            f"Python cannot load its compiled form of a module ({text}), as after a full disk: "
            f"remove the `__pycache__` folders in {folder} and in the other packages"
        )
        return 1
    messages.error(
        f"internal error: {type(error).__name__}: {text[:300]}\n"
        "Please report it; with MBSIM_DEBUG=1 in the environment the command prints a traceback."
    )
    return 1


def use_one_blas_thread() -> None:
    """Restrict the linear algebra of NumPy to one thread, so that results do not depend on the number of cores.

    The matrices of a scene are small, and starting the threads takes 0.1 s of processor time.
    """
    for library in ("OPENBLAS", "MKL", "OMP"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
