"""What the end-to-end tests share: running the program, making recordings and checkpoints."""

import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import wave

ROOT = pathlib.Path(__file__).resolve().parents[2]
NANO = ROOT / "models" / "vibevoice-asr-nano"
SAMPLES = NANO / "samples"
TWO = SAMPLES / "two-speakers.wav"
TWO_WORDS = "message time nine four goodbye"
TIMEOUT_S = 300

program = None  # set by the test's main


class Outcome:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit {self.code}\nstdout: {self.out[-2000:]!r}\nstderr: {self.err[-2000:]}"


def environment(extra=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith("VERBATIM_")}
    env.update(extra or {})
    return env


def run(*arguments, stdin=b"", env=None, cwd=None, **more):
    done = subprocess.run(
        [program, *map(str, arguments)], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(env), cwd=cwd, timeout=TIMEOUT_S, **more)
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def transcribe(*arguments, **more):
    return run("transcribe", "--model", NANO, *arguments, **more)


class TestCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="verbatim-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return self.folder / name

    def write(self, name, content):
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def listing(self, below="."):
        top = self.folder / below
        return sorted(str(p.relative_to(top)) for p in top.rglob("*") if not p.is_dir())

    def assert_code(self, outcome, code):
        self.assertEqual(outcome.code, code, outcome)
        return outcome

    def assert_refused(self, outcome, code, *words):
        """One sentence on stderr that has all the words, and nothing on stdout."""
        self.assert_code(outcome, code)
        self.assertEqual(outcome.out, "", outcome)
        lines = [x for x in outcome.err.splitlines() if x.startswith("verbatim: ")]
        self.assertEqual(len(lines), 1, outcome)
        for word in words:
            self.assertIn(str(word), lines[0])
        return outcome


def wav(pcm, rate=24000, channels=1, bits=16, coding=1, data_bytes=None):
    """The bytes of a WAV file; data_bytes is what its header says where that is a lie."""
    said = len(pcm) if data_bytes is None else data_bytes
    frame = channels * bits // 8
    return (b"RIFF" + struct.pack("<I", (36 + said) & 0xFFFFFFFF) + b"WAVEfmt "
            + struct.pack("<IHHIIHH", 16, coding, channels, rate, (rate * frame) & 0xFFFFFFFF,
                          frame & 0xFFFF, bits)
            + b"data" + struct.pack("<I", said) + pcm)


def samples_of(path):
    """16-bit mono samples and the rate."""
    with wave.open(str(path)) as file:
        assert file.getnchannels() == 1 and file.getsampwidth() == 2
        count = file.getnframes()
        return list(struct.unpack(f"<{count}h", file.readframes(count))), file.getframerate()


def pack16(samples):
    return struct.pack(f"<{len(samples)}h", *samples)


def silence(seconds, rate=24000):
    return wav(bytes(2 * int(seconds * rate)), rate)


def checkpoint_copy(folder):
    """A copy of the nano checkpoint without its samples."""
    shutil.copytree(NANO, folder, ignore=shutil.ignore_patterns("samples"))
    return folder


def interrupted(arguments, stage, stdin=None):
    """Runs the program until it says that `stage` has begun, and sends SIGINT."""
    with subprocess.Popen([program, *map(str, arguments)], stdin=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=environment()) as process:
        said = b""
        for line in process.stderr:
            said += line
            if line.rstrip().endswith(b": " + stage.encode()):
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT_S)
        return Outcome(process.returncode, out.decode(), (said + err).decode())


class Running:
    """A program that a test talks to while it runs; killed when that takes too long."""

    def __init__(self, arguments, extra=None, **pipes):
        # Without buffers: what wait_for() has not asked for is left for whoever reads next.
        self.process = subprocess.Popen([program, *map(str, arguments)], bufsize=0, env=environment(extra), **pipes)
        self.seen = []

    def __enter__(self):
        self.watchdog = threading.Timer(TIMEOUT_S, self.process.kill)
        self.watchdog.start()
        return self

    def __exit__(self, *_):
        self.watchdog.cancel()
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        self.process.wait()

    def wait_for(self, **fields):
        """Reads JSON lines up to the first that has these fields."""
        for line in self.process.stdout:
            self.seen.append(json.loads(line))
            if all(self.seen[-1].get(name) == value for name, value in fields.items()):
                return self.seen[-1]
        raise AssertionError(f"no {fields} in {self.seen}; {self.process.stderr.read()}")


def parsed(outcome):
    return json.loads(outcome.out)
