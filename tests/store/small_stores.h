// SPDX-License-Identifier: Apache-2.0
// Documents whose tokens prove themselves, stores made of them, and the whole
// of a store read back.

#ifndef PONIENTE_TESTS_STORE_SMALL_STORES_H_
#define PONIENTE_TESTS_STORE_SMALL_STORES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/token_store.h"
#include "poniente/token_store_writer.h"

namespace poniente::testing {

struct TextDocument {
  std::string name;
  std::vector<uint32_t> ids;
  // One byte per id: 0 or 1.
  std::optional<std::vector<uint8_t>> has_loss = std::nullopt;

  friend bool operator==(const TextDocument&, const TextDocument&) = default;
};
using Documents = std::vector<TextDocument>;

inline TokenStoreWriterOptions ByteOptions() {
  TokenStoreWriterOptions options;
  options.vocabulary = {"bytes", 257};
  options.end_of_document = 256;
  return options;
}

// Token `token` of document `document`, below `vocabulary_size`.
inline uint32_t ProvenId(uint64_t document, uint64_t token,
                         uint64_t vocabulary_size) {
  uint64_t word = document * 0x9e3779b97f4a7c15 + token * 0xbf58476d1ce4e5b9;
  word ^= word >> 29;
  word *= 0x94d049bb133111eb;
  return static_cast<uint32_t>((word >> 20) % vocabulary_size);
}

// Documents of these lengths.
inline Documents ProvenDocuments(const std::vector<uint64_t>& lengths,
                                 uint64_t vocabulary_size) {
  Documents documents;
  for (uint64_t d = 0; d < lengths.size(); ++d) {
    TextDocument document{"document-" + std::to_string(d), {}};
    for (uint64_t t = 0; t < lengths[d]; ++t) {
      document.ids.push_back(ProvenId(d, t, vocabulary_size));
    }
    documents.push_back(std::move(document));
  }
  return documents;
}

// Whether token `token` of document `document` has loss, in runs of some
// length.
inline uint8_t ProvenLoss(uint64_t document, uint64_t token) {
  return ProvenId(document + 1000, token / 11, 3) != 0 ? 1 : 0;
}

// The same documents with masks.
inline Documents WithProvenLoss(Documents documents) {
  for (uint64_t d = 0; d < documents.size(); ++d) {
    std::vector<uint8_t>& mask = documents[d].has_loss.emplace();
    for (uint64_t t = 0; t < documents[d].ids.size(); ++t) {
      mask.push_back(ProvenLoss(d, t));
    }
  }
  return documents;
}

inline absl::Status AddTo(TokenStoreWriter* writer,
                          const TextDocument& document) {
  if (!document.has_loss) {
    return writer->AddDocument(document.ids, document.name);
  }
  return writer->AddDocument(document.ids, document.name, *document.has_loss);
}

inline absl::StatusOr<TokenStoreFacts> WriteStore(
    const std::string& path, const Documents& documents,
    const TokenStoreWriterOptions& options = ByteOptions()) {
  auto writer = TokenStoreWriter::Create(path, options);
  if (!writer.ok()) return writer.status();
  for (const TextDocument& document : documents) {
    const absl::Status added = AddTo(writer->get(), document);
    if (!added.ok()) return added;
  }
  return (*writer)->Finish();
}

inline absl::StatusOr<Documents> ReadStore(const TokenStore& store) {
  Documents documents;
  for (uint64_t d = 0; d < store.num_documents(); ++d) {
    const auto name = store.DocumentName(d);
    if (!name.ok()) return name.status();
    const auto range = store.DocumentRange(d);
    if (!range.ok()) return range.status();
    auto ids = RunBlocking(store.ReadTokens(range->begin, range->size()));
    if (!ids.ok()) return ids.status();
    TextDocument document{*name, *std::move(ids)};
    if (store.has_loss_mask()) {
      auto mask = RunBlocking(store.ReadLossMask(range->begin, range->size()));
      if (!mask.ok()) return mask.status();
      document.has_loss = *std::move(mask);
    }
    documents.push_back(std::move(document));
  }
  return documents;
}

inline absl::StatusOr<Documents> ReadStore(const std::string& path) {
  const auto store = TokenStore::Open(path);
  if (!store.ok()) return store.status();
  return ReadStore(**store);
}

// All ids end to end: what windows cut.
inline std::vector<uint32_t> AllIds(const Documents& documents) {
  std::vector<uint32_t> ids;
  for (const TextDocument& document : documents) {
    ids.insert(ids.end(), document.ids.begin(), document.ids.end());
  }
  return ids;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_STORE_SMALL_STORES_H_
