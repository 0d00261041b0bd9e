import fcntl
import json
import os
import pathlib
import platform
import signal

import pytest
from _pytest.runner import runtestprotocol

import network
import selection
from daemon import Headgate
from drop_monitor import DropMonitor

ROOT = pathlib.Path(__file__).resolve().parents[2]

LONGEST_TEST = 180  # s
BACK_ENDS = ("ring", "pcap")  # beside the default
ATTEMPTS = 3

# What a shell starts in the background ignores interrupts, and so would all that the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

_figures = {}
_not_applicable = []
_measured_again = []
_broken = pytest.StashKey[str]()


def pytest_addoption(parser):
    parser.addoption("--preset", default="release", help="which build to test: release, dev or tsan")
    parser.addoption("--parameters", choices=("all", "each"), default="all",
                     help="all combinations of a test's parameters, or each value once")
    parser.addoption("--judging", choices=("time", "no-time"), help="only tests that judge time, or that do not")
    parser.addoption("--workers", type=int, default=1, help="of each shape that does not say how many")


def pytest_configure(config):
    if os.geteuid() != 0:
        pytest.exit("the integration tests need root (network namespaces): NOT RUN", returncode=3)
    programs = ROOT / "build" / config.getoption("preset") / "bin"
    for program in ("headgated", "headgatectl", "headgate-exporter", "traffic_send", "traffic_receive"):
        if not (programs / program).exists():
            pytest.exit(f"{programs / program} is not built", returncode=3)
    config.programs = programs
    Headgate.workers = config.getoption("workers")
    network.sweep()


def kernel_has_tcx():
    return tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2]) >= (6, 6)


def runs_with(back_end, item, parameters, config):
    """Those that are marked so; the mark may name the values of parameters that are enough for libpcap. Sanitizers see these
    back ends in back_ends_test.py."""
    mark = item.get_closest_marker("each_back_end")
    if mark is None or config.getoption("preset") != "release":
        return False
    return back_end != "pcap" or all(parameters.get(name, values[0]) in values for name, values in mark.kwargs.items())


def pytest_collection_modifyitems(config, items):
    # A divert method that the kernel does not have is not skipped: there is nothing to test. The same goes for the
    # installed service and the demo, which are always the release build, when another one is tested.
    for item in list(items):
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        method = parameters.get("divert")
        if method == "tcx" and not kernel_has_tcx():
            _not_applicable.append(item.nodeid)
            items.remove(item)
        elif method in BACK_ENDS and not runs_with(method, item, parameters, config):
            items.remove(item)
        elif item.get_closest_marker("release") and config.getoption("preset") != "release":
            items.remove(item)
    if config.getoption("parameters") == "each":
        # On a sanitizer build with the method that the release build is not tested with.
        items[:] = selection.each_value_once(items, config.getoption("preset") != "release")
    if judging := config.getoption("judging"):
        items[:] = [item for item in items if selection.judges_time(item) == (judging == "time")]


def pytest_runtest_protocol(item, nextitem):
    """A measured figure may be spoilt by other load on the machine, and never bettered by it: up to three attempts."""
    if not item.get_closest_marker("measured"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for attempt in range(ATTEMPTS):
        if attempt:
            _measured_again.append(f"{item.nodeid}: {failed[0].longrepr.reprcrash.message.splitlines()[0]}")
            item._initrequest()  # fixtures anew
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        failed = [report for report in reports if report.failed and report.when == "call"]
        if not failed or item.stash.get(_broken, None):
            break
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter, config):
    if _not_applicable:
        terminalreporter.write_line(f"{len(_not_applicable)} cases not applicable: this kernel has no TCX")
    for name in _measured_again:
        terminalreporter.write_line(f"measured again: {name}")
    if _figures:
        keep_figures(config.programs.parent / "integration-figures.json")
        terminalreporter.write_line("measured:")
        for name, value in sorted(_figures.items()):
            terminalreporter.write_line(f"  {name}: {value}")


def keep_figures(path):
    """Beside those of other sessions, which may be running."""
    with open(path, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        figures = json.loads(file.read() or "{}") | _figures
        file.truncate(0)
        file.write(json.dumps(figures, indent=1, sort_keys=True) + "\n")


def pytest_sessionfinish(session):
    left = network.leftovers()
    assert not left, f"namespaces left over: {left}"


@pytest.fixture(autouse=True)
def time_limit():
    """A test that hangs fails, and cleans up."""

    def give_up(*_):
        raise AssertionError(f"not finished after {LONGEST_TEST} s")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LONGEST_TEST)
    yield
    signal.alarm(0)


@pytest.fixture(params=["tcx", "clsact", *BACK_ENDS])
def divert(request, monkeypatch):
    """Runs a test once with each method that takes packets out of the kernel; those marked each_back_end once more with each
    of the other back ends for every shape."""
    if request.param not in BACK_ENDS:
        return request.param
    monkeypatch.setattr(Headgate, "capture", request.param)
    return "tcx" if kernel_has_tcx() else "clsact"


@pytest.fixture
def promise(request):
    """promise(holds, what): what must hold whatever the machine does; when it does not, nothing is measured again."""

    def check(holds, what):
        if not holds:
            request.node.stash[_broken] = what
        assert holds, what

    return check


@pytest.fixture
def programs(pytestconfig):
    return pytestconfig.programs


@pytest.fixture
def net():
    made = network.Network()
    yield made
    made.delete()


@pytest.fixture
def inline_net():
    made = network.InlineNetwork()
    yield made
    made.delete()


@pytest.fixture
def headgates(programs):
    """Makes daemons: headgates(namespace). They are ended after the test, and shown when it failed."""
    made = []

    def make(namespace):
        made.append(Headgate(namespace, programs))
        return made[-1]

    yield make
    problems = []
    for headgate in reversed(made):
        log = headgate.log()
        if log:
            print(f"--- {headgate.log_path}:\n{log}")
        try:
            headgate.close()
        except AssertionError as problem:
            problems.append(str(problem))
    assert not problems, "\n".join(problems)


@pytest.fixture
def monitor():
    try:
        made = DropMonitor()
    except OSError as error:
        pytest.skip(f"no program can look at drops here: {error}")
    yield made
    made.close()


@pytest.fixture
def headgate(net, headgates):
    return headgates(net.host)


@pytest.fixture
def figure(request):
    """figure("rate", 999.98): keeps a measured figure for the report at the end of the run."""

    def record(name, value):
        _figures[f"{request.node.name}: {name}"] = value

    return record
