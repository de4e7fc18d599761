// SPDX-License-Identifier: Apache-2.0
// What a pack has made: its documents, and its files to the byte.

#ifndef PONIENTE_TESTS_CLI_PACKED_STORE_H_
#define PONIENTE_TESTS_CLI_PACKED_STORE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "poniente/token_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {

using NamedIds = std::pair<std::string, std::vector<uint32_t>>;

// Names and ids of a store's documents, after all its checksums were checked.
inline std::vector<NamedIds> PackedDocuments(const std::string& path) {
  std::vector<NamedIds> documents;
  const auto store = TokenStore::Open(path);
  EXPECT_THAT(store, IsOk());
  if (!store.ok()) return documents;
  EXPECT_THAT(VerifyTokenStore(**store), IsOk());
  for (uint64_t d = 0; d < (*store)->num_documents(); ++d) {
    const auto ids = (*store)->Documents()->GetBlocking(d);
    EXPECT_THAT(ids, IsOk());
    const auto name = (*store)->DocumentName(d);
    EXPECT_THAT(name, IsOk());
    if (!ids.ok() || !name.ok()) return documents;
    documents.emplace_back(
        *name, std::vector<uint32_t>(ids->tokens.begin(), ids->tokens.end()));
  }
  return documents;
}

// The ids of text in bytes.
inline std::vector<uint32_t> BytesOf(const std::string& text) {
  std::vector<uint32_t> ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

// The same, and the id that ends a document.
inline std::vector<uint32_t> EndedBytesOf(const std::string& text,
                                          uint32_t end = 256) {
  std::vector<uint32_t> ids = BytesOf(text);
  ids.push_back(end);
  return ids;
}

// Every file of a folder, by its name.
inline std::map<std::string, std::string> FilesIn(const std::string& path) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    files[entry.path().filename()] = ReadFile(entry.path());
  }
  return files;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_CLI_PACKED_STORE_H_
