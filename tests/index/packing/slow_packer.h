// SPDX-License-Identifier: Apache-2.0
// Packing by lists, piece by piece: what BinPlan and WindowPacking must equal.

#ifndef PONIENTE_TESTS_INDEX_PACKING_SLOW_PACKER_H_
#define PONIENTE_TESTS_INDEX_PACKING_SLOW_PACKER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "index/packing/bin_plan.h"

namespace poniente::testing {

// A piece of a bin: the class by its units, and the slot in it.
struct SlowPiece {
  uint32_t units = 0;
  uint64_t slot = 0;

  friend bool operator==(const SlowPiece&, const SlowPiece&) = default;
};

struct SlowBin {
  uint64_t left = 0;
  std::vector<SlowPiece> pieces;
};

// The definition in docs/packing.md, without groups: looks at every bin for
// every piece.
inline std::vector<SlowBin> SlowPack(
    const std::vector<internal::SizeClass>& classes,
    const internal::BinRule& rule) {
  const uint64_t bin_units = rule.bin_units;
  const uint64_t cap = rule.max_pieces == 0 ? UINT64_MAX : rule.max_pieces;
  uint64_t volume = 0;
  uint64_t least = 0;
  for (const internal::SizeClass& each : classes) {
    volume += each.units * each.count;
    if (each.count > 0) least = each.units;
  }
  std::vector<SlowBin> bins;
  for (const internal::SizeClass& each : classes) {
    const uint64_t u = each.units;
    const uint64_t visit = std::max<uint64_t>(1, bin_units / rule.parts / u);
    std::map<size_t, uint64_t> mine;  // pieces of this class, by bin
    for (uint64_t slot = 0; slot < each.count; ++slot) {
      const auto best = [&] {
        size_t found = SIZE_MAX;
        std::tuple<uint64_t, uint64_t, size_t> least_key;
        for (size_t b = 0; b < bins.size(); ++b) {
          if (bins[b].left < u || bins[b].pieces.size() >= cap) continue;
          const std::tuple<uint64_t, uint64_t, size_t> key = {mine[b] / visit,
                                                              bins[b].left, b};
          if (found == SIZE_MAX || key < least_key) {
            found = b;
            least_key = key;
          }
        }
        return found;
      };
      size_t at = best();
      if (at == SIZE_MAX) {
        const uint64_t todo = each.count - slot;
        const uint64_t full = std::min(bin_units / u, cap);
        uint64_t room = 0;
        for (const SlowBin& bin : bins) {
          if (bin.left >= least && bin.pieces.size() < cap) room += bin.left;
        }
        const uint64_t missing = volume > room ? volume - room : 0;
        const uint64_t one_visit = std::min(full, visit);
        const uint64_t open =
            std::min((todo + one_visit - 1) / one_visit,
                     std::max((todo + full - 1) / full, missing / bin_units));
        bins.resize(bins.size() + open, SlowBin{bin_units, {}});
        at = best();
      }
      bins[at].left -= u;
      bins[at].pieces.push_back({each.units, slot});
      ++mine[at];
      volume -= u;
    }
  }
  return bins;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_INDEX_PACKING_SLOW_PACKER_H_
