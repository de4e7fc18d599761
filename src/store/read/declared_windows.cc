// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "poniente/token_source.h"

namespace poniente {
namespace {

class Declared final : public AsyncDataset<TokenWindow> {
 public:
  Declared(std::string name, uint64_t tokens, uint32_t length,
           std::optional<Vocabulary> vocabulary)
      : name_(std::move(name)),
        tokens_(tokens),
        length_(length),
        vocabulary_(std::move(vocabulary)) {}

  std::string name() const override { return name_; }
  const Vocabulary* vocabulary() const override {
    return vocabulary_.has_value() ? &*vocabulary_ : nullptr;
  }
  uint32_t item_tokens() const override { return length_; }
  uint64_t fingerprint() const override {
    internal::KeyHash hash(0);
    hash.Add(internal::Tag("declared")).Add(tokens_).Add(length_);
    if (vocabulary_.has_value()) {
      hash.Add(std::string_view(vocabulary_->tokenizer)).Add(vocabulary_->size);
    }
    return hash.key();
  }
  LengthState length_now() const override {
    return LengthState::Final(tokens_ / length_);
  }

  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index> indices) const override {
    absl::Status in_range = internal::CheckReadable(*this, indices);
    if (!in_range.ok()) co_return in_range;
    co_return absl::FailedPreconditionError(
        absl::StrCat("'", name_, "' is only a number of tokens, ", tokens_,
                     ": put a store in its place to read it"));
  }

 private:
  const std::string name_;
  const uint64_t tokens_;
  const uint32_t length_;
  const std::optional<Vocabulary> vocabulary_;
};

}  // namespace

absl::StatusOr<DatasetPtr<TokenWindow>> DeclaredWindows(
    const std::string& name, uint64_t tokens, uint64_t length,
    std::optional<Vocabulary> vocabulary) {
  if (length == 0 || length >= UINT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "': windows of ", length,
                     " tokens: the length must be from 1 to 2^32 - 2"));
  }
  return DatasetPtr<TokenWindow>(std::make_shared<Declared>(
      name, tokens, static_cast<uint32_t>(length), std::move(vocabulary)));
}

}  // namespace poniente
