"""The options of requests: metav1's ListOptions and DeleteOptions, and one class for all writes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from moorage.sandbox.api_status import bad_request


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of a create, update or patch, and the warnings for its response."""

    manager: str = "sandbox"
    force: bool = False
    dry_run: bool = False
    field_validation: str = "Ignore"
    named: bool = False
    """Whether the client sent `manager` as fieldManager. If not, `manager` comes from the user agent."""
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ListOptions:
    """The selectors and the page of a list, or the selectors of a watch."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_token: str = ""
    resource_version: int = 0
    resource_version_match: str = ""


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """The options of a deletion. Options that the sandbox ignores are left out."""

    grace_period_seconds: int | None = None
    uid: str = ""
    resource_version: str = ""
    propagation: str = "Background"
    dry_run: bool = False

    @classmethod
    def of(cls, body: Any, query: Mapping[str, str]) -> "DeleteOptions":
        """Return the options in a request's body and query. The query overrides the body. Raises a 400."""
        body = body if isinstance(body, dict) else {}
        grace = query.get("gracePeriodSeconds", body.get("gracePeriodSeconds"))
        preconditions = body.get("preconditions") or {}
        try:
            seconds = None if grace is None else int(grace)
        except (TypeError, ValueError) as error:
            raise bad_request(f"gracePeriodSeconds {grace!r} is not a number") from error
        return cls(
            seconds, preconditions.get("uid") or "", preconditions.get("resourceVersion") or "",
            query.get("propagationPolicy") or body.get("propagationPolicy") or "Background",
            bool(query.get("dryRun") or body.get("dryRun")),
        )  # fmt: skip
