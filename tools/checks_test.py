#!/usr/bin/env python3
"""The checks of this folder against small trees and objects that break one rule each."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import check_includes
import check_sizes
import check_symbols
import check_tiles


class Tree(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


class Includes(Tree):
    def breaches(self, name, included):
        self.put(name, f'// One.\n#include <vector>\n#include "{included}"\n')
        return check_includes.check(self.root)[0]

    def test_edges_of_the_table_hold(self):
        for name, included in [("src/nn/a.cc", "device/device.h"), ("src/nn/b.cc", "nn/a.h"),
                               ("src/models/x/c.cc", "audio/source.h"), ("tests/d.cc", "cpu/k.h"),
                               ("src/cuda/e.cu", "cuda/kernels.h"), ("src/cuda/f.cu", "cuda/g.cuh")]:
            self.assertEqual(self.breaches(name, included), [])

    def test_other_edges_are_named_with_file_and_line(self):
        self.assertEqual(self.breaches("src/tensor/a.cc", "kv/pool.h"),
                         ['src/tensor/a.cc:3: #include "kv/pool.h": tensor may not include kv'])

    def test_every_kind_of_breach_is_seen(self):
        for name, included in [("src/cpu/a.cc", "cuda/kernels.h"), ("src/models/b.cc", "cpu/k.h"),
                               ("src/cli/c.cc", "tensor/tensor.h"), ("src/base/d.cc", "tests/x.h"),
                               ("src/cuda/e.cu", "tensor/tensor.h"), ("src/base/f.cc", "g.h"),
                               ("src/base/g.h", "cellar/g.h"), ("src/cellar/h.h", "base/error.h"),
                               ("bench/i.cc", "tests/x.h")]:
            with self.subTest(name):
                self.assertEqual(len(self.breaches(name, included)), 1)
                (self.root / name).unlink()


class Sizes(Tree):
    def offenders(self, name, text):
        self.put(name, text)
        return check_sizes.check(self.root)[0]

    def test_limits_are_reached_but_not_passed(self):
        self.assertEqual(self.offenders("src/a.h", "//\n" * 200), [])
        self.assertEqual(self.offenders("src/a.h", "//\n" * 201), ["src/a.h: 201 lines, at most 200"])
        self.assertEqual(self.offenders("src/a.h", ""), [])
        self.assertEqual(len(self.offenders("tests/a.cc", "//\n" * 501)), 1)

    def test_a_long_function_is_found_wherever_it_stands(self):
        body = "  g();\n" * 69
        for head in ["void f() {\n", "TEST(F, G) {\n", "template <typename T>\nint f(T a,\n  T b) {\n",
                     "A::A(int b) : c_{b}, d_(b) {\n", "class A {\n void f() const {\n"]:
            with self.subTest(head):
                self.assertEqual(len(self.offenders("src/a.cc", "namespace {\n" + head + body + "}\n")), 1)
                self.assertEqual(self.offenders("src/a.cc", head + "  g();\n" * 60 + "}\n"), [])

    def test_tables_and_rooms_full_of_functions_are_no_functions(self):
        lines = "  {1},\n" * 90
        for head in ["constexpr A kA[] = {\n", "constexpr std::array<A, f(3)> kA{{\n", "class A {\n"]:
            self.assertEqual(self.offenders("src/a.cc", head + lines.replace("{1},", "int b;") + "};\n"), [])
        self.assertEqual(self.offenders("src/a.cc", "void f() {}\n" * 100), [])
        self.assertEqual(self.offenders("src/a.cc", 'void f() { g("{", \'{\'); }  // {\n' * 100), [])


class Symbols(Tree):
    def breaches(self, name, text):
        source = self.put("a.cc", text)
        target = self.root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["c++", "-std=c++20", "-O0", "-c", str(source), "-o", str(target)], check=True)
        return check_symbols.check("nm", target)

    def test_transcendentals_of_the_c_library_are_found(self):
        text = "#include <cmath>\nfloat f(float x) { return std::%s(x); }\n"
        for name in ["exp", "log", "sin", "erf", "tanh", "log1p"]:
            self.assertEqual(len(self.breaches("a.o", text % name)), 1, name)
        for name in ["sqrt", "fma(x, x, x) + std::abs"]:
            self.assertEqual(self.breaches("a.o", text % name), [], name)

    def test_weak_symbols_of_an_isa_stay_in_its_namespace(self):
        inside = "namespace verbatim::avx2 { inline int f() { return 1; } }\nint g() { return %s(); }\n"
        outside = inside.replace("::avx2", "::nn") + "// %s\n"
        place = "src/cpu/isa/avx2/table.cc.o"
        self.assertEqual(self.breaches(place, inside % "verbatim::avx2::f"), [])
        self.assertEqual(len(self.breaches(place, outside % ("verbatim::nn::f", ""))), 1)
        self.assertEqual(self.breaches("src/nn/table.cc.o", outside % ("verbatim::nn::f", "")), [])
        self.assertEqual(len(self.breaches("src/cpu/isa/avx512/table.cc.o", inside % "verbatim::avx2::f")), 1)


class Tiles(unittest.TestCase):
    def breaches(self, *loop):
        lines = ["0000 <void verbatim::int8_tile<verbatim::avxvnni::Lanes>(verbatim::Int8Tile const&)>:",
                 "  10:\tvmovdqa %ymm1,%ymm2", *(f"  {20 + i}:\t{text}" for i, text in enumerate(loop)),
                 "  40:\tjne    20 <_Z+0x20>", "  50:\tvmovdqu %ymm1,0x20(%rsp)", "  60:\tret"]
        return check_tiles.check("\n".join(lines), "table.cc.o")[0]

    def test_copies_and_the_stack_are_found_inside_the_loop_alone(self):
        dot = "vpdpbusd %ymm3,%ymm4,%ymm5"
        self.assertEqual(self.breaches(dot, "vmovdqu (%rdi),%ymm3"), [])
        for text in ["vmovdqa %ymm5,%ymm6", "vmovdqu %ymm5,-0x20(%rsp)", "vpaddd 0x40(%rsp),%ymm1,%ymm1"]:
            self.assertEqual(len(self.breaches(dot, text)), 1, text)

    def test_a_tile_without_its_loop_is_named(self):
        self.assertEqual(len(self.breaches("vpaddd %ymm3,%ymm4,%ymm5")), 1)


if __name__ == "__main__":
    unittest.main()
