"""The tables, as steps from one version of the schema to the next.

A step that was released is never edited: changes go into a later step. Databases differ in what
they write for `{int}`, `{blob}`, `{rowless}`, `{kept}` and `{removable}`: each database has a
dictionary `DIALECT`.
"""

from __future__ import annotations

STEPS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE projects (
            id {int} PRIMARY KEY, name TEXT NOT NULL UNIQUE, problem {blob} NOT NULL,
            learner TEXT NOT NULL, options {blob} NOT NULL, seed {int} NOT NULL,
            created {int} NOT NULL, seq {int} NOT NULL, opened {int} NOT NULL,
            version {int} NOT NULL, watermark {int} NOT NULL, planned {int} NOT NULL,
            failure TEXT NOT NULL)""",
        """CREATE TABLE events (
            project {int} NOT NULL, seq {int} NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL,
            case_id {int} NOT NULL, body {blob} NOT NULL, status {int} NOT NULL,
            answer {blob} NOT NULL, at {int} NOT NULL, PRIMARY KEY (project, seq)){rowless}""",
        "CREATE UNIQUE INDEX events_by_key ON events (project, key)",
        """CREATE TABLE cases (
            project {int} NOT NULL, id {int} NOT NULL, status {int} NOT NULL,
            data {blob} NOT NULL, PRIMARY KEY (project, id)){rowless}""",
        """CREATE TABLE counters (
            project {int} NOT NULL, kind TEXT NOT NULL, cell {int} NOT NULL,
            place {int} NOT NULL, amount {int} NOT NULL,
            PRIMARY KEY (project, kind, cell, place)){rowless}""",
        """CREATE TABLE policies (
            project {int} NOT NULL, version {int} NOT NULL, watermark {int} NOT NULL,
            fence {int} NOT NULL, at {int} NOT NULL, blob {blob} NOT NULL,
            PRIMARY KEY (project, version))""",
        """CREATE TABLE tokens (
            id TEXT PRIMARY KEY, digest {blob} NOT NULL UNIQUE, scope TEXT NOT NULL,
            project TEXT NOT NULL, created {int} NOT NULL, revoked {int} NOT NULL)""",
        """CREATE TABLE leases (
            name TEXT PRIMARY KEY, holder TEXT NOT NULL, fence {int} NOT NULL,
            expires {int} NOT NULL)""",
        "INSERT INTO leases VALUES ('replanner', '', 0, 0)",
        "INSERT INTO projects VALUES (0, '', '', '', '', 0, 0, 0, 0, 0, 0, 0, '')",
        "{kept}",
    ),
    (
        "ALTER TABLE tokens ADD COLUMN expires {int} NOT NULL DEFAULT 0",
        "ALTER TABLE tokens ADD COLUMN rate {int} NOT NULL DEFAULT 0",
        "ALTER TABLE projects ADD COLUMN archived {int} NOT NULL DEFAULT 0",
        "CREATE TABLE removed (project {int} PRIMARY KEY)",
        "{removable}",
    ),
    ("ALTER TABLE projects ADD COLUMN outlook TEXT NOT NULL DEFAULT ''",),
    (
        "ALTER TABLE tokens ADD COLUMN lasts {int} NOT NULL DEFAULT 0",
        "UPDATE tokens SET lasts = expires - created WHERE expires > 0",
    ),
)
"""Step k brings the schema from version k to k + 1."""

NEWEST = len(STEPS)
