"""The exporter in a network namespace, and what it answers."""

import json
import subprocess
import urllib.parse

import processes

_GET = """
import json, sys, urllib.error, urllib.request
answers = []
browser = urllib.request.build_opener(urllib.request.ProxyHandler({}))
for url in sys.argv[1:]:
    try:
        with browser.open(url, timeout=30) as response:
            answers.append([response.status, response.read().decode()])
    except urllib.error.HTTPError as error:
        answers.append([error.code, error.read().decode()])
print(json.dumps(answers))
"""


def get_all(namespace, urls):
    """[status, text] of each."""
    return json.loads(namespace.run("python3", "-c", _GET, *urls).stdout)


def get(namespace, url):
    return get_all(namespace, [url])[0]


def samples(text):
    """The metrics of a text, by name with labels."""
    lines = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in lines}


class Exporter:
    def __init__(self, namespace, programs, control, *arguments):
        self.namespace = namespace
        self._process = namespace.start(programs / "headgate-exporter", "--control", control, *arguments,
                                        stdout=subprocess.PIPE, text=True)
        first = self._process.stdout.readline()
        assert first.startswith("listening at "), first
        self.url = first.split()[-1]

    def get(self, path):
        return get(self.namespace, self.url + path)

    def metrics(self):
        status, text = self.get("metrics")
        assert status == 200, text
        return text

    def samples(self):
        return samples(self.metrics())

    def close(self):
        assert processes.end(self._process) == 0


class Prometheus:
    """Scrapes an exporter each second, in its namespace."""

    def __init__(self, exporter, directory, rules):
        self._namespace = exporter.namespace
        target = urllib.parse.urlparse(exporter.url).netloc
        config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [str(rules)],
                  "scrape_configs": [{"job_name": "headgate", "static_configs": [{"targets": [target]}]}]}
        (directory / "prometheus.yml").write_text(json.dumps(config))  # YAML holds JSON
        self._log = open(directory / "log", "w+")
        self._process = self._namespace.start(
            "prometheus", f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data",
            "--web.listen-address=127.0.0.1:9090", stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)

    def get_all(self, paths):
        assert self._process.poll() is None, self.log()
        answers = get_all(self._namespace, [f"http://127.0.0.1:9090/{path}" for path in paths])
        return [json.loads(text) for _, text in answers]

    def query_all(self, expressions):
        """The series that each gives now."""
        answers = self.get_all("api/v1/query?" + urllib.parse.urlencode({"query": one}) for one in expressions)
        for expression, answer in zip(expressions, answers):
            assert answer["status"] == "success", (expression, answer)
        return [answer["data"]["result"] for answer in answers]

    def is_ready(self):
        try:
            return get(self._namespace, "http://127.0.0.1:9090/-/ready")[0] == 200
        except AssertionError:  # it does not listen yet
            return False

    def log(self):
        self._log.seek(0)
        return self._log.read()

    def close(self):
        processes.end(self._process)
        self._log.close()
