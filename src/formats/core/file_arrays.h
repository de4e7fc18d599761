// SPDX-License-Identifier: Apache-2.0
// Files that hold one array each, alone or as the shards of a folder.

#ifndef PONIENTE_FORMATS_CORE_FILE_ARRAYS_H_
#define PONIENTE_FORMATS_CORE_FILE_ARRAYS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/core/found_path.h"
#include "formats/core/input_bytes.h"
#include "formats/core/token_layout.h"
#include "poniente/open_token_source.h"

namespace poniente::internal {

// Where a file's array lies.
struct FileArray {
  StoredType type = StoredType::kU16;
  uint64_t offset = 0;
  uint64_t tokens = 0;
};

// Finds the array of one file; errors name the path.
using FileArrayParser =
    std::function<absl::StatusOr<FileArray>(const InputBytes& input)>;

// Returns `found` itself, or the files of the folder that match `glob`, in
// bytewise order. InvalidArgument if none matches.
absl::StatusOr<std::vector<std::string>> ArrayPaths(const FoundPath& found,
                                                    const std::string& glob);

// Lays out one shard per file: `found` itself, or the files of the folder that
// match options.glob (by default `glob`), in bytewise order. Fills type, files,
// bytes and shards. A file of 0 bytes does not decide the type.
// Errors: InvalidArgument if no file matches, the files' types differ, or
//     options.dtype differs from them; those of `parse`.
absl::StatusOr<TokenLayout> LayOutFileArrays(const FoundPath& found,
                                             const TokenSourceOptions& options,
                                             const std::string& glob,
                                             const FileArrayParser& parse);

// Returns the first bytes, at most `count` and at most 4096, of `found` itself
// or of the first file of the folder that matches found.glob (by default
// `glob`); empty if there is no such file or it cannot be read.
std::vector<std::byte> FirstBytes(const FoundPath& found,
                                  const std::string& glob, uint64_t count);

// Returns `bytes` / StoredTypeBytes(type); DataLoss if that is not a whole
// number.
absl::StatusOr<uint64_t> CountWhole(const std::string& path, uint64_t bytes,
                                    StoredType type);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_FILE_ARRAYS_H_
