#!/usr/bin/env python3
"""A microphone: test_mic.py PROGRAM [unittest arguments].

ALSA's file plugin is the microphone: it captures what the test writes into a pipe, and fails where
the plugin cannot write its copy. Without ALSA's library the tests are skipped."""

import array
import ctypes
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
import unittest

import harness
from harness import NANO, ROOT, SAMPLES, TIMEOUT_S, TWO, TWO_WORDS, TestCase, environment, run, samples_of

VOXTRAL = ROOT / "models" / "voxtral-realtime-nano"
ONE = VOXTRAL / "samples" / "s1_fsdd_takes.wav"
ONE_WORDS = "six five four"
CONFIG = """
pcm.nothing {{ type null }}
pcm.fake {{
  type file slave.pcm nothing file "{copy}" infile "{captured}" format raw
  hint {{ show on description "A fake microphone" }}
}}
"""


def has_alsa():
    try:
        ctypes.CDLL("libasound.so.2")
    except OSError:
        return False
    return True


def pcm(path, before_s=0.5, behind_s=0.0):
    """The recording's 16-bit samples between two silences."""
    samples, rate = samples_of(path)
    return array.array("h", [0] * int(before_s * rate) + samples + [0] * int(behind_s * rate)).tobytes()


class Mic(harness.Running):
    """The program on a fake microphone that captures what the test says."""

    def __init__(self, test, model, *arguments, copy="/dev/null", stderr=subprocess.PIPE):
        self.rate = 16000 if model == VOXTRAL else 24000
        self.block = self.rate // 25 * 2  # what the program reads at once: the plugin knows no less
        captured = test.path("captured")
        os.mkfifo(captured)
        self.pipe = os.open(captured, os.O_RDWR)
        config = test.write("asound.conf", CONFIG.format(copy=copy, captured=captured))
        super().__init__(["mic", "--model", model, "--device", "fake", "--kv", "f32", *arguments],
                         {"ALSA_CONFIG_PATH": str(config)},
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr)
        self.err = ""

    def __exit__(self, *arguments):
        super().__exit__(*arguments)
        os.close(self.pipe)

    def say(self, samples):
        """Whole blocks, the last one filled with silence."""
        for at in range(0, len(samples), self.block):
            os.write(self.pipe, samples[at:at + self.block].ljust(self.block, b"\0"))

    def waiting(self):
        return struct.unpack("i", fcntl.ioctl(self.pipe, termios.FIONREAD, b"\0" * 4))[0]

    def all_is_captured(self):
        while self.waiting() > 0 and self.process.poll() is None:
            os.sched_yield()

    def line(self, stream, said):
        for line in stream:
            line = line.decode()
            if stream == self.process.stderr:
                self.err += line
            if said in line:
                return line
        raise AssertionError(f"no {said!r}; {self.err}")

    def end(self):
        """Ctrl-C. The plugin stands still in its pipe until something comes, so silence follows."""
        self.all_is_captured()
        self.process.send_signal(signal.SIGINT)
        watch = threading.Thread(target=self.quiet_until_the_end, daemon=True)
        watch.start()
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        watch.join()
        self.err += (err or b"").decode()
        return harness.Outcome(self.process.returncode, out.decode(), self.err)

    def quiet_until_the_end(self):
        while self.process.poll() is None:
            if self.waiting() == 0:
                os.write(self.pipe, bytes(self.block))
            os.sched_yield()


@unittest.skipUnless(has_alsa(), "ALSA's library (libasound2) is not installed here")
class MicTest(TestCase):
    def config(self):
        return {"ALSA_CONFIG_PATH": str(self.write("asound.conf", CONFIG.format(
            copy="/dev/null", captured=self.write("captured", b""))))}


class Live(MicTest):
    def test_text_comes_while_the_microphone_is_open(self):
        with Mic(self, VOXTRAL, "--quiet", "--format", "jsonl") as mic:
            mic.say(pcm(ONE, behind_s=2))
            for word in ONE_WORDS.split():
                mic.wait_for(type="word", text=word)
            outcome = self.assert_code(mic.end(), 0)
        final = json.loads(outcome.out.splitlines()[-1])
        self.assertEqual((final["type"], final["text"]), ("final", ONE_WORDS))
        self.assertEqual(outcome.err, "")

    def test_ctrl_c_drains_the_delay_and_prints_what_was_said(self):
        # The last word ends where the audio does; it is decided later.
        with Mic(self, VOXTRAL, "--delay-ms", "960") as mic:
            mic.line(mic.process.stderr, "listening to 'fake' (16000 Hz, 1 channel)")
            mic.say(pcm(ONE))
            outcome = self.assert_code(mic.end(), 0)
        self.assertEqual(outcome.out, ONE_WORDS + "\n")

    def test_a_second_ctrl_c_ends_at_once(self):
        with Mic(self, VOXTRAL) as mic:
            mic.line(mic.process.stderr, "listening")
            # The plugin stands still in its pipe, and so does the first end.
            mic.process.send_signal(signal.SIGINT)
            while self.has_pending_signal(mic.process.pid):
                os.sched_yield()
            mic.process.send_signal(signal.SIGINT)
            self.assertEqual(mic.process.wait(TIMEOUT_S), -signal.SIGINT)

    def test_a_device_that_goes_away_and_comes_back_is_heard_again(self):
        copy = self.path("copy")
        copy.symlink_to("/dev/full")
        with Mic(self, VOXTRAL, "--format", "jsonl", copy=copy) as mic:
            talk = threading.Thread(target=mic.say, args=(bytes(mic.rate * 2 * 3),), daemon=True)
            talk.start()
            mic.line(mic.process.stderr, "the microphone is away")
            copy.unlink()
            copy.symlink_to("/dev/null")
            talk.join()
            mic.say(pcm(ONE, behind_s=2))
            gap = mic.wait_for(type="warning", code="audio_gap")
            last = mic.wait_for(type="word", text="four")
            outcome = self.assert_code(mic.end(), 3)
        self.assertRegex(gap["message"], r"^\d+\.\d s are missing at \d+\.\d s of the audio: the microphone was away$")
        self.assertEqual(gap["start"], gap["end"])
        self.assertEqual(outcome.err.count("is away"), 1)
        final = json.loads(outcome.out.splitlines()[-1])
        self.assertEqual(final["text"], ONE_WORDS)
        self.assertEqual([x["code"] for x in final["warnings"]], ["audio_gap"])
        # What was missed is not made up.
        self.assertLess(last["end"], 3 + 0.5 + len(samples_of(ONE)[0]) / mic.rate)

    def test_the_level_is_shown_on_a_terminal(self):
        ours, theirs = pty.openpty()
        with Mic(self, VOXTRAL, stderr=theirs) as mic:
            os.close(theirs)
            shown = b""
            mic.say(pcm(ONE, behind_s=2))
            while b" dB" not in shown:
                shown += os.read(ours, 4096)
            drain = threading.Thread(target=self.read_all, args=(ours,), daemon=True)
            drain.start()
            self.assertEqual(self.assert_code(mic.end(), 0).out, ONE_WORDS + "\n")
            drain.join()
        self.assertRegex(shown.decode(), r"\r\x1b\[K0:0\d \[[#.]{20}\] +-?\d+ dB")
        os.close(ours)

    @staticmethod
    def has_pending_signal(process):
        with open(f"/proc/{process}/status") as status:
            return "ShdPnd:\t0000000000000000\n" not in status.read()

    @staticmethod
    def read_all(terminal):
        try:
            while os.read(terminal, 4096):
                pass
        except OSError:
            pass  # the other side is closed


class Saved(MicTest):
    def test_what_was_heard_is_kept_to_the_bit_and_whole_at_any_moment(self):
        saved = self.path("saved.wav")
        with Mic(self, VOXTRAL, "--quiet", "--format", "jsonl", "--save-audio", saved) as mic:
            said = pcm(ONE, behind_s=2)
            mic.say(said)
            mic.wait_for(type="word", text="four")
            # While it is written, and, since the program cannot know what comes, after a kill.
            during = self.assert_code(run("transcribe", "--model", VOXTRAL, "--quiet", "--kv", "f32", "--format",
                                          "text", saved), 0)
            mic.all_is_captured()
            mic.process.kill()
            mic.process.wait()
        self.assertEqual(during.out.split(), ONE_WORDS.split())
        again = self.assert_code(run("transcribe", "--model", VOXTRAL, "--quiet", "--kv", "f32", "--format",
                                     "text", saved), 0)
        self.assertEqual(again.out, ONE_WORDS + "\n")
        content = saved.read_bytes()
        self.assertEqual(content[90:94], struct.pack("<I", len(content) - 94))
        kept = array.array("f", content[94:])
        self.assertEqual([round(x * 32768) for x in kept], list(array.array("h", said.ljust(
            2 * len(kept), b"\0")[:2 * len(kept)])))
        self.assertGreater(len(kept), len(said) // 2 - mic.rate)

    def test_a_file_that_cannot_be_written_is_refused_before_anything_begins(self):
        self.assert_refused(run("mic", "--model", VOXTRAL, "--quiet", "--device", "fake", "--save-audio",
                                self.path("no/saved.wav"), env=self.config()), 1, "--save-audio", "no/saved.wav")


class Utterances(MicTest):
    def test_a_model_that_is_not_live_hears_one_after_the_other(self):
        with Mic(self, NANO, "--quiet") as mic:
            mic.say(pcm(TWO, behind_s=2))
            # Shown while the microphone is still open.
            lines = mic.line(mic.process.stdout, "Speaker 0: message time")
            mic.say(pcm(SAMPLES / "digits-jackson.wav"))
            outcome = self.assert_code(mic.end(), 0)
        lines = (lines + outcome.out).splitlines()
        self.assertEqual(" ".join(line.split(": ")[1] for line in lines),
                         TWO_WORDS + " seven three one nine zero five two")
        starts = [float(line[1:].split()[0]) for line in lines]
        self.assertAlmostEqual(starts[0], 0.9, delta=0.2)
        self.assertEqual(starts, sorted(starts))
        # Behind the first recording and its silences.
        self.assertGreater(starts[-1], 0.5 + 5.6 + 2 + 0.5 + 3)

    def test_speech_without_a_pause_is_cut_at_the_bound(self):
        with Mic(self, NANO, "--quiet", "--format", "jsonl", "--max-utterance", "2") as mic:
            mic.say(pcm(SAMPLES / "digits-jackson.wav", behind_s=2))
            outcome = mic.end()
        found = [json.loads(x) for x in outcome.out.splitlines()]
        segments = [x for x in found if x["type"] == "segment"]
        self.assertGreater(len(segments), 1)
        self.assertEqual(found[-1]["text"], " ".join(x["text"] for x in segments))
        self.assertGreater(found[-1]["duration"], 3)


class Refused(MicTest):
    def test_devices_are_listed(self):
        outcome = self.assert_code(run("mic", "--list-devices", env=self.config()), 0)
        self.assertEqual((outcome.out, outcome.err), ("fake\n    A fake microphone\n", ""))

    def test_an_unknown_device_is_named(self):
        self.assert_refused(run("mic", "--quiet", "--model", VOXTRAL, "--device", "nowhere", env=self.config()), 1,
                            "'nowhere'")

    def test_a_missing_library_is_named(self):
        # The folder is searched first, and what it holds is no library.
        self.write("libasound.so.2", "no library")
        env = {"LD_LIBRARY_PATH": str(self.folder)}
        for flags in (["--list-devices"], ["--quiet", "--model", VOXTRAL]):
            self.assert_refused(run("mic", *flags, env=env), 1, "libasound.so.2", "install")

    def test_mistakes_of_the_command_line_are_named(self):
        for flags, said in [(["--max-utterance", "0.5"], "--max-utterance"), (["--format", "srt"], "text, jsonl"),
                            (["--delay-ms", "100"], "--delay-ms"), (["file.wav"], "'file.wav'"),
                            (["--blank-rut", "0"], "--blank-rut"), (["--eos", "never"], "--eos")]:
            with self.subTest(flags):
                self.assert_refused(run("mic", *flags), 2, said)


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit("usage: test_mic.py PROGRAM [unittest arguments]")
    harness.program = os.path.abspath(sys.argv.pop(1))
    unittest.main()
