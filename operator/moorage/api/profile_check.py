"""Profiles of a configuration file, checked by whoever builds profiles: plugins' arguments and extension points.

Each profile is given without what is known to be faulty, so that its other faults are found in the same go.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

from moorage.api.faults import Location, location_of
from moorage.api.scheduler_configuration import KubeSchedulerProfile
from moorage.api.tolerant import TolerantValidation
from moorage.api.yaml_source import YamlSource, mappings_in
from moorage.errors import Fault

ProfileCheck = Callable[[KubeSchedulerProfile], Iterable[Fault]]
"""Returns what is wrong with a profile, by paths from the profile down."""


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
