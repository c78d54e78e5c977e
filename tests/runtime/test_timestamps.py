import pytest

from moorage.runtime.timestamps import micro_time, whole_time


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (1_700_000_000.25, "2023-11-14T22:13:20.250000Z"),
        (1_700_000_000.0, "2023-11-14T22:13:20.000000Z"),
        (1_700_000_000.000001, "2023-11-14T22:13:20.000001Z"),
    ],
)
def test_a_micro_time_always_has_six_decimals(seconds: float, written: str) -> None:
    assert micro_time(seconds) == written


def test_the_time_of_a_condition_has_whole_seconds() -> None:
    assert whole_time(1_700_000_000.9) == "2023-11-14T22:13:20Z"
