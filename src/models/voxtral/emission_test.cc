// Ids become text that is the reference's to the byte, words that are posted in time, and segments
// that lose nothing.
#include "models/voxtral/emission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "device/counted_allocations.h"
#include "models/voxtral/emission_heard.h"
#include "weights/test_values.h"

namespace verbatim::voxtral {
namespace {

constexpr const char* kFixtures = "tests/golden/voxtral-realtime/";

// Ids for what is said in consecutive slots: "P", "W", "EOS", everything else is a piece of text.
struct Said {
  std::vector<std::int32_t> ids;
  std::optional<Tokenizer> tokenizer;

  explicit Said(const std::vector<std::string>& slots) {
    Vocabulary vocabulary;
    vocabulary.bytes.resize(1000);
    for (const std::string& slot : slots) {
      if (slot == "P" || slot == "W" || slot == "EOS") {
        ids.push_back(slot == "P" ? 32 : slot == "W" ? 33 : 2);
      } else {
        ids.push_back(static_cast<std::int32_t>(vocabulary.bytes.size()));
        vocabulary.bytes.push_back(slot);
      }
    }
    tokenizer.emplace(std::move(vocabulary));
  }
};

Heard heard(const std::vector<std::string>& slots, double audio_s = 1e6) {
  const Said said(slots);
  return hear(*said.tokenizer, said.ids, audio_s);
}

std::vector<std::string> joined(std::vector<std::string> slots, std::size_t pads,
                                const std::vector<std::string>& more) {
  slots.insert(slots.end(), pads, "P");
  slots.insert(slots.end(), more.begin(), more.end());
  return slots;
}

using Texts = std::vector<std::string>;

TEST(Emission, TextIsTheReferencesToTheByte) {
  for (const char* name :
       {"hf-f32", "hub-bf16", "heads-mistral-bf16", "windows-mistral-bf16",
        "window750-mistral-bf16", "delay-eos-hf-bf16", "untied-quantized-hf-bf16"}) {
    SCOPED_TRACE(name);
    const std::string folder = kFixtures + std::string(name) + "/";
    const boost::json::value expected = read_json(folder + "expected.json");
    const std::vector<std::int32_t> ids = ids_of(expected.at("ids"));
    const std::int32_t rows = std::max(1300, *std::max_element(ids.begin(), ids.end()) + 1);
    const Heard result = hear(read_tokenizer(folder, rows), ids);
    const boost::json::string& text = expected.at("text").as_string();
    EXPECT_EQ(result.transcript.text, std::string_view(text.data(), text.size()));
    expect_consistent(result, ids);
  }
}

TEST(Emission, CharactersAreWholeWhateverStandsBetweenTheirBytes) {
  EXPECT_EQ(heard({"W", "\xC3", "P", "\xA9", "P"}).transcript.text, "\xC3\xA9");
  EXPECT_EQ(heard({"\xE2", "P", "\x82", "W", "\xAC"}).transcript.text, "\xE2\x82\xAC");
  EXPECT_EQ(heard({"W", " the", "\xA9", " the"}).transcript.text, "the\xEF\xBF\xBD the");
  EXPECT_EQ(heard({"W", "\xC3", "P"}).transcript.text, "\xEF\xBF\xBD");
  EXPECT_EQ(heard({"W", "\xC3", "P"}).deltas(), "\xEF\xBF\xBD");
  const std::string zero("\0", 1);
  EXPECT_EQ(heard({"W", " a", zero, "b"}).transcript.text, "a" + zero + "b");
}

TEST(Emission, WhiteSpaceWaitsUntilMoreTextComes) {
  const Heard result = heard({"W", " ", "\n a", " ", "\xC2\xA0", "P", "W", " b", " \n", "\x1F"});
  EXPECT_EQ(result.transcript.text, "a \xC2\xA0 b");
  EXPECT_EQ(result.deltas(), result.transcript.text);
  ASSERT_TRUE(std::holds_alternative<TextDelta>(result.events[0]));
  EXPECT_EQ(result.slots[0], 2);
  const TextDelta& first = std::get<TextDelta>(result.events[0]);
  EXPECT_EQ(first.text, "a");
  EXPECT_NEAR(first.start_s, 0.16, 1e-12);
  EXPECT_NEAR(first.end_s, 0.24, 1e-12);
}

TEST(Emission, NothingSaidIsAnEmptyTranscript) {
  for (const Texts& slots : {Texts{}, Texts{"P", "W", "EOS", "P"}, Texts{"W", " ", "\n"}}) {
    const Heard result = heard(slots, 0.3);
    EXPECT_TRUE(result.events.empty());
    EXPECT_TRUE(result.transcript.text.empty());
    EXPECT_TRUE(result.transcript.segments.empty());
  }
}

TEST(Emission, AWordEndsWithTheSlotThatOpenedItsGroup) {
  Texts slots(20, "P");
  slots = joined(slots, 0, {"W", " alpha", "bet"});
  const std::vector<Word> words = heard(joined(slots, 5, {"W", " is"})).words();
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0].text, "alphabet");
  EXPECT_NEAR(words[0].end_s, 21 * kTokenS, 1e-12);
  EXPECT_NEAR(words[0].start_s, 21 * kTokenS - kTokenS / 2 - (0.1 + 8 * 0.07), 1e-12);
  EXPECT_NEAR(words[1].end_s, 29 * kTokenS, 1e-12);
  EXPECT_NEAR(words[1].start_s, 29 * kTokenS - kTokenS / 2 - (0.1 + 2 * 0.07), 1e-12);
}

TEST(Emission, AWordDoesNotBeginBeforeTheOneBeforeItEnded) {
  const std::vector<Word> words = heard({"P", "P", "W", " this", "W", " international"}).words();
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0].start_s, 0);
  EXPECT_EQ(words[0].end_s, words[1].start_s);
  EXPECT_NEAR(words[1].end_s, 5 * kTokenS, 1e-12);
}

TEST(Emission, NoWordIsLongerThanTwoSeconds) {
  const std::vector<Word> words =
      heard(joined(Texts(100, "P"), 0, {"W", " " + std::string(60, 'a')})).words();
  ASSERT_EQ(words.size(), 1u);
  EXPECT_NEAR(words[0].end_s - words[0].start_s, 2 + kTokenS / 2, 1e-9);
}

TEST(Emission, WordsOfAGroupDivideItsTime) {
  const std::vector<Word> words =
      heard(joined(Texts(20, "P"), 0, {"W", " words", ",", " I"})).words();
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0].text, "words,");
  const double end = 21 * kTokenS;
  const double start = end - kTokenS / 2 - (0.1 + 5 * 0.07) - (0.1 + 0.07);
  EXPECT_NEAR(words[0].start_s, start, 1e-12);
  EXPECT_NEAR(words[0].end_s, start + (end - start) * 0.45 / 0.62, 1e-12);
  EXPECT_EQ(words[0].end_s, words[1].start_s);
  EXPECT_NEAR(words[1].end_s, end, 1e-12);
}

TEST(Emission, AWordThatGoesOnInAnotherGroupEndsWithThatOne) {
  // The words before it do not: they were complete with their own group.
  const std::vector<Word> words =
      heard(joined(Texts(20, "P"), 0, {"W", " a", " news", "P", "W", "paper"})).words();
  ASSERT_EQ(words.size(), 2u);
  EXPECT_NEAR(words[0].end_s, 21 * kTokenS, 1e-12);
  EXPECT_EQ(words[1].text, "newspaper");
  EXPECT_NEAR(words[1].end_s, 25 * kTokenS, 1e-12);
}

TEST(Emission, PunctuationAndUnmarkedPiecesDoNotMoveAWordsEnd) {
  for (const Texts& tail : {Texts{"P", "W", ","}, Texts{"P", "s"}, Texts{"P", "W", ",", "\""}}) {
    const std::vector<Word> words =
        heard(joined(joined(Texts(20, "P"), 0, {"W", " word"}), 0, tail)).words();
    ASSERT_EQ(words.size(), 1u);
    EXPECT_NEAR(words[0].end_s, 21 * kTokenS, 1e-12);
  }
}

TEST(Emission, AWordIsPostedWhenItCanGrowNoMore) {
  // By the next word, or in the third slot without text.
  const Heard result = heard({"W", " one", "P", "W", " two", "P", "P", "P", "P", "W", " three"});
  EXPECT_EQ(result.slot_of_word("one"), 4);
  EXPECT_EQ(result.slot_of_word("two"), 7);
  EXPECT_EQ(result.slot_of_word("three"), -1);
}

TEST(Emission, APieceThatComesTooLateIsAWordOfItsOwnInTheSameText) {
  const Texts slots{"W", " foot", "P", "P", "P", "ball", " match"};
  const Heard result = heard(slots);
  EXPECT_EQ(result.word_texts(), (Texts{"foot", "ball", "match"}));
  EXPECT_EQ(result.transcript.text, "football match");
  EXPECT_EQ(result.segment_texts(), Texts{"football match"});
}

TEST(Emission, AGroupWithoutSpacesIsAWordOfItsOwn) {
  // "today", "is fine" in Chinese, then a full stop and a closing bracket that join what they end.
  const Heard result = heard({"P", "W", "\u4ECA\u5929", "P", "P", "W", "\u5929\u6C14", "\u5F88",
                              "P", "W", "\u3002", "\u300D", "\u660E\u5929"});
  EXPECT_EQ(result.word_texts(),
            (Texts{"\u4ECA\u5929", "\u5929\u6C14\u5F88\u3002\u300D", "\u660E\u5929"}));
  EXPECT_EQ(result.segment_texts(),
            (Texts{"\u4ECA\u5929\u5929\u6C14\u5F88\u3002\u300D", "\u660E\u5929"}));
  EXPECT_EQ(join_texts(result.transcript.segments), result.transcript.text);
}

TEST(Emission, WideStopsEndAWordWithinAGroup) {
  const Heard result = heard({"W", "\u4F60\u597D\uFF0C\u4E16\u754C\u3002\u518D\u89C1"});
  EXPECT_EQ(result.word_texts(),
            (Texts{"\u4F60\u597D\uFF0C", "\u4E16\u754C\u3002", "\u518D\u89C1"}));
}

TEST(Emission, TextWithoutPausesIsCutIntoGroupsOfASecond) {
  Texts slots{"W"};
  slots.insert(slots.end(), 200, " no");
  const std::vector<Word> words = heard(slots).words();
  ASSERT_EQ(words.size(), 200u);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const double slot_end = static_cast<double>(i + 2) * kTokenS;
    EXPECT_LE(words[i].end_s, slot_end + 1e-9);
    EXPECT_GE(words[i].end_s, slot_end - 26 * kTokenS);
  }
}

TEST(Emission, ASegmentEndsWithItsSentence) {
  const Heard result =
      heard({"W",   " Dr", ".", " J",   ".", " Li", " said", ":",      " \"",  "No",
             ".\"", "P",   "W", " Why", "?", "W",   " It",   " costs", " 3.5", " e.g."});
  EXPECT_EQ(result.segment_texts(),
            (Texts{"Dr.", "J. Li said: \"No.\"", "Why?", "It costs 3.5 e.g."}));
}

TEST(Emission, ASegmentHasTheIdsOfItsText) {
  // White space behind the last word has no text, but its id is one of the text's.
  const Said said({"W", " one", "P", "W", " two", ".", "W", " three", " ", "P"});
  const Heard result = hear(*said.tokenizer, said.ids);
  const std::vector<std::int32_t>& ids = said.ids;
  ASSERT_EQ(result.transcript.segments.size(), 2u);
  EXPECT_EQ(result.transcript.segments[0].tokens, (std::vector{ids[1], ids[4], ids[5]}));
  EXPECT_EQ(result.transcript.segments[1].tokens, (std::vector{ids[7], ids[8]}));
  EXPECT_EQ(std::get<SegmentDone>(result.events.back()).segment.tokens.size(), 2u);
}

TEST(Emission, ASegmentEndsBeforeAPause) {
  const Texts slots = joined({"W", " one", "P", "P", "P", "W", " two"}, 14, {"W", " three"});
  const Heard result = heard(slots);
  EXPECT_EQ(result.segment_texts(), (Texts{"one two", "three"}));
  EXPECT_EQ(result.slot_of_segment(0), 6 + 13);  // 1.04 s after the last text
  EXPECT_EQ(result.slot_of_segment(1), -1);
}

TEST(Emission, APauseCountsFromTheWordsEndNotFromItsLastPiece) {
  const Heard result = heard(joined({"W", " a", "b", "c", "d", "e"}, 11, {"W", " I"}));
  EXPECT_EQ(result.segment_texts(), (Texts{"abcde", "I"}));
}

TEST(Emission, ASegmentEndsWhereTwoLinesAreFull) {
  Texts slots;
  for (int i = 0; i < 60; ++i) slots = joined(slots, 0, {"W", " word"});
  const Heard full = heard(slots);
  ASSERT_EQ(full.transcript.segments.size(), 4u);
  for (const Segment& segment : full.transcript.segments)
    EXPECT_LE(count_characters(segment.text), 84);
  EXPECT_EQ(full.transcript.segments[0].words.size(), 17u);  // 84 characters
  Texts slow;
  for (int i = 0; i < 30; ++i) slow = joined(slow, 8, {"W", " a"});
  for (const Segment& segment : heard(slow).transcript.segments)
    EXPECT_LE(segment.end_s - segment.start_s, 10);
}

TEST(Emission, ALatePieceGoesOnWithTheSegmentThatWasPosted) {
  const Texts slots = joined({"W", " wait"}, 20, {"W", ".", "P", "W", " go"});
  const Said said(slots);
  const Heard result = hear(*said.tokenizer, said.ids);
  EXPECT_EQ(result.transcript.text, "wait. go");
  EXPECT_EQ(result.segment_texts(), (Texts{"wait.", "go"}));
  expect_consistent(result, said.ids);
}

TEST(Emission, TimesEndWithTheAudio) {
  const Heard result = heard(joined(Texts(10, "P"), 0, {"W", " end", "W", " more"}), 0.9);
  for (const Word& word : result.words()) {
    EXPECT_LE(word.end_s, 0.9);
    EXPECT_LE(word.start_s, word.end_s);
  }
  EXPECT_EQ(result.transcript.segments.back().end_s, 0.9);
  const auto& last = std::get<SegmentDone>(result.events.back());
  EXPECT_EQ(last.segment.end_s, 0.9);
  EXPECT_EQ(last.segment.words.back().end_s, 0.9);
}

TEST(Emission, AContextThatBeginsAgainGoesOnInTime) {
  const Said said({" one", " two"});
  Emission emission(*said.tokenizer, {}, kTokenS);
  std::vector<Event> events;
  emission.push(33, 9, events);
  emission.push(said.ids[0], 10, events);
  for (std::int64_t slot = 11; slot < 110; ++slot) emission.push(32, slot, events);
  emission.push(33, 110, events);  // a group of the old context has no part in the new one
  emission.push(said.ids[1], 40, events);
  const Transcript transcript = emission.finish(9, events);
  EXPECT_EQ(transcript.text, "one two");
  ASSERT_EQ(transcript.segments.size(), 2u);
  EXPECT_NEAR(transcript.segments[0].end_s, 10 * kTokenS, 1e-12);
  EXPECT_NEAR(transcript.segments[1].end_s, 41 * kTokenS, 1e-12);
}

TEST(Emission, PaddingAsksForNoMemory) {
  const Said said({" one"});
  Emission emission(*said.tokenizer, {}, kTokenS);
  std::vector<Event> events;
  events.reserve(16);
  emission.push(33, 0, events);
  emission.push(said.ids[0], 1, events);
  for (std::int64_t slot = 2; slot < 20; ++slot) emission.push(32, slot, events);
  const std::int64_t before = counted_allocations();
  for (std::int64_t slot = 20; slot < 100000; ++slot)
    emission.push(slot % 50 == 0 ? 33 : 32, slot, events);
  EXPECT_EQ(counted_allocations(), before);
  EXPECT_EQ(events.size(), 3u);
}

TEST(Emission, WhateverIsSaidNothingIsLostOrMovesBack) {
  const Texts pieces{" the",    " a",           "b",       "s",      ",",      ".",
                     "?",       " \"",          " 12",     "...",    " ",      "\n",
                     "\u4ECA",  "\u5929\u6C14", "\u3002",  "\u300C", "\u300D", "\uFF0C",
                     " \u4E16", "\uAC00\uB098", " \uAC00", "\xC3",   "\xA9",   "\xE2",
                     "\x82",    "\xAC",         "\u0301",  "\u3000", "\u00A0x"};
  TestValues random(11);
  const auto draw = [&random](std::size_t below) {
    const double unit = (static_cast<double>(random.uniform()) + 1) / 2;
    return std::min(below - 1, static_cast<std::size_t>(unit * static_cast<double>(below)));
  };
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    Texts slots;
    const std::size_t words = 1 + draw(20);
    for (int slot = 0; slot < 200; ++slot) {
      const std::size_t kind = draw(20);
      if (kind == 0) slots = joined(slots, draw(20), {});
      if (kind <= words) slots.push_back(kind % 2 == 0 ? "P" : "W");
      if (kind >= 5) slots.push_back(pieces[draw(pieces.size())]);
    }
    const Said said(slots);
    const Heard result = hear(*said.tokenizer, said.ids);
    std::string bytes;
    for (const std::int32_t id : said.ids)
      if (id >= 1000) bytes += said.tokenizer->bytes(id);
    EXPECT_EQ(result.transcript.text, trimmed(to_valid_utf8(bytes)));
    expect_consistent(result, said.ids);
  }
}

}  // namespace
}  // namespace verbatim::voxtral
