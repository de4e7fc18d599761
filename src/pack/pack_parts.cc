// SPDX-License-Identifier: Apache-2.0
#include "pack/pack_parts.h"

#include <dirent.h>
#include <unistd.h>

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "index/int128.h"

namespace poniente::internal {
namespace {

std::string SuffixOf(const PackPart& part) {
  return absl::StrFormat("-of-%05u", part.parts);
}

}  // namespace

absl::StatusOr<std::vector<TextInput>> InputsOfPart(
    const std::vector<TextInput>& inputs, const PackPart& part) {
  uint64_t total = 0;
  for (const TextInput& input : inputs) {
    if (part.parts > 1 && !input.is_regular) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", input.path,
          "' is a stream, which only one process can read: name files to "
          "divide over ",
          part.parts, " parts, or pack it alone with --part 0/1"));
    }
    total += input.bytes;
  }
  std::vector<TextInput> chosen;
  uint64_t before = 0;
  for (const TextInput& input : inputs) {
    // Twice the middle, which may lie between two bytes.
    const Uint128 middle = Uint128{before} * 2 + input.bytes;
    before += input.bytes;
    const Uint128 share =
        total == 0 ? 0 : middle * part.parts / (Uint128{total} * 2);
    // An empty input at the very end has its middle behind the last part.
    const uint64_t owner = share < part.parts ? static_cast<uint64_t>(share)
                                              : uint64_t{part.parts} - 1;
    if (owner == part.ordinal) chosen.push_back(input);
  }
  return chosen;
}

std::string PathOfPart(const std::string& folder, const PackPart& part) {
  return absl::StrCat(folder, "/", absl::StrFormat("part-%05u", part.ordinal),
                      SuffixOf(part));
}

absl::Status CheckPartFolder(const std::string& folder, const PackPart& part) {
  if (::access((folder + "/manifest.json").c_str(), F_OK) == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", folder,
        "' is a token store itself; parts go into a folder of their own: "
        "remove it, or give another --out"));
  }
  DIR* const dir = ::opendir(folder.c_str());
  if (dir == nullptr) return absl::OkStatus();  // it is made later
  std::string other;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string name = entry->d_name;
    if (absl::StartsWith(name, "part-") && absl::StrContains(name, "-of-") &&
        !absl::EndsWith(name, SuffixOf(part))) {
      other = name;
    }
  }
  ::closedir(dir);
  if (other.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("'", folder, "/", other,
                   "' does not belong to a division into ", part.parts,
                   " parts, so documents would be there twice; remove the "
                   "parts of the other division, or give another --out"));
}

}  // namespace poniente::internal
