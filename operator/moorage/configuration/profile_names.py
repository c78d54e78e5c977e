"""Checks the schedulerNames of a configuration file: each is unique, and default-scheduler needs permission.

These functions read the content before validation, so that they check names even if other parts are faulty.
"""

from collections.abc import Iterator

from moorage.api.v1alpha1 import DEFAULT_SCHEDULER_NAME
from moorage.configuration.located_content import LocatedContent, mappings_in
from moorage.errors import Fault


def profile_name_faults(source: LocatedContent, *, allow_default_scheduler: bool) -> Iterator[Fault]:
    """Yield a fault for each name that is missing or repeated, and for default-scheduler without permission."""
    first: dict[str | None, int] = {}
    for location, name in _names(source):
        index = location[1]
        if name is None:
            yield source.fault(location, "is required if there is more than one profile")
        elif name == DEFAULT_SCHEDULER_NAME and not allow_default_scheduler:
            yield source.fault(
                location,
                f"{name} is kube-scheduler's name: give the profile another one, "
                "or pass --allow-default-scheduler if no kube-scheduler serves it",
            )
        elif name in first:
            yield source.fault(location, f"{name!r} is already the name of profiles[{first[name]}]")
        first.setdefault(name, index)


def profile_name_warnings(source: LocatedContent) -> Iterator[Fault]:
    """Yield a warning for each profile with the name default-scheduler."""
    for location, name in _names(source):
        if name == DEFAULT_SCHEDULER_NAME:
            message = f"{name} is kube-scheduler's name; make sure that no kube-scheduler serves it"
            yield source.fault(location, message)


def _names(source: LocatedContent) -> Iterator[tuple[tuple[str, int, str], str | None]]:
    """Yield the location and the name of each profile; default-scheduler for a single profile without a name.

    Skip names that are not text.
    """
    profiles = mappings_in(source.content.get("profiles"))
    implied = DEFAULT_SCHEDULER_NAME if len(profiles) == 1 else None
    for index, profile in profiles:
        name = profile.get("schedulerName", implied)
        if name is None or isinstance(name, str):
            yield ("profiles", index, "schedulerName"), name or implied
