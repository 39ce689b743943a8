// Where the reference's tables (the tokenizers package, 0.23) differ from utf8proc's Unicode 15:
// its expression engine is of Unicode 16, its normaliser of Unicode 9. So is the engine of tiktoken
// (0.14), which reads tekken.json. unicode_test.cc compares every code point.
#pragma once

#include <array>

namespace verbatim {

struct CodeRange {
  char32_t first;
  char32_t last;
};

// \p{L} since Unicode 15.1 and 16.
constexpr std::array<CodeRange, 22> kLaterLetters = {
    {{0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},   {0xA7DA, 0xA7DC},   {0x105C0, 0x105F3},
     {0x10D4A, 0x10D65}, {0x10D6F, 0x10D85}, {0x10EC2, 0x10EC4}, {0x11380, 0x11389},
     {0x1138B, 0x1138B}, {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113B7},
     {0x113D1, 0x113D1}, {0x113D3, 0x113D3}, {0x11BC0, 0x11BE0}, {0x13460, 0x143FA},
     {0x16100, 0x1611D}, {0x16D40, 0x16D6C}, {0x18CFF, 0x18CFF}, {0x1E5D0, 0x1E5ED},
     {0x1E5F0, 0x1E5F0}, {0x2EBF0, 0x2EE5D}}};

// Of these, \p{Lu} and \p{Ll}; there is no new \p{Lt}.
constexpr std::array<CodeRange, 5> kLaterUpper = {
    {{0x1C89, 0x1C89}, {0xA7CB, 0xA7CC}, {0xA7DA, 0xA7DA}, {0xA7DC, 0xA7DC}, {0x10D50, 0x10D65}}};
constexpr std::array<CodeRange, 4> kLaterLower = {
    {{0x1C8A, 0x1C8A}, {0xA7CD, 0xA7CD}, {0xA7DB, 0xA7DB}, {0x10D70, 0x10D85}}};

// \p{M} since Unicode 16.
constexpr std::array<CodeRange, 13> kLaterMarks = {{{0x0897, 0x0897},
                                                    {0x10D69, 0x10D6D},
                                                    {0x10EFC, 0x10EFC},
                                                    {0x113B8, 0x113C0},
                                                    {0x113C2, 0x113C2},
                                                    {0x113C5, 0x113C5},
                                                    {0x113C7, 0x113CA},
                                                    {0x113CC, 0x113D0},
                                                    {0x113D2, 0x113D2},
                                                    {0x113E1, 0x113E2},
                                                    {0x11F5A, 0x11F5A},
                                                    {0x1611E, 0x1612F},
                                                    {0x1E5EE, 0x1E5EF}}};

// \p{N} since Unicode 16.
constexpr std::array<CodeRange, 7> kLaterNumbers = {{{0x10D40, 0x10D49},
                                                     {0x116D0, 0x116E3},
                                                     {0x11BF0, 0x11BF9},
                                                     {0x16130, 0x16139},
                                                     {0x16D70, 0x16D79},
                                                     {0x1CCF0, 0x1CCF9},
                                                     {0x1E5F1, 0x1E5FA}}};

// Combining marks, and one composition, younger than Unicode 9; U+0EBA and U+1715 got their class
// later.
constexpr std::array<CodeRange, 38> kUnknownToNormaliser = {
    {{0x07FD, 0x07FD},   {0x0898, 0x089F},   {0x08CA, 0x08D3},   {0x09FE, 0x09FE},
     {0x0C3C, 0x0C3C},   {0x0D3B, 0x0D3C},   {0x0EBA, 0x0EBA},   {0x1715, 0x1715},
     {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFA},   {0xA82C, 0xA82C},   {0x10D24, 0x10D27},
     {0x10EAB, 0x10EAC}, {0x10EFD, 0x10EFF}, {0x10F46, 0x10F50}, {0x10F82, 0x10F85},
     {0x11070, 0x11070}, {0x1133B, 0x1133B}, {0x1145E, 0x1145E}, {0x11839, 0x1183A},
     {0x11930, 0x11930}, {0x11938, 0x11938}, {0x1193D, 0x1193E}, {0x11943, 0x11943},
     {0x119E0, 0x119E0}, {0x11A34, 0x11A34}, {0x11A47, 0x11A47}, {0x11A99, 0x11A99},
     {0x11D42, 0x11D42}, {0x11D44, 0x11D45}, {0x11D97, 0x11D97}, {0x11F41, 0x11F42},
     {0x16FF0, 0x16FF1}, {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE},
     {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}}};

}  // namespace verbatim
