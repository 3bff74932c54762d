#!/usr/bin/env python3
"""Packs an unpacked wheel: RECORD made anew, entries in order, every time that of SOURCE_DATE_EPOCH.

scripts/wheel_record.py FOLDER WHEEL
"""

import base64
import hashlib
import os
import sys
import time
import zipfile
from pathlib import Path


def main(folder, wheel):
    record = next(folder.glob("*.dist-info/RECORD"))
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path != record)
    lines = []
    for path in files:
        content = path.read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path.relative_to(folder)},sha256={digest},{len(content)}")
    record.write_text("\n".join([*lines, f"{record.relative_to(folder)},,"]) + "\n")
    stamp = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "1750000000")))[:6]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in [*files, record]:  # RECORD last, as the format recommends
            entry = zipfile.ZipInfo(str(path.relative_to(folder)), stamp)
            # zipfile unpacks without modes: what is compiled may be executed.
            is_program = path.read_bytes()[:4] == b"\x7fELF"
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
