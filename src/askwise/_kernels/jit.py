"""The decorators of kernels: compiled on first use, cached on disk, free of the GIL.

What a kernel says decides how long the first use takes. `a[:] = b` of two arrays comes with the
message for shapes that differ, and takes Numba seconds: kernels copy in loops.
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
    """`jit` for a kernel that makes no arrays.

    Then Numba need not count references, which for a kernel that is handed dozens of arrays and
    does little takes several times as long as what it does.
    """
    return _compiled(function, _nrt=False)


def jit_internal(function: F) -> F:
    """`jit_no_arrays` for a kernel that only kernels call.

    It has no entry for Python, which with dozens of arrays to unpack would take longer to compile
    than the kernel. A call from Python would end the process: a test looks that there is none.
    """
    return _compiled(function, **_INTERNAL)


def jit_inlined(function: F) -> F:
    """`jit_internal` for a step of a case: it becomes part of the loop that calls it.

    A call hands over every array of the layout and of the counters, more than a hundred numbers.
    Without that, Seq-OOS decides a fifth more cases in the same time.
    """
    return _compiled(function, **_INTERNAL, forceinline=True)


def _compiled(function: F, **more: bool) -> F:
    compiler: Any = numba.njit
    options = {"nogil": True, "error_model": "numpy", **more}
    try:
        kernel = compiler(cache=True, **options)(function)
    except RuntimeError:  # no folder to cache in: a read-only installation without a home
        return cast("F", compiler(cache=False, **options)(function))
    # Numba looks only at a kernel's own file to tell whether what it has on disk is still right,
    # but a kernel contains the others that it calls: look at all of them. What another version left
    # there is not even opened, since it may name things that no longer exist.
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
    """`kernel.compile`, while another process that compiles the same kernel is waited for.

    Then the kernel is on disk, and need only be loaded. Kernels call each other in no circle, so no
    two processes wait for one another; a lock ends with its process.
    """
    compiled = kernel.compile
    path = Path(kernel._cache._cache_path) / f"{kernel._cache._impl.filename_base}.lock"

    def compile_alone(signature: Any) -> Any:
        with contextlib.ExitStack() as held:
            held.enter_context(global_compiler_lock)  # first, so that threads do not wait crosswise
            with contextlib.suppress(ImportError, OSError):  # as on Windows: compiled twice then
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
    """Says once that compiling has begun; loading from the cache on disk does not count."""

    said = False

    def on_start(self, event: Any) -> None:
        if not self.said:
            self.said = True
            log.warning("compiling the kernels: some seconds now, then cached on disk")

    def on_end(self, event: Any) -> None: ...


event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]
