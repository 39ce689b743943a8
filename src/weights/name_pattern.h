// Names of layers as a quantisation config spells them: plain, or "re:" and a regular expression.
#pragma once

#include <string>
#include <string_view>

namespace verbatim {

// Is the module meant by the pattern? Plain ones mean the module of that name and all inside it,
// however many names stand in front. After "re:" comes what Python's re.match takes: literals,
// dots, classes, groups, alternatives and the repeats * + ?. Throws kUnsupported for anything else,
// naming the pattern and `where` it stands, and for what would take long.
bool matches_module(std::string_view pattern, std::string_view module, const std::string& where);

}  // namespace verbatim
