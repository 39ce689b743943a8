#!/usr/bin/env python3
"""Checks that rooms stay small: headers up to 200 lines, sources up to 500, functions up to 70
(docs/architecture.md, principle 10). Exits 1 and names the offenders."""

import argparse
import pathlib
import re
import sys

FILE_LIMITS = {".h": 200, ".cuh": 200, ".cc": 500, ".cu": 500}
FUNCTION_LIMIT = 70
TOPS = ["src", "bench", "tests"]

# Comments, strings and characters: what is between them may hold braces of its own.
TEXTS = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|' r"'(?:\\.|[^'\\])'",
                   re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
NO_FUNCTION = re.compile(
    r"^(?:if|for|while|switch|catch|do|else|return|namespace|enum|extern|try|case)\b|"
    r"^(?:template\s*<.*>\s*)?(?:struct|class|union)\b|=$", re.DOTALL)


def blanked(match):
    return " " + "\n" * match.group(0).count("\n")


def long_functions(text):
    """(first line, length) of every function that is too long. A block is one when the words before
    it hold a parameter list and begin with none of the language's own."""
    text = DIRECTIVE.sub(blanked, TEXTS.sub(blanked, text))
    found, open_blocks = [], []
    head, head_line, line, depth = "", 1, 1, 0  # depth of parentheses
    for index, char in enumerate(text):
        if char == "\n":
            line += 1
        if char == "{":
            open_blocks.append((head.strip(), head_line, depth))
            head, depth = "", 0
        elif char == "}" and open_blocks:
            before, first, depth = open_blocks.pop()
            length = line - first + 1
            if length > FUNCTION_LIMIT and "(" in before and not NO_FUNCTION.search(before):
                found.append((first, length))
            # A braced member in a constructor's list does not end what the function's body follows.
            goes_on = re.match(r"\s*[,{)]", text[index + 1:index + 80]) is not None
            head, head_line = (before + " ", first) if goes_on else ("", line)
        elif char == ";" and depth == 0:
            head = ""
        else:
            depth += (char == "(") - (char == ")")
            if not head.strip():
                head, head_line = "", line
            head += char
    return found


def check(root):
    """The offenders below `root`, one line each, and the number of files that were looked at."""
    found, files = [], 0
    for top in TOPS:
        for path in sorted((root / top).rglob("*")):
            limit = FILE_LIMITS.get(path.suffix)
            if limit is None or not path.is_file():
                continue
            files += 1
            name = path.relative_to(root)
            text = path.read_text(encoding="utf-8")
            lines = len(text.splitlines())
            if lines > limit:
                found.append(f"{name}: {lines} lines, at most {limit}")
            for first, length in long_functions(text):
                found.append(f"{name}:{first}: a function of {length} lines, at most {FUNCTION_LIMIT}")
    return found, files


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the project's folder")
    found, files = check(parser.parse_args().root)
    for line in found:
        print(line)
    print(f"check_sizes: {files} files, {len(found)} offenders")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
