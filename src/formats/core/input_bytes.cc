// SPDX-License-Identifier: Apache-2.0
#include "formats/core/input_bytes.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "store/posix_file.h"

namespace poniente::internal {

absl::StatusOr<FileBytes> FileBytes::Open(const std::string& path) {
  PONIENTE_ASSIGN_OR_RETURN(SideFile file, SideFile::Open(path));
  return FileBytes(std::move(file));
}

absl::Status MemoryBytes::ReadAt(uint64_t offset,
                                 std::span<std::byte> into) const {
  if (offset > bytes_.size() || into.size() > bytes_.size() - offset) {
    const uint64_t there = offset > bytes_.size() ? 0 : bytes_.size() - offset;
    return EndsEarly(path_, bytes_.size(), into.size() - there);
  }
  if (!into.empty()) std::memcpy(into.data(), &bytes_[offset], into.size());
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadAllText(const InputBytes& input,
                                        uint64_t most) {
  if (input.size() > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", input.path(), "' has ", input.size(),
                     " bytes, expected at most ", most));
  }
  std::string text(input.size(), '\0');
  PONIENTE_RETURN_IF_ERROR(
      input.ReadAt(0, std::as_writable_bytes(std::span(text))));
  return text;
}

bool BeginsWith(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() &&
         std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

absl::StatusOr<std::vector<std::byte>> ReadHead(const InputBytes& input,
                                                uint64_t count) {
  std::vector<std::byte> head(std::min(input.size(), count));
  PONIENTE_RETURN_IF_ERROR(input.ReadAt(0, head));
  return head;
}

}  // namespace poniente::internal
