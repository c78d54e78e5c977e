"""Reads the docstrings of fields from the source of their classes, for the descriptions in the CRD.

pydantic's `use_attribute_docstrings` reads the source when Python creates a class, which adds a quarter of a second to
every start of the process. This module reads the source only when a schema is generated.
"""

import ast
import inspect
from functools import cache
from itertools import pairwise
from types import ModuleType

from pydantic import BaseModel


def field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstrings of a class's fields by field name, including inherited fields."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        module = inspect.getmodule(base)
        if module is not None and issubclass(base, BaseModel) and base is not BaseModel:
            found |= _by_class(module).get(base.__qualname__, {})
    return found


@cache
def _by_class(module: ModuleType) -> dict[str, dict[str, str]]:
    """Return the docstrings of fields by class name and field name, for the classes at the top level of a module."""
    classes = (node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.ClassDef))
    return {node.name: dict(_docstrings(node)) for node in classes}


def _docstrings(node: ast.ClassDef) -> list[tuple[str, str]]:
    """Return the name and the docstring of each field that a string follows."""
    found = []
    for field, after in pairwise(node.body):
        match field, after:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(value=ast.Constant(value=str(text))):
                found.append((name, inspect.cleandoc(text)))
    return found
