"""How long and how often to measure, which sides take part, and the order in which they take their turns."""

import copy


class Effort:
    def __init__(self, quick=False, rounds=None, against=None, only_headgate=False, capture=None):
        self.quick = quick
        self.rounds = rounds or (2 if quick else 5)
        self.against = against  # an OtherBuild, or None
        self.only_headgate = only_headgate
        self.capture = capture  # what configurations of this build say; None: nothing

    def seconds(self, full, quick):
        return quick if self.quick else full

    def without_other_build(self):
        effort = copy.copy(self)
        effort.against = None
        return effort

    def builds(self, side):
        """The side by this build, and by the other if there is one."""
        return [side, side.by(self.against)] if self.against and side.by_both_builds else [side]

    def turns(self, sides, keep=(), most=None):
        """Each side once a round, and every other round in reverse, so that none always comes first.

        Headgate by the other build comes right beside its own side. `keep` are peers without which nothing can be told,
        `most` is a bound on the rounds.
        """
        taking_part = [one for side in sides if side.is_headgate or side in keep or not self.only_headgate
                       for one in self.builds(side)]
        for number in range(min(self.rounds, most or self.rounds)):
            yield from taking_part if number % 2 == 0 else reversed(taking_part)
