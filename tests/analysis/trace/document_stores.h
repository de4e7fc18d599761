// SPDX-License-Identifier: Apache-2.0
// Stores of given documents, and runs over them, for tests of whole runs.

#ifndef PONIENTE_TESTS_ANALYSIS_TRACE_DOCUMENT_STORES_H_
#define PONIENTE_TESTS_ANALYSIS_TRACE_DOCUMENT_STORES_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/config.h"
#include "poniente/run.h"
#include "poniente/token_store_writer.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {

// Makes the store `name` in the folder: bytes, documents ended by 256 and
// called name0, name1, ... `ids`: size of the vocabulary.
inline void WriteDocuments(const TempDir& folder, const std::string& name,
                           const std::vector<std::vector<uint32_t>>& documents,
                           uint64_t ids = 257) {
  TokenStoreWriterOptions options;
  options.vocabulary = {"bytes", ids};
  options.end_of_document = 256;
  auto writer = *TokenStoreWriter::Create(folder.path(name), options);
  for (size_t d = 0; d < documents.size(); ++d) {
    ASSERT_THAT(writer->AddDocument(documents[d], absl::StrCat(name, d)),
                IsOk());
  }
  ASSERT_THAT(writer->Finish(), IsOk());
}

// Opens the run of a text that lies in the folder.
inline absl::StatusOr<Config> OpenRun(const TempDir& folder,
                                      const std::string& text) {
  const absl::StatusOr<Run> run = ParseRun(text, "run.toml", folder.path());
  if (!run.ok()) return run.status();
  return Config::Create(*run);
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_ANALYSIS_TRACE_DOCUMENT_STORES_H_
