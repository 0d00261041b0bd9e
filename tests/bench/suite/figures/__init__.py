"""One module a figure: TITLE, and measure(figure, effort)."""

from suite.effort import Effort
from suite.figures import (budget, core, fair, flows10k, idle, latency, longrun, memory, million, overload, patterns, plans,
                           shapes, simulate, spacing, start, tcp, throughput, tree, unshaped)

ALL = {module.__name__.rsplit(".", 1)[1]: module for module in
       (throughput, million, core, spacing, longrun, start, flows10k, tcp, latency, idle, memory, shapes, patterns,
        unshaped, overload, tree, fair, plans, budget, simulate)}

__all__ = ["ALL", "Effort"]
