import pytest

from moorage.api.duration import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("5s", 5),
        ("1m30s", 90),
        ("1h", 3600),
        ("500ms", 0.5),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("1us", 1e-6),
        ("3ns", 3e-9),
    ],
)
def test_go_durations_are_parsed(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "-5s", "5S", "5d", "1.2.3s", "5s\n", "\u0665s"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(text)
