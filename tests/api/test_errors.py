import pytest

from moorage import errors
from moorage.errors import ApiError, ConfigurationError, Fault, MoorageError, TooManyRequests, UnknownPlugin


def test_every_error_derives_from_moorage_error_and_the_module_docstring_lists_it() -> None:
    classes = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, Exception)]
    for one in classes:
        assert issubclass(one, MoorageError)
        assert f"{one.__name__}" in (errors.__doc__ or "")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, errors.Unauthorized),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (410, errors.Gone),
        (429, errors.TooManyRequests),
        (500, ApiError),
        (422, ApiError),
    ],
)
def test_the_http_status_selects_the_class_of_the_error(status: int, kind: type[ApiError]) -> None:
    error = ApiError.of(status, "Reason", "the pod is gone")
    assert type(error) is kind
    assert (error.status, error.reason, error.message) == (status, "Reason", "the pod is gone")
    assert str(error) == f"the pod is gone ({status} Reason)"


def test_an_api_error_keeps_retry_after() -> None:
    error = ApiError.of(429, "TooManyRequests", "slow down", retry_after_seconds=2.5)
    assert isinstance(error, TooManyRequests)
    assert error.retry_after_seconds == 2.5


def test_a_configuration_error_lists_every_fault() -> None:
    error = ConfigurationError([Fault(("parallelism",), 3, "must be more"), Fault((), None, "no YAML")])
    assert str(error) == "the configuration is refused: line 3: parallelism: must be more; no YAML"


def test_an_unknown_plugin_suggests_the_nearest_name() -> None:
    assert str(UnknownPlugin("NodeResourceFit", ["NodeResourcesFit"])).endswith("did you mean NodeResourcesFit?")
    assert "moorage plugins" in str(UnknownPlugin("Zzz", ["NodeResourcesFit"]))
