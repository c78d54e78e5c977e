"""Strategic merge patches of built-in kinds. They merge a list item by item if the list has a merge key.

Directives: `$patch: delete|replace|merge`, `$deleteFromPrimitiveList/x`, `$setElementOrder/x`, `$retainKeys`.
The merge keys come from the schemas (x-kubernetes-patch-merge-key).
"""

from typing import Any

from moorage.sandbox.api_status import bad_request
from moorage.sandbox.kinds.schemas import Schema
from moorage.sandbox.objects import Object, copy

_DELETE_FROM = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"
_RETAIN = "$retainKeys"
_PATCH = "$patch"


def strategic_merge(target: Object, patch: Object, schema: Schema | None) -> Object:
    """Return a copy of `target` after a strategic merge patch."""
    if patch.get(_PATCH) == "replace":
        return {name: copy(value) for name, value in patch.items() if name != _PATCH}
    if patch.get(_PATCH) == "delete":
        return {}
    result = _retained(target, patch)
    for name, value in patch.items():
        if name.startswith("$"):
            _delete_from_list(result, name, value)
            continue
        child = None if schema is None else schema.field(name)
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merge_value(result.get(name), value, child)
    _order_lists(result, patch, schema)
    return result


def _retained(target: Object, patch: Object) -> Object:
    keep = patch.get(_RETAIN)
    return dict(target) if keep is None else {name: value for name, value in target.items() if name in keep}


def _delete_from_list(result: Object, directive: str, values: Any) -> None:
    if directive.startswith(_DELETE_FROM):
        name = directive.removeprefix(_DELETE_FROM)
        result[name] = [item for item in result.get(name) or [] if item not in values]


def _merge_value(current: Any, value: Any, schema: Schema | None) -> Any:
    if isinstance(value, dict):
        merged = strategic_merge(current if isinstance(current, dict) else {}, value, schema)
        return {name: item for name, item in merged.items() if not name.startswith("$")}
    if isinstance(value, list) and schema is not None and "merge" in schema.patch_strategies:
        return _merge_list(current if isinstance(current, list) else [], value, schema)
    return copy(value)


def _merge_list(current: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    if not schema.merge_key:
        return current + [item for item in patch if item not in current]
    if any(isinstance(item, dict) and item.get(_PATCH) == "replace" for item in patch):
        return [copy(item) for item in patch if _PATCH not in item]
    result = list(current)
    for item in patch:
        _merge_item(result, item, schema)
    return result


def _merge_item(items: list[Any], patch: Object, schema: Schema) -> None:
    key = schema.merge_key
    if not isinstance(patch, dict):
        raise bad_request(f"a list that is merged by {key} has an item that is not an object")
    index = next((place for place, item in enumerate(items) if item.get(key) == patch.get(key)), None)
    if patch.get(_PATCH) == "delete":
        if index is not None:
            del items[index]
    elif index is None:
        items.append(strategic_merge({}, patch, schema.items))
    else:
        items[index] = strategic_merge(items[index], patch, schema.items)


def _order_lists(result: Object, patch: Object, schema: Schema | None) -> None:
    for directive, order in patch.items():
        if not directive.startswith(_ORDER):
            continue
        name = directive.removeprefix(_ORDER)
        child = None if schema is None else schema.field(name)
        if isinstance(result.get(name), list):
            result[name] = _ordered(result[name], order, child.merge_key if child else "")


def _ordered(items: list[Any], order: list[Any], merge_key: str) -> list[Any]:
    """Return the items. Put the items that `order` names in this order. All other items keep their positions."""

    def identity(item: Any) -> Any:
        return item.get(merge_key) if merge_key and isinstance(item, dict) else item

    wanted = [identity(item) for item in order]
    named = sorted((item for item in items if identity(item) in wanted), key=lambda item: wanted.index(identity(item)))
    queue = iter(named)
    return [next(queue) if identity(item) in wanted else item for item in items]
