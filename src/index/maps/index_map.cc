// SPDX-License-Identifier: Apache-2.0
#include "poniente/extend/index_map.h"

namespace poniente {

IndexMap::~IndexMap() = default;

void IndexMap::FindParts(uint32_t child, const Position& whole,
                         std::vector<FoundPart>* found) const {
  if (const std::optional<Position> position = Find(child, whole)) {
    found->push_back({*position, 0, kWholeItem});
  }
}

std::optional<IndexSpan> IndexMap::SpanBelow(uint32_t /*child*/,
                                             const IndexSpan& span) const {
  return IndexSpan{{.index = 0, .epoch = span.first.epoch},
                   {.index = UINT64_MAX, .epoch = span.last.epoch}};
}

std::optional<uint64_t> IndexMap::PrefixParameters(
    const IndexSpan& /*span*/) const {
  return std::nullopt;
}

}  // namespace poniente
