"""Everything askwise raises on purpose. Each message names the offender and what was expected."""


class AskwiseError(Exception):
    """The base class of every error that askwise raises on purpose."""


class ProblemError(AskwiseError, ValueError):
    """A problem that cannot be: a duplicate name, a negative cost, an empty list of actions."""


class TooLargeError(ProblemError):
    """A problem whose states do not fit in memory; says how large it is and what to lower."""


class CaseError(AskwiseError, ValueError):
    """Something this case cannot take now: an unknown value, a second reward."""


class UnknownCaseError(CaseError, KeyError):
    """A case that waits for no reward: it has one, was cancelled, or was never opened."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would show it in quotes


class ModelError(AskwiseError, ValueError):
    """A model whose arrays are not a distribution and rewards over the problem's full states."""


class OptionError(AskwiseError, ValueError):
    """A learner's option out of its range."""


class StatisticsError(AskwiseError, ValueError):
    """Counters that cannot be added or counted further."""


class TableError(AskwiseError, ValueError):
    """A table that does not fit the problem; names the column and the row."""


class MissingExtraError(AskwiseError, ImportError):
    """Something was asked for that needs a package of an optional extra; says which to install."""


class FileError(AskwiseError, ValueError):
    """A file that cannot be read as what it should be: damaged, foreign, or of another version."""


class LedgerError(AskwiseError, RuntimeError):
    """The service's database cannot be read or written now, or holds what it should not."""


class LedgerUnavailableError(LedgerError):
    """The service's database is gone, full or read-only: whatever is asked of it fails alike."""


class LedgerDataError(LedgerError):
    """Something that the service's database cannot hold, such as a number that is too large."""


class ServiceError(AskwiseError, RuntimeError):
    """An error answer of a service, with its HTTP status, or a service that cannot be reached."""

    def __init__(self, detail: str, status: int = 0) -> None:
        super().__init__(detail)
        self.status = status
        """0 if there was no answer."""
