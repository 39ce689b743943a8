#!/usr/bin/env python3
"""Compares two safetensors files tensor by tensor and names the first divergence in computation order.

    compare_dumps.py EXPECTED ACTUAL [--tolerance expected.json] [--default-tolerance X]
                     [--only GLOB ...] [--prefix NAME.] [--quiet]

EXPECTED says what is compared. A tensor fails when it is missing from ACTUAL, when its shape differs (extents of
one are ignored: [1, 512] is [512]; of logits the last rows of both are compared), or when an element is further away
than allowed: by the "tolerance" map of the JSON file, under the tensor's name or its first word, or by its "tolerances"
(the log-mel's, and a share of the largest value), else by the default, which is 0. Whole numbers must be equal. Names
that --dump never writes (kv.*, step.top.*, bf16.*, ...) are listed and do not count unless --only asks for them.

The exit code is 0 when all agree, 1 when one does not, 2 when a file cannot be read.
"""

import argparse
import array
import fnmatch
import json
import math
import re
import struct
import sys

FLOATS = {"F64", "F32", "F16", "BF16"}
INTEGERS = {"I64": "q", "I32": "i", "I16": "h", "I8": "b", "U8": "B", "BOOL": "B"}
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
NOT_DUMPED = ["kv.*", "step.top.*", "*norm2_unscaled", "bf16.*", "unrounded.*", "weight.*", "delay.*"]

# The order of the computation, as regular expressions over what a phase ("step.", "window.3.") leaves of a name.
INSIDE = ["norm1", "q", "k", "v", "q_rope", "k_rope", "ctx", "attn_out", "res1", "norm2_unscaled", "norm2", "gate", "up",
          "act", "down", "out"]
ORDER = ["t_cond", r"scale\.\d+", "padded", "raw", "pcm", "mel", r"stem\.c1", r"stem\.out",
         r"enc\.a\..*", r"enc\.s\..*", r"enc\.\d+\..*", r"enc\.norm", r"proj\.in", r"proj\.h", r"proj\.out",
         r"conn\.a\.fc1", r"conn\.a\.norm", r"conn\.a\.out", r"conn\.s\.fc1", r"conn\.s\.norm", r"conn\.s\.out",
         "speech", "tok_emb", "x", r"(dec|kv)\.\d+\..*", r"dec\.norm", "norm", "logits", r"top\..*", "token"]


class Unreadable(Exception):
    pass


def read_file(path):
    """name -> (dtype, shape, bytes)."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from error
    try:
        (length,) = struct.unpack_from("<Q", content)
        header = json.loads(content[8:8 + length])
        data = memoryview(content)[8 + length:]
        tensors = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            first, last = entry["data_offsets"]
            piece = data[first:last]
            if len(piece) != math.prod(entry["shape"]) * SIZES[entry["dtype"]]:
                raise ValueError(f"tensor {name} has other bytes than its shape")
            tensors[name] = (entry["dtype"], entry["shape"], piece)
        return tensors
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(f"{path}: no safetensors file: {error}") from error


def values(dtype, piece):
    """The elements as an array of Python numbers."""
    if dtype == "BF16":
        halves = array.array("H", bytes(piece))
        if sys.byteorder == "big":
            halves.byteswap()
        return array.array("f", array.array("I", [half << 16 for half in halves]).tobytes())
    if dtype == "F16":
        return array.array("f", [value for (value,) in struct.iter_unpack("<e", piece)])
    code = {"F64": "d", "F32": "f"}.get(dtype) or INTEGERS[dtype]
    elements = array.array(code, bytes(piece))
    if sys.byteorder == "big":
        elements.byteswap()
    return elements


def difference(expected, actual):
    """The largest absolute difference and where it is; NaN equals NaN and nothing else."""
    worst, where = 0.0, 0
    if expected.typecode == actual.typecode and expected.tobytes() == actual.tobytes():
        return worst, where
    for index, (a, b) in enumerate(zip(expected, actual)):
        if a == b or (a != a and b != b):
            continue
        distance = abs(a - b)
        if distance != distance:
            distance = math.inf
        if distance > worst:
            worst, where = distance, index
    return worst, where


def natural(name):
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name)]


def inside_rank(name):
    """Place of a tensor within one block of layers: (index, word), or within an encoder."""
    stage = re.fullmatch(r"enc\.[as]\.stage\.(\d+)\.(?:(down)|block\.(\d+)\.(mix|out))", name)
    if stage:
        number, down, block, word = stage.groups()
        return (1, int(number), -1 if down else int(block), 0 if word == "mix" else 1)
    if re.fullmatch(r"enc\.[as]\.(stem|mean)", name):
        return (0, 0, 0, 0) if name.endswith("stem") else (2, 0, 0, 0)
    layer = re.fullmatch(r"(enc|dec|kv)\.(\d+)\.(\w+)", name)
    if layer:
        kind, index, word = layer.groups()
        place = INSIDE.index("k_rope") if kind == "kv" else INSIDE.index(word) if word in INSIDE else len(INSIDE)
        return (1, int(index), place, 0)
    return (3, 0, 0, 0)


def computation_order(name):
    """A sort key: the phase, then the place in the forward pass."""
    phase = (0, 0)
    window = re.match(r"window\.(\d+)\.", name)
    rest = name
    if window:
        phase, rest = (1, int(window.group(1))), name[window.end():]
    step = rest.startswith("step.")
    rest = rest.removeprefix("step.")
    if rest == "token":
        step = True
    place = next((i for i, pattern in enumerate(ORDER) if re.fullmatch(pattern, rest)), len(ORDER))
    return (phase, step, place, inside_rank(rest), natural(name))


def read_tolerances(path):
    """A function from a tensor's name and values to the largest distance that is allowed, or None."""
    with open(path, encoding="utf-8") as file:
        facts = json.load(file)
    if "tolerance" in facts:
        by_name = facts["tolerance"]
        return lambda name, _: by_name.get(name, by_name.get(name.split(".")[0]))
    mel = facts["tolerances"]["mel"]["max_abs"]
    share = facts["tolerances"]["from_pcm"]["max_abs_over_largest_value"]

    def of_values(name, elements):
        if name in ("padded", "mel"):
            return mel if name == "mel" else 0.0
        return share * max(map(abs, elements), default=0.0)

    return of_values


def squeezed(shape):
    return [extent for extent in shape if extent != 1]


def place_text(index, shape):
    width = shape[-1] if shape else 1
    return f"row {index // width}, column {index % width}" if len(shape) > 1 else f"element {index}"


def last_rows(tensor, rows):
    dtype, shape, piece = tensor
    size = len(piece) // max(1, shape[0])
    return dtype, [rows, *shape[1:]], piece[len(piece) - rows * size:]


def compare(name, expected, actual, allowed):
    """None when they agree within the tolerance, else what is wrong; and the line to print."""
    if actual is None:
        return "missing", f"{name}: missing"
    if name == "logits" and len(expected[1]) == len(actual[1]) == 2:
        rows = min(expected[1][0], actual[1][0])
        expected, actual = last_rows(expected, rows), last_rows(actual, rows)
    dtype, shape, piece = expected
    other_dtype, other_shape, other_piece = actual
    if squeezed(shape) != squeezed(other_shape):
        return "shape", f"{name}: expected {shape}, found {other_shape}"
    if (dtype in FLOATS) != (other_dtype in FLOATS):
        return "dtype", f"{name}: expected {dtype}, found {other_dtype}"
    wanted = values(dtype, piece)
    distance, index = difference(wanted, values(other_dtype, other_piece))
    allowed = allowed(name, wanted) if dtype in FLOATS else 0
    where = f" at {place_text(index, shape)}" if distance > 0 else ""
    line = f"{name} {shape}: max abs diff {distance:.3g}{where} (allowed {allowed:.3g})"
    return ("value" if distance > allowed else None), line


def chosen(names, only):
    """The names to compare, and those that are passed over because no dump holds them."""
    if only:
        return [n for n in names if any(fnmatch.fnmatchcase(n, glob) for glob in only)], []
    passed_over = [n for n in names if any(fnmatch.fnmatchcase(n, glob) for glob in NOT_DUMPED)]
    return [n for n in names if n not in set(passed_over)], passed_over


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("expected", help="the truth")
    parser.add_argument("actual", help="what is judged, for example a --dump")
    parser.add_argument("--tolerance", help='JSON file with a "tolerance" map or "tolerances"')
    parser.add_argument("--default-tolerance", type=float, default=0.0, help="for names outside the map (0)")
    parser.add_argument("--only", nargs="+", default=[], metavar="GLOB", help="compare these names alone")
    parser.add_argument("--prefix", default="", help="compare EXPECTED's names behind this prefix")
    parser.add_argument("--quiet", action="store_true", help="print failures and the verdict only")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    try:
        expected, actual = read_file(arguments.expected), read_file(arguments.actual)
        known = read_tolerances(arguments.tolerance) if arguments.tolerance else lambda name, elements: None
    except (Unreadable, OSError, ValueError, KeyError) as error:
        print(f"compare_dumps: {error}", file=sys.stderr)
        return 2
    expected = {name.removeprefix(arguments.prefix): tensor for name, tensor in expected.items()
                if name.startswith(arguments.prefix)}
    names, passed_over = chosen(sorted(expected, key=computation_order), arguments.only)
    failures = []

    def allowed(name, elements):
        distance = known(name, elements)
        return arguments.default_tolerance if distance is None else distance

    for name in names:
        wrong, line = compare(name, expected[name], actual.get(name), allowed)
        if wrong:
            failures.append(name)
        if wrong or not arguments.quiet:
            print(f"{'FAIL' if wrong else 'ok  '} {line}")
    if passed_over and not arguments.quiet:
        print("not compared: " + ", ".join(passed_over))
    if not names:
        print("compare_dumps: nothing to compare", file=sys.stderr)
        return 1
    if failures:
        print(f"{len(failures)} of {len(names)} tensors differ; the first divergence is {failures[0]}")
        return 1
    print(f"{len(names)} tensors agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
