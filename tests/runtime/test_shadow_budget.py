"""The share of time of policies in mode Shadow."""

from moorage.runtime.shadow_budget import MAX_SAVED_SECONDS, SHARE, ShadowBudget


def test_shadows_use_their_saved_time_and_then_their_share() -> None:
    budget, now, used = ShadowBudget(), 1000.0, 0.0
    for _ in range(10_000):
        now += 0.001
        if budget.allows(now):
            budget.spend(0.01)
            used += 0.01
    assert used <= MAX_SAVED_SECONDS + 10 * SHARE + 0.01
    assert used >= MAX_SAVED_SECONDS + 10 * SHARE - 0.01
