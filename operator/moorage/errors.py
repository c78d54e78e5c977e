"""All exceptions that moorage raises on purpose, in one tree, so that a caller can catch exactly the errors it handles.

Expected outcomes are values, not exceptions: for a pod that fits no node, the engine returns a `Status`.

    MoorageError
    ├── FaultsError
    │   ├── ConfigurationError  an invalid configuration file, with all its faults
    │   ├── PolicyNotAllowed    a SchedulingPolicy that uses more than the operator's flags allow
    │   ├── InvalidPolicy       a SchedulingPolicy that does not compile, with all its faults
    │   └── InvalidInput        files that a command cannot use, with all their faults
    ├── UnknownPlugin           a plugin name that is not registered
    │   └── UnknownPlugins      all such names of a profile or policy, with their places
    ├── CommandFailed           a command that cannot continue
    ├── UnusableDump            a dump file that is damaged, cut off or of another format
    ├── NotLeader               a write refused because another replica may hold the Lease
    ├── StaleDecision           a pod that was not bound, because the cluster has changed since the decision
    ├── ExtenderError           an extender with a wrong, late or missing answer
    ├── CredentialsError        no usable kubeconfig or service account
    │   └── UnusableTls         a certificate, key or authority that cannot be used
    ├── NoOperator              no operator that a command can ask
    ├── QuestionRefused         a command's question that the operator does not answer
    ├── ApiUnreachable          no answer: the API server may or may not have carried out a write
    │   └── AnswerTooLong       an answer that is longer than the client's limit
    └── ApiError                the API server refused a request; has the reason and message of its answer
        ├── Unauthorized        401: new credentials may help
        ├── Forbidden           403: an RBAC rule is missing
        ├── NotFound            404
        ├── Conflict            409: read again, decide again
        ├── Gone                410: the resourceVersion expired, list again
        └── TooManyRequests     429: wait for `retry_after_seconds`

A message is a sentence for users. It may contain text from outside, such as an extender's answer or a name in a file.
So `str` returns one line of printable text. Chain the cause of an error (`raise ... from`); do not paste it into the
message.
"""

# ruff: noqa: N818 - users search for these names: Kubernetes' own reasons (metav1.StatusReason)

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from http import HTTPStatus
from typing import ClassVar, Literal

from moorage.outside_text import CHARACTERS, one_line

REASON_CHARACTERS = 64
"""The limit for a reason (metav1.StatusReason). Kubernetes' longest reason has 29 characters."""
MESSAGE_CHARACTERS = CHARACTERS - REASON_CHARACTERS - 10
"""The limit for the message of a Status object. It leaves room for the code and the reason after the message."""


class MoorageError(Exception):
    """The root of the tree. Only the command line catches it."""

    characters: ClassVar[int] = CHARACTERS
    """The limit for the message."""

    def __str__(self) -> str:
        """Return the message as one line of printable text, cut to the limit."""
        return one_line(super().__str__(), self.characters)


Location = tuple[int | str, ...]
"""The path of a value below the root: names of fields and positions in lists."""


def path_of(location: Location) -> str:
    """Return a location as text, such as `profiles[0].schedulerName`."""
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return path.removeprefix(".")


@dataclass(frozen=True, slots=True)
class Fault:
    """One mistake in a file, an object or an argument, with its location."""

    location: Location
    """The field, such as `("profiles", 0, "schedulerName")`; empty for the whole text."""
    line: int | None
    """The line of the text, counted from 1; None if there is no text, as for an object from the API server."""
    message: str
    """The mistake and the next step."""

    @property
    def path(self) -> str:
        """The location as text."""
        return path_of(self.location)

    @property
    def place(self) -> str:
        """The line and the location as text, such as `line 12: leaderElection.leaseDuration`; empty for neither."""
        return ": ".join(([f"line {self.line}"] if self.line else []) + ([self.path] if self.location else []))

    def __str__(self) -> str:
        """Return a text such as `line 12: leaderElection.leaseDuration: must be ...`. Unknown parts are left out."""
        return one_line(f"{self.place}: {self.message}" if self.place else self.message)

    def below(self, *parent: int | str) -> "Fault":
        """Return the fault with `parent` in front of its location."""
        return replace(self, location=(*parent, *self.location))


MAX_FAULTS = 100
"""The number of faults of one kind that a message describes. A policy can have ten thousand faults."""
SHOWN_PLACES = 3
"""The number of places that a summary names for one mistake."""


def summary_of(faults: Iterable[Fault]) -> str:
    """Return all faults as one text. Describe a mistake that occurs in several places only once.

    An example: `spec.zones: is unknown; spec.extenders[0].caData, spec.extenders[1].caData: holds no PEM`.
    """
    places: dict[str, list[str]] = {}
    for fault in faults:
        places.setdefault(fault.message, []).append(fault.place)
    return "; ".join(one_line(f"{_shown(named)}{message}") for message, named in places.items())


def _shown(places: Sequence[str]) -> str:
    named = [place for place in places if place]
    more = f" and {len(named) - SHOWN_PLACES} more" if len(named) > SHOWN_PLACES else ""
    return f"{', '.join(named[:SHOWN_PLACES])}{more}: " if named else ""


class FaultsError(MoorageError):
    """The base of errors that list all faults of a file or object. Only subclasses are raised."""

    subject: ClassVar[str]
    characters = 32 * CHARACTERS

    def __init__(self, faults: Collection[Fault]) -> None:
        """Keep the faults. They are in the order of the text."""
        self.faults = tuple(faults)
        super().__init__(f"{self.subject}: {summary_of(self.faults)}")


class ConfigurationError(FaultsError):
    """The configuration file is invalid."""

    subject = "the configuration is refused"


class InvalidPolicy(FaultsError):
    """A SchedulingPolicy is invalid; its last good profile stays live."""

    subject = "the policy is refused"


class InvalidInput(FaultsError):
    """Files that a command reads are invalid. Each message begins with the name of the file."""

    subject = "the input is refused"


class PolicyNotAllowed(FaultsError):
    """A SchedulingPolicy uses something that the operator's flags do not allow."""

    subject = "the policy is not allowed"


class UnknownPlugin(MoorageError):
    """A policy or a profile names a plugin that is not registered."""

    def __init__(self, name: str, known: Collection[str] = ()) -> None:
        """Suggest the known name that is most similar to `name`."""
        self.name = name
        near = get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else "; `moorage plugins` lists the known ones"
        super().__init__(f"there is no plugin {name!r}{hint}")


class UnknownPlugins(UnknownPlugin):
    """A policy or a profile names plugins that are not registered."""

    def __init__(self, faults: Collection[Fault]) -> None:
        """Keep one fault for each place that uses such a name. The message lists all faults."""
        self.faults = tuple(faults)
        MoorageError.__init__(self, "; ".join(map(str, self.faults)))


class UnusableDump(MoorageError):
    """A dump file, or an object in it, cannot be read."""


class CommandFailed(MoorageError):
    """A command cannot continue: libraries of an extra are not installed, or one of its processes was killed."""


class NotLeader(MoorageError):
    """This replica must not write: it is not the leader, or its Lease may have expired."""


class StaleDecision(MoorageError):
    """The cluster has changed since the decision: the pod may not fit the chosen node, or is bound to another node."""

    def __init__(self, conflict: Literal["changed", "room", "bound"], message: str) -> None:
        """Keep the kind of change: the pod or node changed, the node lost room, or the pod is bound to another node."""
        self.conflict = conflict
        super().__init__(message)


class ExtenderError(MoorageError):
    """A call to an extender failed: a timeout, a status other than 200, or an answer that breaks the protocol."""

    def __init__(self, url: str, message: str) -> None:
        """Name the extender by `url`, the address of the call."""
        self.url = url
        super().__init__(f"extender {url}: {message}")


class CredentialsError(MoorageError):
    """There is no usable kubeconfig or service account, or the source of its credentials fails."""


class UnusableTls(CredentialsError):
    """A certificate, a key or an authority cannot be used."""

    def __init__(self, field: str, message: str) -> None:
        """Keep the name of the field and its fault."""
        self.field = field
        self.message = message
        super().__init__(f"{field} {message}")


class NoOperator(MoorageError):
    """A command found no operator that can answer. The message has the reason."""


class QuestionRefused(MoorageError):
    """The operator does not answer the question, for example because the user may not get the pod."""


class ApiUnreachable(MoorageError):
    """The API server did not answer or the connection broke; a write may or may not have been carried out."""


class AnswerTooLong(ApiUnreachable):
    """An answer is longer than the client's limit."""


class ApiError(MoorageError):
    """The API server refused a request."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        """Keep the HTTP status, and the reason and message of the answer's Status object."""
        self.status = status
        self.reason = one_line(reason, REASON_CHARACTERS)
        self.message = one_line(message, MESSAGE_CHARACTERS)
        code = f"{status} {self.reason}" if reason else f"{status}"
        super().__init__(f"{self.message} ({code})")

    @classmethod
    def of(cls, status: int, reason: str, message: str, retry_after_seconds: float | None = None) -> "ApiError":
        """Return an error of the class for this HTTP status."""
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
    """409: the object changed, exists already, or was replaced by an object with another uid."""


class Gone(ApiError):
    """410: the resourceVersion is older than the API server's history."""


class TooManyRequests(ApiError):
    """429: retry later; the API server limits requests, or a disruption budget allows no eviction now."""

    def __init__(self, reason: str, message: str, retry_after_seconds: float | None) -> None:
        """Keep the Retry-After header; None if it is missing."""
        super().__init__(HTTPStatus.TOO_MANY_REQUESTS, reason, message)
        self.retry_after_seconds = retry_after_seconds


_BY_STATUS: dict[int, type[ApiError]] = {
    HTTPStatus.UNAUTHORIZED: Unauthorized,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.GONE: Gone,
}
