// SPDX-License-Identifier: Apache-2.0
// Computes which tokens each window of a source has. Does no I/O.

#ifndef PONIENTE_STORE_READ_WINDOW_GRID_H_
#define PONIENTE_STORE_READ_WINDOW_GRID_H_

#include <cstdint>
#include <span>
#include <vector>

#include "poniente/extend/piecewise_items.h"
#include "poniente/token_source.h"

namespace poniente::internal {

// The windows of a source, by WindowRule.
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
  // Returns the number of the part that contains the window: the number of a
  // shard, or 0 if windows may cross shards.
  size_t PartOf(uint64_t window) const;

  // Returns the pieces of windows that contain these tokens, in the order of
  // the windows. If windows overlap, some tokens are in two pieces or more.
  std::vector<PieceOfItem> Pieces(TokenRange tokens) const;

 private:
  // Tokens [begin, end), which are cut separately into windows from `first` on.
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
  // All parts in order, including parts without windows; at least one.
  std::vector<Part> parts_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_WINDOW_GRID_H_
