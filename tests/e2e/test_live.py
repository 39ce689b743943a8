#!/usr/bin/env python3
"""Audio that is still arriving: test_live.py PROGRAM [unittest arguments].

With VERBATIM_UPDATE_GOLDEN=1 the JSON lines of the golden streams are written anew."""

import fcntl
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import unittest

import harness
from harness import NANO, ROOT, TIMEOUT_S, Outcome, TestCase, environment, pack16, run, samples_of, wav

VOXTRAL = ROOT / "models" / "voxtral-realtime-nano"
SAMPLES = VOXTRAL / "samples"
ONE = SAMPLES / "s1_fsdd_takes.wav"
ONE_WORDS = "six five four"
LONG = SAMPLES / "s8_long_mixed.wav"
GOLDEN = ROOT / "tests" / "golden" / "live"
RATE = 16000


def stream(*arguments, **more):
    return run("stream", "--model", VOXTRAL, "--quiet", "--kv", "f32", *arguments, **more)


def events(text):
    return [json.loads(line) for line in text.splitlines()]


def pcm_of(path):
    samples, rate = samples_of(path)
    assert rate == RATE
    return pack16(samples)


def without(found, *types):
    return [x for x in found if x["type"] not in types]


class Live(harness.Running):
    """A stream whose audio the test brings piece by piece, and whose events it waits for."""

    def __init__(self, *arguments, command="stream"):
        super().__init__([command, "--model", VOXTRAL, "--quiet", "--kv", "f32", "--format", "jsonl", *arguments],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def bring(self, audio):
        while audio:
            audio = audio[self.process.stdin.write(audio):]

    def hang_up(self):
        self.process.stdin.close()
        self.process.stdin = None

    def all_is_read(self):
        while struct.unpack("i", fcntl.ioctl(self.process.stdin, termios.FIONREAD, b"\0" * 4))[0] > 0:
            os.sched_yield()

    def end(self):
        # Not communicate(), which forgets what wait_for() has read ahead.
        if self.process.stdin is not None:
            self.hang_up()
        out, err = self.process.stdout.read(), self.process.stderr.read()
        self.process.wait(timeout=TIMEOUT_S)
        self.seen += events(out.decode())
        return Outcome(self.process.returncode, out.decode(), err.decode())


class Stream(TestCase):
    def test_the_json_lines_of_a_file_are_golden(self):
        for sample in ("s1_fsdd_takes", "s7_mixed"):
            outcome = self.assert_code(stream("--format", "jsonl", SAMPLES / f"{sample}.wav"), 0)
            self.assertEqual(outcome.err, "")
            golden = GOLDEN / f"{sample}.jsonl"
            if os.environ.get("VERBATIM_UPDATE_GOLDEN"):
                golden.parent.mkdir(exist_ok=True)
                golden.write_text(outcome.out)
            self.assertEqual(outcome.out, golden.read_text())

    def test_text_is_what_was_said_and_a_line_end(self):
        outcome = self.assert_code(stream(ONE), 0)
        self.assertEqual((outcome.out, outcome.err), (ONE_WORDS + "\n", ""))

    def test_deltas_words_segments_and_the_end_tell_the_same(self):
        found = events(self.assert_code(stream("--format", "jsonl", LONG), 0).out)
        text = found[-1]["text"]
        self.assertGreater(len(text.split()), 100)
        self.assertEqual("".join(x["text"] for x in found if x["type"] == "delta").split(), text.split())
        self.assertEqual([x["text"] for x in found if x["type"] == "word"], text.split())
        self.assertEqual(" ".join(x["text"] for x in found if x["type"] == "segment"), text)
        self.assertEqual([x["type"] for x in found].count("final"), 1)
        ends = [x["end"] for x in found if x["type"] == "word"]
        self.assertEqual(ends, sorted(ends))
        whole = run("transcribe", "--model", VOXTRAL, "--quiet", "--kv", "f32", "--format", "text", LONG)
        self.assertEqual(text, whole.out.strip())

    def test_every_format_that_has_word_times_has_the_same(self):
        found = [(x["text"], x["start"], x["end"]) for x in events(stream("--format", "jsonl", ONE).out)
                 if x["type"] == "word"]
        self.assertEqual([x[0] for x in found], ONE_WORDS.split())

        def transcribed(name):
            outcome = run("transcribe", "--model", VOXTRAL, "--quiet", "--kv", "f32", "--format", name, ONE)
            return self.assert_code(outcome, 0).out

        def of(body):
            return [(x["word"], x["start"], x["end"]) for x in body]

        self.assertEqual(of(json.loads(transcribed("verbose_json"))["words"]), found)
        self.assertEqual([x for s in json.loads(transcribed("json"))["segments"] for x in of(s["words"])], found)
        lines = [x.split() for x in transcribed("ctm").splitlines()]
        self.assertEqual([(x[4], float(x[2]), round(float(x[2]) + float(x[3]), 2)) for x in lines], found)

    def test_a_pipe_tells_the_same_as_the_file(self):
        file = events(stream("--format", "jsonl", ONE).out)
        samples, _ = samples_of(ONE)
        floats = struct.pack(f"<{len(samples)}f", *(x / 32768 for x in samples))
        for flags, audio in [(["--rate", RATE], pcm_of(ONE)),
                             (["--rate", RATE, "--sample-format", "f32le", "-"], floats),
                             (["-"], ONE.read_bytes())]:
            with self.subTest(flags):
                outcome = self.assert_code(stream("--format", "jsonl", *flags, stdin=audio), 0)
                self.assertEqual(without(events(outcome.out), "lag"), file)

    def test_a_fifo_is_a_pipe_and_stdin_may_be_a_file(self):
        fifo = self.path("recorder")
        os.mkfifo(fifo)
        writer = threading.Thread(target=lambda: fifo.write_bytes(ONE.read_bytes()), daemon=True)
        writer.start()
        self.assertEqual(self.assert_code(stream(fifo), 0).out, ONE_WORDS + "\n")
        writer.join()
        raw = self.write("raw", pcm_of(ONE))
        with open(raw, "rb") as file:
            done = subprocess.run([harness.program, "stream", "--model", VOXTRAL, "--quiet", "--rate", str(RATE)],
                                  stdin=file, capture_output=True, check=True, timeout=TIMEOUT_S)
        self.assertEqual(done.stdout.decode(), ONE_WORDS + "\n")

    def test_other_rates_and_channels_are_heard(self):
        samples, _ = samples_of(ONE)
        wide = pack16([x for sample in samples for x in (sample, sample) * 3])  # stereo at 48 kHz
        outcome = stream("--rate", 48000, "--input-channels", 2, stdin=wide)
        self.assertEqual(self.assert_code(outcome, 0).out, ONE_WORDS + "\n")

    def test_flags_of_recognition_are_taken(self):
        for delay in (240, 480, 960):
            with self.subTest(delay):
                self.assertEqual(self.assert_code(stream("--delay-ms", delay, ONE), 0).out, ONE_WORDS + "\n")
        self.assertEqual(stream("--eos", "go-on", "--blank-rut", "off", ONE).out, ONE_WORDS + "\n")
        self.assertEqual(stream("--eos", "stop", "--blank-rut", "0:20", ONE).out, ONE_WORDS + "\n")
        outcome = run("transcribe", "--model", VOXTRAL, "--quiet", "--delay-ms", 960, "--eos", "stop", "--blank-rut",
                      "off", "--format", "text", ONE)
        self.assertEqual(self.assert_code(outcome, 0).out, ONE_WORDS + "\n")

    def test_realtime_takes_as_long_as_the_audio(self):
        short = self.write("short.wav", wav(pcm_of(ONE)[:2 * RATE * 2], RATE))
        begin = time.monotonic()
        outcome = self.assert_code(stream("--realtime", "--format", "jsonl", short), 0)
        self.assertGreater(time.monotonic() - begin, 1.99)
        self.assertTrue(events(outcome.out)[-1]["text"].startswith("six"))
        self.assertEqual(without(events(outcome.out), "lag"), events(stream("--format", "jsonl", short).out))

    def test_the_nano_checkpoint_is_the_default_and_has_a_name(self):
        outcome = run("stream", ONE)
        if "--model: none was given" in outcome.err:
            self.skipTest("no checkpoint lies beside this program")
        self.assertEqual(self.assert_code(outcome, 0).out, ONE_WORDS + "\n")
        self.assertIn("voxtral-realtime-nano", outcome.err.splitlines()[0])
        named = self.assert_code(run("stream", "--model", "nano-voxtral", ONE), 0)
        self.assertNotIn("using the bundled", named.err)
        self.assertEqual(self.assert_code(run("transcribe", "--model", "nano-voxtral", "--format", "text", ONE), 0).out,
                         ONE_WORDS + "\n")


class Arriving(TestCase):
    def test_text_comes_while_the_pipe_is_open(self):
        with Live("--rate", RATE) as live:
            pcm = pcm_of(ONE)
            live.bring(pcm[:2 * int(2.6 * RATE) + 1])  # a piece may end inside a sample
            live.wait_for(type="word", text="six")
            live.bring(pcm[2 * int(2.6 * RATE) + 1:])
            live.hang_up()
            live.wait_for(type="word", text="four")
            live.wait_for(type="final", text=ONE_WORDS)

    def interrupted(self, number):
        """The pipe stays open; what it had delivered is heard to its end."""
        with Live("--rate", RATE) as live:
            live.bring(pcm_of(ONE)[:2 * int(3.3 * RATE)])
            live.wait_for(type="word", text="five")
            live.all_is_read()
            live.process.send_signal(number)
            live.wait_for(type="final", text=ONE_WORDS)
            outcome = self.assert_code(live.end(), 0)
            self.assertEqual(outcome.err, "")
            self.assertEqual(live.seen[-1]["duration"], 3.3)

    def test_ctrl_c_drains_the_delay_and_prints_what_was_said(self):
        self.interrupted(signal.SIGINT)

    def test_sigterm_does_the_same(self):
        self.interrupted(signal.SIGTERM)

    def test_ctrl_c_ends_a_file_too(self):
        with Live("--realtime", LONG) as live:
            live.wait_for(type="word", text="nine")
            live.process.send_signal(signal.SIGINT)
            final = live.wait_for(type="final")
            self.assert_code(live.end(), 0)
            self.assertLess(final["duration"], 60)
            self.assertTrue(final["text"].startswith("nine"))

    def test_ctrl_c_before_the_first_sound_is_an_empty_end(self):
        with Live("--rate", RATE) as live:
            live.bring(bytes(2))
            live.all_is_read()
            live.process.send_signal(signal.SIGINT)
            self.assertEqual(live.wait_for(type="final")["text"], "")
            self.assert_code(live.end(), 0)

    def test_a_burst_is_told_as_lag_and_nothing_is_lost(self):
        outcome = self.assert_code(stream("--format", "jsonl", "--rate", RATE, stdin=pcm_of(LONG)), 0)
        found = events(outcome.out)
        lags = [x for x in found if x["type"] == "lag"]
        self.assertGreater(len(lags), 0)
        self.assertEqual(list(lags[0]), ["type", "seconds", "position"])
        self.assertGreater(lags[0]["seconds"], 1)
        self.assertEqual(without(found, "lag"), events(stream("--format", "jsonl", LONG).out))

    def test_audio_that_ends_inside_a_sample_loses_only_that(self):
        outcome = self.assert_code(stream("--format", "jsonl", "--rate", RATE, stdin=pcm_of(ONE) + b"x"), 3)
        found = events(outcome.out)
        self.assertEqual([x["code"] for x in found if x["type"] == "warning"], ["audio_truncated"])
        self.assertEqual([x["code"] for x in found[-1]["warnings"]], ["audio_truncated"])
        self.assertEqual(found[-1]["text"], ONE_WORDS)
        outcome = self.assert_code(stream("--rate", RATE, stdin=pcm_of(ONE) + b"x"), 3)
        self.assertEqual(outcome.out, ONE_WORDS + "\n")
        self.assertIn("(audio_truncated)", outcome.err)

    def test_the_shortest_audio_has_an_honest_end(self):
        for count in (0, 1, 159, 1280, RATE // 2):
            with self.subTest(count):
                pcm = pcm_of(ONE)[RATE:RATE + 2 * count]
                found = events(self.assert_code(stream("--format", "jsonl", "--rate", RATE, stdin=pcm), 0).out)
                self.assertEqual(found[-1]["type"], "final")
                self.assertAlmostEqual(found[-1]["duration"], count / RATE, 3)

    def test_a_reader_that_leaves_ends_the_stream(self):
        with Live("--rate", RATE) as live:
            live.process.stdout.close()
            live.bring(pcm_of(ONE))
            # The pipe of the audio stays open.
            self.assertEqual(live.process.wait(TIMEOUT_S), 1)
            self.assertIn(b"stdout: cannot be written", live.process.stderr.read())


class Endless(TestCase):
    def test_an_hour_of_silence_says_nothing_and_needs_no_memory(self):
        def peak(seconds):
            file = self.path("silence")
            with open(file, "wb") as out:
                out.truncate(2 * RATE * seconds)
            with open(file, "rb") as audio, open(self.path("out"), "wb+") as out:
                process = subprocess.Popen(
                    [harness.program, "stream", "--model", VOXTRAL, "--quiet", "--format", "jsonl", "--rate",
                     str(RATE)], stdin=audio, stdout=out, env=environment())
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                self.assertEqual(process.returncode, 0)
                out.seek(0)
                self.assertEqual(events(out.read().decode()),
                                 [{"type": "final", "text": "", "duration": float(seconds)}])
            return usage.ru_maxrss

        self.assertLess(peak(3600) - peak(300), 4096)  # KiB


class Refused(TestCase):
    def test_mistakes_of_the_command_line_are_named(self):
        delays = [str(x) for x in range(80, 2401, 80)]
        for arguments, said in [
            ([ONE, ONE], ["AUDIO"]),
            (["--rate", RATE, ONE], ["--rate"]),
            (["--input-channels", 2], ["--input-channels", "--rate"]),
            (["--format", "srt", ONE], ["--format", "text, jsonl"]),
            (["--eos", "never", ONE], ["--eos"]),
            (["--blank-rut", "soon", ONE], ["--blank-rut"]),
            (["--delay-ms", "100", ONE], ["--delay-ms", ", ".join(delays), "'100'"]),
            (["--delay-ms", "0", ONE], ["--delay-ms"]),
            (["--delay-ms", "2480", ONE], ["--delay-ms"]),
        ]:
            with self.subTest(arguments):
                self.assert_refused(stream(*arguments), 2, *said)
        self.assert_refused(run("transcribe", "--model", VOXTRAL, "--quiet", "--delay-ms", "100", ONE), 2,
                            "--delay-ms", ", ".join(delays))

    def test_a_model_that_is_not_live_is_for_transcribe(self):
        self.assert_refused(run("stream", "--model", NANO, "--quiet", ONE), 1, NANO, "verbatim transcribe")

    def test_a_file_that_is_not_there_or_no_audio_is_named_before_the_model_is_loaded(self):
        gone = self.path("gone.wav")
        self.assertNotIn("load", self.assert_refused(stream(gone), 1, gone).err)
        text = self.write("text.wav", "no audio")
        self.assert_refused(stream("--ffmpeg", "off", text), 1, text)
        self.assert_refused(stream(self.folder), 2, self.folder, "folder")
        self.assert_refused(stream(stdin=b""), 1, "stdin", "empty")
        self.assert_refused(stream(stdin=b"no audio"), 1, "stdin", "raw PCM")


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit("usage: test_live.py PROGRAM [unittest arguments]")
    harness.program = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
