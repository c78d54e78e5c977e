"""The composition root: builds everything, orders start and stop, and carries values between layers' neighbours."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moorage.configuration.configuration_view import view_of
from moorage.configuration.loading import LoadedConfiguration, load
from moorage.configuration.process_configuration import ProcessConfiguration, check_profile, configure
from moorage.errors import ConfigurationError, Fault
from moorage.framework import plugin_rows
from moorage.framework.plugin_rows import PluginRow
from moorage.framework.registry import Registry
from moorage.settings import Settings

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

__all__ = [
    "PluginRow",
    "configuration_in_force",
    "list_plugins",
    "load_configuration",
    "load_process_configuration",
    "run_operator",
]


def load_process_configuration(flags: Settings, file: Path | None) -> ProcessConfiguration:
    """Read the configuration file, if there is one; ConfigurationError names all its faults, OSError the file."""
    loaded = load_configuration(file, allow_default_scheduler=flags.allow_default_scheduler) if file else None
    return configure(flags, loaded, Registry.discover())


def load_configuration(file: Path, *, allow_default_scheduler: bool) -> LoadedConfiguration:
    """Read a configuration file and check it with all plugins; raises as `load_process_configuration`."""
    from moorage.controller.policy_profiles import check_extender

    registry = Registry.discover()
    return load(
        _text_of(file),
        known_plugins=registry.classes,
        check_profile=partial(check_profile, registry),
        check_extender=check_extender,
        allow_default_scheduler=allow_default_scheduler,
    )


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigurationError([Fault((), line, f"{file} is not UTF-8: {error.reason}")]) from error


def configuration_in_force(loaded: LoadedConfiguration) -> dict[str, Any]:
    """Return a file's configuration with each profile's plugins as they run."""
    registry = Registry.discover()
    return view_of(loaded.configuration, configure(Settings(), loaded, registry).profiles, registry)


def list_plugins() -> list[PluginRow]:
    """Return a row for each plugin, sorted by name."""
    return plugin_rows.list_plugins(Registry.discover())


def run_operator(configuration: ProcessConfiguration, log_level: str, log_format: str) -> int:
    """Run the operator until a signal ends it; return the process's exit status."""
    import asyncio

    from moorage.app.logs import configure_logging
    from moorage.app.operator import Operator

    configure_logging(log_level, log_format)
    with asyncio.Runner(loop_factory=_event_loop) as runner:
        return runner.run(Operator(configuration).run())


def _event_loop() -> AbstractEventLoop:
    """Make uvloop's event loop where it is installed (the extra `fast`): TLS and sockets cost less with it."""
    try:
        module = import_module("uvloop")
    except ImportError:
        module = import_module("asyncio")
    loop: AbstractEventLoop = module.new_event_loop()
    return loop
