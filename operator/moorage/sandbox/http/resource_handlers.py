"""Handlers of resource requests except watches. They decode the request, run the operation and encode the result."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from aiohttp import web

from moorage.sandbox.http import reviews
from moorage.sandbox.http.request_bodies import read_body
from moorage.sandbox.http.request_info import RequestInfo, parse_list_options, parse_selection, parse_write_options
from moorage.sandbox.http.response_format import ResponseEncoder, ResponseFormat
from moorage.sandbox.http.responses import json_response
from moorage.sandbox.objects import Object, encode, key_of, metadata
from moorage.sandbox.operations.decoding import check_is_object
from moorage.sandbox.operations.deletion import delete
from moorage.sandbox.operations.list_pages import select_page
from moorage.sandbox.operations.object_registry import ObjectRegistry
from moorage.sandbox.operations.pod_binding import bind
from moorage.sandbox.operations.pod_eviction import evict
from moorage.sandbox.operations.request_options import DeleteOptions, WriteOptions
from moorage.sandbox.operations.targets import Target
from moorage.sandbox.storage.store import Record


@dataclass(frozen=True, slots=True)
class ResourceHandlers:
    """The handlers of all verbs except watch."""

    registry: ObjectRegistry
    encoder: ResponseEncoder
    token: str

    async def handle(self, info: RequestInfo, request: web.Request) -> web.Response:
        """Return the response to a request. Raises StatusError."""
        target = info.target
        form = ResponseFormat.of(request.headers.get("Accept", ""), request.query)
        if info.verb == "list":
            page = select_page(self.registry.store, target, parse_list_options(request.query))
            return json_response(self.encoder.encode_list(target.resource, page, form))
        if info.verb == "get":
            return json_response(self.encoder.encode_object(target.resource, self.registry.get(target), form))
        body = await read_body(request)
        if info.verb == "deletecollection":
            return self._delete_collection(target, body, request.query)
        if info.verb == "delete":
            return json_response(encode(delete(self.registry, target, DeleteOptions.of(body, request.query))))
        options = parse_write_options(request.query, request.headers.get("User-Agent", ""))
        if info.verb == "create":
            return self._create(target, body, options)
        return self._change(info, body, request.content_type, options)

    def _delete_collection(self, target: Target, body: Any, query: Mapping[str, str]) -> web.Response:
        options = DeleteOptions.of(body, query)
        page = select_page(self.registry.store, target, parse_selection(query))
        for record in page.records:
            namespace, name = key_of(record.obj)
            delete(self.registry, Target(target.resource, namespace, name), options)
        return json_response(self.encoder.encode_list(target.resource, page, ResponseFormat()))

    def _create(self, target: Target, body: Any, options: WriteOptions) -> web.Response:
        check_is_object(body)
        answer = self._create_virtual(target, body, options)
        if answer is not None:
            return json_response(encode(answer), HTTPStatus.CREATED)
        placed = _in_namespace(target, body)
        return self._written(placed, self.registry.create(placed, body, options), HTTPStatus.CREATED, options)

    def _create_virtual(self, target: Target, body: Object, options: WriteOptions) -> Object | None:
        """Answer the creation of a binding, eviction or review, which are not stored. Return None for other kinds."""
        resource = target.resource
        if target.subresource == "eviction":
            return evict(self.registry, target, body)
        if resource.kind == "Binding" or (resource.kind == "Pod" and target.subresource == "binding"):
            pods = self.registry.resources.pods
            name = target.name or metadata(body).get("name") or ""
            return bind(self.registry, Target(pods, target.namespace, name), body, dry_run=options.dry_run)
        if resource.kind.endswith("Review"):
            return reviews.answer(resource.kind, body, self.token)
        return None

    def _change(self, info: RequestInfo, body: Any, media_type: str, options: WriteOptions) -> web.Response:
        target = info.target
        if info.verb == "update":
            return self._written(target, self.registry.update(target, body, options), HTTPStatus.OK, options)
        record, is_created = self.registry.patch(target, media_type, body, options)
        return self._written(target, record, HTTPStatus.CREATED if is_created else HTTPStatus.OK, options)

    def _written(self, target: Target, record: Record, code: int, options: WriteOptions) -> web.Response:
        body = self.encoder.encode_object(target.resource, record, ResponseFormat())
        response = json_response(body, code)
        for warning in options.warnings:
            response.headers.add("Warning", f"299 - {encode(warning).decode()}")
        return response


def _in_namespace(target: Target, body: Object) -> Target:
    """Return the target.

    If the path has no namespace, use the namespace of the body. Only events may be created without a namespace in the
    path.
    """
    if target.namespace or not target.resource.namespaced:
        return target
    return Target(target.resource, metadata(body).get("namespace") or "default")
