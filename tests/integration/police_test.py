"""Policed classes: what conforms goes on as it came, what exceeds is dropped or remarked."""

import time

import pytest

from daemon import check_law, class_of
from frames import IEEE_802_1Q, IPV4_ADDRESSES, IPV6_ADDRESSES, numbered, udp_frame
from packet_socket import FrameRecorder, FrameSender

EF, CS1 = 46, 8

SHAPE = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "policed"
  match = "udp"
  {keys}
"""

BUCKET = """action = "police"
  rate = "1p/min"
  burst = "50p"
"""
FIXED_WINDOW = """action = "police"
  limiter = "fixed-window"
  limit = "10p"
  window = "3s"
  key = "dst"
"""
SLIDING_WINDOW = """action = "police"
  limiter = "sliding-window"
  limit = "30p"
  window = "1d"
"""
SHAPED = """rate = "10000pps"
  queue = "10000p"
"""
WINDOW = 3  # s, as above


def config(keys):
    return SHAPE.format(keys=keys)


def some_frames(count, addresses=IPV4_ADDRESSES, first=0, **how):
    return [udp_frame(numbered(number), addresses=addresses, **how) for number in range(first, first + count)]


def counts(headgate, received):
    """Of the class: sent, dropped as policed, remarked."""
    headgate.settled_class("policed", received)
    shape = headgate.shape()
    check_law(shape)
    one = class_of(shape, "policed")
    assert one["received"]["packets"] == received
    assert one["dropped"]["packets"] == one["dropped"]["reasons"]["policed"]["packets"]
    return one["sent"]["packets"], one["dropped"]["packets"], one["remarked"]["packets"]


@pytest.mark.parametrize("addresses", [IPV4_ADDRESSES, IPV6_ADDRESSES])
def test_what_conforms_passes_and_what_exceeds_is_dropped(net, headgate, divert, addresses):
    headgate.start(config(BUCKET), divert=divert)
    sent = some_frames(200, addresses)
    recorder = FrameRecorder(net.peer)
    FrameSender(net.host).send_all(sent)
    assert counts(headgate, 200) == (50, 150, 0)
    assert recorder.frames(50) == sent[:50]


@pytest.mark.parametrize("addresses", [IPV4_ADDRESSES, IPV6_ADDRESSES])
@pytest.mark.parametrize("tags", [(), ((IEEE_802_1Q, 5),), ((IEEE_802_1Q, 5), (IEEE_802_1Q, 7))])
def test_what_exceeds_is_remarked_in_its_place(net, headgate, divert, addresses, tags):
    """What arrives is, byte for byte and with its checksum, what the sender would have sent with that code point."""
    headgate.start(config(BUCKET + '  exceed = "dscp:cs1"\n').replace('match = "udp"', 'dscp = "ef"'), divert=divert)
    recorder = FrameRecorder(net.peer)
    FrameSender(net.host).send_all(some_frames(200, addresses, dscp=EF, tags=tags))
    assert counts(headgate, 200) == (200, 0, 150)
    marked = some_frames(200, addresses, dscp=CS1, tags=tags)
    assert recorder.frames(200) == some_frames(50, addresses, dscp=EF, tags=tags) + marked[50:]
    assert "remarked 150" in headgate.control("show").stdout


def begin_of_a_window():
    """Right behind it, by the clock that the daemon has, too."""
    time.sleep(WINDOW - time.monotonic() % WINDOW + 0.1)


def test_each_window_has_its_limit_for_each_key(net, headgate, divert):
    headgate.start(config(FIXED_WINDOW), divert=divert)
    recorder = FrameRecorder(net.peer)
    sender = FrameSender(net.host)
    others = (IPV4_ADDRESSES[0], "10.77.0.11")
    expected = []
    for turn in range(2):
        begin_of_a_window()
        first, second = some_frames(10, first=100 * turn), some_frames(10, others, first=100 * turn)
        sender.send_all(first)
        assert counts(headgate, 30 * turn + 10) == (20 * turn + 10, 10 * turn, 0)
        sender.send_all(some_frames(10, first=100 * turn + 50))
        assert counts(headgate, 30 * turn + 20) == (20 * turn + 10, 10 * turn + 10, 0)
        sender.send_all(second)
        assert counts(headgate, 30 * turn + 30) == (20 * turn + 20, 10 * turn + 10, 0)
        expected += first + second
    assert recorder.frames(40) == expected


def test_a_reload_changes_the_limit_and_keeps_what_was_counted(net, headgate, divert):
    headgate.start(config(SLIDING_WINDOW), divert=divert)
    sender = FrameSender(net.host)
    sender.send_all(some_frames(40))
    assert counts(headgate, 40) == (30, 10, 0)
    headgate.write(config(SLIDING_WINDOW.replace("30p", "35p") + '  exceed = "dscp:cs1"\n'))
    headgate.reload()
    sender.send_all(some_frames(20))
    assert counts(headgate, 60) == (50, 10, 15)
    shown = class_of(headgate.shape(), "policed")
    assert (shown["action"], shown["exceed"], shown["limiter"]) == ("police", "dscp:cs1", "sliding-window")
    assert (shown["limit"], shown["window"], shown["rate"], shown["queue"]) == ("35p", "86400s", [], [])


def test_reloads_between_policing_and_shaping_lose_nothing(net, headgate, divert):
    plenty = SLIDING_WINDOW.replace("30p", "1000000p")
    headgate.start(config(SHAPED), divert=divert)
    recorder = FrameRecorder(net.peer)
    sender = FrameSender(net.host)
    number = 0
    for keys in (plenty, SHAPED, BUCKET.replace("1p/min", "1000000pps").replace("50p", "100000p"), plenty, SHAPED):
        sender.send_all(some_frames(300, first=number))
        number += 300
        headgate.write(config(keys))
        headgate.reload()
    assert recorder.frames(number) == some_frames(number)
    assert counts(headgate, number) == (number, 0, 0)
