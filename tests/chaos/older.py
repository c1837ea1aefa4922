"""A ledger in the first version of the schema that holds a project: servers are killed while they
bring it up to date, and afterwards the project must be as it was."""

from pathlib import Path

from askwise.service.api.messages import Observing, Opening, Rewarding
from askwise.service.decisions.replay import verify
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger, postgres, sqlite
from askwise.service.ledger.rows import NO_PROJECT, Event, Project, StoredCase, StoredToken
from askwise.service.ledger.schema import STEPS
from askwise.service.replanning.policy_versions import PolicyCache
from serving import ask, create, decoded

NAME = "of-before"
CASES = 60
VALUES = {"mammogram": "low", "mri": "neg"}

FIRST = {
    "projects": Project._fields[:13],
    "events": ("project", "seq", "key", "kind", "case_id", "body", "status", "answer", "at"),
    "cases": ("project", "id", "status", "data"),
    "counters": ("project", "kind", "cell", "place", "amount"),
    "policies": ("project", "version", "watermark", "fence", "at", "blob"),
    "tokens": StoredToken._fields[:6],
}
"""The tables of the first version of the schema, and their columns."""

NOBODY = ("projects", NO_PROJECT)

Held = tuple[list[Event], list[StoredCase]]


def leave_old_schema(db: str, folder: Path) -> Held:
    """A ledger as the first askwise left it; returns what it holds of its project."""
    rows, held = _filled(str(folder / "source.db"))
    modules = (sqlite, postgres)
    kept = [(module.STEPS, module.NEWEST) for module in modules]
    try:
        for module in modules:
            module.STEPS, module.NEWEST = STEPS[:1], 1
        ledger = open_ledger(db)
    finally:
        for module, (steps, newest) in zip(modules, kept, strict=True):
            module.STEPS, module.NEWEST = steps, newest
    with ledger.write_session() as session:
        for table, of_table in rows.items():
            session.insert(table, [row for row in of_table if (table, row[0]) != NOBODY])
        for row in rows["projects"]:  # the row that stands for no project was there already
            seq = row[FIRST["projects"].index("seq")]
            session.change("UPDATE projects SET seq = ? WHERE id = ?", seq, row[0])
    ledger.close()
    return held


def _filled(path: str) -> tuple[dict[str, list[tuple]], Held]:
    """The rows of a ledger with a project, in the columns of the first schema."""
    ledger = open_ledger(path)
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer, NAME)
    for number in range(1, CASES + 1):
        case = decoded(ask(writer, Opening(), project=NAME))
        while case["wanted"]:
            seen = Observing({name: VALUES[name] for name in case["wanted"]})
            case = decoded(ask(writer, seen, number, project=NAME))
        if number % 3:
            ask(writer, Rewarding(1.0 / number), number, project=NAME)
    with ledger.read_session() as session:
        rows = {
            table: session.all(f"SELECT {', '.join(columns)} FROM {table}")
            for table, columns in FIRST.items()
        }
    held = _held(ledger)
    ledger.close()
    return rows, held


def _held(ledger) -> Held:
    project = ledger.project(NAME)
    if project is None:
        return [], []
    return ledger.events(project.id, 0, 10**6), ledger.latest_cases(project.id, 10**9, 10**6)


def compare_older(db: str, before: Held) -> list[str]:
    """What is wrong with the project that was there before the schema was brought up to date."""
    ledger = open_ledger(db)
    try:
        if _held(ledger) != before:
            return [f"{NAME} is not what it was before the schema was brought up to date"]
        return [f"{NAME}: {what}" for what in verify(ledger, NAME).differences]
    finally:
        ledger.close()
