// SPDX-License-Identifier: Apache-2.0
// Lists every key that a configuration may have. The reader accepts no others,
// the tool explains them, and a test compares docs/config.md with this list.

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
  kThreshold,
  kOrder,
  kBlockShuffle,
  kPacking,
  kInfilling,
  kLossMask,
  kHoldOut,
  kEval,
  kStage,
  kMixtureStage,
  kBatchSize,
  kSeqLen,
  kBudget,
  kFlatForm,
  kPhase,
  kTrain,
  kRuntime,
};

struct ConfigKey {
  KeyTable table;
  std::string_view name;
  std::string_view type;
  std::string_view unit;      // "" if it has none
  std::string_view fallback;  // used if the key is missing
  std::string_view meaning;
};

// Returns all keys, table by table.
std::span<const ConfigKey> ConfigKeys();

// Returns the keys of one table.
std::span<const ConfigKey> ConfigKeys(KeyTable table);

// Returns the name in messages and documents: "[data]", "a node", ...
std::string_view KeyTableName(KeyTable table);

// Returns the name of a table that has the key; "" if none has. [runtime] comes
// first, then the order of the list.
std::string_view TableThatHas(std::string_view key);

// Returns the key that other loaders and trainers call so: "last_batch" for
// "drop_last"; "" if there is none.
std::string_view KeyOfOtherName(std::string_view name);

// Returns where the key has a meaning, if that begins with "with" or "below":
// "with 'path' or 'hf_name'"; else "".
std::string PlaceOf(const ConfigKey& key);

// Returns the key's row of the table in docs/config.md.
std::string MarkdownRow(const ConfigKey& key);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_CONFIG_KEYS_H_
