"""Writes the results of policy tests as JUnit XML, which CI systems show."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree as ET

from moorage.policy_tests.policy_test_runner import PolicyTestResult


def junit_xml(results: Iterable[PolicyTestResult]) -> bytes:
    """Return the document, with a suite for each file and a case for each test."""
    root = ET.Element("testsuites")
    for file, group in groupby(results, key=lambda result: result.file):
        found = list(group)
        suite = ET.SubElement(root, "testsuite", _totals(file, found))
        for result in found:
            _add_case(suite, result)
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _totals(file: Path, results: list[PolicyTestResult]) -> dict[str, str]:
    return {
        "name": str(file),
        "tests": str(len(results)),
        "failures": str(sum(bool(result.failures) for result in results)),
        "errors": str(sum(bool(result.errors) for result in results)),
        "time": f"{sum(result.seconds for result in results):.3f}",
    }


def _add_case(suite: ET.Element, result: PolicyTestResult) -> None:
    attributes = {"name": _printable(result.name), "classname": str(result.file), "time": f"{result.seconds:.3f}"}
    case = ET.SubElement(suite, "testcase", attributes | ({"line": str(result.line)} if result.line else {}))
    if result.has_passed:
        return
    kind = "error" if result.errors else "failure"
    lines = [_printable(line) for line in result.lines()]
    ET.SubElement(case, kind, {"message": lines[0]}).text = "\n".join(lines)


def _printable(line: str) -> str:
    """Return text without characters that XML does not allow."""
    return "".join(character for character in line if character.isprintable())
