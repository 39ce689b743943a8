#!/usr/bin/env python3
"""What compare_dumps.py says of small files: python3 tools/compare_dumps_test.py"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent / "compare_dumps.py"


class CompareDumps(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)

    def write(self, file, tensors):
        """tensors: name -> (dtype, struct format of one element, shape, elements)."""
        header, data = {}, b""
        for name, (dtype, code, shape, elements) in tensors.items():
            piece = struct.pack(f"<{len(elements)}{code}", *elements)
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(piece)]}
            data += piece
        text = json.dumps(header).encode()
        (self.folder / file).write_bytes(struct.pack("<Q", len(text)) + text + data)

    def compare(self, expected, actual, *flags, tolerance=None):
        self.write("expected", expected)
        self.write("actual", actual)
        if tolerance is not None:
            known = tolerance if "tolerances" in tolerance else {"tolerance": tolerance}
            (self.folder / "t.json").write_text(json.dumps(known))
            flags += ("--tolerance", str(self.folder / "t.json"))
        run = subprocess.run([sys.executable, TOOL, self.folder / "expected", self.folder / "actual", *flags],
                             capture_output=True, text=True, check=False)
        return run.returncode, run.stdout

    def test_equal_files_agree(self):
        tensors = {"x": ("F32", "f", [2, 2], [1, 2, 3, float("nan")]), "token": ("I64", "q", [1], [7])}
        self.assertEqual(self.compare(tensors, tensors)[0], 0)

    def test_the_first_divergence_is_first_in_the_computation(self):
        names = ["logits", "dec.10.q", "dec.2.out", "enc.s.mean", "enc.a.stage.1.down", "enc.a.stage.0.block.0.out"]
        for first in range(len(names)):
            expected = {name: ("F32", "f", [1], [0.0]) for name in names}
            actual = {name: ("F32", "f", [1], [1.0 if i <= first else 0.0]) for i, name in enumerate(names)}
            code, text = self.compare(expected, actual)
            self.assertEqual(code, 1)
            self.assertIn(f"the first divergence is {names[first]}\n", text)

    def test_the_tolerance_is_the_tensors_own(self):
        expected = {"x": ("F32", "f", [1, 2], [0, 1]), "speech": ("F32", "f", [2], [0, 1])}
        actual = {"x": ("F32", "f", [2], [0, 1.25]), "speech": ("F32", "f", [2], [0, 1.25])}
        self.assertEqual(self.compare(expected, actual, tolerance={"x": 0.25, "speech": 0.25})[0], 0)
        code, text = self.compare(expected, actual, tolerance={"x": 0.25, "speech": 0.2})
        self.assertEqual(code, 1)
        self.assertIn("FAIL speech [2]: max abs diff 0.25 at element 1", text)
        self.assertIn("first divergence is speech", text)

    def test_a_share_of_the_largest_value_is_allowed(self):
        known = {"tolerances": {"mel": {"max_abs": 0.5}, "from_pcm": {"max_abs_over_largest_value": 0.125}}}
        expected = {"x": ("F32", "f", [2], [4, 1]), "mel": ("F32", "f", [1, 1], [0])}
        near = {"x": ("F32", "f", [2], [4, 1.5]), "mel": ("F32", "f", [1, 1], [0.5])}
        self.assertEqual(self.compare(expected, near, tolerance=known)[0], 0)
        far = {"x": ("F32", "f", [2], [4, 1.75]), "mel": ("F32", "f", [1, 1], [0.75])}
        code, text = self.compare(expected, far, tolerance=known)
        self.assertEqual(code, 1)
        self.assertIn("2 of 2 tensors differ", text)

    def test_the_last_rows_of_logits_are_compared(self):
        many = {"logits": ("F32", "f", [3, 1], [9, 1, 2])}
        self.assertEqual(self.compare(many, {"logits": ("F32", "f", [2, 1], [1, 2])})[0], 0)
        self.assertEqual(self.compare(many, {"logits": ("F32", "f", [2, 1], [9, 1])})[0], 1)

    def test_whole_numbers_must_be_equal(self):
        code, _ = self.compare({"token": ("I64", "q", [1], [7])}, {"token": ("I64", "q", [1], [8])},
                               "--default-tolerance", "5")
        self.assertEqual(code, 1)

    def test_nan_missing_and_misshapen_tensors_fail(self):
        whole = {"x": ("F32", "f", [2], [0, 1])}
        self.assertEqual(self.compare(whole, {"x": ("F32", "f", [2], [0, float("nan")])},
                                      "--default-tolerance", "9")[0], 1)
        self.assertEqual(self.compare(whole, {})[0], 1)
        self.assertEqual(self.compare(whole, {"x": ("F32", "f", [3], [0, 1, 2])})[0], 1)

    def test_names_that_no_dump_holds_do_not_count(self):
        expected = {"kv.1.k": ("F32", "f", [1], [0]), "x": ("F32", "f", [1], [0])}
        actual = {"x": ("F32", "f", [1], [0])}
        self.assertEqual(self.compare(expected, actual)[0], 0)
        self.assertEqual(self.compare(expected, actual, "--only", "kv.*")[0], 1)

    def test_halves_are_widened(self):
        expected = {"x": ("BF16", "H", [2], [0x3FC0, 0xC000]), "y": ("F16", "e", [1], [0.5])}
        actual = {"x": ("F32", "f", [2], [1.5, -2.0]), "y": ("F32", "f", [1], [0.5])}
        self.assertEqual(self.compare(expected, actual)[0], 0)

    def test_a_file_that_is_no_dump_is_an_error_of_its_own(self):
        self.write("good", {})
        (self.folder / "bad").write_text("text")
        run = subprocess.run([sys.executable, TOOL, self.folder / "bad", self.folder / "good"], capture_output=True,
                             text=True, check=False)
        self.assertEqual(run.returncode, 2)
        self.assertIn("bad: no safetensors file", run.stderr)


if __name__ == "__main__":
    unittest.main()
