// Boost.JSON itself, compiled here when cross compiling: Debian has its archive for the build
// machine alone.
#include <boost/json/src.hpp>
