// SPDX-License-Identifier: Apache-2.0
// The command line of a benchmark.

#ifndef PONIENTE_BENCH_MEASURE_FLAGS_H_
#define PONIENTE_BENCH_MEASURE_FLAGS_H_

#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

#include "absl/strings/numbers.h"

namespace poniente::bench {

// Takes `--name value` for each name of `numbers` that stands in argv[first]
// and after it, and `--only text` and `--gpu text` where asked for. False if
// something else stands there, or a number that is not above 0.
inline bool ParseNumbers(int argc, char** argv, int first,
                         const std::map<std::string, double*>& numbers,
                         std::string* only = nullptr,
                         std::string* gpu = nullptr) {
  if (argc < first || (argc - first) % 2 != 0) return false;
  for (int i = first; i < argc; i += 2) {
    if (only != nullptr && argv[i] == std::string("--only")) {
      *only = argv[i + 1];
      continue;
    }
    if (gpu != nullptr && argv[i] == std::string("--gpu")) {
      *gpu = argv[i + 1];
      continue;
    }
    const auto found = numbers.find(argv[i]);
    if (found == numbers.end()) return false;
    if (!absl::SimpleAtod(argv[i + 1], found->second)) return false;
    if (!(*found->second > 0)) return false;
  }
  return true;
}

// What benchmarks of cases over files in a folder take.
struct FolderOptions {
  std::string folder;  // absolute
  double rounds = 5;
  double seconds = 1;
  double mib = 512;
  std::string only;
  std::string gpu;
};

// Takes `FOLDER` and the options. False, with the usage of `tool` on standard
// error, for anything else. `has_gpu`: whether it takes --gpu.
inline bool ParseFolderOptions(int argc, char** argv, const char* tool,
                               FolderOptions* options, bool has_gpu = false) {
  if (argc < 2 || argv[1][0] == '-' ||
      !ParseNumbers(argc, argv, 2,
                    {{"--rounds", &options->rounds},
                     {"--seconds", &options->seconds},
                     {"--size-mib", &options->mib}},
                    &options->only, has_gpu ? &options->gpu : nullptr)) {
    std::fprintf(stderr,
                 "usage: %s FOLDER [--rounds N] [--seconds S] [--size-mib M] "
                 "[--only 'CASE;...']%s\n",
                 tool, has_gpu ? " [--gpu N]" : "");
    return false;
  }
  options->folder = std::filesystem::absolute(argv[1]);
  return true;
}

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_MEASURE_FLAGS_H_
