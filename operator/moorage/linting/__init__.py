"""Checks files of policies as the operator does when it reads the objects, before they are applied."""

from moorage.linting.finding import Finding, LintReport
from moorage.linting.linter import Linter

__all__ = ["Finding", "LintReport", "Linter"]
