#!/usr/bin/env python3
"""Looks at the machine code of the tiles that multiply bytes: the innermost loop of each may neither
copy one vector register to another nor touch vectors on the stack, for the sums then no longer stay
where they are (g++ 12 does both to VPDPBUSD as an intrinsic, at half the speed).

Arguments are object files and folders; in a folder every table.cc.o of an instruction set with
VPDPBUSD counts. Exits 1 and names object, tile and instruction of each breach."""

import argparse
import pathlib
import re
import subprocess
import sys

TILE = re.compile(r"\bint8_tile<")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(.*)$")
JUMP = re.compile(r"^j\w+\s+([0-9a-f]+)\b")
DOT = "vpdpbusd"
COPY = re.compile(r"^vmov\w+\s+%[xyz]mm\d+,%[xyz]mm\d+$")
STACK = re.compile(r"^v\w+\s.*\(%rsp[,)]")  # (%rbp is a register as any other)
SETS = ("avx512vnni", "avxvnni")


def functions(listing):
    """(name, [(address, instruction)]) of every tile in a listing of objdump."""
    name, body = None, []
    for line in listing.splitlines():
        match = FUNCTION.match(line)
        if match is not None:
            if name is not None:
                yield name, body
            name, body = (match.group(1), []) if TILE.search(match.group(1)) else (None, [])
            continue
        match = INSTRUCTION.match(line)
        if name is not None and match is not None:
            body.append((int(match.group(1), 16), match.group(2).strip()))
    if name is not None:
        yield name, body


def dot_loops(body):
    """The instructions of every innermost loop that multiplies bytes."""
    spans = []
    for address, instruction in body:
        match = JUMP.match(instruction)
        if match is not None and int(match.group(1), 16) <= address:
            spans.append((int(match.group(1), 16), address))
    loops = []
    for first, last in spans:
        inside = [other for other in spans
                  if other != (first, last) and first <= other[0] and other[1] <= last]
        loop = [text for address, text in body if first <= address <= last]
        if not inside and any(DOT in text for text in loop):
            loops.append(loop)
    return loops


def check(listing, path):
    """The breaches in one listing, one line each, and how many loops there were."""
    found, count = [], 0
    for name, body in functions(listing):
        loops = dot_loops(body)
        if not loops:
            found.append(f"{path}: {name}: no loop multiplies bytes")
        for loop in loops:
            count += 1
            for text in loop:
                if COPY.match(text) or STACK.match(text):
                    found.append(f"{path}: {name}: {text}")
    return found, count


def objects_of(argument):
    if not argument.exists():
        raise SystemExit(f"check_tiles: {argument}: not found")
    if not argument.is_dir():
        return [argument]
    return [path for path in sorted(argument.rglob("table.cc.o")) if path.parent.name in SETS]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objdump", default="objdump", help="the objdump of the objects' machine")
    parser.add_argument("paths", nargs="+", type=pathlib.Path, help="objects, folders")
    arguments = parser.parse_args()
    paths = [path for argument in arguments.paths for path in objects_of(argument)]
    found, loops = [], 0
    for path in paths:
        command = [arguments.objdump, "-d", "-C", "--no-show-raw-insn", str(path)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise SystemExit(f"check_tiles: {path}: {result.stderr.strip()}")
        breaches, count = check(result.stdout, path)
        found += breaches
        loops += count
    if loops == 0:
        raise SystemExit("check_tiles: no loop found; is this an x86-64 build folder?")
    for line in found:
        print(line)
    print(f"check_tiles: {loops} loops, {len(found)} breaches")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
