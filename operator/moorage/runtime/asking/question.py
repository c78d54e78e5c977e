"""Asks an operator why a pod is on its node, or why it waits."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

import aiohttp
import msgspec

from moorage.engine.records.explanation import Explanation
from moorage.errors import NoOperator, QuestionRefused

ANSWER_SECONDS = 30.0
MAX_ANSWER_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Question:
    """A pod, and optionally another node, to ask why the pod is not on that node."""

    namespace: str
    pod: str
    node: str = ""


async def ask(url: str, question: Question, header: str | None) -> Explanation:
    """Ask the operator at `url`, an address of this machine; `header` is the user's Authorization header.

    The operator's certificate is not checked, because the address is a loopback address: either a port that kubectl
    forwards through the API server, or the address of a local process. Raise NoOperator if there is no usable answer,
    and QuestionRefused if the operator refuses the question.
    """
    query = {"namespace": question.namespace, "pod": question.pod} | ({"node": question.node} if question.node else {})
    headers = {"Authorization": header} if header else {}
    timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS)
    connector = aiohttp.TCPConnector(ssl=False)
    try:
        async with (
            aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
            session.get(f"{url}/why", params=query, headers=headers, allow_redirects=False) as response,
        ):
            status, body = response.status, await response.content.read(MAX_ANSWER_BYTES)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise NoOperator(f"the operator at {url} does not answer: {str(error) or type(error).__name__}") from error
    text = body.decode(errors="replace").strip()
    if status == HTTPStatus.UNAUTHORIZED:
        raise NoOperator(f"the operator does not accept the kubeconfig's credentials: {text}")
    if status == HTTPStatus.NOT_FOUND and not text.startswith("pod "):
        raise NoOperator("the operator's version cannot explain decisions; update the operator")
    if status != HTTPStatus.OK:
        raise QuestionRefused(f"the operator refuses the question: {text or status}")
    try:
        return msgspec.json.decode(body, type=Explanation)
    except msgspec.MsgspecError as error:
        raise NoOperator(f"the operator's answer cannot be read: {error}") from error
