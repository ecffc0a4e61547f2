from __future__ import annotations

import os
import pickle
import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from solar_agent.agent.cache import Cache, Entry, translation_key
from solar_agent.agent.places import cache_dir
from solar_agent.agent.state import Options

KEY = "a" * 64
ENTRY = Entry(KEY, "product", "verified", "program product\n", '{"c": 1}', '{"d": 2}')
MODE_PICKLE = 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "translations"


def write(folder: Path, *entries: Entry) -> None:
    cache = Cache(folder)
    for entry in entries or (ENTRY,):
        cache.put(entry)
    assert cache.warnings == []
    cache.close()


def tamper(folder: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(folder / "cache.db")
    with connection:
        connection.execute(statement, values)
    connection.close()


class Bomb:
    """Makes a folder when unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_what_was_put_comes_back_in_another_process(folder: Path) -> None:
    write(folder)
    code = f"""
from pathlib import Path
from solar_agent.agent.cache import Cache
print(Cache(Path({str(folder)!r})).get({KEY!r}).text)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == ENTRY.text + "\n"


def test_the_folder_is_private(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    write(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_it_lies_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOLAR_AGENT_CACHE", str(tmp_path / "mine"))
    assert cache_dir() == tmp_path / "mine"
    monkeypatch.delenv("SOLAR_AGENT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg" / "solar-agent"


def test_the_key_changes_with_what_changes_the_translation() -> None:
    base = Options()
    different = [replace(base, entry="Other"), replace(base, inputs="x=f32[2]"), replace(base, mode="train")]
    keys = {translation_key("s", options) for options in (base, *different)} | {translation_key("t", base)}
    assert len(keys) == 5
    assert len(keys | {translation_key("s", base, "rules 1"), translation_key("s", base, "rules 2")}) == 7
    assert translation_key("s", replace(base, model="m", max_attempts=9)) == translation_key("s", base)


@pytest.mark.parametrize("column", ["value", "key"])
def test_a_planted_pickle_is_refused(folder: Path, tmp_path: Path, column: str) -> None:
    """F25: the row is what diskcache's own Disk would unpickle."""
    write(folder)
    payload = pickle.dumps(Bomb(tmp_path / "ran"), protocol=0)
    if column == "value":
        tamper(folder, "UPDATE Cache SET mode = ?, value = ?", MODE_PICKLE, payload)
    else:
        tamper(folder, "UPDATE Cache SET raw = 0, key = ?", payload)
    cache = Cache(folder)
    assert cache.get(KEY) is None
    assert cache.entries() == ()
    cache.remove()
    assert not (tmp_path / "ran").exists()


def test_the_payload_would_have_run(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Bomb(tmp_path / "ran"), protocol=0))
    assert (tmp_path / "ran").is_dir()


def test_a_row_that_names_a_file_reads_and_deletes_none(folder: Path, tmp_path: Path) -> None:
    write(folder)
    outside = tmp_path / "precious"
    outside.write_text("keep")
    tamper(folder, "UPDATE Cache SET mode = 3, filename = ?, value = NULL", "../precious")
    cache = Cache(folder)
    assert cache.get(KEY) is None
    assert cache.warnings and "row of mode 3" in cache.warnings[0]
    cache.remove(KEY)
    assert outside.read_text() == "keep"


def test_a_flipped_value_is_a_miss_and_dropped(folder: Path) -> None:
    write(folder)
    tamper(folder, "UPDATE Cache SET value = replace(value, 'program product', 'program printed')")
    cache = Cache(folder)
    assert cache.get(KEY) is None
    assert cache.warnings == [f"cache: entry {KEY[:12]} is damaged and was dropped"]
    assert Cache(folder).entries() == ()


def test_an_entry_under_another_key_is_not_taken(folder: Path) -> None:
    write(folder)
    tamper(folder, "UPDATE Cache SET key = ?", "b" * 64)
    assert Cache(folder).get("b" * 64) is None


@pytest.mark.parametrize("damage", [b"garbage" * 1000, None], ids=["garbage", "truncated"])
def test_a_damaged_database_is_a_miss_moved_aside_and_replaced(folder: Path, damage: bytes | None) -> None:
    write(folder)
    database = folder / "cache.db"
    database.write_bytes(damage if damage is not None else database.read_bytes()[:5000])
    cache = Cache(folder)
    assert cache.get(KEY) is None
    cache.put(ENTRY)
    assert cache.get(KEY) == ENTRY
    assert len(cache.warnings) == 1 and "moved aside to cache.db.damaged-" in cache.warnings[0]
    assert len(list(folder.glob("cache.db.damaged-*"))) == 1


def test_a_folder_that_cannot_be_made_is_a_miss(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "translations")
    assert cache.get(KEY) is None
    cache.put(ENTRY)
    assert len(cache.warnings) == 1 and "going on without it" in cache.warnings[0]


def test_listing_showing_exporting_removing(folder: Path, tmp_path: Path) -> None:
    other = replace(ENTRY, key="b" * 64, program="conv/2d", text="program conv\n")
    write(folder, ENTRY, other)
    cache = Cache(folder)
    assert [entry.program for entry in cache.entries()] == ["conv/2d", "product"]
    assert cache.entries("bb") == (other,)
    written = cache.export(tmp_path / "out", "bb")
    assert [path.name for path in written] == ["conv_2d-bbbbbbbbbbbb.alir"]
    assert written[0].read_text() == other.text
    assert written[0].with_suffix(".json").read_text() == other.certificate
    assert cache.remove("bb") == 1
    assert cache.entries() == (ENTRY,)
    assert cache.remove() == 1


WRITER = """
import sys
from pathlib import Path
from solar_agent.agent.cache import Cache, Entry
cache = Cache(Path(sys.argv[1]))
for number in range(25):
    key = f"{number % 5:064d}"
    cache.put(Entry(key, "p", "verified", f"{sys.argv[2]} {number}\\n" * 500, "{}", "{}"))
    found = cache.get(key)
    assert found is not None and len(set(found.text.splitlines())) == 1
assert cache.warnings == [], cache.warnings
"""


def test_many_processes_share_it(folder: Path) -> None:
    workers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(folder), str(number)], stderr=subprocess.PIPE)
        for number in range(4)
    ]
    for worker in workers:
        _, errors = worker.communicate()
        assert worker.returncode == 0, errors.decode()
    assert len(Cache(folder).entries()) == 5
