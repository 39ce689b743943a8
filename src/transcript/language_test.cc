// Every way to spell a language.
#include "transcript/language.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace verbatim {
namespace {

TEST(LanguageName, AcceptsCodesTagsAndNamesInAnyCase) {
  for (const char* spelled :
       {"en", "EN", "eng", "en-US", "en_GB", "en-Latn-US", "English", " english "})
    EXPECT_EQ(language_name(spelled), "english") << spelled;
  for (const char* spelled : {"zh", "zho", "chi", "cmn", "zh-Hans-CN", "Chinese", "Mandarin"})
    EXPECT_EQ(language_name(spelled), "chinese") << spelled;
  EXPECT_EQ(language_name("de-CH-1996"), "german");
  EXPECT_EQ(language_name("ger"), "german");
  EXPECT_EQ(language_name("yue"), "cantonese");
  EXPECT_EQ(language_name("nb"), "norwegian");
  EXPECT_EQ(language_name("jv"), "javanese");
  EXPECT_EQ(language_name("jw"), "javanese");
  EXPECT_EQ(language_name("fil"), "tagalog");
  EXPECT_EQ(language_name("Haitian Creole"), "haitian creole");
  EXPECT_EQ(language_name("Castilian"), "spanish");
  EXPECT_EQ(language_name("haw"), "hawaiian");
}

TEST(LanguageName, KnowsWhisperLanguages) {
  for (const char* code :
       {"en", "zh", "de", "es",  "ru", "ko", "fr", "ja", "pt", "tr", "pl", "ca", "nl", "ar", "sv",
        "it", "id", "hi", "fi",  "vi", "he", "uk", "el", "ms", "cs", "ro", "da", "hu", "ta", "no",
        "th", "ur", "hr", "bg",  "lt", "la", "mi", "ml", "cy", "sk", "te", "fa", "lv", "bn", "sr",
        "az", "sl", "kn", "et",  "mk", "br", "eu", "is", "hy", "ne", "mn", "bs", "kk", "sq", "sw",
        "gl", "mr", "pa", "si",  "km", "sn", "yo", "so", "af", "oc", "ka", "be", "tg", "sd", "gu",
        "am", "yi", "lo", "uz",  "fo", "ht", "ps", "tk", "nn", "mt", "sa", "lb", "my", "bo", "tl",
        "mg", "as", "tt", "haw", "ln", "ha", "ba", "jw", "su", "yue"}) {
    const std::string name = language_name(code);
    EXPECT_EQ(language_name(name), name) << code;
  }
}

TEST(LanguageName, RefusesTheRestByName) {
  for (const char* spelled : {"", " ", "e", "xx", "klingon", "en-", "-en", "en--US", "english-US",
                              "en US", "en/US", "123", "en-toolongsubtag", "zq", "\xff"})
    EXPECT_THROW(language_name(spelled), Error) << spelled;
  try {
    language_name("klingon");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("\"klingon\""), std::string::npos);
  }
}

}  // namespace
}  // namespace verbatim
