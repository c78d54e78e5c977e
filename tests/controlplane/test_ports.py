import socket
from collections.abc import Sequence

import pytest

from controlplane.ports import LOOPBACK, Ports


@pytest.fixture
def numbers() -> Sequence[int]:
    """Three ports that were free a moment ago."""
    ports = Ports()
    three = [ports.take() for _ in range(3)]
    ports.close()
    return three


def test_two_reservations_never_take_the_same_port(numbers: Sequence[int]) -> None:
    mine, others = Ports(numbers), Ports(numbers)

    taken = [mine.take(), others.take(), mine.take()]

    mine.close()
    others.close()
    assert sorted(taken) == sorted(numbers)


def test_a_port_with_a_listener_is_skipped(numbers: Sequence[int]) -> None:
    ports = Ports(numbers[:2])
    with socket.create_server((LOOPBACK, numbers[0])):
        taken = ports.take()

    ports.close()
    assert taken == numbers[1]


def test_an_error_reports_that_no_port_is_free(numbers: Sequence[int]) -> None:
    ports = Ports(numbers[:1])
    ports.take()

    with pytest.raises(OSError, match="no free port among 1 on"):
        ports.take()
    ports.close()


def test_a_released_port_can_be_taken_again(numbers: Sequence[int]) -> None:
    first = Ports(numbers[:1])
    first.take()
    first.close()
    second = Ports(numbers[:1])

    assert second.take() == numbers[0]
    second.close()
