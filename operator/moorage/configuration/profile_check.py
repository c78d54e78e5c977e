"""Parts of a configuration file, checked by whoever uses them: profiles by the plugins, extenders by their callers.

Each part is given without what is known to be faulty, so that its other faults are found in the same go.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

from moorage.api.extender import Extender
from moorage.api.faults import Location, location_of
from moorage.configuration.scheduler_configuration import KubeSchedulerProfile
from moorage.configuration.tolerant import TolerantValidation
from moorage.configuration.yaml_source import YamlSource, mappings_in
from moorage.errors import Fault

ProfileCheck = Callable[[KubeSchedulerProfile], Iterable[Fault]]
"""Returns what is wrong with a profile, by paths from the profile down."""

ExtenderCheck = Callable[[Extender], Iterable[Fault]]
"""Returns what is wrong with an extender, by paths from the extender down."""


def builder_faults(source: YamlSource, misnamed: Collection[Location], check: ProfileCheck) -> Iterator[Fault]:
    """Yield what the check finds, with paths and lines of the file. `misnamed` is where plugins are named in vain."""
    for index, profile in mappings_in(source.content.get("profiles")):
        here: Location = ("profiles", index)
        cut = {location[2:-1] for location in misnamed if location[:2] == here}
        validation = TolerantValidation(KubeSchedulerProfile, profile, without=cut)
        if validation.remainder is None:
            continue
        for fault in check(validation.remainder):
            yield source.fault((*here, *validation.original(location_of(fault.path))), fault.message)


def caller_faults(source: YamlSource, check: ExtenderCheck) -> Iterator[Fault]:
    """Yield what the check finds in the extenders that could be read, with paths and lines of the file."""
    for index, extender in mappings_in(source.content.get("extenders")):
        readable = TolerantValidation(Extender, extender).model
        for fault in check(readable) if readable else ():
            yield source.fault(("extenders", index, *location_of(fault.path)), fault.message)
