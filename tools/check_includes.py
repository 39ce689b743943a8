#!/usr/bin/env python3
"""Checks every #include "room/..." under src, bench and tests against the table of who may include
whom (docs/architecture.md, section 2.1). Exits 1 and names file, line and edge of each breach."""

import argparse
import pathlib
import re
import sys

BELOW_MODELS = [
    "base", "tensor", "checkpoint", "weights", "kv", "device", "audio", "text", "transcript", "nn"
]

# A room may also include itself.
MAY_INCLUDE = {
    "base": [],
    "tensor": ["base"],
    "checkpoint": ["base", "tensor"],
    "weights": ["base", "tensor", "checkpoint"],
    "kv": ["base", "tensor"],
    "device": ["base", "tensor", "checkpoint", "weights", "kv"],
    "cpu": ["base", "tensor", "weights", "kv", "device"],
    "cuda": ["base", "tensor", "weights", "kv", "device"],
    "audio": ["base"],
    "text": ["base"],
    "transcript": ["base"],
    "nn": ["base", "tensor", "checkpoint", "weights", "kv", "device"],
    "models": BELOW_MODELS,
    "engine": BELOW_MODELS + ["models"],
    "server": ["base", "audio", "transcript", "engine"],
    "cli": ["base", "audio", "transcript", "engine", "server"],
}
OUTSIDE = ["bench", "tests"]  # these include everything, and nothing includes them

SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def breach(home, path, included):
    """Why `path`, a file of the room `home`, may not include `included`; None when it may."""
    room = included.split("/")[0] if "/" in included else None
    if path.suffix in (".cu", ".cuh"):
        if included == "cuda/kernels.h" or (room == "cuda" and included.endswith(".cuh")):
            return None
        return "a CUDA file includes cuda/kernels.h and cuda/*.cuh only"
    if room is None:
        return "a header of ours is named with its room"
    if room in OUTSIDE:
        return None if home == room else f"nothing includes {room}"
    if room not in MAY_INCLUDE:
        return f"there is no room {room}"
    if home in OUTSIDE or room == home or room in MAY_INCLUDE[home]:
        return None
    return f"{home} may not include {room}"


def check(root):
    """The breaches below `root`, one line each, and the number of edges that were looked at."""
    found, edges = [], 0
    for top in ["src"] + OUTSIDE:
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file():
                continue
            name = path.relative_to(root)
            home = name.parts[1] if top == "src" else top
            if top == "src" and home not in MAY_INCLUDE:
                found.append(f"{name}: there is no room {home}")
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                if match is None:
                    continue
                edges += 1
                reason = breach(home, path, match.group(1))
                if reason is not None:
                    found.append(f'{name}:{number}: #include "{match.group(1)}": {reason}')
    return found, edges


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the project's folder")
    found, edges = check(parser.parse_args().root)
    for line in found:
        print(line)
    print(f"check_includes: {edges} includes, {len(found)} breaches")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
