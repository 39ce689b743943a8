// Against pieces that the reference's regular-expression engine cut, and by hand.
#include "text/pretokenizer.h"

#include <gtest/gtest.h>

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "text/unicode.h"

namespace verbatim {
namespace {

using Pieces = std::vector<std::u32string>;

Pieces pieces_of(std::u32string_view text, SplitRule rule = SplitRule::kQwen) {
  Pieces pieces;
  for (std::size_t first = 0; first < text.size();) {
    const std::size_t end = piece_end(text, first, rule);
    pieces.emplace_back(text.substr(first, end - first));
    first = end;
  }
  return pieces;
}

void expect_golden_pieces(const char* path, SplitRule rule) {
  const boost::json::value golden = parse_json(read_file(path, 1 << 20), path);
  ASSERT_GT(golden.at("pieces").as_array().size(), 500u);
  for (const boost::json::value& row : golden.at("pieces").as_array()) {
    Pieces expected;
    std::u32string whole;
    for (const boost::json::value& piece : row.as_array()) {
      const boost::json::string& text = piece.as_string();
      whole += expected.emplace_back(code_points({text.data(), text.size()}));
    }
    ASSERT_EQ(pieces_of(whole, rule), expected);
  }
}

TEST(Pretokenizer, CutsAsTheReferencesEngine) {
  expect_golden_pieces("tests/golden/unicode.json", SplitRule::kQwen);
}

TEST(Pretokenizer, CutsTekkensPiecesAsTheReferencesEngine) {
  expect_golden_pieces("tests/golden/tekken/encode.json", SplitRule::kTekken);
}

TEST(Pretokenizer, TekkensWordsEndWhereCapitalsBegin) {
  const auto pieces = [](std::u32string_view text) { return pieces_of(text, SplitRule::kTekken); };
  EXPECT_EQ(pieces(U"HelloWorld"), (Pieces{U"Hello", U"World"}));
  EXPECT_EQ(pieces(U"HTTPServer"), (Pieces{U"HTTPServer"}));
  EXPECT_EQ(pieces(U" ABC'S"), (Pieces{U" ABC", U"'S"}));
  EXPECT_EQ(pieces(U"\u0301ABC"), (Pieces{U"\u0301", U"ABC"}));
  EXPECT_EQ(pieces(U"AB\u02B0CD"), (Pieces{U"AB\u02B0", U"CD"}));
  EXPECT_EQ(pieces(U".\n/\n/x"), (Pieces{U".\n/\n/", U"x"}));
}

TEST(Pretokenizer, ContractionsIgnoreCaseAndKnowTheLongS) {
  EXPECT_EQ(pieces_of(U"it's"), (Pieces{U"it", U"'s"}));
  EXPECT_EQ(pieces_of(U"IT'S"), (Pieces{U"IT", U"'S"}));
  EXPECT_EQ(pieces_of(U"x'\u017Ft"), (Pieces{U"x", U"'\u017F", U"t"}));
  EXPECT_EQ(pieces_of(U"we'Ve'lL"), (Pieces{U"we", U"'Ve", U"'lL"}));
  EXPECT_EQ(pieces_of(U"'st"), (Pieces{U"'s", U"t"}));
  EXPECT_EQ(pieces_of(U"'rx"), (Pieces{U"'rx"}));
  EXPECT_EQ(pieces_of(U"'"), (Pieces{U"'"}));
  EXPECT_EQ(pieces_of(U"'l"), (Pieces{U"'l"}));
}

TEST(Pretokenizer, TheLastSpaceBelongsToTheWord) {
  EXPECT_EQ(pieces_of(U"a   b"), (Pieces{U"a", U"  ", U" b"}));
  EXPECT_EQ(pieces_of(U"a  1"), (Pieces{U"a", U" ", U" ", U"1"}));
  EXPECT_EQ(pieces_of(U"a   "), (Pieces{U"a", U"   "}));
  EXPECT_EQ(pieces_of(U"a\t\tb"), (Pieces{U"a", U"\t", U"\tb"}));
}

TEST(Pretokenizer, SpaceRunsEndAtTheirLastNewline) {
  EXPECT_EQ(pieces_of(U" \n \n  b"), (Pieces{U" \n \n", U" ", U" b"}));
  EXPECT_EQ(pieces_of(U"x.\r\n\ny"), (Pieces{U"x", U".\r\n\n", U"y"}));
  EXPECT_EQ(pieces_of(U"\nb"), (Pieces{U"\n", U"b"}));
}

TEST(Pretokenizer, NumbersStandAlone) {
  EXPECT_EQ(pieces_of(U"12\u00BDx"), (Pieces{U"1", U"2", U"\u00BD", U"x"}));
}

}  // namespace
}  // namespace verbatim
