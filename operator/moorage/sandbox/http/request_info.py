"""Parses the URL and the query of a request, as apiserver's RequestInfo does.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from moorage.sandbox.api_status import bad_request, method_not_allowed, no_such_resource
from moorage.sandbox.kinds.resource_types import EVENTS
from moorage.sandbox.kinds.served_resources import ServedResources
from moorage.sandbox.operations.request_options import ListOptions, WriteOptions
from moorage.sandbox.operations.targets import Target

_NAMESPACED_PARTS = 3
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get", "HEAD": "get"}
_TRUE = frozenset({"1", "true", "True"})


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """The Kubernetes verb and the target of a request."""

    verb: str
    target: Target


def parse_request(method: str, path: str, query: Mapping[str, str], resources: ServedResources) -> RequestInfo:
    """Return the verb and target of a resource request. Raises 400, 404 and 405."""
    group, version, parts = _split(path)
    namespace = ""
    if parts[0] == "namespaces" and len(parts) >= _NAMESPACED_PARTS and parts[2] not in {"status", "finalize"}:
        namespace, parts = parts[1], parts[2:]
    plural, name, subresource = [*parts, "", ""][:3]
    resource = resources.find(group, version, plural)
    if resource is None or len(parts) > _NAMESPACED_PARTS or (namespace and not resource.namespaced):
        raise no_such_resource()
    if subresource and subresource not in resource.all_subresources:
        raise no_such_resource()
    verb = _verb(method, query, name=name)
    if verb not in resource.verbs:
        raise method_not_allowed(method)
    if resource.namespaced and not namespace and (name or (verb == "create" and resource.collection != EVENTS)):
        raise bad_request("an empty namespace may not be set during creation")
    return RequestInfo(verb, Target(resource, namespace, name, subresource))


def parse_write_options(query: Mapping[str, str], user_agent: str) -> WriteOptions:
    """Return the options of a create, update or patch. Raises a 400."""
    manager = query.get("fieldManager") or user_agent.partition("/")[0] or "unknown"
    validation = query.get("fieldValidation") or "Warn"
    if validation not in {"Ignore", "Warn", "Strict"}:
        raise bad_request(
            f'fieldValidation: Unsupported value: "{validation}": supported values: "Ignore", "Strict", "Warn"'
        )
    force, dry_run, named = is_true(query.get("force")), bool(query.get("dryRun")), "fieldManager" in query
    return WriteOptions(manager, force, dry_run, validation, named)


def parse_list_options(query: Mapping[str, str]) -> ListOptions:
    """Return the options of a list. Raises a 400."""
    return ListOptions(
        query.get("labelSelector") or "",
        query.get("fieldSelector") or "",
        parse_integer(query, "limit"),
        query.get("continue") or "",
        parse_integer(query, "resourceVersion"),
        query.get("resourceVersionMatch") or "",
    )


def parse_selection(query: Mapping[str, str]) -> ListOptions:
    """Return the selectors of a watch, or of the deletion of a collection."""
    return ListOptions(query.get("labelSelector") or "", query.get("fieldSelector") or "")


def parse_integer(query: Mapping[str, str], name: str) -> int:
    """Return an integer parameter of the query, or 0 if it is absent. Raises a 400."""
    text = query.get(name) or "0"
    try:
        return int(text)
    except ValueError:
        raise bad_request(f"{name}: Invalid value: {text!r}") from None


def is_true(value: str | None) -> bool:
    """Return whether a boolean parameter of the query is true."""
    return value in _TRUE


def _split(path: str) -> tuple[str, str, list[str]]:
    """Return the group, the version and the other parts of a resource path. Raises a 404."""
    parts = [part for part in path.split("/") if part]
    match parts:
        case ["api", version, _, *_]:
            return "", version, parts[2:]
        case ["apis", group, version, _, *_]:
            return group, version, parts[3:]
        case _:
            raise no_such_resource()


def _verb(method: str, query: Mapping[str, str], *, name: str) -> str:
    """Return the Kubernetes verb: a GET is a get, list or watch."""
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
