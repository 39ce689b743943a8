#!/usr/bin/env python3
"""Runs the commands of README.md that stand in sh blocks marked <!-- run -->, each with bash in a scratch folder that
sees build/, models/ and tests/ of the project. Exits 1 and names each command that fails."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^<!-- run -->\n```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def commands(text):
    """The marked blocks' commands; a backslash at the end of a line joins it with the next."""
    for block in BLOCK.findall(text):
        for command in block.replace("\\\n", " ").splitlines():
            if command.strip():
                yield command.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", nargs="?", type=pathlib.Path, default=ROOT / "README.md")
    found = list(commands(parser.parse_args().page.read_text(encoding="utf-8")))
    if not found:
        raise SystemExit("readme_commands: no marked block was found")
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("build", "models", "tests"):
            (pathlib.Path(scratch) / name).symlink_to(ROOT / name)
        for command in found:
            print("+", command, flush=True)
            run = subprocess.run(["bash", "-c", command], cwd=scratch, stdin=subprocess.DEVNULL, check=False)
            if run.returncode != 0:
                print(f"readme_commands: exit code {run.returncode}: {command}", flush=True)
                failed += 1
    print(f"readme_commands: {len(found)} commands, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
