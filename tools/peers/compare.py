#!/usr/bin/env python3
"""Measures verbatim's projections beside those of ggml, ik_llama.cpp and oneDNN, interleaved, and prints markdown.

    compare.py --bench build/release/bench/verbatim-bench [--ggml DIR] [--ik DIR] [--dnnl] [--threads 1,2]
               [--rows 1,4,29,512] [--shapes 3584x18944,...] [--groups f32,16-bit,4-bit,8-bit] [--seconds 0.1]
               [--rounds 3] [--rest 0] [--prefix "chrt -f 10"] [--build DIR] [--json FILE] [--detail]
    compare.py --tables FILE [--detail]

DIR are checkouts; the drivers are built below --build, by default build/peers. A round runs, for every shape and group
of formats, ours and then each peer's formats of that group on all rows and threads, and rests for --rest seconds. The
seconds of a case are the least of all rounds, medians are those of the rounds' least. --json keeps what was measured:
a run that was ended early goes on where it stood, and --tables prints what a file holds.

Ratios are a peer's seconds over ours for the same projection: above one, ours is faster. Bytes differ between formats,
and so does arithmetic: see README.md.
"""

import argparse
import json
import math
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SHAPES = ["3584x18944", "18944x3584", "3584x3584", "3584x512", "2048x8192"]
FEW_ROWS = 8  # bound by reads up to here, as in bench/kernel_case.h

# What is measured together: ours, and the formats of each peer that store about as many bits.
GROUPS = {
    "f32": {"ours": ["f32"], "ggml": ["f32"], "ik": ["f32"], "dnnl": ["f32"]},
    "16-bit": {"ours": ["bf16", "f16"], "ggml": ["bf16", "f16"], "ik": ["bf16", "bf16_r16", "f16"], "dnnl": ["bf16"]},
    "4-bit": {"ours": ["nf4", "int4", "w4a8"],
              "ggml": ["q4_0+repack", "q4_K+repack", "iq4_nl+repack"],
              "ik": ["q4_0", "q4_0_r8", "q4_K", "q4_k_r4", "iq4_nl", "iq4_nl_r4", "iq4_k", "iq4_k_r4"]},
    "8-bit": {"ours": ["int8", "w8a8"], "ggml": ["q8_0"], "ik": ["q8_0", "q8_0_r8", "q8_KV", "q8_KV_r8"],
              "dnnl": ["u8s8", "s8s8"]},
}
# Where a group holds formats that are not each other's like: ours -> those of a peer.
LIKE = {"bf16": {"bf16", "bf16_r16"}, "f16": {"f16"}}
NAMES = {"ggml": "ggml", "ik": "ik_llama.cpp", "dnnl": "oneDNN"}


class Failed(Exception):
    pass


def build(which, source, folder):
    """The driver of that peer, built for this machine."""
    option = {"ggml": f"-DPEERS_GGML={source}", "ik": f"-DPEERS_IK={source}", "dnnl": "-DPEERS_DNNL=ON"}[which]
    folder = pathlib.Path(folder) / which
    driver = folder / f"{which}_driver"
    for command in (["cmake", "-S", str(HERE), "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release", option],
                    ["cmake", "--build", str(folder), "--target", driver.name, "--parallel", "2"]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}")
    return driver


def commit_of(folder):
    done = subprocess.run(["git", "-C", str(folder), "describe", "--always", "--dirty", "--exclude=*"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip() or "unknown commit"


def dnnl_version():
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libdnnl-dev"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip() or "as installed"


def machine():
    """The processor's name and what it can do for products of bytes and halves."""
    name, flags = "unknown processor", set()
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
        elif line.startswith("flags"):
            flags = set(line.split(":", 1)[1].split())
    known = [flag for flag in ("avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8")
             if flag in flags]
    return f"{name}, {os.cpu_count()} cores, {' '.join(known)}"


class Driver:
    """A peer's driver, which waits for requests without using the processor."""

    def __init__(self, command):
        self.command = command
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, bufsize=1)

    def ask(self, form, shape, rows, threads, seconds):
        """The seconds of one product and the bytes of its weights, or a message."""
        fan_in, fan_out = shape.split("x")
        self.process.stdin.write(f"{form} {fan_in} {fan_out} {rows} {threads} {seconds}\n")
        answer = self.process.stdout.readline().split()
        if not answer:
            raise Failed(f"{self.command[-1]} ended at {form} {shape}, {rows} rows, {threads} threads")
        if answer[0] == "error":
            raise Failed(f"{form} {shape}: {' '.join(answer[1:])}")
        return float(answer[0]), int(answer[2])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def run_ours(options, form, shape):
    """{(format with its group, threads, rows): (seconds, bytes)}. It samples its ceilings in the same time, and its
    first run of many rows is the one that touches its memory: it gets three times as long."""
    command = shlex.split(options.prefix) + [
        options.bench, "kernels", "--json", "--format", form, "--shape", shape, "--rows", options.rows,
        "--threads", options.threads, "--seconds", str(3 * options.seconds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return {(case["format"], case["threads"], case["rows"]): (case["seconds"], case["bytes"])
            for case in json.loads(done.stdout)["cases"]}


def measure_unit(options, drivers, group, shape):
    """One visit to a shape by all formats of a group: a list of measured cases."""
    found = []

    def add(who, form, threads, rows, seconds, size):
        found.append({"who": who, "format": form, "threads": threads, "rows": rows, "shape": shape, "group": group,
                      "seconds": seconds, "bytes": size})

    for form in GROUPS[group]["ours"]:
        for (name, threads, rows), (seconds, size) in run_ours(options, form, shape).items():
            add("ours", name, threads, rows, seconds, size)
    for who, driver in drivers.items():
        for form in GROUPS[group].get(who, []):
            for rows in map(int, options.rows.split(",")):
                for threads in map(int, options.threads.split(",")):
                    add(who, form, threads, rows, *driver.ask(form, shape, rows, threads, options.seconds))
    return found


def measure(options):
    sources = {"ggml": options.ggml, "ik": options.ik, "dnnl": options.dnnl}
    drivers = {}
    told = {"machine": machine(), "versions": {"verbatim": commit_of(pathlib.Path(options.bench).resolve().parent)}}
    for who, source in sources.items():
        if not source:
            continue
        driver = build(who, pathlib.Path(source).resolve() if who != "dnnl" else None, options.build)
        drivers[who] = Driver(shlex.split(options.prefix) + [str(driver)])
        told["versions"][NAMES[who]] = dnnl_version() if who == "dnnl" else commit_of(source)
    held = {"told": told, "units": []}
    if options.json and os.path.exists(options.json):
        held["units"] = json.loads(pathlib.Path(options.json).read_text(encoding="utf-8"))["units"]
    done = {(unit["round"], unit["shape"], unit["group"]) for unit in held["units"]}
    for number in range(options.rounds):
        for shape in options.shapes.split(","):
            for group in options.groups.split(","):
                if (number, shape, group) in done:
                    continue
                start = time.monotonic()
                cases = measure_unit(options, drivers, group, shape)
                held["units"].append({"round": number, "shape": shape, "group": group, "cases": cases})
                if options.json:
                    pathlib.Path(options.json).write_text(json.dumps(held), encoding="utf-8")
                print(f"round {number + 1}, {shape}, {group}: {time.monotonic() - start:.0f} s", file=sys.stderr)
                time.sleep(options.rest)
    for driver in drivers.values():
        driver.close()
    return held


def gathered(held):
    """{(who, format, group, threads, rows, shape): (least seconds, median of the rounds, bytes)}"""
    rounds = {}
    for unit in held["units"]:
        for case in unit["cases"]:
            key = tuple(case[name] for name in ("who", "format", "group", "threads", "rows", "shape"))
            rounds.setdefault(key, []).append((case["seconds"], case["bytes"]))
    return {key: (min(s for s, _ in seen), statistics.median(s for s, _ in seen), seen[0][1])
            for key, seen in rounds.items()}


def pairs_of(cases):
    """Ours with each peer's format of the same group, in the order of GROUPS: (ours, who, format, group)."""
    formats = {}
    for who, form, group, *_ in cases:
        if form not in formats.setdefault((group, who), []):
            formats[group, who].append(form)
    for group in GROUPS:
        for ours in formats.get((group, "ours"), []):
            for who in NAMES:
                for form in formats.get((group, who), []):
                    if ours not in LIKE or form in LIKE[ours]:
                        yield ours, who, form, group


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def distinct(cases, place):
    return list(dict.fromkeys(key[place] for key in cases))


def speed(shape, rows, seconds, size):
    """GB/s of weights for few rows, GFLOP/s for many."""
    if rows <= FEW_ROWS:
        return f"{size / seconds / 1e9:.1f} GB/s"
    fan_in, fan_out = map(int, shape.split("x"))
    return f"{2 * rows * fan_in * fan_out / seconds / 1e9:.0f} GFLOP/s"


def ratios(cases, pair, threads, rows, value):
    """{shape: a peer's seconds over ours}, for every shape that both ran."""
    ours, who, form, group = pair
    found = {}
    for shape in distinct(cases, 5):
        mine = cases.get(("ours", ours, group, threads, rows, shape))
        theirs = cases.get((who, form, group, threads, rows, shape))
        if mine and theirs:
            found[shape] = theirs[value] / mine[value]
    return found


def columns_of(cases):
    return [(threads, rows) for threads in sorted(distinct(cases, 3)) for rows in sorted(distinct(cases, 4))]


def fastest(cases, name_of):
    """{(ours, name): {(threads, rows, shape): the least ratio of the pairs that name_of calls so}}"""
    found = {}
    for pair in pairs_of(cases):
        for threads, rows in columns_of(cases):
            for shape, ratio in ratios(cases, pair, threads, rows, 0).items():
                seen = found.setdefault((pair[0], name_of(pair)), {})
                key = (threads, rows, shape)
                seen[key] = min(seen.get(key, ratio), ratio)
    return found


def print_means(cases, title, name_of):
    columns = columns_of(cases)
    print(f"\n{title}, geometric mean over the shapes for threads x rows:\n")
    print("| ours | peer | " + " | ".join(f"{threads} x {rows}" for threads, rows in columns) + " | all | ahead |")
    print("| --- " * (len(columns) + 4) + "|")
    for (ours, name), seen in fastest(cases, name_of).items():
        cells = []
        for column in columns:
            here = [ratio for key, ratio in seen.items() if key[:2] == column]
            cells.append(f"{mean(here):.2f}" if here else "")
        ahead = sum(ratio > 1 for ratio in seen.values())
        print(f"| {ours} | {name} | " + " | ".join(cells) + f" | {mean(seen.values()):.2f} | {ahead} of {len(seen)} |")


def print_speeds(cases):
    """Of the first shape on the most threads."""
    shape, threads = distinct(cases, 5)[0], max(distinct(cases, 3))
    every = sorted(distinct(cases, 4))
    print(f"\n{shape}, {threads} threads, least ms and speed:\n")
    print("| | format | " + " | ".join(f"{rows} row{'s' * (rows > 1)}" for rows in every) + " |")
    print("| --- " * (len(every) + 2) + "|")
    formats = dict.fromkeys(key[:3] for key in cases)
    for who, form, group in sorted(formats, key=lambda one: (list(GROUPS).index(one[2]), one[0] != "ours", one[0])):
        cells = []
        for rows in every:
            seen = cases.get((who, form, group, threads, rows, shape))
            cells.append(f"{seen[0] * 1e3:.3f}, {speed(shape, rows, seen[0], seen[2])}" if seen else "")
        print(f"| {NAMES.get(who, who)} | {form} | " + " | ".join(cells) + " |")


def print_details(cases):
    print("\n| ours | peer | threads | rows | shape | ours ms | peer ms | ours | peer | ratio | of medians |")
    print("| --- " * 11 + "|")
    for ours, who, form, group in pairs_of(cases):
        for (someone, name, its, threads, rows, shape), mine in cases.items():
            theirs = cases.get((who, form, group, threads, rows, shape))
            if (someone, name, its) != ("ours", ours, group) or not theirs:
                continue
            print(f"| {ours} | {NAMES[who]} {form} | {threads} | {rows} | {shape} | {mine[0] * 1e3:.3f} | "
                  f"{theirs[0] * 1e3:.3f} | {speed(shape, rows, mine[0], mine[2])} | "
                  f"{speed(shape, rows, theirs[0], theirs[2])} | {theirs[0] / mine[0]:.2f} | "
                  f"{theirs[1] / mine[1]:.2f} |")


def print_tables(held, detail):
    versions = ", ".join(f"{name} {version}" for name, version in held["told"]["versions"].items())
    count = 1 + max((unit["round"] for unit in held["units"]), default=-1)
    print(f"{held['told']['machine']}; {versions}; {count} round{'s' * (count > 1)}.")
    cases = gathered(held)
    print_means(cases, "Peer's time / ours, the peer's fastest format in every case", lambda pair: NAMES[pair[1]])
    print_means(cases, "The fastest of all peers' formats in every case / ours", lambda _: "all")
    print_speeds(cases)
    if detail:
        print_means(cases, "Peer's time / ours, format by format", lambda pair: f"{NAMES[pair[1]]} {pair[2]}")
        print_details(cases)
    pairs = list(pairs_of(cases))
    for value, name in ((0, "least"), (1, "median")):
        every = [ratio for pair in pairs for threads in distinct(cases, 3) for rows in distinct(cases, 4)
                 for ratio in ratios(cases, pair, threads, rows, value).values()]
        if every:
            print(f"\nGeometric mean of all {len(every)} ratios of {name} times: {mean(every):.2f}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", help="verbatim-bench of a release build")
    parser.add_argument("--ggml", help="a checkout of ggml")
    parser.add_argument("--ik", help="a checkout of ik_llama.cpp")
    parser.add_argument("--dnnl", action="store_true", help="oneDNN as it is installed")
    parser.add_argument("--build", default="build/peers", help="where the drivers are built")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rows", default="1,4,29,512")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--seconds", type=float, default=0.1, help="for each case of a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rest", type=float, default=0, help="seconds between the visits to shapes")
    parser.add_argument("--prefix", default="", help="a command that runs ours and the drivers")
    parser.add_argument("--json", help="keeps what was measured, and is gone on with")
    parser.add_argument("--tables", help="measure nothing, print the tables of such a file")
    parser.add_argument("--detail", action="store_true", help="print every case")
    options = parser.parse_args()
    if not options.tables and not options.bench:
        parser.error("--bench is needed: the verbatim-bench of a release build")
    for group in options.groups.split(","):
        if group not in GROUPS:
            parser.error(f"--groups: expected some of {', '.join(GROUPS)}, found {group}")
    return options


def main():
    options = arguments()
    try:
        if options.tables:
            held = json.loads(pathlib.Path(options.tables).read_text(encoding="utf-8"))
        else:
            held = measure(options)
    except (Failed, OSError, ValueError) as problem:
        print(f"compare.py: {problem}", file=sys.stderr)
        return 1
    print_tables(held, options.detail)
    return 0


if __name__ == "__main__":
    sys.exit(main())
