// SPDX-License-Identifier: Apache-2.0
#include "store/read/window_grid.h"

#include <algorithm>

namespace poniente::internal {
namespace {

uint64_t NumWindows(uint64_t tokens, uint64_t length, uint64_t stride,
                    bool keep_tail) {
  const uint64_t whole = tokens < length ? 0 : (tokens - length) / stride + 1;
  if (!keep_tail) return whole;
  // If the tail is not longer than the overlap, the last whole window has it.
  const uint64_t covered = whole == 0 ? 0 : (whole - 1) * stride + length;
  return whole + (tokens > covered ? 1 : 0);
}

}  // namespace

WindowGrid::WindowGrid(std::span<const uint64_t> shard_ends, uint32_t length,
                       const WindowRule& rule)
    : length_(length), stride_(length - rule.overlap) {
  const size_t parts = rule.across_shards ? 1 : shard_ends.size();
  uint64_t begin = 0;
  for (size_t i = 0; i < std::max<size_t>(parts, 1); ++i) {
    uint64_t end = begin;
    if (!shard_ends.empty()) {
      end = rule.across_shards ? shard_ends.back() : shard_ends[i];
    }
    parts_.push_back({begin, end, num_windows_});
    const uint64_t windows =
        NumWindows(end - begin, length_, stride_, rule.keep_tail);
    num_windows_ += windows;
    is_uniform_ = is_uniform_ &&
                  windows == NumWindows(end - begin, length_, stride_, false);
    begin = end;
  }
}

size_t WindowGrid::PartOf(uint64_t window) const {
  if (parts_.size() == 1) return 0;
  // The last part whose first window is at or before `window`. Earlier parts
  // may have the same first window, but then have no windows.
  const auto after = std::upper_bound(
      parts_.begin(), parts_.end(), window,
      [](uint64_t w, const Part& part) { return w < part.first; });
  return static_cast<size_t>(after - parts_.begin()) - 1;
}

TokenRange WindowGrid::WindowOf(const Part& part, uint64_t window) const {
  const uint64_t begin = part.begin + (window - part.first) * stride_;
  return {begin, std::min(part.end, begin + length_)};
}

TokenRange WindowGrid::Window(uint64_t window) const {
  return WindowOf(parts_[PartOf(window)], window);
}

std::vector<PieceOfItem> WindowGrid::Pieces(TokenRange tokens) const {
  std::vector<PieceOfItem> pieces;
  if (tokens.size() == 0) return pieces;
  auto part = std::upper_bound(
      parts_.begin(), parts_.end(), tokens.begin,
      [](uint64_t token, const Part& p) { return token < p.end; });
  for (; part != parts_.end() && part->begin < tokens.end; ++part) {
    const uint64_t end =
        part + 1 == parts_.end() ? num_windows_ : (part + 1)->first;
    const uint64_t offset = std::max(tokens.begin, part->begin) - part->begin;
    // The number of windows that end before the first token.
    const uint64_t skipped =
        offset < length_ ? 0 : (offset - length_) / stride_ + 1;
    for (uint64_t w = part->first + skipped; w < end; ++w) {
      const TokenRange window = WindowOf(*part, w);
      if (window.begin >= tokens.end) break;
      const uint64_t from = std::max(window.begin, tokens.begin);
      const uint64_t to = std::min(window.end, tokens.end);
      pieces.push_back(
          {w, static_cast<uint32_t>(from - window.begin), from, to});
    }
  }
  return pieces;
}

}  // namespace poniente::internal
