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

Pieces pieces_of(std::u32string_view text) {
  Pieces pieces;
  for (std::size_t first = 0; first < text.size();) {
    const std::size_t end = piece_end(text, first);
    pieces.emplace_back(text.substr(first, end - first));
    first = end;
  }
  return pieces;
}

TEST(Pretokenizer, CutsAsTheReferencesEngine) {
  const boost::json::value golden =
      parse_json(read_file("tests/golden/unicode.json", 1 << 20), "unicode.json");
  ASSERT_GT(golden.at("pieces").as_array().size(), 500u);
  for (const boost::json::value& row : golden.at("pieces").as_array()) {
    Pieces expected;
    std::u32string whole;
    for (const boost::json::value& piece : row.as_array()) {
      const boost::json::string& text = piece.as_string();
      whole += expected.emplace_back(code_points({text.data(), text.size()}));
    }
    ASSERT_EQ(pieces_of(whole), expected);
  }
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
