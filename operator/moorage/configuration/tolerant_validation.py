"""Validates the content of a file, and reports all its faults at once.

pydantic checks a model's rules only if all fields of the model are valid. This module removes the faulty parts and
validates the rest again, until no new fault appears.
"""

from collections.abc import Collection
from copy import deepcopy
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from moorage.api.base import RULE_ERROR
from moorage.errors import Location

Model = TypeVar("Model", bound=BaseModel)


class TolerantValidation(Generic[Model]):
    """The validation of a file's content, with all errors."""

    remainder: Model | None
    """The model of the content without the faulty parts; None if the top level of the content breaks a rule."""
    errors: list[tuple[Location, ErrorDetails]]
    """All errors, each with its location in the original content."""

    def __init__(self, model: type[Model], content: Any, without: Collection[Location] = ()) -> None:
        """Validate a copy of the content, without the parts in `without`, which are known to be faulty."""
        self.errors = []
        self._content = deepcopy(content)
        self._removed_elements: dict[Location, set[int]] = {}
        self._doubtful: set[Location] = set()
        self._faulty: set[Location] = set()
        self._remove(set(without))
        self.remainder = self._validate(model)

    @property
    def model(self) -> Model | None:
        """The model of the content; None if the content has an error."""
        return None if self.errors else self.remainder

    def original(self, location: Location) -> Location:
        """Return the location, in the original content, of a location in the remainder."""
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
                self._record(details)
            removals = {_removal_for(details) for details in found}
            if () in removals:
                return None
            self._remove(removals)

    def _record(self, details: ErrorDetails) -> None:
        """Record an error. Skip broken rules and missing fields that may follow from the removal of a faulty part."""
        location = self.original(details["loc"])
        if details["type"] == "missing" and any(fault[: len(location)] == location for fault in self._faulty):
            return
        if details["type"] != RULE_ERROR:
            if details["type"] != "extra_forbidden":
                # The removal of this part may break rules of its model. Rules of the top level count in any case.
                self._doubtful |= {location[:-1]} - {()}
                self._faulty.add(location)
        elif self.original(_removal_for(details)) in self._doubtful or location in self._faulty:
            return
        self.errors.append((location, details))

    def _remove(self, removals: set[Location]) -> None:
        """Remove parts of the content, and remember the positions of removed list elements."""
        originals = [(self.original(removal), removal) for removal in removals]
        # Remove the last elements of a list first. Otherwise a removal would shift the elements that are removed next.
        for original, removal in sorted(
            originals, key=lambda pair: [str(step).zfill(9) for step in pair[1]], reverse=True
        ):
            if any(removal[:length] in removals for length in range(1, len(removal))):
                continue
            holder = self._content
            for step in removal[:-1]:
                holder = holder[step]
            del holder[removal[-1]]
            if isinstance(removal[-1], int):
                self._removed_elements.setdefault(original[:-1], set()).add(int(original[-1]))

    def _original_step(self, holder: Location, step: int | str) -> int | str:
        if isinstance(step, str):
            return step
        for removed in sorted(self._removed_elements.get(holder, ())):
            step += removed <= step
        return step


def _removal_for(details: ErrorDetails) -> Location:
    """Return the location to remove after an error: the value, or the model that lacks a field or breaks a rule."""
    location = details["loc"]
    if details["type"] == RULE_ERROR:
        return location[: len(location) - details["ctx"]["depth"]]
    if details["type"] == "missing":
        return location[:-1]
    return location
