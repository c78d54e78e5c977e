"""The pauses between runs of a credential plugin if the API server refuses its credentials."""

from moorage.runtime.client.renewal_pace import CALM_SECONDS, LONGEST_PAUSE_SECONDS, RenewalPace


def runs_in(pace: RenewalPace, seconds: int, *, start: int = 0, has_helped: bool = False) -> int:
    """Try to run ten times a second; return the number of allowed runs."""
    runs = 0
    for tenth in range(start * 10, (start + seconds) * 10):
        if pace.allows_run(tenth / 10):
            pace.record_run(tenth / 10, has_helped=has_helped)
            runs += 1
    return runs


def test_pauses_grow_after_runs_that_do_not_help() -> None:
    pace = RenewalPace()
    assert runs_in(pace, 60) == 6  # at 0, 1, 3, 7, 15 and 31 s
    assert runs_in(pace, 600, start=60) == 600 / LONGEST_PAUSE_SECONDS


def test_a_run_that_helped_ends_the_long_pauses() -> None:
    pace = RenewalPace()
    runs_in(pace, 60)
    pace.record_run(61, has_helped=True)
    assert pace.allows_run(62)


def test_a_long_time_without_a_run_ends_the_long_pauses() -> None:
    pace = RenewalPace()
    runs_in(pace, 60)
    pace.record_run(60 + CALM_SECONDS, has_helped=False)
    assert pace.allows_run(61 + CALM_SECONDS)
