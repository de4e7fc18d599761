// SPDX-License-Identifier: Apache-2.0
// Stores of many documents whose tokens are a hole in a file.

#ifndef PONIENTE_BENCH_MEASURE_SPARSE_STORE_H_
#define PONIENTE_BENCH_MEASURE_SPARSE_STORE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "bench/measure/document_lengths.h"
#include "bench/measure/flags.h"
#include "bench/measure/require.h"
#include "store/write/store_builder.h"
#include "util/crc32c.h"

namespace poniente::bench {

// Writes a store of `documents` documents without names, of lengths that `draw`
// returns, at `path`, unless there is one. All ids are 0, of two bytes each,
// and take no space on the disk; what else a store has is as in any other.
inline void WriteSparseStore(const std::string& path, uint64_t documents,
                             DrawLength draw) {
  if (std::filesystem::exists(path + "/manifest.json")) return;
  TokenStoreWriterOptions options;
  options.vocabulary = {"bench", 65536};
  const auto builder = Require(internal::StoreBuilder::Create(
      path, Require(internal::ManifestToWrite(path, options))));
  std::mt19937_64 random(1);
  uint64_t tokens = 0;
  for (uint64_t i = 0; i < documents; ++i) {
    tokens += draw(random);
    Require(builder->BeginDocument(""));
    Require(builder->EndDocument(tokens));
  }
  constexpr std::array<std::byte, 4096> kZeros = {};
  const uint32_t whole = internal::Crc32c(kZeros);
  for (uint64_t bytes = 2 * tokens; bytes > 0;) {
    const auto piece = static_cast<uint32_t>(std::min(bytes, kZeros.size()));
    Require(builder->AddTokens(
        {{piece == kZeros.size()
              ? whole
              : internal::Crc32c(std::span(kZeros).first(piece)),
          piece}}));
    bytes -= piece;
  }
  Require(builder->Finish().status());
}

// Runs a benchmark whose command line is `FOLDER [--documents N] [--rounds N]
// [--only log-normal|power]`: calls measure(name, path, documents, rounds) with
// a sparse store of each distribution. Returns the exit status. `least`: fewest
// documents; `more`: further numbers that the command line may have.
template <class Measure>
int RunOnSparseStores(int argc, char** argv, const char* tool, double least,
                      const Measure& measure,
                      const std::map<std::string, double*>& more = {}) {
  double documents = 1e8;
  double rounds = 5;
  std::string only;
  std::map<std::string, double*> numbers = more;
  numbers["--documents"] = &documents;
  numbers["--rounds"] = &rounds;
  std::string others;
  for (const auto& [name, number] : more) others += " [" + name + " N]";
  if (argc < 2 || argv[1][0] == '-' ||
      !ParseNumbers(argc, argv, 2, numbers, &only) || documents < least ||
      documents >= 0x1p32) {
    std::fprintf(stderr,
                 "usage: %s FOLDER [--documents N, %.0f to 2^32] [--rounds N] "
                 "[--only log-normal|power]%s\n",
                 tool, least, others.c_str());
    return 2;
  }
  const auto count = static_cast<uint64_t>(documents);
  const std::pair<const char*, DrawLength> all[] = {
      {"log-normal", LogNormalLength}, {"power", PowerLength}};
  for (const auto& [name, draw] : all) {
    if (!only.empty() && only != name) continue;
    const std::string path = absl::StrFormat("%s/%s-%d", argv[1], name, count);
    std::filesystem::create_directories(argv[1]);
    WriteSparseStore(path, count, draw);
    measure(name, path, count, static_cast<int>(rounds));
  }
  return 0;
}

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_MEASURE_SPARSE_STORE_H_
