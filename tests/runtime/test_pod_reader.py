from typing import Any

import pytest
from msgspec.structs import replace

from builders import DECODER, pod, pod_object
from fakes import FakeApi, Sent
from moorage.errors import ApiError, NotFound
from moorage.runtime.pod_reader import read_pod


async def test_the_pod_that_is_read_is_at_least_as_new_as_the_known_one() -> None:
    api = FakeApi(lambda _: pod_object("p"))

    raw = await read_pod(api.client(), replace(pod("p"), resource_version="7"))

    assert DECODER.decode_pod(raw).uid == pod("p").uid
    assert api.sent[0].path == "/api/v1/namespaces/default/pods/p?resourceVersion=7"


async def test_a_pod_that_was_created_again_is_not_found() -> None:
    api = FakeApi(lambda _: pod_object("p", metadata={"uid": "another"}))

    with pytest.raises(NotFound, match="pod default/p was deleted, and created again"):
        await read_pod(api.client(), pod("p"))


async def test_an_answer_that_is_not_an_object_is_an_error() -> None:
    def answer(_: Sent) -> Any:
        return b"<html>"

    with pytest.raises(ApiError, match="the answer is not an API server's"):
        await read_pod(FakeApi(answer).client(), pod("p"))
