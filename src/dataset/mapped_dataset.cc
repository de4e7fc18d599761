// SPDX-License-Identifier: Apache-2.0
#include "poniente/mapped_dataset.h"

#include <algorithm>

#include "index/keyed_hash.h"
#include "index/maps/concat_map.h"
#include "index/maps/group_map.h"
#include "index/maps/interleave_map.h"
#include "index/maps/omission_map.h"
#include "index/maps/selection_map.h"
#include "index/maps/slice_map.h"

namespace poniente::internal {
namespace {

class Identity final : public IndexMap {
 public:
  Identity(std::optional<uint64_t> length, bool is_transparent)
      : length_(length), is_transparent_(is_transparent) {}

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
  std::optional<uint64_t> PrefixParameters(const IndexSpan&) const override {
    if (is_transparent_) return 0;
    return std::nullopt;
  }

 private:
  const std::optional<uint64_t> length_;
  const bool is_transparent_;
};

std::optional<uint64_t> ItemsOf(const LengthState& length) {
  if (length.is_endless) return std::nullopt;
  return length.readable;
}

}  // namespace

uint64_t MappedFingerprint(std::string_view name, const DatasetNode& child) {
  return Derive(child.fingerprint(), Tag("map"), name);
}

NodeIdentity MappedIdentity(std::string_view name, bool makes_windows) {
  const uint64_t parameters = Derive(0, Tag("map"), name);
  return {.parameters =
              makes_windows ? Derive(parameters, Tag("whole")) : parameters};
}

std::shared_ptr<const IndexMap> IdentityMap(const LengthState& length) {
  return std::make_shared<Identity>(ItemsOf(length), false);
}

std::shared_ptr<const IndexMap> TransparentMap(const LengthState& length) {
  return std::make_shared<Identity>(ItemsOf(length), true);
}

bool DependsOnEpoch(const DatasetNode& node) {
  if (node.has_order() || node.keeps_pieces()) return true;
  const std::vector<NamedNode> children = node.children();
  if (children.empty()) return false;
  const LengthState length = node.length_now();
  if (length.is_endless && !length.is_final) return true;  // no map yet
  const std::shared_ptr<const IndexMap> map = node.map();
  // These pass on index and epoch.
  const bool passes_on = dynamic_cast<const Identity*>(map.get()) ||
                         dynamic_cast<const GroupMap*>(map.get()) ||
                         dynamic_cast<const ConcatMap*>(map.get()) ||
                         dynamic_cast<const InterleaveMap*>(map.get()) ||
                         dynamic_cast<const SelectionMap*>(map.get()) ||
                         dynamic_cast<const OmissionMap*>(map.get()) ||
                         dynamic_cast<const SliceMap*>(map.get());
  return !passes_on || std::any_of(children.begin(), children.end(),
                                   [](const NamedNode& child) {
                                     return DependsOnEpoch(*child.node);
                                   });
}

}  // namespace poniente::internal
