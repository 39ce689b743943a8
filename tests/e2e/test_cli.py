#!/usr/bin/env python3
"""Drives the program as a user does: test_cli.py PROGRAM [unittest arguments].

PROGRAM is an installed or a built verbatim; tests that need its bundled checkpoint are skipped where
there is none beside it. With VERBATIM_UPDATE_GOLDEN=1 the texts of --help are written anew."""

import json
import os
import pathlib
import pty
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import unittest

import harness
from harness import (NANO, ROOT, SAMPLES, TIMEOUT_S, TWO, TWO_WORDS, TestCase, checkpoint_copy, interrupted,
                     pack16, parsed, run, samples_of, silence, transcribe, wav)

GOLDEN = ROOT / "tests" / "golden" / "cli"
FORMATS = {"text": "txt", "json": "json", "verbose_json": "verbose.json",
           "diarized_json": "diarized.json", "srt": "srt", "vtt": "vtt", "tsv": "tsv",
           "rttm": "rttm", "ctm": "ctm"}
LINES = ["[0.40 - 2.00] Speaker 0: message time", "[2.50 - 3.30] Speaker 1: nine four",
         "[4.50 - 5.20] Speaker 0: goodbye"]


def words(outcome):
    return parsed(outcome)["text"]


def stereo(left, right):
    size = max(len(left), len(right))
    mixed = []
    for i in range(size):
        mixed += [left[i] if i < len(left) else 0, right[i] if i < len(right) else 0]
    return mixed


class Help(TestCase):
    def check(self, name, *arguments):
        outcome = self.assert_code(run(*arguments), 0)
        self.assertEqual(outcome.err, "")
        golden = GOLDEN / f"{name}.txt"
        if os.environ.get("VERBATIM_UPDATE_GOLDEN"):
            golden.write_text(outcome.out)
        self.assertEqual(outcome.out, golden.read_text())

    def test_every_help_is_its_golden_text(self):
        self.check("help", "--help")
        for command in ("transcribe", "stream", "mic", "info", "devices", "quantize", "calibrate"):
            self.check(command, command, "--help")

    def test_version_names_the_program_and_its_unicode(self):
        self.assertRegex(self.assert_code(run("--version"), 0).out, r"^verbatim \d+\.\d+\.\d+\nUnicode \d+\.\d+\.\d+\n$")

    def test_every_flag_of_the_help_is_used_in_these_tests(self):
        own = "".join(p.read_text() for p in pathlib.Path(__file__).parent.glob("*.py"))
        for command in ("transcribe", "stream", "mic", "info", "devices", "quantize", "calibrate"):
            for line in run(command, "--help").out.splitlines():
                if line.startswith("  --"):
                    self.assertIn(f'"{line.split()[0]}', own)


class Usage(TestCase):
    def test_mistakes_of_the_command_line_are_named(self):
        for arguments, said in [
            ([], "COMMAND"),
            (["transcibe"], "'transcibe'"),
            (["transcribe"], "AUDIO"),
            (["transcribe", "--modle", "x", TWO], "the nearest is --model"),
            (["transcribe", "--temperature", "warm", TWO], "--temperature: expected a number from 0"),
            (["transcribe", "--top-p", "0", TWO], "--top-p"),
            (["transcribe", "--seed", "-1", TWO], "--seed"),
            (["transcribe", "--threads", "0", TWO], "--threads"),
            (["transcribe", "--parallel", "x", TWO], "--parallel"),
            (["transcribe", "--channels", "left", TWO], "mix, split"),
            (["transcribe", "--kv", "f8", TWO], "f16, f32"),
            (["transcribe", "--tail", "no", TWO], "ms, hf"),
            (["transcribe", "--format", "xml", TWO], "diarized_json"),
            (["transcribe", "--format", "text,srt", TWO], "--output"),
            (["transcribe", "--memory-limit", "much", TWO], "--memory-limit"),
            (["transcribe", "--start", "1:99", TWO], "--start"),
            (["transcribe", "--language", "klingonish", TWO], "klingonish"),
            (["transcribe", "--ffmpeg", "/no/ffmpeg", TWO], "--ffmpeg"),
            (["transcribe", "--rate", "8000", TWO], "--rate"),
            (["transcribe", "--output", "x", TWO, SAMPLES / "nato-slt.wav"], "--output-dir"),
            (["transcribe", "--dump", "x", TWO, SAMPLES / "nato-slt.wav"], "--dump"),
            (["transcribe", "--dump-filter", "x", TWO], "--dump-filter"),
            (["transcribe", "--skip-existing", TWO], "--skip-existing"),
            (["info", "file"], "'file'"),
            (["devices", "--all"], "--all"),
        ]:
            with self.subTest(arguments):
                self.assert_refused(run(*arguments), 2, said)

    def test_an_isa_that_does_not_run_here_is_refused(self):
        self.assert_refused(transcribe("--isa", "mmx", "--quiet", TWO), 2, "mmx", "scalar")

    def test_a_variable_stands_in_for_a_flag(self):
        outcome = self.assert_code(transcribe(TWO, env={"VERBATIM_FORMAT": "json",
                                                        "VERBATIM_QUIET": "1"}), 0)
        self.assertEqual(words(outcome), TWO_WORDS)
        self.assertEqual(outcome.err, "")
        self.assert_refused(transcribe(TWO, env={"VERBATIM_SEED": "x"}), 2, "VERBATIM_SEED", "'x'")


class Transcribe(TestCase):
    def test_the_default_is_a_line_per_segment(self):
        outcome = self.assert_code(transcribe(TWO), 0)
        self.assertEqual(outcome.out.splitlines(), LINES)
        for stage in ("load", "encode", "prefill", "decode"):
            self.assertRegex(outcome.err, f"(?m): {stage}$")

    def test_quiet_leaves_stderr_empty(self):
        self.assertEqual(self.assert_code(transcribe("--quiet", TWO), 0).err, "")

    def test_every_format_goes_to_stdout(self):
        for name in FORMATS:
            with self.subTest(name):
                outcome = self.assert_code(transcribe("--quiet", "--format", name, TWO), 0)
                for word in TWO_WORDS.split():
                    if name != "rttm":
                        self.assertIn(word, outcome.out)
                if name.endswith("json"):
                    self.assertNotIn("warnings", parsed(outcome))

    def test_several_formats_are_files_with_their_extensions(self):
        self.assert_code(transcribe("--quiet", "--format", ",".join(FORMATS), "--output",
                                    self.path("o"), TWO), 0)
        self.assertEqual(self.listing(), sorted(f"o.{x}" for x in FORMATS.values()))

    def test_one_format_is_the_file_itself_and_replaces_an_old_one(self):
        self.write("o", "old")
        self.assert_code(transcribe("--quiet", "--format", "text", "--output", self.path("o"), TWO), 0)
        self.assertEqual(self.path("o").read_text(), TWO_WORDS + "\n")
        self.assertEqual(self.listing(), ["o"])

    def test_subtitle_lines_wrap(self):
        outcome = transcribe("--quiet", "--format", "srt", "--max-line-chars", "9",
                             SAMPLES / "commands-joe.wav")
        text = [x for x in self.assert_code(outcome, 0).out.splitlines() if x and "-->" not in x]
        self.assertIn("play next", text)
        self.assertIn("music", text)

    def test_flags_of_recognition_are_taken(self):
        outcome = self.assert_code(transcribe(
            "--quiet", "--format", "verbose_json", "--hotwords", "goodbye,nine", "--context", "a test",
            "--language", "en", "--tail", "ms", "--acoustic-sampling", "mode", "--seed", "7",
            "--temperature", "0", "--top-p", "1", "--max-new-tokens", "4000", "--threads", "1",
            "--isa", "scalar", "--kv", "f32", "--max-context", "2000", "--memory-limit", "1G", TWO), 0)
        self.assertEqual(parsed(outcome)["language"], "english")

    def test_the_same_seed_draws_the_same(self):
        arguments = ["--quiet", "--format", "json", "--temperature", "1.5", "--acoustic-sampling",
                     "gaussian", "--max-new-tokens", "60", "--seed"]
        first, second, other = (transcribe(*arguments, seed, TWO).out for seed in (5, 5, 6))
        self.assertEqual(first, second)
        self.assertNotEqual(first, other)

    def test_neither_threads_nor_isa_change_a_byte(self):
        bodies = {transcribe("--quiet", "--format", "verbose_json", "--threads", n, "--isa", isa,
                             TWO).out for n, isa in ((1, "scalar"), (2, "scalar"), (2, best_isa()))}
        self.assertEqual(len(bodies), 1)

    def test_start_and_duration_cut(self):
        outcome = transcribe("--quiet", "--format", "json", "--start", "0:02.2", "--duration", "1.6",
                             TWO)
        self.assertEqual(parsed(outcome)["text"], "nine four", outcome)
        self.assertEqual(parsed(outcome)["usage"]["seconds"], 2)

    def test_a_start_beyond_the_end_is_refused(self):
        self.assert_refused(transcribe("--quiet", "--start", "60", TWO), 2, TWO, "beyond its end")

    def test_stdin_carries_a_file_or_raw_pcm(self):
        self.assertEqual(words(transcribe("--quiet", "--format", "json", "-",
                                          stdin=TWO.read_bytes())), TWO_WORDS)
        samples, rate = samples_of(TWO)
        raw = struct.pack(f"<{len(samples)}f", *(x / 32768 for x in samples))
        outcome = transcribe("--quiet", "--format", "json", "--rate", rate, "--sample-format",
                             "f32le", "--input-channels", "1", "-", stdin=raw)
        self.assertEqual(outcome.out, transcribe("--quiet", "--format", "json", TWO).out)

    def test_channels_apart_are_merged_by_time(self):
        left, rate = samples_of(TWO)
        right, _ = samples_of(SAMPLES / "nato-slt.wav")
        call = wav(pack16(stereo(left, right)), rate, 2)
        file = self.write("call.wav", call)
        outcome = self.assert_code(transcribe("--quiet", "--format", "json", "--channels", "split",
                                              file), 0)
        segments = parsed(outcome)["segments"]
        starts = [x["start"] for x in segments]
        self.assertEqual(starts, sorted(starts))
        of_left = " ".join(x["text"] for x in segments if x["speaker_id"] < 2)
        self.assertEqual(of_left, TWO_WORDS)
        self.assertEqual({x["speaker_id"] for x in segments}, {0, 1, 2})
        piped = transcribe("--quiet", "--format", "json", "--channels", "split", "-", stdin=call)
        self.assertEqual(piped.out, outcome.out)
        mixed = transcribe("--quiet", "--format", "json", "--channels", "mix", file)
        self.assertEqual(parsed(mixed)["usage"], parsed(outcome)["usage"])

    def test_reports_have_their_figures(self):
        outcome = self.assert_code(transcribe("--stats", "--profile", "--stats-json",
                                              self.path("s.json"), TWO), 0)
        self.assertEqual(outcome.out.splitlines(), LINES)
        self.assertIn("tokens/s", outcome.err)
        self.assertIn("q_proj", outcome.err)
        stats = json.loads(self.path("s.json").read_text())
        self.assertEqual(stats["schema"], 1)
        self.assertEqual([x["stage"] for x in stats["files"][0]["stages"]],
                         ["read", "encode", "prefill", "decode"])
        self.assertGreater(stats["files"][0]["stages"][3]["tokens"], 10)
        self.assertGreater(stats["memory"]["peak_bytes"], 1 << 20)

    def test_a_dump_holds_what_the_filter_names(self):
        dump = self.path("d.safetensors")
        self.assert_code(transcribe("--quiet", "--dump", dump, "--dump-filter", "dec.0.*", TWO), 0)
        first = dump.read_bytes()
        header = json.loads(first[8:8 + struct.unpack("<Q", first[:8])[0]])
        names = [x for x in header if x != "__metadata__"]
        self.assertIn("dec.0.out", names)
        self.assertTrue(all(x.startswith("dec.0.") for x in names), names)
        self.assert_code(transcribe("--quiet", "--dump", dump, "--dump-filter", "dec.0.*", TWO), 0)
        self.assertEqual(dump.read_bytes(), first)

    def test_the_bundled_checkpoint_is_the_default(self):
        outcome = run("transcribe", TWO, cwd=self.folder)
        if "--model: none was given" in outcome.err:
            self.skipTest("no checkpoint lies beside this program")
        self.assert_code(outcome, 0)
        self.assertEqual(outcome.out.splitlines(), LINES)
        self.assertIn("using the bundled", outcome.err.splitlines()[0])
        named = self.assert_code(run("transcribe", "--model", "nano-vibevoice", TWO), 0)
        self.assertNotIn("using the bundled", named.err)
        self.assert_code(run("info", "--json"), 0)


class Warned(TestCase):
    """What is not whole is delivered, flagged, and told by exit code 3."""

    def check(self, code, file, *flags):
        outcome = self.assert_code(transcribe("--quiet", "--format", "json", *flags, file), 3)
        found = parsed(outcome)["warnings"]
        self.assertIn(code, [x["code"] for x in found])
        self.assertIn(f"({code}", outcome.err)
        self.assertIn(str(file), outcome.err)
        return parsed(outcome)

    def test_an_answer_that_was_cut_short(self):
        body = self.check("truncated", TWO, "--max-new-tokens", "30")
        self.assertIn("message time", body["text"])

    def test_samples_that_are_no_numbers_count_as_silence(self):
        samples, rate = samples_of(TWO)
        values = [x / 32768 for x in samples]
        values[10], values[11], values[12] = float("nan"), float("inf"), -float("inf")
        file = self.write("nan.wav", wav(struct.pack(f"<{len(values)}f", *values), rate, 1, 32, 3))
        self.assertEqual(self.check("audio_not_finite", file)["text"], TWO_WORDS)

    def test_a_file_that_ends_before_its_header_says(self):
        samples, rate = samples_of(TWO)
        pcm = pack16(samples)
        file = self.write("cut.wav", wav(pcm, rate, data_bytes=2 * len(pcm)))
        self.assertEqual(self.check("audio_truncated", file)["text"], TWO_WORDS)

    def test_a_file_that_ends_inside_a_frame(self):
        samples, rate = samples_of(TWO)
        file = self.write("odd.wav", wav(pack16(samples)[:-1], rate, data_bytes=2 * len(samples)))
        self.check("audio_truncated", file)

    def test_a_warning_of_one_file_is_the_code_of_many(self):
        pcm = bytes(48000)
        self.write("in/a.wav", TWO.read_bytes())
        self.write("in/b.wav", wav(pcm, data_bytes=96000))
        outcome = transcribe("--quiet", "--output-dir", self.path("out"), self.path("in"))
        self.assert_code(outcome, 3)
        self.assertEqual(self.listing("out"), ["a.txt", "b.txt"])


class Many(TestCase):
    def setUp(self):
        super().setUp()
        names = ["two-speakers", "nato-slt", "digits-jackson"]
        for name in names:
            self.write(f"in/{name}.wav", (SAMPLES / f"{name}.wav").read_bytes())
        self.write("in/sub/two-speakers.wav", TWO.read_bytes())
        self.write("in/notes.txt", "no audio")

    def bodies(self, below):
        return {x: self.path(below).joinpath(x).read_bytes() for x in self.listing(below)}

    def test_at_once_gives_the_bytes_of_one_by_one(self):
        formats = "json,srt"
        self.assert_code(transcribe("--quiet", "--format", formats, "--output-dir",
                                    self.path("one"), self.path("in")), 0)
        self.assertEqual(len(self.listing("one")), 8)
        self.assertIn("sub/two-speakers.json", self.listing("one"))
        self.assert_code(transcribe("--quiet", "--format", formats, "--parallel", "3",
                                    "--output-dir", self.path("three"), self.path("in")), 0)
        self.assertEqual(self.bodies("one"), self.bodies("three"))
        alone = transcribe("--quiet", "--format", "json", TWO)
        self.assertEqual(self.bodies("one")["two-speakers.json"].decode(), alone.out)

    def test_names_do_not_clash(self):
        self.write("more/two-speakers.wav", TWO.read_bytes())
        self.write("more/nato-slt.flac", self.path("in/nato-slt.wav").read_bytes())
        self.assert_code(transcribe(
            "--quiet", "--output-dir", self.path("out"), self.path("in/two-speakers.wav"),
            self.path("more/two-speakers.wav"), self.path("in/nato-slt.wav"),
            self.path("more/nato-slt.flac")), 0)
        self.assertEqual(self.listing("out"), ["nato-slt.flac.txt", "nato-slt.wav.txt",
                                               "two-speakers.wav-1.txt", "two-speakers.wav-2.txt"])

    def test_a_run_is_resumed(self):
        arguments = ["--format", "text", "--skip-existing", "--output-dir", self.path("out"),
                     "--stats-json", self.path("s.json"), self.path("in")]
        self.assert_code(transcribe(*arguments), 0)
        self.path("out/nato-slt.txt").unlink()
        self.path("out/two-speakers.txt").write_text("kept")
        outcome = self.assert_code(transcribe(*arguments), 0)
        self.assertEqual(outcome.err.count("skipped"), 3, outcome)
        self.assertEqual(self.path("out/two-speakers.txt").read_text(), "kept")
        self.assertTrue(self.path("out/nato-slt.txt").exists())
        outcomes = [x["outcome"] for x in json.loads(self.path("s.json").read_text())["files"]]
        self.assertEqual(sorted(outcomes), ["skipped", "skipped", "skipped", "whole"])
        self.path("s.json").unlink()
        self.assert_code(transcribe("--quiet", *arguments), 0)
        self.assertIn("skipped", self.path("s.json").read_text(), "also where no work was left")

    def test_one_failure_leaves_the_others(self):
        self.write("in/broken.wav", "RIFFxxxxWAVE")
        outcome = transcribe("--quiet", "--output-dir", self.path("out"), self.path("in"),
                             self.path("absent.wav"))
        self.assert_code(outcome, 1)
        self.assertEqual(len(self.listing("out")), 4)
        self.assertIn("broken.wav", outcome.err)
        self.assertIn("absent.wav", outcome.err)

    def test_stdout_keeps_the_order_of_the_arguments(self):
        files = [self.path(f"in/{x}.wav") for x in ("two-speakers", "nato-slt", "digits-jackson")]
        outcome = transcribe("--quiet", "--format", "text", "--parallel", "3", *files)
        lines = self.assert_code(outcome, 0).out.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertEqual(lines[0], TWO_WORDS)
        self.assertIn("alpha bravo", lines[1])
        self.assert_refused(transcribe("--quiet", "--format", "srt", *files), 2, "--output-dir")


class BadAudio(TestCase):
    def refuse(self, name, content, *words):
        file = self.write(name, content)
        outcome = transcribe("--quiet", "--output", self.path("o.txt"), file)
        self.assert_refused(outcome, 1, file, *words)
        self.assertEqual(self.listing(), [name], "nothing is left")
        file.unlink()

    def test_a_missing_file(self):
        self.assert_refused(transcribe("--quiet", self.path("no.wav")), 1, self.path("no.wav"))

    def test_a_folder_without_audio(self):
        self.write("in/notes.txt", "no audio")
        self.assert_refused(transcribe("--quiet", self.path("in")), 1, self.path("in"))

    def test_an_empty_file(self):
        self.refuse("empty.wav", b"")

    def test_a_text_named_wav(self):
        self.refuse("text.wav", "this is a letter, not a recording\n" * 20)

    def test_no_frames(self):
        self.refuse("none.wav", wav(b""), "no audio")

    def test_impossible_headers(self):
        self.refuse("rate.wav", wav(bytes(200), 0), "0 Hz")
        self.refuse("channels.wav", wav(bytes(200000), 24000, 1000), "1000 channels")

    def test_one_frame_is_transcribed(self):
        outcome = transcribe("--quiet", "--format", "json", self.write("one.wav", wav(b"\0\1")))
        self.assertIn(outcome.code, (0, 3), outcome)
        self.assertIn("segments", parsed(outcome))

    def test_more_audio_than_the_context_holds(self):
        file = self.write("long.wav", silence(700, 8000))
        begin = time.monotonic()
        self.assert_refused(transcribe("--quiet", file), 1, "700.0 s", "--max-context")
        self.assertLess(time.monotonic() - begin, 60)
        self.assert_refused(transcribe("--quiet", "--max-context", "100", TWO), 1, "--max-context")

    def test_too_little_memory(self):
        self.assert_refused(transcribe("--quiet", "--memory-limit", "1M", TWO), 1, "weights", "1.0 MiB")

    def test_a_terminal_is_no_recording(self):
        main, child = pty.openpty()
        try:
            done = subprocess.run([harness.program, "transcribe", "--model", str(NANO), "-"], stdin=child,
                                  capture_output=True, env=harness.environment(), timeout=TIMEOUT_S)
        finally:
            os.close(main)
            os.close(child)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"terminal", done.stderr)


class BadCheckpoint(TestCase):
    def refuse(self, *words):
        for command in (["transcribe", "--quiet"], ["info"]):
            arguments = [*command, "--model", self.path("m")]
            self.assert_refused(run(*arguments, *([TWO] if command[0] == "transcribe" else [])), 1, *words)

    def test_no_folder(self):
        self.refuse(self.path("m"))

    def test_a_folder_without_config(self):
        checkpoint_copy(self.path("m"))
        self.path("m/config.json").unlink()
        self.refuse("config.json")

    def test_weights_that_were_cut(self):
        weights = checkpoint_copy(self.path("m")) / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-1000])
        self.refuse("model.safetensors")

    def test_a_header_larger_than_its_file(self):
        weights = checkpoint_copy(self.path("m")) / "model.safetensors"
        weights.write_bytes(struct.pack("<Q", 1 << 40) + weights.read_bytes()[8:])
        self.refuse("model.safetensors")

    def rename_tensor(self, old, new):
        weights = checkpoint_copy(self.path("m")) / "model.safetensors"
        content = weights.read_bytes()
        size = struct.unpack("<Q", content[:8])[0]
        header = content[8:8 + size].replace(f'"{old}"'.encode(), f'"{new}"'.encode())
        self.assertNotEqual(header, content[8:8 + size])
        weights.write_bytes(struct.pack("<Q", len(header)) + header + content[8 + size:])

    def test_a_tensor_under_another_name(self):
        self.rename_tensor("model.language_model.norm.weight", "model.language_model.morn.weight")
        self.refuse("model.language_model.")

    def test_numbers_that_cannot_be(self):
        config = checkpoint_copy(self.path("m")) / "config.json"
        text = config.read_text()
        body = json.loads(text)
        body["decoder_config"]["num_attention_heads"] = -4
        config.write_text(json.dumps(body))
        self.refuse("num_attention_heads", "-4")

    def test_a_tokenizer_of_another_size(self):
        tokenizer = ROOT / "models" / "qwen2.5-tokenizer" / "tokenizer.json"
        self.assert_refused(transcribe("--quiet", "--tokenizer", tokenizer, TWO), 1, tokenizer)
        self.assert_code(transcribe("--quiet", "--tokenizer", NANO / "tokenizer.json", TWO), 0)


class BadOutput(TestCase):
    def test_a_folder_that_is_not_there(self):
        target = self.path("no/o.txt")
        outcome = transcribe("--output", target, TWO)
        self.assert_refused(outcome, 1, "--output", target)
        self.assertNotIn("encode", outcome.err, "told before the work")
        for flag in ("--stats-json", "--dump"):
            self.assert_refused(transcribe(flag, target, TWO), 1, flag, target)

    def test_a_folder_in_the_place_of_the_file(self):
        self.path("o").mkdir()
        self.assert_refused(transcribe("--output", self.path("o"), TWO), 1, self.path("o"))

    def test_a_recording_is_not_overwritten(self):
        file = self.write("a.txt", TWO.read_bytes())
        self.assert_refused(transcribe("--quiet", "--output", file, file), 2, file)
        self.assertEqual(file.read_bytes(), TWO.read_bytes())

    def test_a_full_device(self):
        self.assert_refused(transcribe("--quiet", "--output", "/dev/full", TWO), 1, "/dev/full")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([harness.program, "transcribe", "--quiet", "--model", str(NANO), str(TWO)],
                                  stdout=full, stderr=subprocess.PIPE, env=harness.environment(),
                                  timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"stdout", done.stderr)

    def test_a_full_disk_leaves_nothing(self):
        disk = self.path("disk")
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(disk)],
                                 capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("a small disk cannot be mounted: " + mounted.stderr.decode().strip())
        try:
            (disk / "filler").write_bytes(bytes(4096))
            outcome = transcribe("--quiet", "--format", "json", "--output", disk / "o.json", TWO)
            self.assert_refused(outcome, 1, disk / "o.json", "No space left")
            self.assertEqual(self.listing("disk"), ["filler"])
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    def test_stdout_by_its_path(self):
        with open(self.path("o"), "wb") as out:
            out.write(b"before\n")
            out.flush()
            done = subprocess.run([harness.program, "transcribe", "--quiet", "--model", str(NANO),
                                   "--format", "text", "--output", "/dev/stdout", str(TWO)], stdout=out,
                                  env=harness.environment(), timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.path("o").read_text(), "before\n" + TWO_WORDS + "\n")

    def test_a_reader_that_leaves(self):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([harness.program, "transcribe", "--quiet", "--model", str(NANO), str(TWO)],
                              stdout=write, stderr=subprocess.PIPE, env=harness.environment(),
                              timeout=TIMEOUT_S)
        os.close(write)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"stdout", done.stderr)

    def test_read_only_folder(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        self.folder.chmod(0o500)
        self.addCleanup(self.folder.chmod, 0o700)
        self.assert_refused(transcribe("--output", self.path("o.txt"), TWO), 1, self.path("o.txt"))


class Ffmpeg(TestCase):
    """Programs that stand in for ffmpeg, and the real one where it is installed."""

    def fake(self, body):
        script = self.write("ffmpeg", "#!/bin/sh\n" + body)
        script.chmod(0o755)
        return script

    def test_absent(self):
        file = self.write("a.mp3", b"ID3\3" + bytes(500))
        self.assert_refused(transcribe("--quiet", "--ffmpeg", "off", file), 1, file, "ffmpeg")
        empty = self.path("empty")
        empty.mkdir()
        self.assert_refused(transcribe("--quiet", file, env={"PATH": str(empty)}), 1, file, "ffmpeg")

    def test_failing(self):
        file = self.write("a.mp3", b"ID3\3" + bytes(500))
        script = self.fake("echo 'moov atom not found' >&2\nexit 1\n")
        self.assert_refused(transcribe("--quiet", "--ffmpeg", script, file), 1, file, "moov atom")

    def test_printing_no_audio(self):
        file = self.write("a.mp3", b"ID3\3" + bytes(500))
        self.assert_refused(transcribe("--quiet", "--ffmpeg", self.fake("echo hello\n"), file), 1, file)

    def test_printing_without_end(self):
        file = self.write("a.mp3", b"ID3\3" + bytes(500))
        header = self.write("header", wav(b"", 24000, 1, 32, 3, 0xFFFFFFFF))
        script = self.fake(f"/bin/cat {header} /dev/zero\n")
        self.assert_refused(transcribe("--quiet", "--ffmpeg", script, file), 1, file, "s of audio")

    def test_hanging_ends_at_ctrl_c(self):
        file = self.write("a.mp3", b"ID3\3" + bytes(500))
        script = self.fake("exec /bin/sleep 1000\n")
        with subprocess.Popen([harness.program, "transcribe", "--model", str(NANO), "--ffmpeg", str(script),
                               str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=harness.environment()) as process:
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual((process.returncode, out), (130, b""), err)
        self.assertEqual(err.count(b"interrupted"), 1, err)

    def test_hanging_ends_by_itself(self):
        code, err = hanging.result()
        self.assertEqual(code, 1, err)
        self.assertIn("hang.mp3", err)

    def test_the_real_one(self):
        if shutil.which("ffmpeg") is None:
            self.skipTest("ffmpeg is not installed")
        mp4 = self.path("a.m4a")
        subprocess.run(["ffmpeg", "-v", "error", "-i", str(TWO), "-b:a", "192k", str(mp4)], check=True)
        outcome = self.assert_code(transcribe("--quiet", "--format", "json", "--ffmpeg", "auto", mp4), 0)
        self.assertEqual(words(outcome), TWO_WORDS)
        piped = transcribe("--quiet", "--format", "json", "-", stdin=mp4.read_bytes())
        self.assertEqual(piped.out, outcome.out)

    def test_a_playlist_opens_no_other_file(self):
        if shutil.which("ffmpeg") is None:
            self.skipTest("ffmpeg is not installed")
        for name, text in {"list.mp3": f"#EXTM3U\n#EXTINF:5,\n{TWO}\n#EXT-X-ENDLIST\n",
                           "concat.mp3": f"ffconcat version 1.0\nfile '{TWO}'\n"}.items():
            file = self.write(name, text)
            self.assert_refused(transcribe("--quiet", file), 1, file)


class Hanging:
    """An ffmpeg that never answers takes a minute to be given up, while the other tests run."""

    def __init__(self):
        self.folder = pathlib.Path(harness.tempfile.mkdtemp(prefix="verbatim-e2e-hang-"))
        script = self.folder / "ffmpeg"
        script.write_text("#!/bin/sh\nexec /bin/sleep 1000\n")
        script.chmod(0o755)
        (self.folder / "hang.mp3").write_bytes(b"ID3\3" + bytes(500))
        self.process = subprocess.Popen(
            [harness.program, "transcribe", "--quiet", "--model", str(NANO), "--ffmpeg", str(script),
             str(self.folder / "hang.mp3")], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, env=harness.environment())

    def result(self):
        err = self.process.communicate(timeout=TIMEOUT_S)[1].decode()
        return self.process.returncode, err

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # so that it takes its ffmpeg along
            self.process.communicate(timeout=TIMEOUT_S)
        shutil.rmtree(self.folder, ignore_errors=True)


hanging = None


def setUpModule():
    global hanging
    hanging = Hanging()


def tearDownModule():
    hanging.close()


class Interrupted(TestCase):
    def arguments(self, *more):
        return ["transcribe", "--model", NANO, "--format", "json", "--output", self.path("o.json"), *more]

    def check(self, outcome):
        self.assert_code(outcome, 130)
        self.assertEqual(self.listing(), ["o.json"])
        body = json.loads(self.path("o.json").read_text())
        self.assertIn("interrupted", [x["code"] for x in body["warnings"]])
        self.assertIn("(interrupted", outcome.err)

    def test_while_audio_is_read(self):
        read, write = os.pipe()
        os.write(write, bytes(1000))
        outcome = interrupted(self.arguments("--rate", "8000", "-"), "read", read)
        os.close(write)
        os.close(read)
        self.assert_code(outcome, 130)
        self.assertEqual(self.listing(), [])

    def test_while_the_model_is_loaded(self):
        outcome = interrupted(self.arguments(SAMPLES / "long-two-speakers.wav"), "load")
        self.assert_code(outcome, 130)
        self.assertLessEqual(set(self.listing()), {"o.json"})

    def test_while_audio_is_encoded(self):
        self.check(interrupted(self.arguments(SAMPLES / "long-two-speakers.wav"), "encode"))

    # The best kernels pass these two stages in a few milliseconds, the plain ones in hundreds.
    slowly = ["--isa", "scalar", "--threads", "1"]

    def test_while_the_prompt_is_read(self):
        self.check(interrupted(self.arguments(*self.slowly, TWO), "prefill"))

    def test_while_text_is_decoded(self):
        self.check(interrupted(self.arguments(*self.slowly, TWO), "decode"))

    def test_many_keep_what_is_whole_apart(self):
        for name in "ab":
            self.write(f"in/{name}.wav", (SAMPLES / "long-two-speakers.wav").read_bytes())
        outcome = interrupted(["transcribe", "--model", NANO, "--output-dir", self.path("out"),
                               self.path("in")], "encode")
        self.assert_code(outcome, 130)
        self.assertEqual(self.listing("out"), ["a.interrupted.txt"])
        self.assertIn("1 of 2 recordings not begun", outcome.err)


class OnATerminal(TestCase):
    def on_terminal(self, *arguments, out_too=True):
        main, child = pty.openpty()
        process = subprocess.Popen([harness.program, "transcribe", "--model", str(NANO), *map(str, arguments)],
                                   stdin=subprocess.DEVNULL, stderr=child,
                                   stdout=child if out_too else subprocess.PIPE,
                                   env=harness.environment())
        os.close(child)
        shown = []
        reader = threading.Thread(target=read_all, args=(main, shown))
        reader.start()
        out = process.communicate(timeout=TIMEOUT_S)[0]
        reader.join()
        os.close(main)
        self.assertEqual(process.returncode, 0, shown)
        return b"".join(shown).decode(), (out or b"").decode()

    def test_segments_are_shown_once_and_progress_is_a_line(self):
        shown, _ = self.on_terminal(TWO)
        for line in LINES:
            self.assertEqual(shown.count(line), 1, shown)
        self.assertIn("decode", shown)
        self.assertIn("\r\x1b[K", shown)
        self.assertIn("%", shown)

    def test_json_is_not_mixed_with_segments(self):
        shown, _ = self.on_terminal("--quiet", "--format", "json", TWO)
        self.assertEqual(json.loads(shown)["text"], TWO_WORDS)

    def test_segments_are_progress_where_the_result_goes_elsewhere(self):
        shown, out = self.on_terminal("--format", "json", TWO, out_too=False)
        self.assertEqual(json.loads(out)["text"], TWO_WORDS)
        self.assertIn(LINES[1], shown)


def read_all(file, into):
    while True:
        try:
            part = os.read(file, 65536)
        except OSError:  # Linux's answer where the other end has gone
            return
        if not part:
            return
        into.append(part)


def best_isa():
    return parsed(run("devices", "--json"))["isa_tables"][0]


class Describe(TestCase):
    def test_info_has_its_keys(self):
        body = parsed(self.assert_code(run("info", "--model", NANO, "--json"), 0))
        self.assertEqual(body["family"], "vibevoice")
        self.assertEqual(body["parameters"], 4200200)
        self.assertEqual(body["sizes"]["hidden_size"], 128)
        for key in ("weights_bytes", "kv_bytes_per_minute", "arena_bytes", "tokenizer_size"):
            self.assertGreater(body[key], 0)
        text = self.assert_code(run("info", "--model", NANO), 0).out
        self.assertIn("4200200", text)

    def test_info_counts_at_the_chosen_options(self):
        narrow, wide = (parsed(run("info", "--model", NANO, "--json", "--kv", kv)) for kv in ("f16", "f32"))
        self.assertEqual(wide["kv_bytes_per_minute"], 2 * narrow["kv_bytes_per_minute"])

    def test_devices_name_the_tables(self):
        body = parsed(self.assert_code(run("devices", "--json"), 0))
        self.assertIn("scalar", body["isa_tables"])
        self.assertEqual(body["devices"][0]["chosen"], body["isa_tables"][0])
        self.assertIn("(chosen)", self.assert_code(run("devices"), 0).out)


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit("usage: test_cli.py PROGRAM [unittest arguments]")
    harness.program = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
