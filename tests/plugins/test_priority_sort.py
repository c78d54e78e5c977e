from hypothesis import given
from hypothesis import strategies as st

from builders import pod
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.priority_sort import PrioritySort


def test_pods_are_sorted_by_priority_and_then_by_waiting_time() -> None:
    waiting = [(pod("late"), 9.0), (pod("early"), 1.0), (pod("urgent", priority=100), 20.0)]

    ordered = sorted(waiting, key=lambda entry: PrioritySort().sort_key(*entry))

    assert [entry[0].name for entry in ordered] == ["urgent", "early", "late"]


def _is_less(one: tuple[Pod, float], other: tuple[Pod, float]) -> bool:
    """Return whether upstream's `Less` puts the first pod before the other."""
    if one[0].priority != other[0].priority:
        return one[0].priority > other[0].priority
    return one[1] < other[1]


entries = st.tuples(st.integers(-10, 10).map(lambda priority: pod(priority=priority)), st.floats(0, 100))


@given(entries, entries)
def test_sort_keys_give_the_same_order_as_less_in_upstream(one: tuple[Pod, float], other: tuple[Pod, float]) -> None:
    plugin = PrioritySort()

    assert (plugin.sort_key(*one) < plugin.sort_key(*other)) == _is_less(one, other)
