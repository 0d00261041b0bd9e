"""How long and how often to measure, and the order in which sides take their turns."""


class Effort:
    def __init__(self, quick=False, rounds=None):
        self.quick = quick
        self.rounds = rounds or (2 if quick else 5)

    def seconds(self, full, quick):
        return quick if self.quick else full

    def turns(self, sides):
        """Each side once a round, and every other round in reverse, so that none always comes first."""
        for number in range(self.rounds):
            for side in sides if number % 2 == 0 else reversed(sides):
                yield side
