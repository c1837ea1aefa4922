"""The SQL statements for tokens, for whole projects, and for what was removed."""

from __future__ import annotations

from collections.abc import Mapping

from askwise.service.ledger.rows import NO_PROJECT, Project, StoredToken
from askwise.service.ledger.session import Session

PROJECT = ", ".join(Project._fields)
TOKEN = ", ".join(StoredToken._fields)


class AdministrationStatements:
    """The part of `contract.Transaction` that operators use, in one session."""

    _session: Session

    def tokens(self) -> list[StoredToken]:
        """All tokens, the revoked ones too."""
        sql = f"SELECT {TOKEN} FROM tokens ORDER BY created, id"  # noqa: S608
        return [StoredToken(*row) for row in self._session.all(sql)]

    def add_token(self, token: StoredToken) -> None:
        """Write a new token."""
        self._session.insert("tokens", [token])

    def change_token(self, token: StoredToken) -> None:
        """Replace the token with the same id."""
        self._session.change(
            "UPDATE tokens SET project = ?, revoked = ?, expires = ? WHERE id = ?",
            *(token.project, token.revoked, token.expires, token.id),
        )

    def project(self, name: str) -> Project | None:
        """The project of that name. PostgreSQL cannot look up a NUL, and no name has one."""
        if "\0" in name:
            return None
        sql = f"SELECT {PROJECT} FROM projects WHERE name = ? AND id <> ?"  # noqa: S608
        found = self._session.all(sql, name, NO_PROJECT)
        return Project(*found[0]) if found else None

    def change_project(self, project: Project) -> None:
        """Change the name, the problem and `archived` of the project with this number."""
        self._session.change(
            "UPDATE projects SET name = ?, problem = ?, archived = ? WHERE id = ?",
            *(project.name, project.problem, project.archived, project.id),
        )

    def remove_project(self, project: int) -> None:
        """Remove a project; its rows are purged later."""
        session = self._session
        session.change("DELETE FROM projects WHERE id = ?", project)
        session.insert("removed", [(project,)])
        session.change(
            "UPDATE projects SET opened = ? WHERE id = ? AND opened < ?",
            *(project, NO_PROJECT, project),
        )

    def replace_policy(self, project: int, version: int, blob: bytes) -> None:
        """Replace the bytes of a policy."""
        sql = "UPDATE policies SET blob = ? WHERE project = ? AND version = ?"
        self._session.change(sql, blob, project, version)

    def erase_case(self, project: int, case: int, keys: Mapping[int, str]) -> None:
        """Blank what a case holds, and the bodies and answers of its events; replace their keys."""
        sql = "UPDATE cases SET data = ? WHERE project = ? AND id = ?"
        self._session.change(sql, b"", project, case)
        sql = "UPDATE events SET body = ?, answer = ?, key = ? WHERE project = ? AND seq = ?"
        for seq, key in keys.items():
            self._session.change(sql, b"", b"", key, project, seq)

    def purge(self, rows: int) -> bool:
        """Remove up to `rows` rows of removed projects; returns whether there may be more."""
        session = self._session
        found = session.all("SELECT project FROM removed ORDER BY project LIMIT 1")
        if not found:
            return False
        ((project,),) = found
        for table, key in (("events", "seq"), ("cases", "id"), ("policies", "version")):
            kept = f"SELECT {key} FROM {table} WHERE project = ? ORDER BY {key} LIMIT 1 OFFSET ?"  # noqa: S608
            end = session.all(kept, project, rows)
            last = end[0][0] if end else 2**63 - 1
            session.change(f"DELETE FROM {table} WHERE project = ? AND {key} < ?", project, last)  # noqa: S608
            if end:
                return True
        session.change("DELETE FROM counters WHERE project = ?", project)
        session.change("DELETE FROM removed WHERE project = ?", project)
        return True
