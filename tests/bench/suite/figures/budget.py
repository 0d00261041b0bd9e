"""What hosts that share a budget cost the Redis that leases it to them."""

import json
import subprocess

from suite import paths
from suite.machine import process_seconds
from suite.report import Metric, Table

from redis_server import RedisServer  # of the integration tests, which suite.paths finds

TITLE = "hosts that share one budget, by one Redis"
HOSTS = (8, 32, 100)
BAR = 5  # % of a core, with the most hosts

METRICS = [Metric("cpu", "Redis, % of a core", 2), Metric("asks", "asks/s", 0, better=""),
           Metric("us", "us an ask", 1)]


def one_run(number, seconds):
    redis = RedisServer()
    try:
        hosts = paths.processes.start(paths.pinned(paths.FORWARDER_CPU, paths.PROGRAMS / "lease_hosts",
                                                   f"unix:{redis.socket}", number, seconds),
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if (line := hosts.stderr.readline()) != "begun\n":
            raise RuntimeError(line)
        before = process_seconds(redis.pid)
        output, errors = hosts.communicate(timeout=seconds + 30)
        used = process_seconds(redis.pid) - before
        if hosts.returncode != 0:
            raise RuntimeError(errors)
        asked = json.loads(output)["asked"]
        return {"cpu": used / seconds * 100, "asks": asked / seconds, "us": used / asked * 1e6}
    finally:
        redis.close()


def measure(figure, effort):
    table = Table("each wants something else each second, in sum twice the rate:", "", METRICS)
    for _ in range(effort.rounds):
        for number in HOSTS:
            table.add(f"{number} hosts", one_run(number, effort.seconds(10, 3)))
    figure.show(table)
    cpu = table.median(f"{HOSTS[-1]} hosts", "cpu")
    figure.bar(f"{HOSTS[-1]} hosts take at most {BAR} % of a core of Redis", f"{cpu:.2f} %", cpu <= BAR)
