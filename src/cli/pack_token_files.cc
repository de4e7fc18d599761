// SPDX-License-Identifier: Apache-2.0
#include "cli/pack_token_files.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/source_options.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

constexpr uint64_t kUnitTokens = uint64_t{1} << 18;

std::string NameOf(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

// A unit is tokens [begin.at, end.at), and ends the documents that end behind
// the first of these and not behind the last; the first unit those, too, that
// are empty at the very beginning.
class TokenPackInput final : public PackInput {
 public:
  TokenPackInput(const TextInput& input, uint64_t vocabulary_size)
      : source_(input.source),
        name_(input.name),
        vocabulary_size_(vocabulary_size) {}

  absl::StatusOr<PackUnit> Cut(const UnitBegin& begin) override {
    PackUnit unit;
    unit.begin = begin;
    unit.end.at = begin.at + std::min(kUnitTokens, tokens() - begin.at);
    unit.is_last = unit.end.at == tokens();
    unit.bytes =
        (unit.end.at - begin.at) * StoredTypeBytes(source_->stored_type());
    return unit;
  }

  absl::Status Convert(const PackUnit& unit, UnitDocuments* to) const override {
    to->KeepOwnEnds();
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint32_t> ids,
                              RunBlocking(source_->ReadTokens(
                                  unit.begin.at, unit.end.at - unit.begin.at)));
    PONIENTE_RETURN_IF_ERROR(CheckIds(unit.begin.at, ids));
    PONIENTE_ASSIGN_OR_RETURN(const uint64_t first, FirstOf(unit.begin.at));
    PONIENTE_ASSIGN_OR_RETURN(const uint64_t last, unit.is_last
                                                       ? num_documents()
                                                       : FirstOf(unit.end.at));
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> ends,
                              EndsOf(first, last - first));
    std::span<const uint32_t> left = ids;
    for (uint64_t i = 0; i < ends.size(); ++i) {
      const size_t some = ends[i] - (unit.end.at - left.size());
      to->AppendIds(left.first(some));
      left = left.subspan(some);
      PONIENTE_ASSIGN_OR_RETURN(std::string name, DocumentName(first + i));
      to->EndDocument(std::move(name));
    }
    if (left.empty()) return absl::OkStatus();
    to->AppendIds(left);
    PONIENTE_ASSIGN_OR_RETURN(std::string name, DocumentName(last));
    to->NameOpenDocument(std::move(name));
    return absl::OkStatus();
  }

 private:
  absl::Status CheckIds(uint64_t begin, std::span<const uint32_t> ids) const {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < vocabulary_size_) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "'", source_->path(), "': token ", begin + i, " is id ", ids[i],
          ", not below the vocabulary size ", vocabulary_size_,
          "; state a greater --vocab-size, or look at it with `poniente "
          "inspect`"));
    }
    return absl::OkStatus();
  }
  uint64_t tokens() const { return source_->num_tokens(); }
  absl::StatusOr<uint64_t> num_documents() const {
    return source_->knows_documents() ? source_->num_documents()
                                      : source_->num_shards();
  }
  // The first that ends behind `token`, which is one; at the beginning, the
  // first of all.
  absl::StatusOr<uint64_t> FirstOf(uint64_t token) const {
    if (token == 0) return uint64_t{0};
    if (source_->knows_documents()) return source_->DocumentAt(token);
    const std::span<const uint64_t> ends = source_->shard_ends();
    return static_cast<uint64_t>(
        std::upper_bound(ends.begin(), ends.end(), token) - ends.begin());
  }
  absl::StatusOr<std::vector<uint64_t>> EndsOf(uint64_t first,
                                               uint64_t count) const {
    if (!source_->knows_documents()) {
      const auto ends = source_->shard_ends().subspan(first, count);
      return std::vector<uint64_t>(ends.begin(), ends.end());
    }
    PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> bounds,
                              source_->DocumentBounds(first, count));
    bounds.erase(bounds.begin());
    return bounds;
  }
  absl::StatusOr<std::string> DocumentName(uint64_t document) const {
    std::string name;
    if (source_->knows_documents()) {
      PONIENTE_ASSIGN_OR_RETURN(name, source_->DocumentName(document));
    }
    if (name.empty()) name = absl::StrCat(name_, "#", document + 1);
    return name;
  }

  const std::shared_ptr<const TokenSource> source_;
  const std::string name_;
  const uint64_t vocabulary_size_;
};

}  // namespace

absl::StatusOr<std::vector<TextInput>> OpenTokenInputs(
    const std::vector<std::string>& paths, const TokenSourceOptions& options) {
  std::vector<TextInput> inputs;
  std::set<std::string> names;
  for (const std::string& path : paths) {
    TextInput input;
    input.path = path;
    input.name = NameOf(path);
    for (int number = 2; !names.insert(input.name).second; ++number) {
      input.name = absl::StrCat(NameOf(path), "~", number);
    }
    PONIENTE_ASSIGN_OR_RETURN(input.source, OpenSource(path, options));
    if (!input.source->knows_documents() && DelimiterOf(*input.source)) {
      PONIENTE_ASSIGN_OR_RETURN(input.source, OpenWithDocuments(path, options));
    }
    input.bytes = input.source->num_tokens() *
                  StoredTypeBytes(input.source->stored_type());
    // What tells it from what was there before.
    input.modified_nanoseconds = input.source->fingerprint();
    input.is_regular = true;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::unique_ptr<PackInput> OpenTokenInput(const TextInput& input,
                                          uint64_t vocabulary_size) {
  return std::make_unique<TokenPackInput>(input, vocabulary_size);
}

}  // namespace poniente::cli
