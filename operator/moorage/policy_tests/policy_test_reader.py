"""Reads files of policy tests, and the files that the tests name. Faults have the file, the line and the field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from moorage.api.validation_faults import message_of
from moorage.configuration.content_reader import read_content
from moorage.configuration.documents import read_documents
from moorage.configuration.field_hints import FieldHints
from moorage.configuration.located_content import LocatedContent
from moorage.configuration.text_decoding import decode
from moorage.configuration.tolerant_validation import TolerantValidation
from moorage.errors import ConfigurationError, Fault, InvalidInput, Location
from moorage.limited_file import read_limited
from moorage.policy_tests.policy_test_models import PolicyTestCase, PolicyTestFile

MAX_FILE_BYTES = 8 << 20
SUFFIXES = (".test.yaml", ".test.yml")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LoadedTests:
    """A valid file of tests."""

    path: Path
    file: PolicyTestFile
    source: LocatedContent

    def line_of(self, *location: int | str) -> int | None:
        """Return the line of a part of the file."""
        return self.source.line_of(location)

    def resolve(self, name: str) -> Path:
        """Return the path of a file that the tests name. Relative paths start at the directory of the tests."""
        return self.path.parent / name


def find_files(directory: Path) -> list[Path]:
    """Return the test files below a directory. If `directory` is a file, return this file."""
    if not directory.is_dir():
        return [directory]
    return sorted(path for path in directory.rglob("*") if path.name.endswith(SUFFIXES) and path.is_file())


def load_tests(path: Path) -> LoadedTests:
    """Read a file of tests; raise InvalidInput with all its faults."""
    text = read_text(path)
    try:
        source = read_content(text)
    except ConfigurationError as error:
        raise in_file(path, error.faults) from error
    if not isinstance(source.content, dict):
        raise in_file(path, [Fault((), 1, "is not a mapping; a file of tests has policies and tests")])
    validation = TolerantValidation(PolicyTestFile, source.content)
    faults = [*source.faults]
    for location, details in validation.errors:
        faults.append(source.fault(location, message_of(details) + _hints().for_error(location, details["type"])))
    if faults or validation.model is None:
        raise in_file(path, sorted(faults, key=lambda fault: fault.line or 0))
    if not validation.model.tests:
        faults.append(source.fault(("tests",), "has no tests"))
    faults += _repeated_names(validation.model.tests, source)
    if faults:
        raise in_file(path, faults)
    return LoadedTests(path, validation.model, source)


def read_objects(path: Path) -> list[Json]:
    """Return the Kubernetes objects of a YAML or JSON file; raise InvalidInput if it is not valid."""
    found: list[Json] = []
    faults: list[Fault] = []
    for document in read_located(path):
        faults += document.faults
        for prefix, body in _objects(document.content, ()):
            fault = _fault_of_object(body)
            faults += [document.fault((*prefix, *fault.location), fault.message)] if fault else []
            found.append(body)
    if faults:
        raise in_file(path, faults)
    return found


def read_located(path: Path) -> list[LocatedContent]:
    """Return the documents of a YAML or JSON file with their lines; raise InvalidInput if it is not valid."""
    try:
        return read_documents(read_text(path))
    except ConfigurationError as error:
        raise in_file(path, error.faults) from error


def read_text(path: Path) -> str:
    """Return the text of a file; raise InvalidInput if it cannot be read."""
    try:
        return decode(read_limited(path, MAX_FILE_BYTES), path)
    except ConfigurationError as error:
        raise in_file(path, error.faults) from error
    except OSError as error:
        raise in_file(path, [Fault((), None, error.strerror or str(error))]) from error


def in_file(path: Path, faults: list[Fault] | tuple[Fault, ...]) -> InvalidInput:
    """Return the error for faults of a file, such as `a.test.yaml:12: tests[0].expect: is required`."""
    return InvalidInput([Fault((), None, _placed(path, fault)) for fault in faults])


def _placed(path: Path, fault: Fault) -> str:
    place = f"{path}:{fault.line}" if fault.line else str(path)
    return ": ".join(part for part in (place, fault.path, fault.message) if part)


def _repeated_names(tests: tuple[PolicyTestCase, ...], source: LocatedContent) -> Iterator[Fault]:
    first: dict[str, Location] = {}
    for index, test in enumerate(tests):
        location = ("tests", index, "name")
        earlier = first.setdefault(test.name, location)
        if earlier != location:
            yield source.fault(location, f"is the name of the test in line {source.line_of(earlier)} already")


def _objects(content: Any, prefix: Location) -> Iterator[tuple[Location, Json]]:
    """Yield an object, or the objects of a list, each with its location."""
    if not isinstance(content, dict):
        return
    if str(content.get("kind", "")).endswith("List") and isinstance(content.get("items"), list):
        for index, item in enumerate(content["items"]):
            yield from _objects(item, (*prefix, "items", index))
    else:
        yield prefix, content


def _fault_of_object(body: Json) -> Fault | None:
    """Return why an object cannot be part of a cluster; None if it can."""
    metadata = body.get("metadata")
    if not isinstance(body.get("kind"), str):
        return Fault(("kind",), None, "is required")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return Fault(("metadata", "name"), None, "is required, as text")
    for field in ("spec", "status"):
        if not isinstance(body.get(field, {}), dict):
            return Fault((field,), None, "must be a mapping")
    return None


@cache
def _hints() -> FieldHints:
    return FieldHints(PolicyTestFile)
