"""The sentences of the page, made from the numbers."""

from collections.abc import Sequence
from math import ceil

from askwise.reproduction.statistics import MeanOfRuns
from askwise.reproduction.summary import Summary, display

SPACE = "\N{NO-BREAK SPACE}"
PERCENT = f"{SPACE}%"


def number(value: float, digits: int = 1) -> str:
    """A number with a real minus sign, and no minus before zero.

    >>> number(-2.345), number(-0.01), number(50000, 0)
    ('−2.3', '0.0', '50,000')
    """
    text = f"{value:,.{digits}f}"
    if float(text.replace(",", "")) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def measured(value: MeanOfRuns) -> str:
    r"""A mean with its interval; the interval is rounded up.

    >>> measured(MeanOfRuns(2.0, 0.31)), measured(MeanOfRuns(2.0))
    ('2.0\xa0±\xa00.4', '2.0')
    """
    if not value.known:
        return number(value.mean)
    half = ceil(round(value.half * 10, 6)) / 10
    return f"{number(value.mean)}{SPACE}±{SPACE}{number(half)}"


def listed(parts: Sequence[str]) -> str:
    """A list of names as a phrase: a, b and c."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def counted(count: int, noun: str) -> str:
    """1 seed, 3 seeds.

    >>> counted(1, "seed"), counted(2000, "case")
    ('1 seed', '2,000 cases')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def answer(summary: Summary) -> str:
    """The paragraph at the top."""
    return " ".join(filter(None, (_against_baseline(summary), _reached(summary), _basket(summary))))


def tiles(summary: Summary) -> list[tuple[str, str]]:
    """(a number, what it is): the answer at a glance."""
    focus, prices = summary.focus, summary.ran(summary.focus)
    found = []
    both = _both(summary)
    if both and summary.baseline:
        price = both[len(both) // 2]
        lead = summary.lead(focus, summary.baseline, price)
        sign = "+" if lead.mean > 0 else ""
        other = display(summary.baseline)
        what = f"gain per case of {display(focus)} over {other} at a price of {price:g}"
        found.append((sign + number(lead.mean), what))
    shares = _shares(summary, focus)
    if shares:
        what = f"of the {summary.plan(focus)} oracle’s gain in the last tenth of the cases"
        if len(shares) > 1:
            what += ", mean over prices"
        found.append((number(sum(shares) / len(shares)) + PERCENT, what))
    first, last = (_size(summary, focus, price) for price in (prices[0], prices[-1]))
    if len(prices) > 1:
        what = f"observations bought per case, at a price of {prices[0]:g} and of {prices[-1]:g}"
        found.append((f"{number(first)} → {number(last)}", what))
    return found


def _both(summary: Summary) -> list[float]:
    """The prices at which the learner in focus and the baseline both ran."""
    if summary.baseline in (None, summary.focus):
        return []
    other = summary.ran(str(summary.baseline))
    return [price for price in summary.ran(summary.focus) if price in other]


def _against_baseline(summary: Summary) -> str:
    both = _both(summary)
    if not both or not summary.baseline:
        return ""
    focus, other = display(summary.focus), display(summary.baseline)
    leads = {price: summary.lead(summary.focus, summary.baseline, price) for price in both}
    ahead = [price for price in both if leads[price].mean - leads[price].bar > 0]
    behind = [price for price in both if leads[price].mean + leads[price].bar < 0]
    if not ahead:
        worst = min(both, key=lambda price: leads[price].mean)
        gap = measured(leads[worst])
        return f"{focus} is at no price clearly ahead of {other}; at {worst:g} the gap is {gap}."
    if len(ahead) == len(both):
        where = "at every price" if len(both) > 1 else f"at the price of {both[0]:g}"
    elif ahead == both[-len(ahead) :]:
        where = f"at every price from {ahead[0]:g} on"
    else:
        where = f"at {len(ahead)} of {len(both)} prices"
    ends = sorted({ahead[0], ahead[-1]})
    if len(both) == 1:
        return f"{focus} earns more than {other} {where}, by {measured(leads[both[0]])} per case."
    amounts = [f"{measured(leads[price])} more at {price:g}" for price in ends]
    amounts[0] = f"{measured(leads[ends[0]])} more per case at a price of {ends[0]:g}"
    text = f"{focus} earns more than {other} {where}: {listed(amounts)}."
    if behind:
        text += f" It earns less at {listed([f'{price:g}' for price in behind])}."
    return text


def _reached(summary: Summary) -> str:
    """The share of the oracle's gain that up to three learners, or the one in focus, end at."""
    found: list[str] = []
    few = len(summary.learners) <= 3
    for name in summary.learners if few else [summary.focus]:
        shares = _shares(summary, name)
        if name == summary.baseline or not shares:
            continue
        low, high = number(min(shares)), number(max(shares))
        span = f"{low}{PERCENT}" if low == high else f"{low} to {high}{PERCENT}"
        verb = "" if found else "reaches "
        found.append(f"{display(name)} {verb}{span} of the {summary.plan(name)} oracle’s gain")
    return f"In the last tenth of the cases {listed(found)}." if found else ""


def _basket(summary: Summary) -> str:
    focus, prices = summary.focus, summary.ran(summary.focus)
    ideal = summary.plan(focus)
    parts: list[str] = []
    for price in sorted({prices[0], prices[-1]}):
        best = number(sum(summary.ideal(ideal, price).values()))
        mine = number(_size(summary, focus, price))
        what = "" if parts else " observations per case"
        parts.append(f"{mine}{what} at a price of {price:g} (the oracle: {best})")
    return f"By then {display(focus)} buys {listed(parts)}."


def _size(summary: Summary, learner: str, price: float) -> float:
    """The number of observations that a late case buys."""
    cells = summary.at(learner, price)
    return sum(sum(cell.bought.values()) for cell in cells) / len(cells)


def _shares(summary: Summary, learner: str) -> list[float]:
    shares = [summary.late_share(learner, price) for price in summary.ran(learner)]
    return [share.mean for share in shares if share is not None]
