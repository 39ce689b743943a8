#!/usr/bin/env python3
"""Looks into our own object files and archives. None may call a transcendental function of the C
library, whose bits depend on its version and on the machine (base/math.h has ours). None compiled for
one instruction set (a path with cpu/isa/<name>/) may define a weak symbol outside verbatim::<name>:
the linker keeps one copy of a weak symbol for the whole program, and that one might need the set.

Arguments are object files, archives and folders; in a folder every *.o counts whose path names none
of our own tests. Exits 1 and names object and symbol of each breach."""

import argparse
import pathlib
import re
import subprocess
import sys

STEMS = """exp exp2 exp10 expm1 log log2 log10 log1p pow sin cos tan sincos asin acos atan atan2 sinh
cosh tanh asinh acosh atanh erf erfc tgamma lgamma lgamma_r cbrt hypot cexp clog cpow csin ccos""".split()
FORBIDDEN = {stem + suffix for stem in STEMS for suffix in ("", "f", "l")}
# What -ffast-math and vectorisers make of the same calls: __exp_finite, _ZGVdN4v_exp.
DISGUISE = re.compile(r"^(?:__(\w+)_finite|_ZGV[a-zA-Z0-9]+_(\w+))$")

ISA_FOLDER = re.compile(r"(?:^|/)cpu/isa/([A-Za-z0-9_]+)/")
WEAK = {"W", "V", "u"}
# References to the exception machinery's data, the same words in every object.
HARMLESS = re.compile(r"^DW\.ref\.")


def is_transcendental(symbol):
    name = symbol.split("@")[0]
    match = DISGUISE.match(name)
    if match is not None:
        name = match.group(1) or match.group(2)
    return name in FORBIDDEN


def symbols(nm, path, demangle):
    """(member, type, name) of every symbol in an object or archive."""
    command = [nm] + (["--demangle"] if demangle else []) + [str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(f"check_symbols: {path}: {nm} failed: {result.stderr.strip()}")
    member = ""
    for line in result.stdout.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            member = f"({line[:-1]})"
            continue
        match = re.match(r"^[0-9a-fA-F]*\s+(\S) (.+)$", line)
        if match is not None:
            yield member, match.group(1), match.group(2)


def check(nm, path):
    """The breaches in one object or archive, one line each."""
    found = []
    for member, kind, name in symbols(nm, path, demangle=False):
        if kind in ("U", "w") and is_transcendental(name):
            found.append(f"{path}{member}: calls {name} of the C library")
    isa = ISA_FOLDER.search(path.as_posix())
    if isa is not None:
        ours = re.compile(rf"\bverbatim::{isa.group(1)}\b")
        for member, kind, name in symbols(nm, path, demangle=True):
            if kind in WEAK and not ours.search(name) and not HARMLESS.match(name):
                found.append(f"{path}{member}: defines the weak symbol {name} outside "
                             f"verbatim::{isa.group(1)}")
    return found


def objects_of(argument):
    if not argument.exists():
        raise SystemExit(f"check_symbols: {argument}: not found")
    if not argument.is_dir():
        return [argument]
    return [path for path in sorted(argument.rglob("*.o"))
            if not re.search(r"_test\.dir/|_test\.cc\.o$|/googletest/|boost_json_src", path.as_posix())]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nm", default="nm", help="the nm of the objects' machine")
    parser.add_argument("paths", nargs="+", type=pathlib.Path, help="objects, archives, folders")
    arguments = parser.parse_args()
    paths = [path for argument in arguments.paths for path in objects_of(argument)]
    if not paths:
        raise SystemExit("check_symbols: no objects found; is this a build folder?")
    found = [line for path in paths for line in check(arguments.nm, path)]
    for line in found:
        print(line)
    print(f"check_symbols: {len(paths)} objects, {len(found)} breaches")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
