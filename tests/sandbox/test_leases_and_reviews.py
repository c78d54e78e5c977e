"""Leases, access reviews and token reviews. Each test runs on the sandbox and on kube-apiserver."""

from __future__ import annotations

from sandbox.kube_api import KubeApi


async def test_stale_update_of_a_lease_conflicts(api: KubeApi) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases"
    spec = {"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": "2026-11-30T07:00:00.000000Z"}
    created = await api.create(path, {"metadata": {"name": "lead"}, "spec": spec})
    assert created.body["spec"]["renewTime"] == "2026-11-30T07:00:00.000000Z"
    taken = await api.update(f"{path}/lead", created.body | {"spec": {**spec, "holderIdentity": "two"}})
    assert taken.code == 200
    late = await api.update(f"{path}/lead", created.body | {"spec": {**spec, "holderIdentity": "three"}})
    assert late.code == 409


async def test_access_review_allows_everything(api: KubeApi) -> None:
    attributes = {"verb": "create", "resource": "pods", "subresource": "binding"}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    kind = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    answer = await api.create(path, {**kind, "spec": {"resourceAttributes": attributes}})
    assert (answer.code, answer.body["status"]["allowed"]) == (201, True)


async def test_unknown_token_is_not_authenticated(api: KubeApi) -> None:
    kind = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
    answer = await api.create("/apis/authentication.k8s.io/v1/tokenreviews", {**kind, "spec": {"token": "nonsense"}})
    assert answer.code == 201
    assert not answer.body["status"].get("authenticated")
