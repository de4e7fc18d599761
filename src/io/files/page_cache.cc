// SPDX-License-Identifier: Apache-2.0
#include "io/files/page_cache.h"

#include <algorithm>
#include <fstream>
#include <optional>

#include "util/control_groups.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kUnknown = uint64_t{1} << 63;

// Returns the number in the first line that begins with `key`.
std::optional<uint64_t> NumberAfter(const std::string& path,
                                    const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const size_t digit = line.find_first_of("0123456789", key.size());
    if (digit == std::string::npos) return std::nullopt;  // "max"
    return std::stoull(line.substr(digit, 18));
  }
  return std::nullopt;
}

// Returns the group's memory limit less its memory that cannot be reclaimed.
uint64_t LeftIn(const ControlGroup& group) {
  const std::optional<uint64_t> most = NumberAfter(
      group.folder + (group.is_v1 ? "/memory.limit_in_bytes" : "/memory.max"),
      "");
  if (!most.has_value()) return kUnknown;
  const uint64_t pinned = NumberAfter(group.folder + "/memory.stat",
                                      group.is_v1 ? "total_rss " : "anon ")
                              .value_or(0);
  return *most - std::min(*most, pinned);
}

}  // namespace

uint64_t AvailableMemoryBytes(const std::string& root) {
  uint64_t available = kUnknown;
  if (const auto kib = NumberAfter(root + "/proc/meminfo", "MemAvailable:")) {
    available = *kib * 1024;
  }
  for (const ControlGroup& group : ControlGroupsOf("memory", root)) {
    available = std::min(available, LeftIn(group));
  }
  return available;
}

}  // namespace poniente::internal
