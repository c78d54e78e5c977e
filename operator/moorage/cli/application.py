"""The `moorage` command line: registers the commands, and turns errors into one line and an exit status."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from moorage import __version__
from moorage.cli.configuration_commands import import_configuration, view_configuration
from moorage.cli.dump_command import dump
from moorage.cli.inspection_commands import crd, parity, plugins, version
from moorage.cli.lint_command import lint
from moorage.cli.policy_test_command import run_policy_tests
from moorage.cli.replay_command import replay
from moorage.cli.run_command import run
from moorage.cli.sandbox_commands import demo, sandbox
from moorage.cli.simulate_command import simulate
from moorage.cli.tune_command import tune
from moorage.cli.why_command import why
from moorage.errors import FaultsError, MoorageError
from moorage.outside_text import one_line

INTERRUPTED = 130
"""The exit status after Ctrl-C."""


def main() -> None:
    """Run the command line; print each error that a user can fix as one line, and exit with status 1."""
    try:
        build_app()()
    except FaultsError as error:
        for fault in error.faults:
            print(f"error: {fault}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else error
        print(f"error: {one_line(str(what))}", file=sys.stderr)
        sys.exit(1)
    except MoorageError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def build_app() -> typer.Typer:
    """Return the command line with all commands, in the order in which `moorage --help` lists them."""
    # rich_markup_mode=None turns off rich's help tables, which cut the names of flags on a terminal of 80 columns.
    app = typer.Typer(
        name="moorage",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_moorage)
    for command in (run, why, demo, sandbox, dump, lint, simulate, tune, replay, crd, plugins):
        app.command()(command)
    app.command("import")(import_configuration)
    app.command("test")(run_policy_tests)
    app.command()(parity)
    app.command()(version)
    config = typer.Typer(
        name="config", help="Check a KubeSchedulerConfiguration.", no_args_is_help=True, rich_markup_mode=None
    )
    config.command("view")(view_configuration)
    app.add_typer(config)
    return app


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - click's callback
    if wanted:
        print(f"moorage {__version__}")
        raise typer.Exit


def _moorage(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Schedule pods on Kubernetes by SchedulingPolicy objects."""
    del version
