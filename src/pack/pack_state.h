// SPDX-License-Identifier: Apache-2.0
// The progress of a pack: what a run needs to continue after a kill.

#ifndef PONIENTE_PACK_PACK_STATE_H_
#define PONIENTE_PACK_PACK_STATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pack/pack_input.h"

namespace poniente::internal {

// Counts inputs that were packed, but possibly by mistake.
struct OddInputs {
  uint64_t count = 0;
  std::string first;

  void Note(const std::string& path) {
    if (count++ == 0) first = path;
  }

  friend bool operator==(const OddInputs&, const OddInputs&) = default;
};

// The state after some units, in order.
struct PackState {
  // Where the next unit begins: which input, and where in it.
  uint64_t input = 0;
  UnitBegin begin;
  // Counts within that input.
  uint64_t lines = 0;
  uint64_t documents_of_input = 0;
  bool in_document = false;
  // Counts over all inputs.
  uint64_t bytes = 0;
  uint64_t empty = 0;  // inputs without a document
  OddInputs compressed;
  OddInputs binary;
  uint64_t bad_lines = 0;
  std::string first_bad_line;

  friend bool operator==(const PackState&, const PackState&) = default;
};

// What a run packs, as digests, and with what. A run continues another one only
// if both digests are equal, and unless the libraries are known to differ.
struct PackWork {
  uint64_t options = 0;
  uint64_t inputs = 0;
  // The library that makes the ids, with its version; empty if not known.
  std::string tokenizer_library = {};

  friend bool operator==(const PackWork&, const PackWork&) = default;
};

// Returns the text of a state, for a checkpoint.
std::string EncodePackState(const PackWork& work, const PackState& state);

struct SavedPackState {
  PackWork work;
  PackState state;
};
// Parses a text of EncodePackState(); nullopt for any other text.
std::optional<SavedPackState> ParsePackState(std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_STATE_H_
