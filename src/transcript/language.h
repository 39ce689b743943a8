// Names of languages, as requests spell them (section 6.2 of the HTTP API contract).
#pragma once

#include <string>
#include <string_view>

namespace verbatim {

// The lower-case English name of an ISO-639-1 or -3 code, a BCP-47 tag (its primary subtag counts)
// or an English name, in any case. Throws kInvalidArgument for what is none of these.
std::string language_name(std::string_view spelled);

}  // namespace verbatim
