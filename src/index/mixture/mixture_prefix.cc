// SPDX-License-Identifier: Apache-2.0
// Hashes those parameters of a mixture that decide its samples up to a given
// sample.
#include <algorithm>
#include <string>
#include <vector>

#include "index/keyed_hash.h"
#include "index/mixture/mixture_map.h"

namespace poniente::internal {
namespace {

// Returns a hash of how items are cut before sample `end`; 0 if they are taken
// whole, whatever else the rules say.
uint64_t CutsBefore(uint64_t end, const MixtureRules& rules) {
  KeyHash hash(rules.group);
  bool is_cut = false;
  for (const PartsChange& change : rules.parts) {
    if (change.start >= end) break;
    is_cut |= change.parts.length != kWholeItem;
    hash.Add(change.start)
        .Add(change.parts.count)
        .Add(change.parts.length)
        .Add(change.parts.is_trimmed);
    if (change.parts.overlap > 0) hash.Add(Tag("overlap"));
  }
  return is_cut ? hash.key() : 0;
}

}  // namespace

MixtureMap::Prefix MixtureMap::PrefixOf(const IndexSpan& span) const {
  const uint64_t most = length_.value_or(kEndOfDraws) - 1;
  const bool is_whole = length_ && span.last.epoch > 0;
  const uint64_t last = is_whole ? most : std::min(span.last.index, most);
  const Block block = plan_->BlockOf(last);
  Prefix prefix;
  prefix.end = block.first + block.size;
  while (prefix.stages < plan_->stages() &&
         plan_->stage_start(prefix.stages) < prefix.end) {
    ++prefix.stages;
  }
  std::vector<std::string> names;
  names.reserve(components_.size());
  for (const Component& component : components_) {
    names.push_back(component.name);
  }
  prefix.hash = plan_->PrefixHash(0, names, last + 1);
  if (const uint64_t cuts = CutsBefore(prefix.end, rules_)) {
    prefix.hash = Derive(prefix.hash, Tag("cuts"), cuts);
  }
  return prefix;
}

// Adds the places that were dropped from epochs before the end of the block
// that the span ends in.
void MixtureMap::AddDrops(const Component& component, const IndexSpan& span,
                          KeyHash* hash) const {
  const uint64_t end = DrawsUpTo(component, span.last);
  for (const ItemDraws::Segment& segment : component.draws.segments()) {
    if (segment.first_ordinal >= end) break;
    if (segment.dropped == nullptr) continue;
    hash->Add(Tag("drop"))
        .Add(segment.first_ordinal)
        .Add(segment.dropped->fingerprint());
  }
}

std::optional<uint64_t> MixtureMap::PrefixParameters(
    const IndexSpan& span) const {
  KeyHash hash(0);
  hash.Add(Tag("mixture"));
  for (const Component& component : components_) {
    for (size_t v = 0; v < component.views.size(); ++v) {
      if (!SpanBelow(component.children[v], span)) continue;
      const MapComponentView& view = component.views[v];
      hash.Add(view.is_permuted());
      if (view.is_permuted()) hash.Add(OrderFingerprint(view.order));
      if (v > 0) hash.Add(view.start);
      if (view.keeps_epoch) hash.Add(Tag("keeps"));
    }
    AddDrops(component, span, &hash);
  }
  if (length_ && (span.last.epoch > 0 || span.last.index >= *length_)) {
    hash.Add(Tag("length")).Add(*length_);
  }
  return hash.key();
}

}  // namespace poniente::internal
