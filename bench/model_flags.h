// The flags of verbatim-bench model.
#pragma once

#include <CLI/CLI.hpp>

#include "bench/commands.h"

namespace verbatim {

CLI::App* declare_model(CLI::App& app, ModelBenchOptions& to);

}  // namespace verbatim
