"""`askwise serve`, `askwise ledger` and `askwise token`."""

from __future__ import annotations

import math
import secrets
import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from askwise._support.extras import need
from askwise.cli.app import Group, app, command, plain_grid, say
from askwise.errors import LedgerError, OptionError

Db = Annotated[
    str, typer.Option(help="A SQLite file, or postgresql://user@host/database.", metavar="DB")
]
DEFAULT_DB = "askwise.db"

ledger_app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Check, export and import what is recorded."
)
token_app = typer.Typer(cls=Group, no_args_is_help=True, help="Create, list and revoke tokens.")
app.add_typer(ledger_app, name="ledger")
app.add_typer(token_app, name="token")


@command(
    "serve",
    "askwise serve",
    "askwise serve --demo --db askwise-demo.db",
    "askwise serve --db postgresql://clinic@db/askwise --workers 4 --host 0.0.0.0 "
    "--allow-host clinic.example",
)
def serve(
    db: Db = DEFAULT_DB,
    read_db: Annotated[
        str, typer.Option(help="A PostgreSQL that follows DB: reports are read there.")
    ] = "",
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0 takes any that is free.")] = 8350,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that answer.")] = 1,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A name that requests may call this server by.")
    ] = None,
    tokens: Annotated[bool, typer.Option(help="Ask for tokens; without, only on loopback.")] = True,
    warm_up: Annotated[
        bool, typer.Option(help="Compile ahead what is not compiled yet, in a process of its own.")
    ] = True,
    tls_cert: Annotated[
        str, typer.Option(help="A certificate with its chain (PEM): the server speaks TLS.")
    ] = "",
    tls_key: Annotated[str, typer.Option(help="The key of the certificate (PEM).")] = "",
    demo: Annotated[
        bool, typer.Option("--demo", help="Fill the project demo with simulated patients.")
    ] = False,
) -> None:
    """Serve decisions over HTTP, each recorded before it is answered."""
    need("uvicorn", "service")
    from askwise.service.operations import processes
    from askwise.service.settings import Settings

    settings = Settings(
        db=db,
        read_db=read_db,
        host=host,
        port=port,
        workers=workers,
        hosts=tuple(allow_host or ()),
        authenticates=tokens,
        warms_up=warm_up,
        tls=(tls_cert, tls_key),
    )
    if demo:
        _check_demo(db)
    sockets = processes.listen_all(settings)
    token = processes.first_token(db) if tokens else None

    def started(port: int) -> None:
        bare = f"[{host}]" if ":" in host else host
        scheme = "https" if tls_cert else "http"
        say(f"askwise serves on {scheme}://{bare}:{port}")
        if token is not None:
            say(f"admin token, shown this once: {token}")
        if tokens and sys.stdout.isatty():  # other output may be kept in a log
            near = "localhost" if host in ("0.0.0.0", "::") else bare  # noqa: S104
            link = processes.sign_in_link(db, f"{scheme}://{near}:{port}")
            say(f"open the dashboard signed in, once, within ten minutes: {link}")
        sys.stdout.flush()

    processes.serve(settings, sockets, demo=demo, started=started)
    processes.end_process()


@command(
    "verify",
    "askwise ledger verify",
    "askwise ledger verify tumours --db askwise.db",
    on=ledger_app,
)
def verify(
    project: Annotated[str | None, typer.Argument(help="All of them, if none is named.")] = None,
    db: Db = DEFAULT_DB,
) -> None:
    """Rebuild counters and cases from the events, and compare them with what is recorded."""
    from askwise.service.decisions.replay import MOST_SHOWN
    from askwise.service.decisions.replay import verify as compare
    from askwise.service.ledger import open_ledger
    from askwise.service.ledger.address import shown

    is_equal = True
    with closing(open_ledger(_existing(db), reads_only=True)) as ledger:
        names = [p.name for p in ledger.projects()] if project is None else [project]
        if not names:
            say(f"{shown(db)} holds no projects")
        for name in names:
            verdict = compare(ledger, name)
            counted = (
                f"{verdict.events:,} events, {verdict.cases:,} cases, {verdict.counters:,} counters"
            )
            if not verdict.differences:
                say(f"{name}: {counted}: equal")
                continue
            is_equal = False
            say(f"{name}: {counted}: {len(verdict.differences):,} differences")
            for difference in verdict.differences[:MOST_SHOWN]:
                say(f"  {difference}")
    if not is_equal:
        raise typer.Exit(1)


@command("create", "askwise ledger create tumours tumours.askwise", on=ledger_app)
def create_project(
    project: Annotated[str, typer.Argument(help="Its name.")],
    learner: Annotated[Path, typer.Argument(help="A saved learner, such as `askwise fit` saves.")],
    db: Db = DEFAULT_DB,
) -> None:
    """Create a project that begins with what a learner knows, and show its token, once."""
    from askwise.service.api.refusals import Refusal
    from askwise.service.decisions.creation import creation_from_learner, load_learner
    from askwise.service.decisions.writer import Writer
    from askwise.service.ledger import open_ledger
    from askwise.service.replanning.policy_versions import PolicyCache

    token, creation = creation_from_learner(secrets.token_hex(16), project, load_learner(learner))
    ledger = open_ledger(db)
    try:
        (result,) = Writer(ledger, PolicyCache(ledger)).commit([creation])
    finally:
        ledger.close()
    if isinstance(result, Refusal):
        raise LedgerError(result.detail)
    say(f"{project}: {token}")


@command(
    "export",
    "askwise ledger export tumours --output tumours.jsonl",
    "askwise ledger export tumours --format parquet --output tumours.parquet",
    on=ledger_app,
)
def export_(
    project: Annotated[str, typer.Argument(help="Its name.")],
    output: Annotated[Path, typer.Option(help="The file to write.")],
    format: Annotated[
        str, typer.Option(help="lines: all of it; parquet: rewarded cases, a row each.")
    ] = "lines",
    db: Db = DEFAULT_DB,
) -> None:
    """Write a project, its policies and its events to a file of lines; or its cases to a table."""
    from askwise.service.ledger import open_ledger
    from askwise.service.operations.export import export_project

    if format not in ("lines", "parquet"):
        raise OptionError(f"--format must be lines or parquet, got {format!r}")
    ledger = open_ledger(_existing(db))
    if format == "parquet":
        from askwise.service.operations.case_tables import write_parquet

        try:
            written = write_parquet(ledger, project, output)
        finally:
            ledger.close()
        say(f"{project} → {output}: {written}")
        return
    partial = output.with_name(f".{output.name}.part")
    try:
        with partial.open("wb") as file:
            file.writelines(export_project(ledger, project))
        partial.replace(output)
    finally:
        partial.unlink(missing_ok=True)
        ledger.close()
    say(f"{project} → {output}")


@command("import", "askwise ledger import tumours.jsonl --db other.db", on=ledger_app)
def import_(
    file: Annotated[Path, typer.Argument(help="What `askwise ledger export` wrote.")],
    db: Db = DEFAULT_DB,
) -> None:
    """Read a project from a file of lines: all of it, or nothing."""
    from askwise.service.operations.export import import_file

    name, events = import_file(db, file)
    say(f"{name}: {events:,} events")


@command(
    "compact",
    "askwise ledger compact",
    "askwise ledger compact --cancel-after 30",
    on=ledger_app,
)
def compact_ledger(
    cancel_after: Annotated[
        float | None,
        typer.Option(help="Days; cases that have waited for an observation longer are cancelled."),
    ] = None,
    db: Db = DEFAULT_DB,
) -> None:
    """Thin old policies, remove what deleted projects left, and give back the space."""
    from askwise.service.ledger import open_ledger
    from askwise.service.operations.compacting import compact

    if cancel_after is not None and not 0 < cancel_after < math.inf:
        raise OptionError(
            f"--cancel-after must be a number of days above 0, got {cancel_after}: "
            "leave it out to cancel nothing"
        )
    ledger = open_ledger(_existing(db))
    try:
        for project, sizes in compact(ledger, cancel_after):
            cancelled = "" if cancel_after is None else f"{sizes.cancelled:,} cases cancelled, "
            say(
                f"{project.name}: {project.seq:,} events, {project.opened:,} cases, "
                f"{sizes.policies:,} policies in {megabytes(sizes.bytes)}; "
                f"{cancelled}{sizes.thinned:,} thinned, {megabytes(sizes.saved)} less"
            )
        say(f"all of it: {megabytes(ledger.size())}")
    finally:
        ledger.close()


@command("backup", "askwise ledger backup monday.db", on=ledger_app)
def backup_ledger(
    file: Annotated[Path, typer.Argument(help="The file to write: a SQLite ledger of all of it.")],
    db: Db = DEFAULT_DB,
) -> None:
    """Copy a whole ledger to a file, as it is at one moment; servers may run meanwhile."""
    from askwise.service.operations.backup import backup

    rows = backup(_existing(db), file)
    say(f"{rows:,} rows → {file}")


@command("restore", "askwise ledger restore monday.db --db elsewhere.db", on=ledger_app)
def restore_ledger(
    file: Annotated[Path, typer.Argument(help="What `askwise ledger backup` wrote.")],
    db: Db = DEFAULT_DB,
) -> None:
    """Copy a backup into an empty ledger: all of it, or nothing."""
    from askwise.service.ledger.address import shown
    from askwise.service.operations.backup import restore

    rows = restore(file, db)
    say(f"{rows:,} rows → {shown(db)}")


def megabytes(size: int) -> str:
    """A number of bytes in a readable unit."""
    return f"{size / 1e6:,.1f} MB"


@command(
    "create",
    "askwise token create --scope decide --project tumours",
    "askwise token create --scope admin",
    on=token_app,
)
def create_token(
    scope: Annotated[str, typer.Option(help="read, decide or admin.")] = "decide",
    project: Annotated[str, typer.Option(help="For this project only.")] = "",
    expires_in: Annotated[
        int | None, typer.Option(help="Seconds; without it, the token never expires.")
    ] = None,
    rate: Annotated[
        int | None, typer.Option(help="Requests a minute; without it, any number.")
    ] = None,
    db: Db = DEFAULT_DB,
) -> None:
    """Create a token and show it, once."""
    from askwise.service.ledger import open_ledger
    from askwise.service.tokens import new_token

    for name, given, without in (
        ("--expires-in", expires_in, "that never expires"),
        ("--rate", rate, "without a limit"),
    ):
        if given is not None and given < 1:
            why = f"must be at least 1, got {given}: leave it out for a token {without}"
            raise OptionError(f"{name} {why}")
    ledger = open_ledger(_existing(db))
    if project and ledger.project(project) is None:
        raise LedgerError(f"there is no project {project!r}")
    token, kept = new_token(scope, project, expires_in=expires_in or 0, rate=rate or 0)
    ledger.add_token(kept)
    ledger.close()
    say(f"{kept.id}: {token}")


@command("list", "askwise token list", on=token_app)
def list_tokens(db: Db = DEFAULT_DB) -> None:
    """List the tokens: not what they are, but what they may do."""
    from rich.console import Console

    from askwise.service.ledger import open_ledger
    from askwise.service.logging import timestamp

    ledger = open_ledger(_existing(db))
    grid = plain_grid()
    for column in ("id", "scope", "project", "created", "expires", "revoked", "rate"):
        grid.add_column(column)
    for token in ledger.tokens():
        revoked = timestamp(token.revoked) if token.revoked else ""
        expires = timestamp(token.expires)[:19] if token.expires else "never"
        created, rate = timestamp(token.created)[:19], str(token.rate or "")
        row = (token.id, token.scope, token.project or "all", created, expires, revoked[:19], rate)
        grid.add_row(*row)
    ledger.close()
    Console(width=120).print(grid)


@command("revoke", "askwise token revoke 4f1c", on=token_app)
def revoke_token(
    id: Annotated[str, typer.Argument(help="As `askwise token list` shows it.")],
    db: Db = DEFAULT_DB,
) -> None:
    """Revoke a token: within a second no server takes it any more."""
    import time

    from askwise.service.ledger import open_ledger

    ledger = open_ledger(_existing(db))
    was_good = ledger.revoke_token(id, time.time_ns() // 1000)
    ledger.close()
    if not was_good:
        raise LedgerError(f"there is no valid token {id!r}: askwise token list shows all tokens")
    say(f"{id} is revoked")


def _check_demo(db: str) -> None:
    """Refuses a ledger that no simulated patients may go into."""
    from askwise.service.ledger import open_ledger
    from askwise.service.operations.demo import check_project

    with closing(open_ledger(db)) as ledger:
        check_project(ledger)


def _existing(db: str) -> str:
    """The address of the database, which must exist: reading must not create one."""
    from askwise.service.ledger.address import is_postgres

    if not is_postgres(db) and not Path(db).is_file():
        raise LedgerError(f"there is no ledger at {str(Path(db).absolute())!r}: name it with --db")
    return db
