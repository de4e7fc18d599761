// SPDX-License-Identifier: Apache-2.0
// Every key that a configuration may have. The reader knows no others; the
// tool explains them; docs/config.md is compared with this list.

#ifndef PONIENTE_CONFIG_PARSE_CONFIG_KEYS_H_
#define PONIENTE_CONFIG_PARSE_CONFIG_KEYS_H_

#include <span>
#include <string>
#include <string_view>

namespace poniente::internal {

enum class KeyTable {
  kTop,
  kData,
  kNode,
  kSelection,
  kOrder,
  kBlockShuffle,
  kStage,
  kMixtureStage,
  kBatchSize,
  kSeqLen,
  kFlatForm,
  kPhase,
  kTrain,
  kRuntime,
};

struct ConfigKey {
  KeyTable table;
  std::string_view name;
  std::string_view type;
  std::string_view unit;      // "" where it has none
  std::string_view fallback;  // what holds if the key is missing
  std::string_view meaning;
};

// By table.
std::span<const ConfigKey> ConfigKeys();

// Those of one table.
std::span<const ConfigKey> ConfigKeys(KeyTable table);

// As messages and documents call it: "[data]", "a node", ...
std::string_view KeyTableName(KeyTable table);

// The key's row of the table in docs/config.md.
std::string MarkdownRow(const ConfigKey& key);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_CONFIG_KEYS_H_
