"""A daemon with more shapes than the usual limit of descriptors has room for."""

import resource

import processes

SHAPES = 70
SOFT_LIMIT = 1024  # what a login shell or an old unit gives

SHAPE = """
[[shape]]
interface = "v{}"
  [[shape.class]]
  name = "all"
  key  = "dst"
  rate = "1000pps"
"""


def test_seventy_shapes_start_within_a_gibibyte_and_leave_nothing_behind(net, headgate, divert):
    batch = "".join(f"link add v{number} type veth peer name w{number}\nlink set v{number} up\nlink set w{number} up\n"
                    for number in range(SHAPES))
    links = headgate.directory / "links"
    links.write_text(batch)
    net.host.run("ip", "-batch", links)
    before = set(net.host.links())
    config = "".join(SHAPE.format(number) for number in range(SHAPES))

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (SOFT_LIMIT, limits[1]))
    try:
        headgate.start(config, wait=False, divert=divert, memory="1mb", max_flows=1024)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    headgate.wait_ready(patience=100)

    shapes = headgate.show()["shapes"]
    assert [shape["interface"] for shape in shapes] == [f"v{number}" for number in range(SHAPES)]
    assert all(shape["diverting"] for shape in shapes)
    assert processes.descriptors(headgate.process.pid) > SOFT_LIMIT
    assert processes.resident_kilobytes(headgate.process.pid) < 1024 * 1024

    headgate.stop(patience=60)
    assert set(net.host.links()) == before
