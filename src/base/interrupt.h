// The interrupt flag: set by SIGINT and SIGTERM once cli/main.cc has installed it.
#pragma once

namespace verbatim {

void install_interrupt_handler();  // a second signal ends the process at once
bool is_interrupted();             // any thread
void set_interrupted(bool value);  // for tests

}  // namespace verbatim
