"""The tables of `benchmarks/tables.py`: published sets, spam, and tables that are drawn.

No data is part of this project. What is not drawn here is read from `--data DIR`, in which are

- `streed.tar.xz`, or the directory `streed` that it unpacks to: 13 UCI sets (CC BY 4.0), binarised
  and split, with test costs, discounts and misclassification costs at three levels (Lomax 2013), as
  published with STreeD: `data/cost-sensitive` of github.com/AlgTUDelft/pystreed,
- `spam.csv.xz`: Spambase (UCI, CC BY 4.0) with the label last.
"""

import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

SETS = ["annealing", "breast", "car", "diabetes", "flare", "glass", "heart", "hepatitis"]
SETS += ["iris", "nursery", "soybean", "tictactoe", "wine"]
LEVELS = ("low", "middle", "high")


class Attribute(NamedTuple):
    """What can be bought: a few binary columns at one price."""

    name: str
    cost: float
    discount: float
    """The price once another member of its group was paid."""
    group: str
    """"x" is no group."""
    first: int
    last: int


class Costs(NamedTuple):
    """What tests and mistakes cost in one set at one level."""

    path: Path
    matrix: np.ndarray
    """[true, predicted]."""
    attributes: tuple[Attribute, ...]

    def price(self, place: int, paid: frozenset[int] | set[int]) -> float:
        """Of the attribute at that place, once others were paid."""
        a = self.attributes[place]
        if place in paid:
            return 0.0
        together = a.group != "x" and any(self.attributes[k].group == a.group for k in paid)
        return a.discount if together else a.cost

    def spent(self, places: list[int]) -> float:
        """What attributes cost that are bought in this order."""
        total, paid = 0.0, set()
        for place in places:
            total += self.price(place, paid)
            paid.add(place)
        return total

    def unit(self, labels: np.ndarray) -> float:
        """What costs are divided by: all tests, and mistakes on all but the largest class."""
        least_saved_first = sorted(
            range(len(self.attributes)),
            key=lambda k: self.attributes[k].cost - self.attributes[k].discount,
        )
        share = np.bincount(labels).max() / len(labels)
        return self.spent(least_saved_first) + float((1 - share) * self.matrix.max())

    def of_column(self, column: int) -> int:
        """The attribute that a binary column belongs to."""
        return next(k for k, a in enumerate(self.attributes) if a.first <= column <= a.last)


class Split(NamedTuple):
    """Rows to fit and rows to judge by: 0 and 1, and a label."""

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def unpacked(data: Path) -> Path:
    """Where the published sets are; the archive is unpacked beside itself or in /tmp."""
    if (data / "streed").is_dir():
        return data / "streed"
    target = Path("/tmp/askwise-tables")
    if not (target / "streed").is_dir():
        with tarfile.open(data / "streed.tar.xz") as archive:
            archive.extractall(target, filter="data")
    return target / "streed"


def costs_of(root: Path, name: str, level: str) -> Costs:
    path = root / name / f"{name}-{level}-costs.csv"
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    head = next(k for k, words in enumerate(lines) if words[0] == "Attribute-name")
    matrix = [[float(word) for word in words] for words in lines[:head]]
    attributes = [
        Attribute(name, float(cost), float(discount), group, int(first), int(last))
        for name, cost, discount, group, first, last in lines[head + 1 :]
    ]
    return Costs(path, np.array(matrix), tuple(attributes))


def split_of(root: Path, name: str, number: int) -> Split:
    def rows(part: str) -> tuple[np.ndarray, np.ndarray]:
        table = np.loadtxt(root / name / f"{name}-{part}-{number}.csv", dtype=np.int64)
        return table[:, 1:], table[:, 0]

    return Split(*rows("train"), *rows("test"))


def in_one_number(x: np.ndarray, costs: Costs) -> np.ndarray:
    """A column for each attribute: which of its combinations of bits a row has, as a category."""
    columns = []
    for a in costs.attributes:
        bits = x[:, a.first : a.last + 1]
        columns.append(bits @ (2 ** np.arange(bits.shape[1])))
    return np.column_stack(columns)


def spam(data: Path) -> Split:
    """Spambase, a fifth held back; the published fifth for validation is trained on, too."""
    table = np.loadtxt(data / "spam.csv.xz", delimiter=",", skiprows=1)
    order = np.random.default_rng(0).permutation(len(table))
    x, y = table[order, :-1], table[order, -1].astype(np.int64)
    test = len(table) // 5
    return Split(x[test:], y[test:], x[:test], y[:test])


def cube(rng: np.random.Generator, rows: int, *, noise: float = 0.3) -> tuple[np.ndarray, ...]:
    """20 features, 8 classes (Rückstieß et al. 2013): three neighbours have the bits of the class.

    Which three they are depends on the class, too. All else is uniform on [0, 1].
    """
    y = rng.integers(8, size=rows)
    x = rng.random((rows, 20))
    for j in range(3):
        x[np.arange(rows), y + j] = (y >> j & 1) + rng.normal(0, noise, rows)
    return x, y


def cube_nm(rng: np.random.Generator, rows: int, contexts: int = 3) -> tuple[np.ndarray, ...]:
    """CUBE-NM (AFABench, arXiv 2508.14734): by itself no look at a context says anything.

    A noisy one-hot context says which block of ten features is a cube; the others are noise.
    """
    y, context = rng.integers(8, size=rows), rng.integers(contexts, size=rows)
    told = np.eye(contexts)[context] + rng.normal(0, 0.1, (rows, contexts))
    blocks = rng.normal(0.5, 0.3, (rows, contexts, 10))
    for j in range(3):
        blocks[np.arange(rows), context, (y + j) % 10] = (y >> j & 1) + rng.normal(0, 0.1, rows)
    return np.hstack([told, blocks.reshape(rows, -1)]), y


def wide(rng: np.random.Generator, rows: int, columns: int) -> tuple[np.ndarray, ...]:
    """Very many columns of noise; five add up to the label, and two say something together."""
    x = rng.normal(size=(rows, columns))
    score = x[:, :5] @ [1.5, 1.2, 1.0, 0.8, 0.6] + 1.5 * np.sign(x[:, 5] * x[:, 6])
    return x[:, rng.permutation(columns)], (score + rng.normal(0, 0.5, rows) > 0).astype(int)


def tasks(sets: list[str], levels: list[str], splits: list[int]) -> Iterator[tuple[str, str, int]]:
    """All sets and levels of one split after the other, so that a part of a run is fair."""
    for number in splits:
        for name in sets:
            for level in levels:
                yield name, level, number
