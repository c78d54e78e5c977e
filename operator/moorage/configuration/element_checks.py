"""Runs checks of other packages on the profiles and the extenders of a configuration file.

Known faults do not stop the checks: the faulty parts of a profile are removed before its check.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

from moorage.api.extender import Extender
from moorage.configuration.located_content import LocatedContent, mappings_in
from moorage.configuration.scheduler_configuration import KubeSchedulerProfile
from moorage.configuration.tolerant_validation import TolerantValidation
from moorage.errors import Fault, Location

ProfileCheck = Callable[[KubeSchedulerProfile], Iterable[Fault]]
"""Returns the faults of a profile, with paths relative to the profile."""

ExtenderCheck = Callable[[Extender], Iterable[Fault]]
"""Returns the faults of an extender, with paths relative to the extender."""


def profile_faults(source: LocatedContent, misnamed: Collection[Location], check: ProfileCheck) -> Iterator[Fault]:
    """Yield the faults of all profiles, with paths and lines of the file. `misnamed` are the unknown plugin names."""
    for index, profile in mappings_in(source.content.get("profiles")):
        here: Location = ("profiles", index)
        cut = {location[2:-1] for location in misnamed if location[:2] == here}
        validation = TolerantValidation(KubeSchedulerProfile, profile, without=cut)
        if validation.remainder is None:
            continue
        for fault in check(validation.remainder):
            yield source.fault((*here, *validation.original(fault.location)), fault.message)


def extender_faults(source: LocatedContent, check: ExtenderCheck) -> Iterator[Fault]:
    """Yield the faults of all valid extenders, with paths and lines of the file."""
    for index, extender in mappings_in(source.content.get("extenders")):
        readable = TolerantValidation(Extender, extender).model
        for fault in check(readable) if readable else ():
            yield source.fault(("extenders", index, *fault.location), fault.message)
