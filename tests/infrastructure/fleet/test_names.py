from __future__ import annotations

import pytest

from awf.domain.errors import AwfError
from awf.infrastructure.fleet.names import QueueName, dbos_url


def test_a_tag_has_a_queue_of_its_own():
    assert str(QueueName.checked("default")) == "awf-default"
    assert str(QueueName.checked("default", "gpu")) == "awf-default#gpu"


@pytest.mark.parametrize("name", ["A", "a b", "a#b", "-a", "a" * 41, "ü"])
def test_odd_names_are_refused(name):
    for wrong in ((name, ""), ("default", name)):
        with pytest.raises(AwfError) as caught:
            QueueName.checked(*wrong)
        assert caught.value.code == "USER.INPUT.INVALID_FORMAT"


def test_both_ways_to_write_an_address_are_understood():
    assert dbos_url("postgres://h/d") == dbos_url("postgresql://h/d") == "postgresql://h/d"
