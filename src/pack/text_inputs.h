// SPDX-License-Identifier: Apache-2.0
// Finds the files that a command line names.

#ifndef PONIENTE_PACK_TEXT_INPUTS_H_
#define PONIENTE_PACK_TEXT_INPUTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/token_source.h"

namespace poniente::internal {

struct TextInput {
  std::string path;  // "-" is standard input
  std::string name;  // what its document is called; unique
  uint64_t bytes = 0;
  uint64_t modified_nanoseconds = 0;  // since 1970
  bool is_regular = false;
  // Source of an input that is already tokenized; null for text.
  std::shared_ptr<const TokenSource> source = nullptr;
  // Documents [first_document, end_document) of `source`.
  uint64_t first_document = 0;
  uint64_t end_document = 0;
  TokenRange tokens = {};  // of these documents

  // Returns whether its size is meaningless: a pipe, a device, a file of /proc.
  bool is_stream() const { return !is_regular || bytes == 0; }
};

// What was left out below folders: links (never followed), devices and so on,
// and files that no pattern matches.
struct LeftOut {
  uint64_t links = 0;
  uint64_t special = 0;
  uint64_t unmatched = 0;
};

struct TextInputs {
  std::vector<TextInput> files;
  // Known before reading; false if one of them is a stream.
  bool sizes_known = true;
  LeftOut left_out;
};

// Finds the inputs. Each of `inputs` is a file, a stream, or a folder that
// stands for all files below it, in the bytewise order of their paths. A file
// is named by its path below the given folder, or by its last component; a name
// that is already taken gets "~2", "~3", ... `patterns` (fnmatch) select files
// of folders: a pattern with a '/' is compared with the path below the folder,
// others with the last component. What lies below `leave_out` is not an input.
absl::StatusOr<TextInputs> FindTextInputs(
    const std::vector<std::string>& inputs,
    const std::vector<std::string>& patterns, const std::string& leave_out);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_TEXT_INPUTS_H_
