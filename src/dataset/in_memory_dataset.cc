// SPDX-License-Identifier: Apache-2.0
#include "poniente/in_memory_dataset.h"

#include "absl/strings/str_cat.h"
#include "async/notifier.h"
#include "index/keyed_hash.h"

namespace poniente::internal {

class GrowthSignal::Impl : public Notifier {};

GrowthSignal::GrowthSignal() : impl_(std::make_unique<Impl>()) {}
GrowthSignal::~GrowthSignal() = default;
uint64_t GrowthSignal::version() const { return impl_->version(); }
void GrowthSignal::NotifyAll() { impl_->NotifyAll(); }
Task<> GrowthSignal::WaitPast(uint64_t seen) { return impl_->WaitPast(seen); }

uint64_t InMemoryFingerprint(const InMemoryOptions& options, uint64_t length) {
  return Derive(length, Tag("memory"), std::string_view(options.name));
}

absl::Status CutWindow(const DatasetNode& node, const Position& position,
                       TokenWindow* window) {
  std::vector<uint32_t>& tokens = window->tokens;
  const uint64_t end =
      uint64_t{position.part_begin} + uint64_t{position.part_length};
  if (end > tokens.size()) {
    return absl::OutOfRangeError(absl::StrCat(
        "tokens ", position.part_begin, " to ", end, " of item ",
        position.index, " of '", node.name(), "', which has ", tokens.size()));
  }
  tokens.resize(end);
  tokens.erase(tokens.begin(), tokens.begin() + position.part_begin);
  return absl::OkStatus();
}

}  // namespace poniente::internal
