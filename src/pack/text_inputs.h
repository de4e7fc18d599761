// SPDX-License-Identifier: Apache-2.0
// Finds the files that the arguments of a command stand for.

#ifndef PONIENTE_PACK_TEXT_INPUTS_H_
#define PONIENTE_PACK_TEXT_INPUTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/token_source.h"

namespace poniente::internal {

// One input of a pack.
struct TextInput {
  std::string path;  // "-" is standard input
  std::string name;  // of its document, or a prefix of their names; unique
  uint64_t bytes = 0;
  uint64_t modified_nanoseconds = 0;  // since 1970
  bool is_regular = false;
  // Source of the tokens if the input is already tokenized; null for text.
  std::shared_ptr<const TokenSource> source = nullptr;
  // Covers the names, sizes and modification times of the files of `source`.
  uint64_t files_digest = 0;
  // Documents [first_document, end_document) of `source`.
  uint64_t first_document = 0;
  uint64_t end_document = 0;
  TokenRange tokens = {};  // the tokens of these documents

  // Returns whether the size is meaningless, as for a pipe, a device or a file
  // in /proc.
  bool is_stream() const { return !is_regular || bytes == 0; }
};

// Counts of entries of folders that were left out: links (never followed),
// devices and the like, and files that no pattern matches.
struct LeftOut {
  uint64_t links = 0;
  uint64_t special = 0;
  uint64_t unmatched = 0;
};

// The result of FindTextInputs().
struct TextInputs {
  std::vector<TextInput> files;
  // Whether all sizes are known before reading; false if an input is a stream.
  bool sizes_known = true;
  LeftOut left_out;
};

// Finds the inputs. Each of `inputs` is a file, a stream, or a folder that
// stands for all files below it, in the bytewise order of their paths. A file
// is named by its path below the given folder, or by its last component; to a
// name that is already taken, "~2", "~3", ... is appended. `patterns` (fnmatch)
// select files of folders: a pattern with a '/' is compared with the path below
// the folder, others with the last component. Files below `leave_out` are not
// inputs.
absl::StatusOr<TextInputs> FindTextInputs(
    const std::vector<std::string>& inputs,
    const std::vector<std::string>& patterns, const std::string& leave_out);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_TEXT_INPUTS_H_
