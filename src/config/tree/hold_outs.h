// SPDX-License-Identifier: Apache-2.0
// Which documents and windows are held out of training, and the proof that
// nothing of them is trained on.

#ifndef PONIENTE_CONFIG_TREE_HOLD_OUTS_H_
#define PONIENTE_CONFIG_TREE_HOLD_OUTS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/config.h"
#include "poniente/run.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"

namespace poniente::internal {

// Returns the documents that a node with this hold-out reads, of those in
// `chosen` (null: of all). Documents are numbered in their store, so a store
// holds out the same ones by itself and as a part of a catalogue.
absl::StatusOr<Selection> SelectDocuments(const TokenSource& source,
                                          const NodeHoldOut& hold_out,
                                          const Selection* chosen);
// Returns the windows that a node with this hold-out reads.
absl::StatusOr<Selection> SelectWindows(uint64_t windows,
                                        const NodeHoldOut& hold_out);

// A store of a source, and which documents of the source are its own.
struct StorePart {
  uint64_t fingerprint = 0;
  uint64_t first_document = 0;
  uint64_t documents = 0;
};

// Returns the stores of a source: itself, unless it joins several.
std::vector<StorePart> StoresOf(const TokenSource& source);

// Returns whether the source reads a document, by its number there.
bool ReadsDocument(const ConfigSource& source, uint64_t document);

// What two sources both read.
struct SharedData {
  // Whether they have a store in common: the same content, wherever it lies.
  bool shares_store = false;
  // Documents that both read; windows if both choose windows.
  uint64_t count = 0;
  bool is_windows = false;
};
// Complexity: O(documents of the stores in common).
SharedData SharedBy(const ConfigSource& a, const ConfigSource& b);

// Calls visit(i, j) for each pair i < j of sources with a store in common.
void ForEachSharedPair(const std::vector<ConfigSource>& sources,
                       const std::function<void(size_t i, size_t j)>& visit);

// Checks that sources over one store hold the same out. InvalidArgument, with a
// line for each that does not.
absl::Status CheckHoldOuts(const std::vector<ConfigSource>& sources);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_HOLD_OUTS_H_
