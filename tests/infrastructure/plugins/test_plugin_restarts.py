from __future__ import annotations

from awf.infrastructure.plugins.restarts import RestartBudget


def test_the_first_start_is_free_and_pauses_grow():
    budget = RestartBudget(first_pause=0.1)
    pauses = []
    for second in range(4):
        pauses.append(round(budget.pause(second), 3))
        budget = budget.started(second)
    assert pauses == [0.0, 0.1, 0.4, 1.6]


def test_after_three_restarts_in_a_window_it_is_blocked_until_the_oldest_is_forgotten():
    budget = RestartBudget()
    for second in (0, 10, 20):
        budget = budget.started(second)
        assert budget.blocked_for(second) == 0
    budget = budget.started(30)
    assert budget.blocked_for(31) == 29
    assert budget.blocked_for(60) == 0


def test_old_starts_are_forgotten():
    budget = RestartBudget()
    for second in range(0, 1000, 61):
        budget = budget.started(second)
        assert budget.blocked_for(second) == 0
        assert len(budget.starts) == 1
