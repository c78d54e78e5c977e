"""HTTP requests for resources: decode, do, encode."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml
from aiohttp import web

from moorage.sandbox.http import protobuf, reviews
from moorage.sandbox.http.request_info import RequestInfo, write_options
from moorage.sandbox.http.tables import Tables
from moorage.sandbox.http.targets import Target, WriteOptions
from moorage.sandbox.kinds.pod_verbs import bind, evict
from moorage.sandbox.objects import Object, decode, encode, key_of, metadata
from moorage.sandbox.patching.patches import APPLY
from moorage.sandbox.status import bad_request, unsupported_media_type
from moorage.sandbox.storage import lists
from moorage.sandbox.storage.deletion import DeleteOptions, delete
from moorage.sandbox.storage.lists import Form
from moorage.sandbox.storage.registry import Registry
from moorage.sandbox.storage.store import Record

_OK, _CREATED = 200, 201
_PODS = ("", "v1", "pods")


@dataclass(frozen=True, slots=True)
class Handlers:
    """Answers everything but watches."""

    registry: Registry
    tables: Tables
    token: str

    async def handle(self, info: RequestInfo, request: web.Request) -> web.Response:
        """Do what a request asks; raises ApiError."""
        target = info.target
        form = Form.of(request.headers.get("Accept", ""), request.query)
        if info.verb == "list":
            found = lists.page(self.registry, target, request.query)
            return json_response(lists.list_json(target.resource, found, form, self.tables))
        if info.verb == "get":
            return self._object(target, self.registry.get(target), form)
        if info.verb == "deletecollection":
            return self._delete_all(target, await _body(request), request.query)
        body = await _body(request)
        if info.verb == "delete":
            deleted = delete(self.registry, target, DeleteOptions.of(body, request.query))
            return json_response(encode(deleted))
        options = write_options(request.query, request.headers.get("User-Agent", ""))
        return self._write(info, body, request.content_type, options)

    def _write(self, info: RequestInfo, body: Any, content_type: str, options: WriteOptions) -> web.Response:
        target = info.target
        form = Form("json")
        if info.verb == "create":
            answered = self._create_virtual(target, body, options)
            if answered is not None:
                return json_response(encode(answered), _CREATED)
            return self._object(
                _placed(target, body),
                self.registry.create(_placed(target, body), body, options),
                form,
                _CREATED,
                options,
            )
        if info.verb == "update":
            return self._object(target, self.registry.update(target, body, options), form, _OK, options)
        record, created = self.registry.patch(target, content_type, body, options)
        return self._object(target, record, form, _CREATED if created else _OK, options)

    def _create_virtual(self, target: Target, body: Any, options: WriteOptions) -> Object | None:
        """Answer what creates no object of its own: bindings, evictions, reviews."""
        resource = target.resource
        if target.subresource == "eviction":
            return evict(self.registry, target, body)
        if resource.kind == "Binding" or (resource.kind == "Pod" and target.subresource == "binding"):
            pods = self.registry.resources.find(*_PODS)
            name = target.name or (metadata(body).get("name") if isinstance(body, dict) else "")
            assert pods is not None
            return bind(self.registry, Target(pods, target.namespace, name or ""), body, dry_run=options.dry_run)
        if resource.kind.endswith("Review"):
            return reviews.answer(resource.kind, body, self.token)
        return None

    def _delete_all(self, target: Target, body: Any, query: Mapping[str, str]) -> web.Response:
        options = DeleteOptions.of(body, query)
        selection = {name: value for name, value in query.items() if name.endswith("Selector")}
        found = lists.page(self.registry, target, selection)
        for record in found.records:
            namespace, name = key_of(record.obj)
            delete(self.registry, Target(target.resource, namespace, name), options)
        return json_response(lists.list_json(target.resource, found, Form("json"), self.tables))

    def _object(
        self, target: Target, record: Record, form: Form, code: int = _OK, options: WriteOptions | None = None
    ) -> web.Response:
        response = json_response(lists.object_json(target.resource, record, form, self.tables), code)
        for warning in options.warnings if options else ():
            response.headers.add("Warning", f"299 - {encode(warning).decode()}")
        return response


def json_response(body: bytes, code: int = _OK) -> web.Response:
    """Wrap encoded JSON."""
    return web.Response(body=body, status=code, content_type="application/json")


def _placed(target: Target, body: Any) -> Target:
    """Events may be created without a namespace in the path, then their own counts."""
    if target.namespace or not target.resource.namespaced or not isinstance(body, dict):
        return target
    return Target(target.resource, metadata(body).get("namespace") or "default")


async def _body(request: web.Request) -> Any:
    data = await request.read()
    if not data:
        return None
    try:
        if data.startswith(protobuf.MAGIC):
            return protobuf.decode(data)
        if request.content_type in {APPLY, "application/yaml"} and not data.lstrip().startswith(b"{"):
            return yaml.safe_load(data)
        return decode(data)
    except protobuf.UnknownMessageError as error:
        why = (
            f"the sandbox does not read {error} in protobuf, as `kubectl create` sends it; write "
            "`kubectl create ... --dry-run=client -o yaml | kubectl apply -f -`"
        )
        raise unsupported_media_type(["application/json", "application/yaml"], why) from error
    except (ValueError, yaml.YAMLError) as error:
        raise bad_request(f"the body does not parse: {error}") from error
