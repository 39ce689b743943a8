#!/usr/bin/env python3
"""What the program meets around its work: test_surroundings.py PROGRAM [unittest arguments].

Pipes in the place of files, closed streams, limits of the system, names that hold anything, outputs that
would destroy their inputs."""

import os
import pathlib
import resource
import signal
import subprocess
import sys
import threading
import time
import unittest

import harness
from harness import NANO, SAMPLES, TIMEOUT_S, TWO, TWO_WORDS, Outcome, TestCase, parsed, silence, transcribe, wav


def piped(path, content):
    """Writes the content to a FIFO, as another program would."""
    def write():
        with open(path, "wb") as pipe:
            pipe.write(content)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


def started(*arguments, prepare=None, **streams):
    return subprocess.Popen([harness.program, "transcribe", "--model", str(NANO), *map(str, arguments)],
                            env=harness.environment(), preexec_fn=prepare, **streams)


def outcome_of(process):
    out, err = process.communicate(timeout=TIMEOUT_S)
    return Outcome(process.returncode, (out or b"").decode(), (err or b"").decode())


def without(*streams):
    def close():
        for stream in streams:
            os.close(stream)
    return close


def limited(kind, value):
    return lambda: resource.setrlimit(kind, (value, value))


class Pipes(TestCase):
    def pipe(self):
        os.mkfifo(self.path("pipe"))
        return self.path("pipe")

    def test_a_named_pipe_is_a_recording(self):
        pipe = self.pipe()
        for flags in ((), ("--channels", "split")):
            writer = piped(pipe, TWO.read_bytes())
            outcome = self.assert_code(transcribe("--quiet", "--format", "text", *flags, pipe), 0)
            self.assertEqual(outcome.out, TWO_WORDS + "\n")
            writer.join()

    def test_what_a_shell_substitutes_is_a_recording(self):
        read, write = os.pipe()
        with os.fdopen(write, "wb") as end:
            writer = threading.Thread(target=lambda: (end.write(TWO.read_bytes()), end.close()))
            writer.start()
            outcome = transcribe("--quiet", "--format", "text", f"/dev/fd/{read}", pass_fds=(read,))
            writer.join()
        os.close(read)
        self.assertEqual(self.assert_code(outcome, 0).out, TWO_WORDS + "\n")

    def test_a_pipe_that_nobody_writes_ends_at_ctrl_c(self):
        with started("--quiet", self.pipe(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            where = pathlib.Path(f"/proc/{process.pid}/wchan")
            for _ in range(TIMEOUT_S * 100):
                if where.read_text().startswith(("wait_for_partner", "fifo_open")):
                    break
                time.sleep(0.01)
            else:
                process.kill()
                self.skipTest("this kernel does not tell what a process waits for")
            process.send_signal(signal.SIGINT)
            self.assert_refused(outcome_of(process), 130, "pipe")


class Streams(TestCase):
    """A closed stream's number must not become that of a file."""

    def test_closed_stdin_is_no_empty_recording(self):
        outcome = outcome_of(started("--quiet", "-", prepare=without(0), stderr=subprocess.PIPE))
        self.assert_refused(outcome, 1, "stdin", "Bad file descriptor")

    def test_closed_stdout_is_told(self):
        outcome = outcome_of(started("--quiet", TWO, prepare=without(1), stderr=subprocess.PIPE))
        self.assert_refused(outcome, 1, "stdout")

    def test_closed_stderr_does_not_get_into_results(self):
        target = self.path("o.txt")
        for closed in ((2,), (0, 2), (0, 1, 2)):
            process = started("--output", target, "--stats", TWO, prepare=without(*closed))
            self.assertEqual(process.wait(timeout=TIMEOUT_S), 0)
            self.assertEqual(target.read_text(), TWO_WORDS + "\n")
            target.unlink()


class Limits(TestCase):
    def test_a_file_that_may_not_grow_leaves_nothing(self):
        for flag in ("--output", "--dump", "--stats-json"):
            outcome = outcome_of(started("--quiet", flag, self.path("o"), TWO,
                                         prepare=limited(resource.RLIMIT_FSIZE, 10),
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            self.assert_code(outcome, 1)
            self.assertIn(str(self.path("o")), outcome.err)
            self.assertEqual(self.listing(), [])

    def test_memory_that_is_not_there_is_one_sentence(self):
        for mebibytes in (12, 16, 24, 32, 40, 48, 56, 64):
            outcome = outcome_of(started("--quiet", "--parallel", "3", TWO, SAMPLES / "nato-slt.wav",
                                         prepare=limited(resource.RLIMIT_AS, mebibytes << 20),
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            self.assertIn(outcome.code, (0, 1), (mebibytes, outcome))
            for line in outcome.err.splitlines():
                self.assertRegex(line, "^verbatim: .*(memory|thread|at once|mapped)", mebibytes)


class Checkpoint(TestCase):
    def test_a_file_that_is_cut_while_it_is_mapped_is_one_sentence(self):
        # The signal that the kernel sends then; the moment of a cut cannot be chosen.
        with started("--quiet", "--rate", "8000", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE) as process:
            status = pathlib.Path(f"/proc/{process.pid}/status")
            for _ in range(TIMEOUT_S * 100):
                caught = [line for line in status.read_text().splitlines() if line.startswith("SigCgt")]
                if int(caught[0].split()[1], 16) >> (signal.SIGBUS - 1) & 1:
                    break
                time.sleep(0.01)
            process.send_signal(signal.SIGBUS)
            self.assert_refused(outcome_of(process), 1, "checkpoint", "cut")


class Names(TestCase):
    def test_a_name_with_line_ends_stays_one_line(self):
        name = "no\nsuch\x1b[31m.wav"
        self.assert_refused(transcribe("--quiet", self.path(name)), 1, "no?such?[31m.wav")
        self.write(name, wav(bytes(4800), data_bytes=9600))
        outcome = self.assert_code(transcribe(self.path(name)), 3)
        self.assertNotIn("such", [line[:4] for line in outcome.err.splitlines()])
        self.assertNotIn("\x1b", outcome.err)

    def test_names_that_look_like_flags(self):
        for name in ("--help", "-x.wav", "-"):
            self.write(name, TWO.read_bytes())
        for arguments in (("--", "--help", "-x.wav"), ("./--help", "./-x.wav")):
            outcome = self.assert_code(transcribe("--quiet", "--format", "text", *arguments,
                                                  cwd=self.folder), 0)
            self.assertEqual(outcome.out, (TWO_WORDS + "\n") * 2)

    def test_one_recording_too_long_for_the_context_is_named(self):
        long = self.write("long.wav", silence(1200))
        outcome = transcribe("--quiet", "--format", "text", TWO, long)
        self.assert_code(outcome, 1)
        self.assertEqual(outcome.out, TWO_WORDS + "\n")
        self.assertIn(f"verbatim: {long}: ", outcome.err)


class Overwriting(TestCase):
    def test_no_flag_writes_over_a_recording(self):
        file = self.write("a.wav", TWO.read_bytes())
        for flag in ("--output", "--dump", "--stats-json"):
            self.assert_refused(transcribe("--quiet", flag, file, file), 2, flag, file)
            self.assertEqual(file.read_bytes(), TWO.read_bytes())

    def test_no_two_flags_write_one_file(self):
        target = self.path("o")
        for first, second in (("--output", "--dump"), ("--output", "--stats-json"), ("--dump", "--stats-json")):
            self.assert_refused(transcribe("--quiet", first, target, second, target, TWO), 2, first, second)
        self.assertEqual(self.listing(), [])

    def test_a_name_that_no_folder_takes_is_told_before_the_work(self):
        outcome = transcribe("--output", self.path("x" * 300), TWO)
        self.assert_refused(outcome, 1, "too long")
        self.assertNotIn("encode", outcome.err)


class Ffmpeg(TestCase):
    def test_a_path_from_here_is_found(self):
        script = self.write("decoder", f"#!/bin/sh\nexec cat {TWO}\n")
        script.chmod(0o755)
        self.write("a.mp3", b"ID3\3" + bytes(500))
        outcome = transcribe("--quiet", "--format", "json", "--ffmpeg", "./decoder", "a.mp3", cwd=self.folder)
        self.assertEqual(parsed(self.assert_code(outcome, 0))["text"], TWO_WORDS)


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit("usage: test_surroundings.py PROGRAM [unittest arguments]")
    harness.program = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
