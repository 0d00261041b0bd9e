"""Which tests a run takes, of those that there are."""

import itertools


def judges_time(item):
    """Whether other load on the machine may fail it: such a test runs with nothing beside it."""
    return any(item.get_closest_marker(name) for name in ("measured", "timed"))


def each_value_once(items, first_divert=0):
    """Of each test as few parameter sets as hold every value of every parameter.

    The divert method does not count, unless the test is marked each_divert: the tests of a file take the methods in turn,
    and so does each test that has many parameter sets. `first_divert`: the method of the first test.
    """
    kept = []
    by_test = itertools.groupby(items, lambda item: (item.path, item.originalname))
    for number, (_, its) in enumerate(by_test, first_divert):
        its = list(its)
        kept += _diagonal(its, number) if hasattr(its[0], "callspec") else its
    return kept


def _diagonal(items, first_divert):
    names = list(items[0].callspec.params)
    by_values = {tuple(repr(item.callspec.params[name]) for name in names): item for item in items}
    values = {name: list(dict.fromkeys(column)) for name, column in zip(names, zip(*by_values))}
    each_divert = items[0].get_closest_marker("each_divert")
    length = max((len(values[name]) for name in names if name != "divert" or each_divert), default=1)
    kept = []
    for number in range(length):
        # Not every method goes with every other value: the next one that does.
        for divert in range(number + first_divert, number + first_divert + len(values.get("divert", [0]))):
            wanted = tuple(values[name][(divert if name == "divert" else number) % len(values[name])] for name in names)
            if wanted in by_values:
                kept.append(by_values[wanted])
                break
    return kept
