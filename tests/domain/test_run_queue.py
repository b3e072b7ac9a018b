from __future__ import annotations

import pytest

from awf.domain.errors import AwfError
from awf.domain.run_queue import MOST_RUN_TAGS, MOST_WORKER_TAGS, QueueName, served_queues


def test_runs_that_ask_for_the_same_tags_wait_in_one_queue():
    assert str(QueueName.checked("default")) == "awf-default"
    assert str(QueueName.checked("default", ["gpu"])) == "awf-default#gpu"
    assert QueueName.checked("night", ["gpu", "big", "gpu"]) == QueueName.checked("night", ["big", "gpu"])
    assert str(QueueName.checked("night", ["gpu", "big"])) == "awf-night#big+gpu"


@pytest.mark.parametrize("tags", [(), ("gpu",), ("a-b", "c_d"), ("a", "b", "c", "d")])
def test_a_name_is_read_as_it_was_written(tags):
    name = QueueName.checked("a-queue", tags)
    assert QueueName.parse(str(name)) == name


def test_who_is_awaited_is_said_in_words():
    assert QueueName("default").awaited == "a worker"
    assert QueueName("default", ("gpu",)).awaited == "a worker with the tag gpu"
    assert QueueName("night", ("big", "gpu")).awaited == (
        "a worker for the queue night with all the tags big, gpu"
    )


@pytest.mark.parametrize("name", ["A", "a b", "a#b", "a+b", "-a", "a" * 41, "ü", ""])
def test_odd_names_are_refused(name):
    for make in (
        lambda: QueueName.checked(name),
        lambda: QueueName.checked("default", [name]),
        lambda: served_queues([name], []),
        lambda: served_queues(["default"], [name]),
    ):
        with pytest.raises(AwfError) as caught:
            make()
        assert caught.value.code == "USER.INPUT.INVALID_FORMAT"


def test_a_worker_serves_every_part_of_its_tags_and_nothing_else():
    served = set(map(str, served_queues(["default", "night"], ["b", "a", "b"])))
    assert served == {
        f"awf-{queue}{tags}" for queue in ("default", "night") for tags in ("", "#a", "#b", "#a+b")
    }


def test_a_worker_without_a_queue_is_refused():
    with pytest.raises(AwfError):
        served_queues([], ["a"])


def test_the_number_of_tags_has_a_bound_and_up_to_it_every_part_is_served():
    tags = [f"t{number}" for number in range(MOST_WORKER_TAGS)]
    served = set(served_queues(["default"], tags))
    assert QueueName.checked("default", tags[-MOST_RUN_TAGS:]) in served
    with pytest.raises(AwfError, match=f"at most {MOST_WORKER_TAGS} tags"):
        served_queues(["default"], [*tags, "one-more"])
    with pytest.raises(AwfError, match=f"at most {MOST_RUN_TAGS} tags"):
        QueueName.checked("default", tags[: MOST_RUN_TAGS + 1])
