"""Checks files with policies before users apply them. The checks are the same as those of the operator."""

from moorage.linting.finding import Finding, LintReport
from moorage.linting.linter import Linter

__all__ = ["Finding", "LintReport", "Linter"]
