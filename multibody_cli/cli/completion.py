"""`mbsim completion`: completes verbs, options and files in a shell."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import get_completion_class

from multibody_cli.cli.messages import Verb
from multibody_cli.cli.tables import show
from multibody_cli.errors import OutputError

SHELLS = {
    "bash": (".local/share/mbsim/completion.bash", ".bashrc"),
    "zsh": (".local/share/mbsim/completion.zsh", ".zshrc"),
    "fish": (".config/fish/completions/mbsim.fish", ""),
}
"""Files of a shell in the home folder: the completion script, and the file that loads it, unless it loads itself."""


@click.command("completion", cls=Verb, short_help="Complete verbs and options in a shell.")
@click.argument("name", metavar="|".join(SHELLS), type=click.Choice(list(SHELLS)))
@click.option("--install", is_flag=True, help="Keep the script in your home folder, and load it in every new shell.")
def verb(name: str, install: bool) -> int:
    """Print the script with which a shell completes verbs, options and files of `mbsim`.

    --install writes the script below ~/.local/share/mbsim (fish: ~/.config/fish/completions) and adds a line that loads
    it to ~/.bashrc or ~/.zshrc, once. Completion begins with the next shell.
    """
    kind = get_completion_class(name)
    assert kind is not None
    text = kind(click.get_current_context().find_root().command, {}, "mbsim", "_MBSIM_COMPLETE").source()
    if not install:
        show(text, nl=False)
        return 0
    for path in _installed(*SHELLS[name], text):
        show(path)
    return 0


def _installed(script_name: str, startup_name: str, text: str) -> list[Path]:
    """Write the script, and the line that loads it unless it is there; return the files that were written."""
    from multibody_cli.output.file_replacement import write_text

    script = Path.home() / script_name
    write_text(script, text)
    if not startup_name:
        return [script]
    startup, line = Path.home() / startup_name, f'source "$HOME/{script_name}"  # mbsim completion\n'
    try:
        before = startup.read_text(encoding="utf-8", errors="surrogateescape") if startup.exists() else ""
        if line in before:
            return [script]
        with startup.open("a", encoding="utf-8") as file:
            file.write(line if before.endswith("\n") or not before else f"\n{line}")
    except OSError as error:
        raise OutputError(f"cannot write {startup}: {error.strerror or error}; add the line: {line}") from error
    return [script, startup]
