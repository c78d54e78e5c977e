"""Validation that goes on after the first faults, so that a user mends a file in one go.

pydantic checks the rules of a model only once all its fields are good. Here what was faulty is cut out, and the rest is
validated again, until nothing new is found.
"""

from collections.abc import Collection
from copy import deepcopy
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from moorage.api.base import RULE_ERROR
from moorage.api.faults import Location

Model = TypeVar("Model", bound=BaseModel)


class TolerantValidation(Generic[Model]):
    """One validation of one content."""

    remainder: Model | None
    """What the content says without its faulty parts; None where the model itself breaks a rule."""
    errors: list[tuple[Location, ErrorDetails]]
    """All that is wrong, by its place in the content as it was given."""

    def __init__(self, model: type[Model], content: Any, without: Collection[Location] = ()) -> None:
        """Validate the content, which is left as it is, without some parts that are known to be faulty."""
        self.errors = []
        self._content = deepcopy(content)
        self._cut_elements: dict[Location, set[int]] = {}
        self._doubtful: set[Location] = set()
        self._faulty: set[Location] = set()
        self._cut_out(set(without))
        self.remainder = self._validate(model)

    @property
    def model(self) -> Model | None:
        """What the content says; None unless all of it is good."""
        return None if self.errors else self.remainder

    def original(self, location: Location) -> Location:
        """Translate a place in the remainder to the place in the content as it was given."""
        original: Location = ()
        for step in location:
            original = (*original, self._original_step(original, step))
        return original

    def _validate(self, model: type[Model]) -> Model | None:
        while True:
            try:
                return model.model_validate(self._content, by_alias=True, by_name=False)
            except ValidationError as error:
                found = error.errors()
            for details in found:
                self._note(details)
            cuts = {_cut(details) for details in found}
            if () in cuts:
                return None
            self._cut_out(cuts)

    def _note(self, details: ErrorDetails) -> None:
        """Keep an error, unless it may only follow from what was cut out."""
        location = self.original(details["loc"])
        if details["type"] != RULE_ERROR:
            if details["type"] != "extra_forbidden":
                # The root's other rules are worth their while; those of a small model hang together.
                self._doubtful |= {location[:-1]} - {()}
                self._faulty.add(location)
        elif self.original(_cut(details)) in self._doubtful or location in self._faulty:
            return
        self.errors.append((location, details))

    def _cut_out(self, cuts: set[Location]) -> None:
        originals = [(self.original(cut), cut) for cut in cuts]
        # From the back, so that the positions of what is still to be cut stay true.
        for original, cut in sorted(originals, key=lambda pair: [str(step).zfill(9) for step in pair[1]], reverse=True):
            if any(cut[:length] in cuts for length in range(1, len(cut))):
                continue
            holder = self._content
            for step in cut[:-1]:
                holder = holder[step]
            del holder[cut[-1]]
            if isinstance(cut[-1], int):
                self._cut_elements.setdefault(original[:-1], set()).add(int(original[-1]))

    def _original_step(self, holder: Location, step: int | str) -> int | str:
        if isinstance(step, str):
            return step
        for gone in sorted(self._cut_elements.get(holder, ())):
            step += gone <= step
        return step


def _cut(details: ErrorDetails) -> Location:
    """Return what has to go for this error to go: the value, or the model that lacks a field or breaks a rule."""
    location = details["loc"]
    if details["type"] == RULE_ERROR:
        return location[: len(location) - details["ctx"]["depth"]]
    if details["type"] == "missing":
        return location[:-1]
    return location
