"""From an exception to an exit code and one line: the cause; the next step."""

from __future__ import annotations

import click

from .exitcodes import Exit


class UsageFault(Exception):
    """The user's files or options cannot be used (exit code 2); one line: the cause; the next step."""


def explained(fault: Exception) -> tuple[int, str]:
    match fault:
        case click.UsageError():
            where = fault.ctx.command_path if fault.ctx else "solar-agent"
            return Exit.USAGE, f"{fault.format_message().rstrip('.?')}; see `{where} --help`"
        case click.ClickException():
            return Exit.USAGE, fault.format_message()
        case UsageFault():
            return Exit.USAGE, str(fault)
        case _:
            return _of_the_rooms(fault)


def foreseen() -> tuple[type[Exception], ...]:
    """What a program, a text or an option may bring about, errors in this tool aside."""
    from ..analysis.arch import ArchError
    from ..analysis.bounds import UnsupportedTypeError
    from ..analysis.precision import PrecisionError
    from ..ir.errors import IRError
    from ..verifier.types import BadInput, ReferenceFailed
    from .retry import ProviderError

    return (
        *(UsageFault, BadInput, ReferenceFailed, ArchError, PrecisionError, UnsupportedTypeError, IRError),
        *(ProviderError, OSError),
    )


def _of_the_rooms(fault: Exception) -> tuple[int, str]:
    from ..analysis.arch import ArchError
    from ..analysis.bounds import UnsupportedTypeError
    from ..analysis.precision import PrecisionError
    from ..ir.errors import IRError
    from ..verifier.types import BadInput, ReferenceFailed
    from .retry import ProviderError

    match fault:
        case BadInput() | ReferenceFailed() | ArchError() | PrecisionError() | UnsupportedTypeError():
            return Exit.USAGE, str(fault)
        case IRError():
            more = len(fault.problems) - 1
            rest = f" (and {more} more)" if more else ""
            return Exit.USAGE, f"the text does not fit: {fault.problems[0]}{rest}; `verify` says what is wrong"
        case ProviderError():
            return Exit.PROVIDER, str(fault)
        case OSError():
            named = f" {fault.filename}" if fault.filename else ""
            return Exit.USAGE, f"{fault.strerror or fault}{named}; check the path, its permissions and the free space"
        case _:
            cause = f"{type(fault).__name__}: {fault}"[:300].rstrip(".: ")
            return Exit.INTERNAL, f"internal error: {cause}; run with --debug for the traceback"
