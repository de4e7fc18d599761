// SPDX-License-Identifier: Apache-2.0
// Files that are made when they are needed, by one process for all.

#ifndef PONIENTE_STORE_PACKING_REPLACED_FILE_H_
#define PONIENTE_STORE_PACKING_REPLACED_FILE_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "store/posix_file.h"
#include "util/status_macros.h"

namespace poniente::internal {

// A file that is written beside `path` and then takes its place. One process at
// a time holds it, so that the ranks of a run make a file only once.
class ReplacedFile {
 public:
  // Writes the content of an open, empty file, whose path is for errors.
  using Content = std::function<absl::Status(int fd, const std::string& path)>;

  // Waits for other processes that write the same file. What a killed one left
  // is overwritten.
  static absl::StatusOr<ReplacedFile> Lock(const std::string& path);
  ReplacedFile(ReplacedFile&&) = default;
  ReplacedFile& operator=(ReplacedFile&&) = delete;
  // Removes the file unless Write() has succeeded.
  ~ReplacedFile();

  // Writes the content, makes it durable, and gives it its name. Call it once.
  absl::Status Write(const Content& content);

 private:
  ReplacedFile(std::string path, std::string temporary, OwnedFd fd)
      : path_(std::move(path)),
        temporary_(std::move(temporary)),
        fd_(std::move(fd)) {}

  std::string path_;
  std::string temporary_;  // empty once it has its name
  OwnedFd fd_;
};

// Returns the DataLoss error of such a file; `what` says what it is or has.
absl::Status DamagedFile(const std::string& path, std::string_view what);

// Returns what open() finds in the file `path`. If it returns null (there is no
// such file, or one of other documents) or DataLoss, calls write(file), which
// writes the file anew, and opens it again. `open` returns a StatusOr of a
// pointer or an optional.
template <class Open, class Write>
auto OpenOrMake(const std::string& path, const Open& open, const Write& write)
    -> decltype(open()) {
  const auto is_answer = [](const decltype(open())& kept) {
    return kept.ok() ? static_cast<bool>(*kept)
                     : !absl::IsDataLoss(kept.status());
  };
  decltype(open()) kept = open();
  if (is_answer(kept)) return kept;
  PONIENTE_ASSIGN_OR_RETURN(ReplacedFile file, ReplacedFile::Lock(path));
  // Another process may have made it meanwhile.
  kept = open();
  if (is_answer(kept)) return kept;
  PONIENTE_RETURN_IF_ERROR(write(file));
  kept = open();
  if (!kept.ok() || *kept) return kept;
  return absl::AbortedError(absl::StrCat(
      "'", path,
      "' was replaced by the order of other documents while it was "
      "made; name a file of its own for each source and selection"));
}

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_PACKING_REPLACED_FILE_H_
