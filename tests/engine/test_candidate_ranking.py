import pytest

from builders import pod
from moorage.engine.candidate import Candidate
from moorage.engine.preemption.candidate_ranking import best_candidates, importance
from moorage.model.pods.pod import Pod


def started(second: int) -> dict[str, str]:
    return {"startTime": f"2026-01-01T00:00:{second:02}Z"}


def candidate(name: str, *victims: Pod, violations: int = 0) -> Candidate:
    return Candidate(name, tuple(sorted(victims, key=importance)), violations)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (candidate("a", pod(priority=9)), candidate("b", pod(priority=1), violations=1)),
        (candidate("a", pod(priority=3), pod(priority=3)), candidate("b", pod(priority=4))),
        (candidate("a", pod(priority=3), pod(priority=-9)), candidate("b", pod(priority=3), pod(priority=1))),
        (candidate("a", pod(priority=3)), candidate("b", pod(priority=3), pod(priority=-(2**31)))),
        (candidate("a", pod(status=started(9))), candidate("b", pod(status=started(1)))),
        (candidate("a", pod()), candidate("b", pod(status=started(1)))),
        (
            candidate("a", pod(priority=2, status=started(5)), pod(priority=1, status=started(1))),
            candidate("b", pod(priority=2, status=started(4)), pod(priority=1, status=started(9))),
        ),
    ],
    ids=["violations", "highest priority", "sum", "number", "later start", "not started", "start of the highest"],
)
def test_first_criterion_in_which_candidates_differ_decides(better: Candidate, worse: Candidate) -> None:
    assert best_candidates([worse, better]) == [better]


def test_best_candidates_returns_all_candidates_of_equal_rank() -> None:
    assert [each.node_name for each in best_candidates([candidate("b", pod()), candidate("a", pod())])] == ["a", "b"]
