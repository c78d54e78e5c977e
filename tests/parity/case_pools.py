"""Samples: values that the vectors' cases have at each place. Generated cases get these values.

A place is a path of keys, such as `pods/[]/spec/tolerations/[]/key`. All elements of a list have the same place. The
scheduled pod and the other pods have the same places, so that they exchange values.
"""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

Place = tuple[str, ...]
ELEMENT = "[]"
MOST_SAMPLES = 300
"""The most samples of a place. Further samples replace random earlier ones."""
NO_PLACE = frozenset({"id", "tags"})


@dataclass(frozen=True, slots=True)
class Spot:
    """A part of a case: the value `holder[key]` and its place."""

    holder: Any
    key: Any
    place: Place

    @property
    def part(self) -> Any:
        """The current value."""
        return self.holder[self.key]


class CasePools:
    """The samples of each place, and the keys that objects have at each place."""

    def __init__(self, cases: Iterable[Mapping[str, Any]], random: Random) -> None:
        """Collect samples from the cases."""
        self.cases = list(cases)
        self._samples: dict[Place, list[Any]] = defaultdict(list)
        self._seen: dict[Place, set[str]] = defaultdict(set)
        self.keys: dict[Place, list[str]] = defaultdict(list)
        for case in self.cases:
            for spot in spots(case):
                self._add(spot, random)

    def sample(self, place: Place, random: Random) -> Any:
        """Return a copy of a random sample from this place."""
        return json.loads(random.choice(self._samples[place]))

    def has(self, place: Place) -> bool:
        """Return whether this place has a sample."""
        return place in self._samples

    def _add(self, spot: Spot, random: Random) -> None:
        text = json.dumps(spot.part, sort_keys=True)
        samples, seen = self._samples[spot.place], self._seen[spot.place]
        if text not in seen:
            if len(samples) < MOST_SAMPLES:
                seen.add(text)
                samples.append(text)
            elif random.random() < MOST_SAMPLES / len(self.cases):
                samples[random.randrange(MOST_SAMPLES)] = text
        keys = self.keys[spot.place[:-1]]
        if spot.place[-1] not in (*keys, ELEMENT):
            keys.append(spot.place[-1])


def spots(case: Mapping[str, Any]) -> Iterator[Spot]:
    """Yield every part of a case except its id and tags, each object before its parts."""
    for key in case:
        if key not in NO_PLACE:
            place = ("pods", ELEMENT) if key == "pod" else (key,)
            yield Spot(case, key, place)
            yield from parts(case[key], place)


def parts(body: Any, place: Place) -> Iterator[Spot]:
    """Yield every part of the object at this place."""
    if isinstance(body, dict):
        inner: Iterable[tuple[Any, Place]] = [(key, (*place, key)) for key in body]
    elif isinstance(body, list):
        inner = [(index, (*place, ELEMENT)) for index in range(len(body))]
    else:
        return
    for key, inner_place in inner:
        yield Spot(body, key, inner_place)
        yield from parts(body[key], inner_place)


def read_vectors(folder: Path) -> list[dict[str, Any]]:
    """Return the cases of all vectors, without their decisions."""
    return [
        json.loads(line)["case"]
        for path in sorted(folder.glob("*.jsonl.gz"))
        for line in gzip.decompress(path.read_bytes()).decode().splitlines()
    ]
