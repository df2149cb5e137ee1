"""A disk that forgets, at a loss of power, some of what nobody had waited for.
tool/power_cut/undo.hpp says how it is noted."""
import os
import struct
from pathlib import Path

from running import MODULE

PRELOADED = Path(os.environ.get("DURAHASH_POWER_CUT",
                                Path(MODULE).parents[1] / "bin/durahash-power-cut.so"))
RECORD = struct.Struct("<QQQQII")  # device, inode, offset, old bytes that follow, what, settled
SECTOR = 512
LENGTH = 1  # of `what`: a change of a file's length


def environment(undo):
    return {"LD_PRELOAD": str(PRELOADED), "DURAHASH_POWER_CUT_UNDO": str(undo)}


def cut_power(folder, undo, chance):
    """Puts back what the disk forgets, the last change first. Returns how many sectors."""
    names = {p.stat().st_ino: p for p in Path(folder).iterdir()}
    notes = Path(undo).read_bytes()
    unsettled, at = [], 0
    while at + RECORD.size <= len(notes):
        _, inode, offset, length, what, settled = RECORD.unpack_from(notes, at)
        at += RECORD.size
        if len(notes) - at < length:
            break  # killed while it noted it: it has not begun to write
        if not settled and inode in names:
            unsettled.append((names[inode], offset, notes[at:at + length], what))
        at += length
    forgotten = 0
    for path, offset, old, what in reversed(unsettled):
        with open(path, "r+b") as file:
            if what == LENGTH:
                if path.stat().st_size > offset and chance.random() < 0.5:
                    file.truncate(offset)
                continue
            for sector in range(0, len(old), SECTOR):
                if chance.random() < 0.5:
                    file.seek(offset + sector)
                    file.write(old[sector:sector + SECTOR])
                    forgotten += 1
    return forgotten
