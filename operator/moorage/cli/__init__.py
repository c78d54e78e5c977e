"""The `moorage` command. `application` registers the commands; each other module holds commands of one subject.

Commands import heavy modules in their bodies, so that `--help` and shell completion are fast. Data goes to stdout,
everything else to stderr. If a user can fix an error, the command prints one line with the next step, not a traceback.
"""

from moorage.cli.application import main

__all__ = ["main"]
