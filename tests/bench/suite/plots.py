"""Drawings of what the figures have recorded."""


def draw(report):
    pass
