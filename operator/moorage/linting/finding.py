"""The result of a check: errors and warnings, each with its place in a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from moorage.outside_text import one_line

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An error or a warning about a file."""

    file: str
    severity: Severity
    message: str
    line: int | None = None
    document: int | None = None
    """The number of the YAML document in the file. The first document is 1."""
    subject: str = ""
    """The object with the fault, such as `SchedulingPolicy gold`."""
    path: str = ""
    """The field with the fault, such as `spec.weights.Gpu`."""

    @property
    def order(self) -> tuple[str, int]:
        """The sort key: findings are shown by file and line."""
        return self.file, self.line or 0

    def as_json(self) -> dict[str, Any]:
        """Return the finding for programs."""
        return {
            "file": self.file,
            "line": self.line,
            "document": self.document,
            "object": self.subject,
            "path": self.path,
            "severity": self.severity,
            "message": self.message,
        }

    def __str__(self) -> str:
        """Return text such as `gold.yaml:12: error: SchedulingPolicy gold: spec.weights: must be a mapping`."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        path = "" if self.message.startswith(self.path) else self.path
        return one_line(": ".join(part for part in (place, self.severity, self.subject, path, self.message) if part))


@dataclass(slots=True)
class LintReport:
    """All findings about some files."""

    findings: list[Finding] = field(default_factory=list)
    files: int = 0
    policies: int = 0
    configurations: int = 0

    @property
    def errors(self) -> int:
        """The number of errors."""
        return sum(finding.severity == "error" for finding in self.findings)

    @property
    def warnings(self) -> int:
        """The number of warnings."""
        return len(self.findings) - self.errors

    def fails(self, *, strict: bool) -> bool:
        """Return whether the check fails. It fails if there are errors or, with `strict`, warnings."""
        return bool(self.findings if strict else self.errors)

    def as_json(self) -> dict[str, Any]:
        """Return the report for programs."""
        return {
            "files": self.files,
            "policies": self.policies,
            "configurations": self.configurations,
            "errors": self.errors,
            "warnings": self.warnings,
            "findings": [finding.as_json() for finding in self.findings],
        }
