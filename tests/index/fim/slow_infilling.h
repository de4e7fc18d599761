// SPDX-License-Identifier: Apache-2.0
// Filling in the middle as docs/fim.md defines it, with lists.

#ifndef PONIENTE_TESTS_INDEX_FIM_SLOW_INFILLING_H_
#define PONIENTE_TESTS_INDEX_FIM_SLOW_INFILLING_H_

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "index/keyed_hash.h"
#include "poniente/extend/infilled_piece.h"

namespace poniente::testing {

// A piece to be drawn for.
struct PieceToFill {
  uint64_t seed = 0;
  std::string_view path = {};
  uint64_t epoch = 0;
  uint64_t document = 0;
  uint64_t begin = 0;
  bool keeps_first = false;
  bool keeps_last = false;
};

using Ids = std::vector<uint32_t>;

// Whether and how the piece is served: "", "psm" or "spm".
struct SlowServed {
  Ids ids;
  std::string_view order = "";
};

inline SlowServed SlowInfilled(const PieceToFill& piece, const Ids& ids,
                               const InfillingOptions& options) {
  if (ids.size() < options.min_tokens) return {ids};
  internal::KeyStream stream(internal::Derive(
      internal::Derive(piece.seed, internal::Tag("fim"), piece.path),
      piece.epoch, piece.document, piece.begin));
  const auto chance = [&stream](double share) {
    return static_cast<double>(stream.Next() >> 1) < share * 0x1p63;
  };
  if (!chance(options.rate)) return {ids};
  const bool is_spm = chance(options.spm_rate);
  Ids body = ids;
  Ids head, tail;
  if (piece.keeps_last) {
    tail.push_back(body.back());
    body.pop_back();
  }
  if (piece.keeps_first) {
    head.push_back(body.front());
    body.erase(body.begin());
  }
  body.erase(body.begin(), body.begin() + 3);
  const auto x = static_cast<ptrdiff_t>(stream.Bounded(body.size() + 1));
  const auto y = static_cast<ptrdiff_t>(stream.Bounded(body.size() + 1));
  const Ids prefix(body.begin(), body.begin() + std::min(x, y));
  const Ids middle(body.begin() + std::min(x, y),
                   body.begin() + std::max(x, y));
  const Ids suffix(body.begin() + std::max(x, y), body.end());
  SlowServed served;
  served.order = is_spm ? "spm" : "psm";
  const std::vector<Ids> psm = {
      head,   {options.prefix}, prefix, {options.suffix},
      suffix, {options.middle}, middle, tail};
  const std::vector<Ids> spm = {head,
                                {options.prefix},
                                {options.suffix},
                                suffix,
                                {options.middle},
                                prefix,
                                middle,
                                tail};
  for (const Ids& part : is_spm ? spm : psm) {
    served.ids.insert(served.ids.end(), part.begin(), part.end());
  }
  return served;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_INDEX_FIM_SLOW_INFILLING_H_
