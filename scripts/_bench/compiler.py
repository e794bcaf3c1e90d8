"""Compile the C programs of this package, once a version, where there is a compiler."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCES = Path(__file__).with_name("native")


def build(name: str) -> Path | None:
    """Compile native/NAME.c; None if there is no gcc."""
    compiler = shutil.which("gcc")
    if compiler is None:
        return None
    source = SOURCES / f"{name}.c"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    program = _cache() / f"{name}-{digest}"
    if not program.exists():
        draft = program.with_suffix(f".{os.getpid()}")
        subprocess.run([compiler, "-O2", "-o", draft, source], check=True)
        draft.rename(program)
    return program


def _cache() -> Path:
    folder = Path(tempfile.gettempdir()) / f"claw-vegas-bench-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
