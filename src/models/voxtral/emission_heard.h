// For tests of Emission: what it said about given ids, and what holds whatever they are.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "models/voxtral/emission.h"
#include "text/vocabulary_tekken.h"
#include "transcript/characters.h"

namespace verbatim::voxtral {

constexpr double kTokenS = 0.08;

// What an Emission said, and in which slot.
struct Heard {
  std::vector<Event> events;
  std::vector<std::int64_t> slots;  // of the events; -1: at the end
  Transcript transcript;

  std::string deltas() const {
    std::string joined;
    for (const Event& event : events)
      if (const auto* delta = std::get_if<TextDelta>(&event)) joined += delta->text;
    return joined;
  }
  std::vector<Word> words() const {
    std::vector<Word> found;
    for (const Segment& segment : transcript.segments)
      found.insert(found.end(), segment.words.begin(), segment.words.end());
    return found;
  }
  std::vector<std::string> word_texts() const {
    std::vector<std::string> found;
    for (const Word& word : words()) found.push_back(word.text);
    return found;
  }
  std::vector<std::string> segment_texts() const {
    std::vector<std::string> found;
    for (const Segment& segment : transcript.segments) found.push_back(segment.text);
    return found;
  }
  std::int64_t slot_of_word(std::string_view text) const {
    for (std::size_t i = 0; i < events.size(); ++i) {
      const auto* done = std::get_if<WordDone>(&events[i]);
      if (done != nullptr && done->word.text == text) return slots[i];
    }
    return -2;
  }
  std::int64_t slot_of_segment(std::size_t index) const {
    for (std::size_t i = 0; i < events.size(); ++i)
      if (std::holds_alternative<SegmentDone>(events[i]) && index-- == 0) return slots[i];
    return -2;
  }
};

inline Heard hear(const Tokenizer& tokenizer, std::span<const std::int32_t> ids,
                  double audio_s = 1e6) {
  Emission emission(tokenizer, {}, kTokenS);
  Heard result;
  for (std::size_t slot = 0; slot < ids.size(); ++slot) {
    emission.push(ids[slot], static_cast<std::int64_t>(slot), result.events);
    result.slots.resize(result.events.size(), static_cast<std::int64_t>(slot));
  }
  result.transcript = emission.finish(audio_s, result.events);
  result.slots.resize(result.events.size(), -1);
  return result;
}

// One space for white space between words, none between two CJK characters.
inline std::string canonical(std::string_view text) {
  std::string made;
  char32_t last = 0;
  bool gap = false;
  while (!text.empty()) {
    const Utf8Character character = next_character(text);
    if (is_blank(character.code)) {
      gap = !made.empty();
    } else {
      if (gap && !(is_cjk(last) && is_cjk(character.code))) made.push_back(' ');
      gap = false;
      append_utf8(made, character.code);
      last = character.code;
    }
    text.remove_prefix(character.length);
  }
  return made;
}

// What holds whatever the ids are.
inline void expect_consistent(const Heard& heard, std::span<const std::int32_t> ids) {
  EXPECT_EQ(heard.deltas(), heard.transcript.text);
  std::vector<std::int32_t> text_ids;
  for (const std::int32_t id : ids)
    if (id >= 1000) text_ids.push_back(id);
  std::vector<std::int32_t> segment_ids;
  std::string words;
  double last_s = 0;
  for (const Segment& segment : heard.transcript.segments) {
    segment_ids.insert(segment_ids.end(), segment.tokens.begin(), segment.tokens.end());
    ASSERT_FALSE(segment.words.empty());
    EXPECT_EQ(segment.start_s, segment.words.front().start_s);
    EXPECT_EQ(segment.end_s, segment.words.back().end_s);
    std::size_t at = 0;
    for (const Word& word : segment.words) {
      at = segment.text.find(word.text, at);
      ASSERT_NE(at, std::string::npos) << word.text << " in " << segment.text;
      at += word.text.size();
      words += word.text;
      EXPECT_LE(last_s, word.start_s);
      EXPECT_LE(word.start_s, word.end_s);
      last_s = word.end_s;
    }
  }
  if (!heard.transcript.segments.empty()) {
    EXPECT_EQ(segment_ids, text_ids);
  }
  EXPECT_EQ(canonical(join_texts(heard.transcript.segments)), canonical(heard.transcript.text));
  std::string posted_words;
  std::size_t segment_words = 0;
  std::size_t count = 0;
  for (const Event& event : heard.events) {
    if (const auto* done = std::get_if<WordDone>(&event)) {
      posted_words += done->word.text;
      ++count;
    }
    if (const auto* done = std::get_if<SegmentDone>(&event))
      segment_words += done->segment.words.size();
  }
  EXPECT_EQ(posted_words, words);
  EXPECT_EQ(segment_words, count);
}

inline boost::json::value read_json(const std::string& path) {
  return parse_json(read_file(path, std::size_t{1} << 24), path);
}

inline std::vector<std::int32_t> ids_of(const boost::json::value& value) {
  std::vector<std::int32_t> ids;
  for (const boost::json::value& id : value.as_array())
    ids.push_back(static_cast<std::int32_t>(id.as_int64()));
  return ids;
}

inline Tokenizer read_tokenizer(const std::string& folder, std::int32_t rows) {
  const std::string path = folder + "tekken.json";
  return std::move(read_tekken_json(read_file(path, std::size_t{1} << 22), path, rows).tokenizer);
}

}  // namespace verbatim::voxtral
