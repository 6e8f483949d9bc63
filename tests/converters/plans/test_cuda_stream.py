"""Events, page-locked memory and graphs, with a driver of paper: what it is called with, and that
all is given back."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_driver import Driver

from converters.plans.cuda_driver import Device
from converters.plans.cuda_stream import Event, Graph, PageLocked
from converters.util.errors import UnavailableError


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    return Driver.installed(monkeypatch)


def test_copies_there_and_back(driver: Driver) -> None:
    device = Device()
    values = np.arange(6, dtype=np.float16).reshape(2, 3)
    sent, received = (PageLocked(device, (2, 3), np.float16) for _ in range(2))
    sent.array[...] = values
    address = device.allocate(values.nbytes)
    sent.copy_to(address)
    received.copy_from(address)
    np.testing.assert_array_equal(received.array, values)
    assert received.array.dtype == np.float16
    for memory in (sent, received):
        memory.close()
    device.close()
    assert not driver.held


def test_empty_and_scalar_arrays(driver: Driver) -> None:
    device = Device()
    for shape in ((0, 4), ()):
        memory = PageLocked(device, shape, np.int32)
        assert memory.array.shape == shape
        memory.copy_from(device.allocate(memory.array.nbytes))
        memory.close()
    device.close()
    assert not driver.held


def test_events_time_the_work_between_them(driver: Driver) -> None:
    device = Device()
    first, second, third = (Event(device) for _ in range(3))
    for event in (first, second, third):
        event.record()
    third.wait()
    assert second.ms_since(first) == 1.5 and third.ms_since(first) == 3.0
    for event in (first, second, third):
        event.close()
    device.close()
    assert not driver.events


def test_memory_that_nobody_owns_outlives_free(driver: Driver) -> None:
    device = Device()
    kept, given = device.allocate_unowned(10), device.allocate(20)
    device.free()
    assert kept in driver.held and given not in driver.held
    device.free_unowned(kept)
    device.close()
    assert not driver.held


def test_no_memory_is_an_error_with_the_drivers_words(driver: Driver) -> None:
    device = Device()
    with pytest.raises(UnavailableError, match="cuMemAllocHost_v2 failed: out of memory"):
        PageLocked(device, (1 << 31,), np.uint8)
    device.close()


def test_a_graph_repeats_what_the_stream_was_given(driver: Driver) -> None:
    device = Device()
    source, target = (PageLocked(device, (3,), np.int32) for _ in range(2))
    address = device.allocate(12)
    graph = Graph(device)
    with graph.capture():
        source.copy_to(address)
        target.copy_from(address)
    for number in (5, 6):
        source.array[...] = number
        assert (target.array != number).all()
        graph.launch()
        assert (target.array == number).all()
    graph.close()
    for memory in (source, target):
        memory.close()
    device.close()
    assert not driver.held and not driver.graphs


def test_a_capture_that_fails_ends(driver: Driver) -> None:
    device = Device()
    graph = Graph(device)
    with pytest.raises(KeyError), graph.capture():
        raise KeyError
    assert driver.captured is None
    driver.refuses_graphs = True
    with (
        pytest.raises(UnavailableError, match="cuGraphInstantiateWithFlags failed"),
        graph.capture(),
    ):
        pass
    assert driver.captured is None and not driver.graphs
    graph.close()
    device.close()
