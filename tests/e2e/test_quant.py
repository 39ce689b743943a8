#!/usr/bin/env python3
"""Drives the weight formats as a user does: test_quant.py PROGRAM [unittest arguments]."""

import json
import os
import subprocess
import sys
import unittest

import harness
from harness import NANO, ROOT, TWO, TWO_WORDS, TestCase, parsed, run, transcribe

QUANTISED = ROOT / "tests" / "golden" / "vibevoice-asr" / "quant-nf4"


class Quant(TestCase):
    def test_every_part_may_have_its_own_format(self):
        outcome = self.assert_code(
            transcribe(TWO, "--quant", "w8a8", "--encoder", "int8", "--head-quant", "int8", "--format", "json"), 0)
        self.assertEqual(parsed(outcome)["text"], TWO_WORDS)

    def test_the_filter_of_the_head_changes_no_byte(self):
        bodies = {self.assert_code(transcribe(TWO, "--head-filter", filter, "--format", "json"), 0).out
                  for filter in ("on", "off")}
        self.assertEqual(len(bodies), 1)
        self.assert_refused(transcribe(TWO, "--head-filter", "maybe"), 2, "--head-filter")

    def test_auto_says_what_it_took(self):
        outcome = self.assert_code(transcribe(TWO, "--quant", "auto"), 0)
        self.assertIn("--quant auto: int8", outcome.err)

    def test_info_counts_what_the_formats_take(self):
        sizes = {}
        for quant in ("none", "int8", "nf4"):
            told = json.loads(self.assert_code(run("info", "--model", NANO, "--json", "--quant", quant), 0).out)
            sizes[quant] = told["weights_bytes"]
            self.assertEqual(told["quantization"], "as stored" if quant == "none" else quant)
        self.assertLess(sizes["int8"], sizes["none"])
        self.assertLess(sizes["nf4"], sizes["int8"])

    def test_what_is_wrong_is_named(self):
        for arguments, said in (
                (("--quant", "int5"), "--quant: expected one of none"),
                (("--quant", "int4:48"), "--quant int4: expected groups of 32, 64 or 128"),
                (("--head-quant", "auto"), "--head-quant: expected one of none"),
                (("--encoder", "int8", "--encoder-quant", "nf4"), "--encoder int8: expected no --encoder-quant")):
            with self.subTest(arguments):
                self.assert_refused(transcribe(TWO, *arguments), 2, said)
        self.assert_refused(run("info", "--model", QUANTISED, "--quant", "int8"), 2, "is stored in nf4 already")


class Quantize(TestCase):
    def test_what_is_written_says_what_quant_says_at_load(self):
        outcome = self.assert_code(run("quantize", "--model", NANO, "--quant", "int4", "--output", self.path("made"),
                                       "--threads", "1", "--json"), 0)
        told = json.loads(outcome.out)
        self.assertEqual((told["layout"], told["weights"], told["files"]), ("compressed-tensors", 28, 1))
        self.assertLess(told["written_bytes"], told["read_bytes"])
        self.assertIn(": quantize", outcome.err)
        self.assertIn("tokenizer.json", self.listing("made"))
        at_load = self.assert_code(transcribe(TWO, "--quant", "int4", "--format", "json"), 0)
        stored = self.assert_code(run("transcribe", "--model", self.path("made"), TWO, "--format", "json"), 0)
        self.assertEqual(stored.out, at_load.out)

    def test_an_empty_folder_is_filled_and_the_text_names_it(self):
        self.path("made").mkdir()
        voxtral = ROOT / "models" / "voxtral-realtime-nano"
        outcome = self.assert_code(
            run("quantize", "--model", voxtral, "--quant", "nf4", "--output", self.path("made"), "--quiet"), 0)
        self.assertRegex(outcome.out, rf"^{self.path('made')}: 28 weights in nf4, stored as bitsandbytes nf4; ")
        self.assertEqual(outcome.err, "")

    def test_mistakes_are_named_and_leave_nothing(self):
        made = self.path("made")
        full = self.write("full/a", "a").parent
        for arguments, code, said in (
                (("--output", made), 2, "--quant"),
                (("--quant", "int4"), 2, "--output"),
                (("--quant", "none", "--output", made), 2, "nf4, int4, int8, w8a8, w4a8"),
                (("--quant", "8w", "--output", made), 2, "nf4, int4, int8, w8a8, w4a8"),
                (("--quant", "int5", "--output", made), 2, "int5"),
                (("--quant", "int4", "--output", full), 2, str(full)),
                (("--quant", "int4", "--output", full / "a"), 2, str(full / "a")),
                (("--quant", "int4", "--output", self.path("no/made")), 1, str(self.path("no"))),
                (("--quant", "int4", "--output", NANO / "made"), 2, "--output"),
                (("--quant", "int4", "--output", made, "--model", QUANTISED), 2, "stored in nf4 already"),
                (("--quant", "int4", "--output", made, "--model", self.path("no")), 1, str(self.path("no"))),
                (("--quant", "int4", "--output", made, "--tokenizer", self.path("no")), 1, str(self.path("no")))):
            with self.subTest(arguments):
                given = arguments if "--model" in arguments else (*arguments, "--model", NANO)
                self.assert_refused(run("quantize", "--quiet", *given), code, said)
                self.assertEqual(self.listing(), ["full/a"])

    def test_a_full_disk_leaves_nothing(self):
        disk = self.path("disk")
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("a small disk cannot be mounted: " + mounted.stderr.decode().strip())
        try:
            outcome = run("quantize", "--quiet", "--model", NANO, "--quant", "int4", "--output", disk / "made")
            self.assert_refused(outcome, 1, disk / "made", "its disk has")
            self.assert_refused(run("quantize", "--model", NANO, "--quant", "int4", "--output", disk), 2, "mounted")
            self.assertEqual(list(disk.iterdir()), [])
        finally:
            subprocess.run(["umount", str(disk)], check=True)


class Calibrate(TestCase):
    def test_statistics_are_made_told_and_used(self):
        stats, report = self.path("stats.safetensors"), self.path("report.txt")
        outcome = self.assert_code(
            run("calibrate", "--model", NANO, "--encoder-quant", "none", "--head-quant", "int8", "--duration", "4",
                "--ffmpeg", "off", "--output", stats, "--report", report, TWO), 0)
        self.assertEqual(outcome.out, "")
        lines = [x.split() for x in report.read_text().splitlines()]
        self.assertEqual(lines[0], ["format", "plain", "smoothed", "weight"])
        formats = {x[3]: x[0] for x in lines[1:-1]}
        self.assertEqual(len(formats), 29)
        self.assertEqual(formats["lm_head"], "int8")
        self.assertEqual(formats["model.language_model.layers.3.mlp.down_proj"], "w8a8")
        self.assertEqual(lines[-1][3:], ["of", "29", "weights"])
        told = self.assert_code(
            run("calibrate", "--model", NANO, "--quiet", "--encoder-quant", "none", "--head-quant", "int8",
                "--duration", "4", "--output", self.path("again.safetensors"), TWO), 0)
        self.assertEqual(told.out, report.read_text())
        self.assertEqual(told.err, "")
        self.assertEqual(self.path("again.safetensors").read_bytes(), stats.read_bytes())
        smoothed = self.assert_code(transcribe(TWO, "--quant", "w8a8", "--calib", stats, "--format", "json"), 0)
        self.assertEqual(parsed(smoothed)["text"], TWO_WORDS)
        self.assert_refused(transcribe(TWO, "--quiet", "--calib", stats), 2, f"--calib {stats}", "w8a8")
        voxtral = ROOT / "models" / "voxtral-realtime-nano"
        self.assert_refused(run("info", "--model", voxtral, "--quant", "w8a8", "--calib", stats), 1,
                            f"{stats}: statistics of another model")

    def test_mistakes_are_named_and_leave_nothing(self):
        made = self.path("stats.safetensors")
        for arguments, code, said in (
                (("--output", made), 2, "AUDIO"),
                ((TWO,), 2, "--output"),
                (("-", "--output", made), 2, "AUDIO: expected a file or a folder, found -"),
                ((TWO, "--quant", "auto", "--output", made), 2, "--quant"),
                ((TWO, "--quant", "int8", "--encoder-quant", "none", "--output", made), 2, "--quant"),
                ((TWO, "--output", self.path("no/stats")), 1, str(self.path("no"))),
                ((TWO, "--output", made, "--report", made), 2, str(made)),
                ((self.path("no.wav"), "--output", made), 1, "no.wav"),
                ((TWO, "--model", QUANTISED, "--output", made), 2, "is stored in nf4 already")):
            with self.subTest(arguments):
                given = arguments if "--model" in arguments else (*arguments, "--model", NANO)
                self.assert_refused(run("calibrate", "--quiet", *given), code, said)
                self.assertEqual(self.listing(), [])


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit("usage: test_quant.py PROGRAM [unittest arguments]")
    harness.program = os.path.abspath(sys.argv.pop(1))
    unittest.main()
