// SPDX-License-Identifier: Apache-2.0
// A source of documents that have lengths, but no tokens.

#ifndef PONIENTE_TESTS_STORE_PACKING_LENGTHS_SOURCE_H_
#define PONIENTE_TESTS_STORE_PACKING_LENGTHS_SOURCE_H_

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "poniente/extend/piecewise_items.h"
#include "poniente/token_source.h"

namespace poniente::testing {

// Documents of given lengths, which have no tokens: a source of 10^5 of them
// takes no time to make.
class LengthsSource final : public TokenSource {
 public:
  explicit LengthsSource(const std::vector<uint64_t>& lengths) {
    SetLengths(lengths);
  }
  // As if a store at the same path were replaced.
  void SetLengths(const std::vector<uint64_t>& lengths) {
    ends_ = {0};
    for (const uint64_t length : lengths) {
      ends_.push_back(ends_.back() + length);
    }
  }

  const std::string& path() const override { return path_; }
  std::string_view format() const override { return "lengths"; }
  StoredType stored_type() const override { return StoredType::kU8; }
  const Vocabulary* known_vocabulary() const override { return nullptr; }
  std::optional<uint32_t> end_of_document() const override { return 0; }
  uint64_t num_tokens() const override { return ends_.back(); }
  uint64_t num_documents() const override { return ends_.size() - 1; }
  uint64_t fingerprint() const override { return 5; }
  uint64_t num_bytes() const override { return 0; }
  const ByteReader& reader() const override { std::abort(); }
  std::span<const uint64_t> shard_ends() const override {
    return {&ends_.back(), 1};
  }
  std::span<const TokenArray> arrays() const override { return {}; }
  Task<std::vector<TokenWindow>> ReadRanges(
      std::vector<TokenRange>) const override {
    co_return absl::UnimplementedError("no tokens");
  }
  absl::StatusOr<TokenRange> DocumentRange(uint64_t document) const override {
    return TokenRange{ends_[document], ends_[document + 1]};
  }
  absl::StatusOr<std::vector<uint64_t>> DocumentBounds(
      uint64_t first, uint64_t count) const override {
    ++reads;
    if (fails_at <= first) return absl::DataLossError("unreadable");
    return std::vector<uint64_t>(
        ends_.begin() + static_cast<ptrdiff_t>(first),
        ends_.begin() + static_cast<ptrdiff_t>(first + count + 1));
  }
  absl::StatusOr<std::string> DocumentName(uint64_t) const override {
    return std::string();
  }
  absl::StatusOr<uint64_t> DocumentAt(uint64_t) const override { return 0; }
  absl::StatusOr<std::vector<ItemPiece>> DocumentPieces(
      uint64_t, uint64_t) const override {
    return std::vector<ItemPiece>();
  }

  mutable std::atomic<int> reads = 0;
  uint64_t fails_at = UINT64_MAX;

 private:
  const std::string path_ = "lengths";
  std::vector<uint64_t> ends_;
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_STORE_PACKING_LENGTHS_SOURCE_H_
