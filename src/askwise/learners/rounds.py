"""When a round ends."""


class Doubling:
    """A round ends when some ν_k reaches max(1, N_k), N_k being its count when the round began.

    The counts are those of (state, action) pairs and, for sequential learners, of (state,
    observation) pairs. Only pairs counted in this round are kept.
    """

    def __init__(self) -> None:
        self.began: dict[tuple[int, int], int] = {}
        """(state, choice) → N_k; a choice is an action a, or an observation i as −1 − i."""

    def counted(self, state: int, choice: int, now: int) -> bool:
        """Whether the round is over, now that the pair's count has risen to `now`.

        >>> rounds = Doubling()
        >>> rounds.counted(0, 0, now=4), rounds.counted(0, 0, now=5), rounds.counted(0, 0, now=6)
        (False, False, True)
        """
        began = self.began.setdefault((state, choice), now - 1)
        return now - began >= max(1, began)

    def begin(self) -> None:
        """A new round."""
        self.began.clear()
