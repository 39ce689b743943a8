#!/usr/bin/env python3
"""Drives the weight formats as a user does: test_quant.py PROGRAM [unittest arguments]."""

import json
import os
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


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit("usage: test_quant.py PROGRAM [unittest arguments]")
    harness.program = os.path.abspath(sys.argv.pop(1))
    unittest.main()
