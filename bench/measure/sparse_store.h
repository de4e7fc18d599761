// SPDX-License-Identifier: Apache-2.0
// Stores of many documents whose tokens are a hole in a file.

#ifndef PONIENTE_BENCH_MEASURE_SPARSE_STORE_H_
#define PONIENTE_BENCH_MEASURE_SPARSE_STORE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>

#include "bench/measure/document_lengths.h"
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

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_MEASURE_SPARSE_STORE_H_
