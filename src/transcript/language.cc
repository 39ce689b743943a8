// The table: every ISO-639-1 language, those Whisper knows, and some that speech collections name
// by their ISO-639-3 code. Where Whisper has a name for a language, it is the one used here.
#include "transcript/language.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace verbatim {

namespace {

struct Language {
  std::string_view name;
  std::string_view codes;  // two and three letters, retired ones included
};

constexpr std::array<Language, 210> kLanguages{{
    {"abkhazian", "ab abk"},
    {"afar", "aa aar"},
    {"afrikaans", "af afr"},
    {"akan", "ak aka twi tw"},
    {"albanian", "sq sqi alb als"},
    {"amharic", "am amh"},
    {"arabic", "ar ara arb"},
    {"aragonese", "an arg"},
    {"armenian", "hy hye arm"},
    {"assamese", "as asm"},
    {"asturian", "ast"},
    {"avaric", "av ava"},
    {"avestan", "ae ave"},
    {"awadhi", "awa"},
    {"aymara", "ay aym"},
    {"azerbaijani", "az aze azj"},
    {"bambara", "bm bam"},
    {"bashkir", "ba bak"},
    {"basque", "eu eus baq"},
    {"belarusian", "be bel"},
    {"bemba", "bem"},
    {"bengali", "bn ben"},
    {"bhojpuri", "bho"},
    {"bislama", "bi bis"},
    {"bosnian", "bs bos"},
    {"breton", "br bre"},
    {"bulgarian", "bg bul"},
    {"cantonese", "yue"},
    {"catalan", "ca cat"},
    {"cebuano", "ceb"},
    {"central kurdish", "ckb"},
    {"chamorro", "ch cha"},
    {"chechen", "ce che"},
    {"chinese", "zh zho chi cmn"},
    {"church slavic", "cu chu"},
    {"chuvash", "cv chv"},
    {"cornish", "kw cor"},
    {"corsican", "co cos"},
    {"cree", "cr cre"},
    {"croatian", "hr hrv"},
    {"czech", "cs ces cze"},
    {"danish", "da dan"},
    {"divehi", "dv div"},
    {"dutch", "nl nld dut"},
    {"dzongkha", "dz dzo"},
    {"english", "en eng"},
    {"esperanto", "eo epo"},
    {"estonian", "et est ekk"},
    {"ewe", "ee"},
    {"faroese", "fo fao"},
    {"fijian", "fj fij"},
    {"finnish", "fi fin"},
    {"french", "fr fra fre"},
    {"friulian", "fur"},
    {"fulah", "ff ful"},
    {"galician", "gl glg"},
    {"ganda", "lg lug"},
    {"georgian", "ka kat geo"},
    {"german", "de deu ger"},
    {"greek", "el ell gre"},
    {"guarani", "gn grn"},
    {"gujarati", "gu guj"},
    {"haitian creole", "ht hat"},
    {"hakka", "hak"},
    {"hausa", "ha hau"},
    {"hawaiian", "haw"},
    {"hebrew", "he heb iw"},
    {"herero", "hz her"},
    {"hindi", "hi hin"},
    {"hiri motu", "ho hmo"},
    {"hmong", "hmn"},
    {"hungarian", "hu hun"},
    {"icelandic", "is isl ice"},
    {"ido", "io"},
    {"igbo", "ig ibo"},
    {"ilocano", "ilo"},
    {"indonesian", "id ind"},
    {"interlingua", "ia ina"},
    {"interlingue", "ie ile"},
    {"inuktitut", "iu iku"},
    {"inupiaq", "ik ipk"},
    {"irish", "ga gle"},
    {"italian", "it ita"},
    {"japanese", "ja jpn"},
    {"javanese", "jw jav jv"},
    {"kabuverdianu", "kea"},
    {"kabyle", "kab"},
    {"kalaallisut", "kl kal"},
    {"kamba", "kam"},
    {"kannada", "kn kan"},
    {"kanuri", "kr kau"},
    {"kashmiri", "ks kas"},
    {"kazakh", "kk kaz"},
    {"khmer", "km khm"},
    {"kikuyu", "ki kik"},
    {"kinyarwanda", "rw kin"},
    {"komi", "kv kom"},
    {"kongo", "kg kon"},
    {"korean", "ko kor"},
    {"kuanyama", "kj kua"},
    {"kurdish", "ku kur kmr"},
    {"kyrgyz", "ky kir"},
    {"lao", "lo lao"},
    {"latin", "la lat"},
    {"latvian", "lv lav lvs"},
    {"limburgish", "li lim"},
    {"lingala", "ln lin"},
    {"lithuanian", "lt lit"},
    {"low german", "nds"},
    {"luba katanga", "lu lub"},
    {"luo", "luo"},
    {"luxembourgish", "lb ltz"},
    {"macedonian", "mk mkd mac"},
    {"maithili", "mai"},
    {"malagasy", "mg mlg plt"},
    {"malay", "ms msa may zsm zlm"},
    {"malayalam", "ml mal"},
    {"maltese", "mt mlt"},
    {"manx", "gv glv"},
    {"maori", "mi mri mao"},
    {"marathi", "mr mar"},
    {"marshallese", "mh mah"},
    {"min nan", "nan"},
    {"mongolian", "mn mon khk"},
    {"myanmar", "my mya bur"},
    {"nauru", "na nau"},
    {"navajo", "nv nav"},
    {"ndonga", "ng ndo"},
    {"nepali", "ne nep npi"},
    {"north ndebele", "nd nde"},
    {"northern sami", "se sme"},
    {"northern sotho", "nso"},
    {"norwegian", "no nor nb nob"},
    {"nyanja", "ny nya"},
    {"nynorsk", "nn nno"},
    {"occitan", "oc oci"},
    {"odia", "or ori ory"},
    {"ojibwa", "oj oji"},
    {"oromo", "om orm"},
    {"ossetian", "os oss"},
    {"pali", "pi pli"},
    {"papiamento", "pap"},
    {"pashto", "ps pus pbu pst"},
    {"persian", "fa fas per pes prs"},
    {"polish", "pl pol"},
    {"portuguese", "pt por"},
    {"punjabi", "pa pan pnb"},
    {"quechua", "qu que"},
    {"romanian", "ro ron rum"},
    {"romansh", "rm roh"},
    {"rundi", "rn run"},
    {"russian", "ru rus"},
    {"samoan", "sm smo"},
    {"sango", "sg sag"},
    {"sanskrit", "sa san"},
    {"sardinian", "sc srd"},
    {"scottish gaelic", "gd gla"},
    {"serbian", "sr srp"},
    {"shona", "sn sna"},
    {"sichuan yi", "ii iii"},
    {"sicilian", "scn"},
    {"sindhi", "sd snd"},
    {"sinhala", "si sin"},
    {"slovak", "sk slk slo"},
    {"slovenian", "sl slv"},
    {"somali", "so som"},
    {"south ndebele", "nr nbl"},
    {"southern sotho", "st sot"},
    {"spanish", "es spa"},
    {"sundanese", "su sun"},
    {"swahili", "sw swa swh"},
    {"swati", "ss ssw"},
    {"swedish", "sv swe"},
    {"swiss german", "gsw"},
    {"tagalog", "tl tgl fil"},
    {"tahitian", "ty tah"},
    {"tajik", "tg tgk"},
    {"tamil", "ta tam"},
    {"tatar", "tt tat"},
    {"telugu", "te tel"},
    {"thai", "th tha"},
    {"tibetan", "bo bod tib"},
    {"tigrinya", "ti tir"},
    {"tok pisin", "tpi"},
    {"tongan", "to ton"},
    {"tsonga", "ts tso"},
    {"tswana", "tn tsn"},
    {"turkish", "tr tur"},
    {"turkmen", "tk tuk"},
    {"ukrainian", "uk ukr"},
    {"umbundu", "umb"},
    {"upper sorbian", "hsb"},
    {"urdu", "ur urd"},
    {"uyghur", "ug uig"},
    {"uzbek", "uz uzb uzn"},
    {"venda", "ve ven"},
    {"venetian", "vec"},
    {"vietnamese", "vi vie"},
    {"volapuk", "vo vol"},
    {"walloon", "wa wln"},
    {"waray", "war"},
    {"welsh", "cy cym wel"},
    {"western frisian", "fy fry"},
    {"wolof", "wo wol"},
    {"wu chinese", "wuu"},
    {"xhosa", "xh xho"},
    {"yiddish", "yi yid ydd ji"},
    {"yoruba", "yo yor"},
    {"zhuang", "za zha"},
    {"zulu", "zu zul"},
}};

struct OtherName {
  std::string_view other;
  std::string_view name;
};

constexpr std::array<OtherName, 31> kOtherNames{{
    {"alsatian", "swiss german"},
    {"azeri", "azerbaijani"},
    {"bangla", "bengali"},
    {"belorussian", "belarusian"},
    {"bokmal", "norwegian"},
    {"burmese", "myanmar"},
    {"castilian", "spanish"},
    {"central khmer", "khmer"},
    {"dari", "persian"},
    {"farsi", "persian"},
    {"filipino", "tagalog"},
    {"flemish", "dutch"},
    {"gaelic", "scottish gaelic"},
    {"haitian", "haitian creole"},
    {"kirghiz", "kyrgyz"},
    {"letzeburgesch", "luxembourgish"},
    {"mandarin", "chinese"},
    {"mandarin chinese", "chinese"},
    {"modern greek", "greek"},
    {"moldavian", "romanian"},
    {"moldovan", "romanian"},
    {"norwegian bokmal", "norwegian"},
    {"norwegian nynorsk", "nynorsk"},
    {"oriya", "odia"},
    {"panjabi", "punjabi"},
    {"pushto", "pashto"},
    {"sinhalese", "sinhala"},
    {"slovene", "slovenian"},
    {"twi", "akan"},
    {"uighur", "uyghur"},
    {"valencian", "catalan"},
}};

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// Blanks at both ends go, letters become small.
std::string normalised(std::string_view spelled) {
  const std::size_t first = spelled.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  const std::size_t last = spelled.find_last_not_of(" \t\r\n");
  std::string out(spelled.substr(first, last - first + 1));
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string_view find_by_name(std::string_view name) {
  for (const Language& language : kLanguages)
    if (language.name == name) return language.name;
  for (const OtherName& entry : kOtherNames)
    if (entry.other == name) return entry.name;
  return {};
}

std::string_view find_by_code(std::string_view code) {
  if (code.size() < 2 || code.size() > 3) return {};
  for (const Language& language : kLanguages) {
    std::string_view codes = language.codes;
    while (!codes.empty()) {
      const std::size_t end = std::min(codes.find(' '), codes.size());
      if (codes.substr(0, end) == code) return language.name;
      codes.remove_prefix(std::min(end + 1, codes.size()));
    }
  }
  return {};
}

// The first subtag of a tag such as zh-Hans-CN (or with underscores); empty when it is no tag.
std::string_view primary_subtag(std::string_view tag) {
  constexpr std::size_t kLongestSubtag = 8;
  std::size_t length = 0;
  for (const char c : tag) {
    const bool separator = c == '-' || c == '_';
    if (separator && length == 0) return {};
    if (!separator && (!is_letter_or_digit(c) || length == kLongestSubtag)) return {};
    length = separator ? 0 : length + 1;
  }
  return length == 0 ? std::string_view() : tag.substr(0, tag.find_first_of("-_"));
}

}  // namespace

std::string language_name(std::string_view spelled) {
  const std::string text = normalised(spelled);
  std::string_view name = find_by_name(text);
  if (name.empty()) name = find_by_code(primary_subtag(text));
  if (name.empty())
    fail(
        Code::kInvalidArgument,
        "language \"%.*s\" is unknown; expected an ISO-639-1 or ISO-639-3 code, a BCP-47 tag or an "
        "English language name",
        static_cast<int>(std::min<std::size_t>(spelled.size(), 64)), spelled.data());
  return std::string(name);
}

}  // namespace verbatim
