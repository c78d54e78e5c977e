"""The composition root: builds the process, and starts and stops it.

Only this package may import all layers. All other packages receive their parts from here.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moorage.configuration.configuration_view import view_of
from moorage.configuration.loading import LoadedConfiguration, load
from moorage.configuration.process_configuration import ProcessConfiguration, check_profile, configure
from moorage.configuration.text_decoding import decode
from moorage.errors import Fault
from moorage.framework.plugin_rows import PluginRow, list_plugins
from moorage.framework.registry import Registry
from moorage.limited_file import read_limited
from moorage.settings import Settings

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

__all__ = [
    "PluginRow",
    "configuration_in_force",
    "discover_plugins",
    "list_plugins",
    "load_configuration",
    "load_process_configuration",
    "run_operator",
]

MAX_FILE_BYTES = 1 << 20
"""The maximum size of a configuration file, enough for a hundred profiles. etcd's limit for a ConfigMap is 1.5 MB."""
PIPE_SECONDS = 10.0
"""The time to read a configuration from a pipe, such as `<(helm template ...)`."""
IGNORED_ENVIRONMENT = Fault(
    ("clientConnection", "kubeconfig"),
    None,
    "takes precedence over $KUBECONFIG; --kubeconfig takes precedence over both",
)
"""The warning about a file with a kubeconfig. kube-scheduler never reads $KUBECONFIG."""

discover_plugins = Registry.discover
"""Imports all plugins. Returns the registry for `load_configuration` and `configuration_in_force`."""


def load_process_configuration(flags: Settings, file: Path | None) -> ProcessConfiguration:
    """Merge the flags with the configuration file, if there is one.

    Raise ConfigurationError with all faults of the file. Raise OSError if the file cannot be read.
    """
    registry = discover_plugins()
    loaded = load_configuration(file, registry, allow_default_scheduler=flags.allow_default_scheduler) if file else None
    configured = configure(flags, loaded, registry)
    if flags.kubeconfig is None and configured.settings.kubeconfig and os.environ.get("KUBECONFIG"):
        return replace(configured, warnings=(*configured.warnings, IGNORED_ENVIRONMENT))
    return configured


def load_configuration(file: Path, registry: Registry, *, allow_default_scheduler: bool) -> LoadedConfiguration:
    """Load a configuration file and validate its plugins. Raise the errors of `load_process_configuration`."""
    from moorage.controller.policy_profiles import check_extender

    return load(
        decode(read_limited(file, MAX_FILE_BYTES, PIPE_SECONDS), file),
        known_plugins=registry.classes,
        check_profile=partial(check_profile, registry),
        check_extender=check_extender,
        allow_default_scheduler=allow_default_scheduler,
    )


def configuration_in_force(loaded: LoadedConfiguration, registry: Registry) -> dict[str, Any]:
    """Return a file's configuration with the plugins and weights that each profile runs."""
    return view_of(loaded.configuration, configure(Settings(), loaded, registry).profiles, registry)


def run_operator(configuration: ProcessConfiguration, log_level: str, log_format: str) -> int:
    """Run the operator until a signal stops it; return the exit status of the process."""
    import asyncio

    from moorage.app.logs import configure_logging
    from moorage.app.operator import Operator

    configure_logging(log_level, log_format)
    with asyncio.Runner(loop_factory=_new_event_loop) as runner:
        return runner.run(Operator(configuration).run())


def _new_event_loop() -> AbstractEventLoop:
    """Return uvloop's event loop if it is installed (the extra `fast`); it needs less CPU for TLS and sockets."""
    try:
        module = import_module("uvloop")
    except ImportError:
        module = import_module("asyncio")
    loop: AbstractEventLoop = module.new_event_loop()
    return loop
