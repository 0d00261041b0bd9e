"""The live page in a real browser: what it shows, how it looks, and what it does without the daemon."""

import struct
import time
import zlib

import pytest

import network
from browser import Browser
from traffic import Sender
from web import Exporter

CONFIG = """
[[shape]]
interface = "eth0"
workers = 1
rate = "20mbit"
  [[shape.group]]
  name = "guests"
  ceiling = "5mbit"
  [[shape.class]]
  name = "office"
  match = "udp portrange 5100-5199"
  guarantee = "1mbit"
  fair = true
  [[shape.class]]
  name = "guest"
  group = "guests"
  match = "udp portrange 5200-5299"
  key = "dst"
  rate = "1mbit"
  queue = "20p"

[[shape]]
interface = "eth0"
direction = "ingress"
  [[shape.class]]
  name = "down"
  rate = "1000pps"

[[shape]]
interface = "<b>&x\\u202e"
  [[shape.class]]
  name = "odd"
  rate = "1000pps"
"""

pytestmark = pytest.mark.release

ROW = ("[...document.querySelectorAll('.classes > tbody > tr')]"
       ".find((row) => row.querySelector('.opener')?.textContent === '{}')")
NOW = ROW + ".querySelector('.now').firstChild.textContent"


@pytest.fixture
def shown(net, headgates, programs):
    """A daemon under load, its exporter, and a browser at its page."""
    headgate = headgates(net.host).start(CONFIG)
    senders = [Sender(net.host, programs, network.PEER_IPV4, rate=rate, seconds=120, port=port, size=500)
               for port, rate in ((5100, 500), (5200, 800))]
    exporter = Exporter(net.host, programs, headgate.control_path, "--flows")
    browser = Browser(net.host, exporter.url)
    yield headgate, exporter, browser
    browser.close()
    for sender in senders:
        sender.stop(refusals=True)
    exporter.close()


CUT = """(() => {
  const right = (one) => one.getBoundingClientRect().right;
  return [...document.querySelectorAll('.panel *')]
    .filter((one) => !(one instanceof SVGElement) && right(one) > right(one.closest('.panel')) + 1)
    .map((one) => one.outerHTML.slice(0, 80));
})()"""


def pixels(png):
    """Width, height, channels and filtered rows of an 8-bit PNG without interlacing."""
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    assert depth == 8
    channels = {2: 3, 6: 4}[kind]
    data, place = b"", 8
    while place < len(png):
        length, = struct.unpack(">I", png[place:place + 4])
        if png[place + 4:place + 8] == b"IDAT":
            data += png[place + 8:place + 8 + length]
        place += 12 + length
    return width, height, channels, zlib.decompress(data)


def corner(png):
    """The colour at the upper left: each row begins with its filter, and all filters leave the first pixel as it is."""
    _, _, _, raw = pixels(png)
    return tuple(raw[1:4])


def wait_for_rate(browser, name, unit):
    browser.wait_for(f"{ROW.format(name)} && {NOW.format(name)}.includes('{unit}')", patience=20)


def test_the_page_shows_what_is_shaped_and_follows_it(shown):
    headgate, _, browser = shown
    browser.look(1440, 900)
    wait_for_rate(browser, "office", "Mbit")
    # 500 packets of 542 bytes a second.
    rate = float(browser.evaluate(NOW.format("office")).split()[0])
    assert 1.5 < rate < 3, rate
    assert browser.evaluate("document.querySelectorAll('.link.both .panel').length") == 2  # up and down of eth0
    lefts = browser.evaluate("[...document.querySelectorAll('.link.both .panel')]"
                             ".map((panel) => panel.getBoundingClientRect().left)")
    assert lefts[0] < lefts[1]  # side by side
    assert browser.evaluate("document.querySelectorAll('tr.group').length") == 1
    browser.wait_for(f"{ROW.format('office')}.querySelectorAll('svg path').length > 0")
    first = browser.evaluate(f"{ROW.format('office')}.querySelector('svg .line').getAttribute('d')")
    browser.wait_for(f"{ROW.format('office')}.querySelector('svg .line').getAttribute('d') !== {first!r}")

    browser.evaluate(f"{ROW.format('guest')}.querySelector('button').click()")
    browser.wait_for("document.querySelector('.details')?.innerText.includes('queue_full')", patience=20)
    browser.wait_for("document.querySelector('.flows')?.innerText.includes('10.77.0.2')")
    browser.wait_for("document.querySelectorAll('.bars tr').length > 3")

    # A name is text, whatever it holds.
    assert "<b>&x\\u202e" in browser.evaluate("document.getElementById('links').innerText")
    assert browser.evaluate("document.querySelectorAll('main b').length") == 0
    browser.evaluate("document.getElementById('unit').click()")
    browser.wait_for(f"/^[\\d.]+\\/s$/.test({NOW.format('office')})")  # packets

    headgate.kill()
    browser.wait_for("!document.getElementById('trouble').hidden")
    assert "no headgated answers" in browser.evaluate("document.getElementById('trouble').textContent")
    assert browser.evaluate("document.querySelectorAll('.panel').length") == 3  # what was known stays
    headgate.start(CONFIG)
    browser.wait_for("document.getElementById('trouble').hidden")
    # All that it complains of is the time without a daemon.
    assert [problem for problem in browser.problems if "503" not in problem] == []


def test_the_page_fits_narrow_and_wide_in_light_and_dark(shown):
    _, _, browser = shown
    browser.look(400, 900)
    wait_for_rate(browser, "office", "Mbit")
    browser.evaluate(f"{ROW.format('guest')}.querySelector('button').click()")
    corners = {}
    for width in (400, 900, 1800):
        for scheme in ("light", "dark"):
            browser.look(width, 900, scheme)
            time.sleep(0.3)
            widths = browser.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert widths[0] <= widths[1] == width
            cut = browser.evaluate(CUT)
            assert cut == []
            png = browser.screenshot()
            assert pixels(png)[:2] == (width, 900)
            corners[scheme] = sum(corner(png)) / 3
    assert corners["light"] > 200 and corners["dark"] < 60
    assert browser.problems == []


def test_nothing_of_the_page_can_be_run_from_elsewhere(shown):
    _, _, browser = shown
    browser.wait_for("document.querySelectorAll('.panel').length > 0")
    browser.evaluate("{ const script = document.createElement('script'); script.textContent = 'window.broken = 1';"
                     " document.head.append(script); new Image().src = 'data:image/gif;base64,x'; undefined }")
    assert browser.evaluate("typeof window.broken") == "undefined"
    browser.wait_for("true")
    assert any("Content Security Policy" in problem for problem in browser.problems), browser.problems
