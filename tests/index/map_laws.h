// SPDX-License-Identifier: Apache-2.0
// What every index map owes: shortcuts for asking one, and the check that
// Find() leads back and that calls may be cut anywhere.

#ifndef PONIENTE_TESTS_INDEX_MAP_LAWS_H_
#define PONIENTE_TESTS_INDEX_MAP_LAWS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <vector>

#include "poniente/extend/index_map.h"

namespace poniente::testing {

// Positions [begin, end) of an epoch, each with a part of its own.
inline std::vector<Position> Range(uint64_t begin, uint64_t end,
                                   uint64_t epoch = 0) {
  std::vector<Position> positions;
  for (uint64_t i = begin; i < end; ++i) {
    positions.push_back({i, epoch, static_cast<uint32_t>(i % 100),
                         static_cast<uint32_t>(1 + i % 7)});
  }
  return positions;
}

inline std::vector<ChildPosition> Resolve(const IndexMap& map,
                                          std::span<const Position> positions) {
  std::vector<ChildPosition> out(positions.size());
  map.Resolve(positions, out);
  return out;
}

inline ChildPosition ResolveOne(const IndexMap& map, uint64_t index,
                                uint64_t epoch = 0) {
  return Resolve(map, std::vector<Position>{{index, epoch}}).front();
}

// Resolves the positions, in one call and cut in several ways, and finds each
// again. `cuts_items`: a position of the map may be a part of an item below.
inline void ExpectLaws(const IndexMap& map,
                       const std::vector<Position>& positions,
                       bool cuts_items = false) {
  const auto whole = Resolve(map, positions);
  for (const size_t step : {1, 3, 64}) {
    for (size_t at = 0; at < positions.size(); at += step) {
      const size_t count = std::min(step, positions.size() - at);
      const auto part = Resolve(map, std::span(positions).subspan(at, count));
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(part[i], whole[at + i])
            << "index " << positions[at + i].index << ", calls of " << step;
      }
    }
  }
  for (size_t i = 0; i < positions.size(); ++i) {
    if (!cuts_items) {
      ASSERT_EQ(whole[i].position.part_begin, positions[i].part_begin);
      ASSERT_EQ(whole[i].position.part_length, positions[i].part_length);
    }
    ASSERT_EQ(map.Find(whole[i].child, whole[i].position), positions[i])
        << "index " << positions[i].index;
  }
}

}  // namespace poniente::testing

namespace poniente {

inline void PrintTo(const Position& position, std::ostream* out) {
  *out << position.index << " of epoch " << position.epoch << ", part "
       << position.part_begin << '+' << position.part_length;
}
inline void PrintTo(const ChildPosition& item, std::ostream* out) {
  *out << "child " << item.child << ": ";
  PrintTo(item.position, out);
}

}  // namespace poniente

#endif  // PONIENTE_TESTS_INDEX_MAP_LAWS_H_
