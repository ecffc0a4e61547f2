"""The commands beside the main job: devices, cached translations, and the state of this machine."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import console
from .exitcodes import Exit
from .faults import UsageFault
from .findings import line_count
from .options import Output, output_options
from .units import amount

if TYPE_CHECKING:
    from ..analysis.arch import Arch, Rate
    from .cache import Cache, Entry
    from .document import Json

STATE_COLOURS = {"ok": "green", "note": "yellow", "fault": "red"}


@click.group(no_args_is_help=False)
def arch() -> None:
    """Devices that bounds are given for."""


@arch.command("ls")
@output_options
def arch_ls(output: Output) -> int:
    """List the devices that come with the program."""
    from ..analysis.arch import list_archs, load_arch, matrix_rate, vector_rate

    found = [load_arch(name) for name in list_archs()]
    if output.json:
        console.emit({"devices": [_device(one) for one in found]})
        return Exit.VERIFIED
    for one in found:
        _, vector = vector_rate(one, "f32")
        name, matrix = matrix_rate(one, "bf16") or ("no", 0.0)
        rates = f"{amount(vector, 'FLOP/s'):>12} f32 vector  {amount(matrix, 'FLOP/s'):>12} {name} matrix"
        click.echo(f"{one.name:14} {amount(one.dram_bytes_per_s.per_s, 'B/s'):>10} DRAM  {rates}")
    return Exit.VERIFIED


@arch.command("show")
@click.argument("name")
@output_options
def arch_show(name: str, output: Output) -> int:
    """Print the figures of a device (a name, or a YAML file) with their sources."""
    from ..analysis.arch import load_arch

    found = load_arch(name)
    if output.json:
        console.emit(_device(found))
        return Exit.VERIFIED
    click.echo(found.name)
    for label, rate, unit in _rates(found):
        click.echo(f"  {label:16} {amount(rate.per_s, unit):>14}  {rate.source}")
    for label, size_bytes in _sizes(found):
        click.echo(f"  {label:16} {amount(size_bytes, 'B'):>14}")
    return Exit.VERIFIED


@arch.command("check")
@click.argument("names", nargs=-1, metavar="[NAME|FILE]...")
@output_options
def arch_check(names: tuple[str, ...], output: Output) -> int:
    """Check device files; without a name, all that come with the program."""
    from ..analysis.arch import ArchError, list_archs, load_arch

    faults: dict[str, str | None] = {}
    for name in names or list_archs():
        try:
            load_arch(name)
            faults[name] = None
        except ArchError as error:
            faults[name] = str(error)
    if output.json:
        console.emit({"devices": [{"name": name, "fault": fault} for name, fault in faults.items()]})
    for name, fault in faults.items():
        if fault is not None:
            console.error(f"{name}: {fault}" if name not in fault else fault)
        elif not output.json:
            click.echo(f"{name}: ok")
    return Exit.USAGE if any(faults.values()) else Exit.VERIFIED


def _rates(device: Arch) -> list[tuple[str, Rate, str]]:
    return [
        *((f"matrix {name}", rate, "FLOP/s") for name, rate in device.matrix_flops_per_s.items()),
        *((f"vector {name}", rate, "FLOP/s") for name, rate in device.vector_flops_per_s.items()),
        ("special", device.special_ops_per_s, "op/s"),
        ("DRAM", device.dram_bytes_per_s, "B/s"),
    ]


def _sizes(device: Arch) -> list[tuple[str, float]]:
    return [
        ("DRAM", device.dram_bytes),
        ("L2", device.l2_bytes),
        ("shared memory", device.shared_bytes),
        ("registers", device.register_bytes),
    ]


def _device(device: Arch) -> dict[str, Json]:
    from dataclasses import asdict

    return asdict(device)


@click.group(no_args_is_help=False)
def cache() -> None:
    """Verified translations of earlier runs."""


@cache.command("ls")
@output_options
def cache_ls(output: Output) -> int:
    """List them: key, program, verdict, lines."""
    with _opened() as store:
        entries = store.entries()
    if output.json:
        console.emit({"translations": [_row(entry) for entry in entries]})
        return Exit.VERIFIED
    for entry in entries:
        lines = line_count(entry.text)
        click.echo(f"{entry.key[:12]}  {entry.verdict:17} {lines:4} lines  {entry.program}")
    return Exit.VERIFIED


def _row(entry: Entry) -> Json:
    return {
        "key": entry.key,
        "program": entry.program,
        "verdict": entry.verdict,
        "lines": line_count(entry.text),
    }


@cache.command("show")
@click.argument("key")
@output_options
def cache_show(key: str, output: Output) -> int:
    """Print the text whose key starts with KEY."""
    with _opened() as store:
        entry = _the_one(store, key)
    if output.json:
        certificate = jsonlib.loads(entry.certificate)
        console.emit(
            {
                "key": entry.key,
                "program": entry.program,
                "verdict": entry.verdict,
                "text": entry.text,
                "certificate": certificate,
            }
        )
    else:
        click.echo(entry.text, nl=not entry.text.endswith("\n"))
    return Exit.VERIFIED


@cache.command("rm")
@click.argument("key", required=False)
@click.option("--all", "everything", is_flag=True, help="Remove all of them.")
@output_options
def cache_rm(key: str | None, everything: bool, output: Output) -> int:
    """Remove the translation whose key starts with KEY."""
    if (key is None) != everything:
        raise click.UsageError("give either KEY or --all")
    with _opened() as store:
        removed = store.remove("" if key is None else _the_one(store, key).key)
    if output.json:
        console.emit({"removed": removed})
    else:
        click.echo(f"removed {removed} translation{'' if removed == 1 else 's'}")
    return Exit.VERIFIED


@cache.command("export")
@click.argument("key", required=False)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    required=True,
    help="Folder for the texts and their certificates.",
)
@output_options
def cache_export(key: str | None, out: Path, output: Output) -> int:
    """Write texts and certificates to files: all, or those whose key starts with KEY."""
    with _opened() as store:
        if key is not None:
            _the_one(store, key)
        paths = store.export(out, key or "")
    if output.json:
        console.emit({"paths": [str(path) for path in paths]})
        return Exit.VERIFIED
    for path in paths:
        click.echo(str(path))
    return Exit.VERIFIED


class _opened:
    """The user's cache; its warnings are shown when it is closed."""

    def __enter__(self) -> Cache:
        from .cache import Cache

        self._store = Cache()
        return self._store

    def __exit__(self, *_: object) -> None:
        self._store.close()
        console.warn(self._store.warnings)


def _the_one(store: Cache, key: str) -> Entry:
    found = store.entries(key)
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageFault(f"no cached translation has a key that starts with {key!r}; `solar-agent cache ls` lists them")
    raise UsageFault(f"{len(found)} cached translations have keys that start with {key!r}; give more of the key")


@click.command()
@output_options
def doctor(output: Output) -> int:
    """Say what works on this machine and what does not."""
    return environment_report(output)


def environment_report(output: Output) -> int:
    from .doctor import environment, findings

    found = findings()
    if output.json:
        checks: list[Json] = [{"name": one.name, "state": one.state, "detail": one.detail} for one in found]
        console.emit({"environment": dict(environment()), "checks": checks})
    else:
        for one in found:
            click.echo(f"{click.style(f'{one.state:5}', fg=STATE_COLOURS[one.state])} {one.name:12} {one.detail}")
    return Exit.USAGE if any(one.state == "fault" for one in found) else Exit.VERIFIED
