"""These decorators compile a kernel on first use, cache it on disk, and release the GIL.

The statements of a kernel determine how long its first use takes. For `a[:] = b` of two arrays
Numba also compiles the message for unequal shapes, which takes seconds. So kernels copy arrays in
loops.
"""

import contextlib
import hashlib
import logging
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event
from numba.core.caching import IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock

F = TypeVar("F")

log = logging.getLogger("askwise")

_INTERNAL = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def jit(function: F) -> F:
    """Compile `function` when it is first called with given types; keep the result on disk."""
    return _compiled(function)


def jit_no_arrays(function: F) -> F:
    """Apply `jit` to a kernel that allocates no arrays.

    Then Numba need not count references. For a kernel with dozens of array arguments and little
    work, counting would take several times as long as the work itself.
    """
    return _compiled(function, _nrt=False)


def jit_internal(function: F) -> F:
    """Apply `jit_no_arrays` to a kernel that only kernels call.

    Such a kernel has no entry for Python. With dozens of arrays to unpack, the entry would take
    longer to compile than the kernel. A call from Python would crash the process, and a test checks
    that there is none.
    """
    return _compiled(function, **_INTERNAL)


def jit_inlined(function: F) -> F:
    """Apply `jit_internal` to a step of a case, and inline it into the loop that calls it.

    A call would pass every array of the layout and of the counters, more than a hundred numbers.
    Without the call, Seq-OOS decides a fifth more cases in the same time.
    """
    return _compiled(function, **_INTERNAL, forceinline=True)


def _compiled(function: F, **more: bool) -> F:
    compiler: Any = numba.njit
    options = {"nogil": True, "error_model": "numpy", **more}
    try:
        kernel = compiler(cache=True, **options)(function)
    except RuntimeError:  # no folder for the cache: a read-only installation without a home
        return cast("F", compiler(cache=False, **options)(function))
    # Numba decides by a kernel's own file whether the version on disk is still valid. But a kernel
    # contains the kernels that it calls, so the index covers all of their files. The files of
    # another version are not opened, since they may refer to names that no longer exist.
    with contextlib.suppress(AttributeError):
        cache = kernel._cache
        kernel.compile = _one_process_at_a_time(kernel)
        cache._cache_file = IndexDataCacheFile(  # type: ignore[no-untyped-call]
            cache_path=cache._cache_path,
            filename_base=f"{cache._impl.filename_base}-{_STAMP[:12]}",
            source_stamp=_STAMP,
        )
    return cast("F", kernel)


def _one_process_at_a_time(kernel: Any) -> Any:
    """Run `kernel.compile`, but first wait for a process that compiles the same kernel.

    Afterwards the kernel is on disk and need only be loaded. Kernels do not call each other in a
    cycle, so two processes cannot wait for each other. A lock ends with its process.
    """
    compiled = kernel.compile
    path = Path(kernel._cache._cache_path) / f"{kernel._cache._impl.filename_base}.lock"

    def compile_alone(signature: Any) -> Any:
        with contextlib.ExitStack() as held:
            held.enter_context(global_compiler_lock)  # first, so that threads cannot deadlock
            # as on Windows: it is compiled twice then
            with contextlib.suppress(ImportError, OSError):
                import fcntl

                path.parent.mkdir(parents=True, exist_ok=True)
                fcntl.flock(held.enter_context(path.open("w")), fcntl.LOCK_EX)
            return compiled(signature)

    return compile_alone


def _stamp() -> str:
    digest = hashlib.blake2b()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_STAMP = _stamp()


class _Notice(event.Listener):
    """This notice says once that compiling has begun. Loading from the cache on disk does not
    count.
    """

    said = False

    def on_start(self, event: Any) -> None:
        if not self.said:
            self.said = True
            log.warning("compiling the kernels: up to a minute now, then cached on disk")

    def on_end(self, event: Any) -> None: ...


event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]
