// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/load_config.h"

#include "cli/screen/console.h"

namespace poniente::cli {

absl::StatusOr<Config> LoadConfig(const std::string& path) {
  absl::StatusOr<Config> config = Config::Load(path);
  if (config.ok()) {
    for (const std::string& warning : config->warnings()) Warn(warning);
  }
  return config;
}

}  // namespace poniente::cli
