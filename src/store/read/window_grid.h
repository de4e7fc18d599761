// SPDX-License-Identifier: Apache-2.0
// The tokens of each window of a source: arithmetic only.

#ifndef PONIENTE_STORE_READ_WINDOW_GRID_H_
#define PONIENTE_STORE_READ_WINDOW_GRID_H_

#include <cstdint>
#include <span>
#include <vector>

#include "poniente/extend/piecewise_items.h"
#include "poniente/token_source.h"

namespace poniente::internal {

class WindowGrid {
 public:
  // Creates the grid. `shard_ends` are as in TokenSource. REQUIRES:
  // rule.overlap < length.
  WindowGrid(std::span<const uint64_t> shard_ends, uint32_t length,
             const WindowRule& rule);

  uint64_t num_windows() const { return num_windows_; }
  // Returns whether every window has `length` tokens.
  bool is_uniform() const { return is_uniform_; }

  // Returns the tokens of a window. REQUIRES: window < num_windows().
  TokenRange Window(uint64_t window) const;
  // Returns the part that the window lies in: a shard, or 0 if there is only
  // one part.
  size_t PartOf(uint64_t window) const;

  // Returns where consecutive tokens lie in windows, in the order of the
  // windows; with overlap, some of them twice.
  std::vector<PieceOfItem> Pieces(TokenRange tokens) const;

 private:
  // A stretch that is cut separately: tokens [begin, end), windows from `first`
  // on.
  struct Part {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t first = 0;
  };
  TokenRange WindowOf(const Part& part, uint64_t window) const;

  uint64_t length_;
  uint64_t stride_;
  bool is_uniform_ = true;
  uint64_t num_windows_ = 0;
  // In order, including parts without windows. At least one.
  std::vector<Part> parts_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_WINDOW_GRID_H_
