// SPDX-License-Identifier: Apache-2.0
#include "poniente/mapped_dataset.h"

#include <algorithm>

#include "index/keyed_hash.h"

namespace poniente::internal {
namespace {

class Identity final : public IndexMap {
 public:
  explicit Identity(std::optional<uint64_t> length) : length_(length) {}

  std::optional<uint64_t> length() const override { return length_; }
  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) const override {
    std::transform(positions.begin(), positions.end(), out.begin(),
                   [](const Position& position) {
                     return ChildPosition{0, position};
                   });
  }
  std::optional<Position> Find(uint32_t,
                               const Position& position) const override {
    if (length_.has_value() && position.index >= *length_) return std::nullopt;
    return position;
  }
  std::optional<IndexSpan> SpanBelow(uint32_t,
                                     const IndexSpan& span) const override {
    return span;
  }

 private:
  const std::optional<uint64_t> length_;
};

}  // namespace

uint64_t MappedFingerprint(std::string_view name, const DatasetNode& child) {
  return Derive(child.fingerprint(), Tag("map"), name);
}

NodeIdentity MappedIdentity(std::string_view name) {
  return {.parameters = Derive(0, Tag("map"), name)};
}

std::shared_ptr<const IndexMap> IdentityMap(const LengthState& length) {
  std::optional<uint64_t> items;
  if (!length.is_endless) items = length.readable;
  return std::make_shared<Identity>(items);
}

}  // namespace poniente::internal
