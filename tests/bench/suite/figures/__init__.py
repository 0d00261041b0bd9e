"""One module a figure: TITLE, and measure(figure, effort)."""

from suite.effort import Effort
from suite.figures import throughput

ALL = {module.__name__.rsplit(".", 1)[1]: module for module in (throughput,)}

__all__ = ["ALL", "Effort"]
