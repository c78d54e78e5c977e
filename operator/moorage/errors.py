"""Everything moorage raises on purpose, so that a caller names what it handles.

What is not an error is a value: a pod that fits nowhere is a `Status`, never an exception.

    MoorageError
    ├── FaultsError
    │   ├── ConfigurationError  the configuration file, with every fault in it
    │   └── InvalidPolicy       a SchedulingPolicy that cannot be compiled, with every fault in it
    ├── UnknownPlugin           a plugin name that the registry does not hold
    ├── NotLeader               a write that was refused because the lease may be another's
    ├── ExtenderError           an extender that answered wrongly, late or not at all
    ├── CredentialsError        no usable kubeconfig or service account
    ├── ApiUnreachable          no answer came: whether a write was carried out is not known
    └── ApiError                the API server's refusal, as its Status object words it
        ├── Unauthorized        401: new credentials may help
        ├── Forbidden           403: an RBAC rule is missing
        ├── NotFound            404
        ├── Conflict            409: read again, decide again
        ├── Gone                410: the resourceVersion expired, list again
        └── TooManyRequests     429: wait for `retry_after_seconds`

Messages are sentences for users. What caused an error is chained to it (`raise ... from`), never pasted into its text.
"""

# ruff: noqa: N818 - the names are Kubernetes' own reasons (metav1.StatusReason), which people search for

from collections.abc import Collection
from dataclasses import dataclass, replace
from difflib import get_close_matches
from http import HTTPStatus
from typing import ClassVar


class MoorageError(Exception):
    """The root: catch it at the command line, and nowhere else."""


Location = tuple[int | str, ...]
"""The path of a value below the root: names of fields and positions in lists."""


def path_of(location: Location) -> str:
    """Return a location as text, as in `profiles[0].schedulerName`."""
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return path.removeprefix(".")


@dataclass(frozen=True, slots=True)
class Fault:
    """One mistake in a file, an object or an argument, with its location."""

    location: Location
    """The field, as in `("profiles", 0, "schedulerName")`; empty for the whole text."""
    line: int | None
    """The line of the text, counted from 1; None if there is no text, as for an object from the API server."""
    message: str
    """What is wrong, and the next step."""

    @property
    def path(self) -> str:
        """The location as text."""
        return path_of(self.location)

    def __str__(self) -> str:
        """Return `line 12: leaderElection.leaseDuration: must be ...`, without the parts that are not known."""
        parts = ([f"line {self.line}"] if self.line else []) + ([self.path] if self.location else [])
        return ": ".join([*parts, self.message])

    def below(self, *parent: int | str) -> "Fault":
        """Return the fault with its location below `parent`."""
        return replace(self, location=(*parent, *self.location))


class FaultsError(MoorageError):
    """What somebody wrote cannot be used; all faults are named in one go. Never raised as such."""

    subject: ClassVar[str]

    def __init__(self, faults: Collection[Fault]) -> None:
        """Hold the faults in the order in which they stand in the text."""
        self.faults = tuple(faults)
        super().__init__(f"{self.subject}: " + "; ".join(map(str, self.faults)))


class ConfigurationError(FaultsError):
    """The configuration file is refused."""

    subject = "the configuration is refused"


class InvalidPolicy(FaultsError):
    """A SchedulingPolicy is refused; its last good profile stays live."""

    subject = "the policy is refused"


class UnknownPlugin(MoorageError):
    """A policy or a profile names a plugin that is not registered."""

    def __init__(self, name: str, known: Collection[str] = ()) -> None:
        """Name the plugin, and the registered one that was probably meant."""
        self.name = name
        near = get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else "; `moorage plugins` lists those there are"
        super().__init__(f"there is no plugin {name!r}{hint}")


class NotLeader(MoorageError):
    """This replica may not write: it is not the leader, or can no longer be sure of it."""


class ExtenderError(MoorageError):
    """A call to an extender failed: no answer in time, not 200, or not what the protocol allows."""

    def __init__(self, url: str, message: str) -> None:
        """Name the extender by the address that was called."""
        self.url = url
        super().__init__(f"extender {url}: {message}")


class CredentialsError(MoorageError):
    """There is no usable kubeconfig or service account, or what it names gives no credential."""


class ApiUnreachable(MoorageError):
    """No answer came: refused, reset, timed out, or cut off. Whether a write was carried out is not known."""


class ApiError(MoorageError):
    """The API server refused a request."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        """Keep the HTTP status, and reason and message of the Status object that came with it."""
        self.status = status
        self.reason = reason
        self.message = message
        super().__init__(f"{message} ({status} {reason})" if reason else f"{message} ({status})")

    @classmethod
    def of(cls, status: int, reason: str, message: str, retry_after_seconds: float | None = None) -> "ApiError":
        """Build the error of the class that stands for this HTTP status."""
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return TooManyRequests(reason, message, retry_after_seconds)
        return _BY_STATUS.get(status, ApiError)(status, reason, message)


class Unauthorized(ApiError):
    """401: the credentials are missing, wrong or expired."""


class Forbidden(ApiError):
    """403: the credentials are good, but no role allows this."""


class NotFound(ApiError):
    """404: the object, or the resource itself, does not exist."""


class Conflict(ApiError):
    """409: the object changed, exists already, or is another one by now (uid)."""


class Gone(ApiError):
    """410: the resourceVersion is older than what the API server remembers."""


class TooManyRequests(ApiError):
    """429: the API server, or a disruption budget, asks to come back later."""

    def __init__(self, reason: str, message: str, retry_after_seconds: float | None) -> None:
        """Keep the Retry-After header, None where there was none."""
        super().__init__(HTTPStatus.TOO_MANY_REQUESTS, reason, message)
        self.retry_after_seconds = retry_after_seconds


_BY_STATUS: dict[int, type[ApiError]] = {
    HTTPStatus.UNAUTHORIZED: Unauthorized,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.GONE: Gone,
}
