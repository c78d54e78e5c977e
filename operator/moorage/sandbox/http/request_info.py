"""From a URL and its query to what is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass

from moorage.sandbox.http.targets import Target, WriteOptions
from moorage.sandbox.kinds.resources import Resources
from moorage.sandbox.status import bad_request, method_not_allowed, no_such_resource

_NAMESPACED_PARTS = 3
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get", "HEAD": "get"}
_TRUE = frozenset({"1", "true", "True"})


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """A Kubernetes verb and what it is about."""

    verb: str
    target: Target


def parse(method: str, path: str, query: Mapping[str, str], resources: Resources) -> RequestInfo:
    """Find verb and target of a request for resources; raises 404 and 405."""
    group, version, parts = _split(path)
    namespace = ""
    if parts[0] == "namespaces" and len(parts) >= _NAMESPACED_PARTS and parts[2] not in {"status", "finalize"}:
        namespace, parts = parts[1], parts[2:]
    plural, name, subresource = [*parts, "", ""][:3]
    resource = resources.find(group, version, plural)
    if resource is None or len(parts) > _NAMESPACED_PARTS or (namespace and not resource.namespaced):
        raise no_such_resource()
    if subresource and subresource not in (*resource.subresources, *(("status",) if resource.has_status else ())):
        raise no_such_resource()
    verb = verb_of(method, query, name=name)
    if verb not in resource.verbs:
        raise method_not_allowed(method)
    if resource.namespaced and not namespace and (name or (verb == "create" and resource.storage != "events")):
        raise bad_request("an empty namespace may not be set during creation")
    return RequestInfo(verb, Target(resource, namespace, name, subresource))


def _split(path: str) -> tuple[str, str, list[str]]:
    parts = [part for part in path.split("/") if part]
    match parts:
        case ["api", version, _, *_]:
            return "", version, parts[2:]
        case ["apis", group, version, _, *_]:
            return group, version, parts[3:]
        case _:
            raise no_such_resource()


def verb_of(method: str, query: Mapping[str, str], *, name: str) -> str:
    """Name the verb as Kubernetes does: a GET may be a get, a list or a watch."""
    if method in {"GET", "HEAD"}:
        if is_true(query.get("watch")):
            return "watch"
        return "get" if name else "list"
    if method == "DELETE" and not name:
        return "deletecollection"
    try:
        return _VERBS[method]
    except KeyError:
        raise method_not_allowed(method) from None


def is_true(value: str | None) -> bool:
    """Read a boolean of a query."""
    return value in _TRUE


def write_options(query: Mapping[str, str], user_agent: str) -> WriteOptions:
    """Read the options of a write."""
    manager = query.get("fieldManager") or user_agent.partition("/")[0] or "unknown"
    validation = query.get("fieldValidation") or "Warn"
    if validation not in {"Ignore", "Warn", "Strict"}:
        raise bad_request(
            f'fieldValidation: Unsupported value: "{validation}": supported values: "Ignore", "Strict", "Warn"'
        )
    force, dry_run, named = is_true(query.get("force")), bool(query.get("dryRun")), "fieldManager" in query
    return WriteOptions(manager, force, dry_run, validation, named)


def integer(query: Mapping[str, str], name: str) -> int:
    """Read a number of a query, 0 if absent; raises a 400."""
    text = query.get(name) or "0"
    try:
        return int(text)
    except ValueError:
        raise bad_request(f"{name}: Invalid value: {text!r}") from None
