// SPDX-License-Identifier: Apache-2.0
#include "pack/pack_token_files.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/with_documents.h"
#include "index/int128.h"
#include "index/keyed_hash.h"
#include "poniente/byte_reader.h"
#include "store/posix_file.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kUnitTokens = uint64_t{1} << 18;

std::string BaseName(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

// The documents of a source; where they are not known, its shards.
class Documents {
 public:
  explicit Documents(const TokenSource& source) : source_(source) {}

  uint64_t size() const {
    return source_.knows_documents() ? source_.num_documents()
                                     : source_.num_shards();
  }
  // The first that ends behind `token`. REQUIRES: it is one.
  absl::StatusOr<uint64_t> Holder(uint64_t token) const {
    if (source_.knows_documents()) return source_.DocumentAt(token);
    const std::span<const uint64_t> ends = source_.shard_ends();
    return static_cast<uint64_t>(
        std::upper_bound(ends.begin(), ends.end(), token) - ends.begin());
  }
  // Where `count` of them begin, and the last ends.
  absl::StatusOr<std::vector<uint64_t>> Bounds(uint64_t first,
                                               uint64_t count) const {
    if (source_.knows_documents()) return source_.DocumentBounds(first, count);
    const std::span<const uint64_t> ends = source_.shard_ends();
    std::vector<uint64_t> bounds = {first == 0 ? 0 : ends[first - 1]};
    const auto rest = ends.subspan(first, count);
    bounds.insert(bounds.end(), rest.begin(), rest.end());
    return bounds;
  }
  absl::StatusOr<uint64_t> Begin(uint64_t document) const {
    if (document == size()) return source_.num_tokens();
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> bounds,
                              Bounds(document, 1));
    return bounds[0];
  }
  // The first whose middle is at `token` or behind it.
  absl::StatusOr<uint64_t> FirstFrom(uint64_t token) const {
    uint64_t first = 0;
    uint64_t last = size();
    while (first < last) {
      const uint64_t middle = first + (last - first) / 2;
      PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> bounds,
                                Bounds(middle, 1));
      if (bounds[0] + bounds[1] < 2 * token) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  }

 private:
  const TokenSource& source_;
};

// A unit is tokens [begin.at, end.at) of the input's, and ends the documents
// that end behind the first of these and not behind the last; the first unit
// those, too, that are empty at the very beginning.
class TokenPackInput final : public PackInput {
 public:
  TokenPackInput(const TextInput& input, uint64_t vocabulary_size,
                 bool keeps_loss_mask)
      : input_(input),
        documents_(*input.source),
        vocabulary_size_(vocabulary_size),
        has_loss_mask_(keeps_loss_mask && input.source->has_loss_mask()) {}

  absl::StatusOr<PackUnit> Cut(const UnitBegin& begin) override {
    const uint64_t tokens = input_.tokens.size();
    PackUnit unit;
    unit.begin = begin;
    unit.end.at = begin.at + std::min(kUnitTokens, tokens - begin.at);
    unit.is_last = unit.end.at == tokens;
    unit.bytes =
        (unit.end.at - begin.at) * StoredTypeBytes(source().stored_type());
    return unit;
  }

  absl::Status Convert(const PackUnit& unit, UnitDocuments* to) const override {
    to->KeepOwnEnds();
    const uint64_t begin = input_.tokens.begin + unit.begin.at;
    const uint64_t end = input_.tokens.begin + unit.end.at;
    PONIENTE_ASSIGN_OR_RETURN(
        const std::vector<uint32_t> ids,
        RunBlocking(source().ReadTokens(begin, end - begin)));
    PONIENTE_RETURN_IF_ERROR(CheckIds(begin, ids));
    std::vector<uint8_t> has_loss;
    if (has_loss_mask_) {
      PONIENTE_ASSIGN_OR_RETURN(
          has_loss, RunBlocking(source().ReadLossMask(begin, end - begin)));
    }
    uint64_t first = input_.first_document;
    if (unit.begin.at > 0) {
      PONIENTE_ASSIGN_OR_RETURN(first, documents_.Holder(begin));
    }
    uint64_t last = input_.end_document;
    if (!unit.is_last) {
      PONIENTE_ASSIGN_OR_RETURN(last, documents_.Holder(end));
    }
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> bounds,
                              documents_.Bounds(first, last - first));
    std::span<const uint32_t> left = ids;
    std::span<const uint8_t> left_loss = has_loss;
    const auto append = [&](size_t count) {
      const auto next = left.first(count);
      left = left.subspan(count);
      if (!has_loss_mask_) return to->AppendIds(next);
      to->AppendIds(next, left_loss.first(count));
      left_loss = left_loss.subspan(count);
    };
    for (uint64_t i = 0; i < last - first; ++i) {
      append(bounds[i + 1] - (end - left.size()));
      PONIENTE_ASSIGN_OR_RETURN(std::string name, DocumentName(first + i));
      to->EndDocument(std::move(name));
    }
    if (left.empty()) return absl::OkStatus();
    append(left.size());
    PONIENTE_ASSIGN_OR_RETURN(std::string name, DocumentName(last));
    to->NameOpenDocument(std::move(name));
    return absl::OkStatus();
  }

 private:
  const TokenSource& source() const { return *input_.source; }

  absl::Status CheckIds(uint64_t begin, std::span<const uint32_t> ids) const {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < vocabulary_size_) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "'", source().path(), "': token ", begin + i, " is id ", ids[i],
          ", not below the vocabulary size ", vocabulary_size_,
          "; state a greater --vocab-size, or look at it with `poniente "
          "inspect`"));
    }
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> DocumentName(uint64_t document) const {
    std::string name;
    if (source().knows_documents()) {
      PONIENTE_ASSIGN_OR_RETURN(name, source().DocumentName(document));
    }
    if (name.empty()) name = absl::StrCat(input_.name, "#", document + 1);
    return name;
  }

  const TextInput input_;
  const Documents documents_;
  const uint64_t vocabulary_size_;
  const bool has_loss_mask_;  // that is kept
};

// A fingerprint covers only samples of the ids of other projects' files.
uint64_t FilesDigest(const TokenSource& source) {
  const ByteReader& reader = source.reader();
  KeyHash hash(0);
  for (uint32_t file = 0; file < reader.num_files(); ++file) {
    hash.Add(std::string_view(reader.path(file)));
    const absl::StatusOr<FileStamp> stamp = ReadStamp(reader.path(file));
    // If the file is gone, its first read tells it.
    hash.Add(stamp.ok() ? stamp->bytes : 0);
    hash.Add(stamp.ok() ? stamp->mtime_ns : 0);
  }
  return hash.key();
}

uint64_t BytesOf(const TokenSource& source, uint64_t tokens) {
  return tokens * StoredTypeBytes(source.stored_type());
}

}  // namespace

absl::StatusOr<std::vector<TextInput>> OpenTokenInputs(
    const std::vector<std::string>& paths, const TokenSourceOptions& options) {
  std::vector<TextInput> inputs;
  std::set<std::string> names;
  for (const std::string& path : paths) {
    TextInput input;
    input.path = path;
    input.name = BaseName(path);
    for (int number = 2; !names.insert(input.name).second; ++number) {
      input.name = absl::StrCat(BaseName(path), "~", number);
    }
    PONIENTE_ASSIGN_OR_RETURN(input.source, OpenTokenSource(path, options));
    if (DelimiterOf(*input.source)) {
      PONIENTE_ASSIGN_OR_RETURN(input.source,
                                WithDocuments(input.source, options));
    }
    input.bytes = BytesOf(*input.source, input.source->num_tokens());
    input.end_document = Documents(*input.source).size();
    input.tokens = {0, input.source->num_tokens()};
    // What tells it from what was there before.
    input.modified_nanoseconds = input.source->fingerprint();
    input.files_digest = FilesDigest(*input.source);
    input.is_regular = true;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

absl::StatusOr<std::vector<TextInput>> TokenInputsOfPart(
    const std::vector<TextInput>& inputs, const PackPart& part) {
  Uint128 total = 0;
  for (const TextInput& input : inputs) total += input.bytes;
  const auto bound = [&](uint32_t number) {
    return static_cast<uint64_t>(total * number / part.parts);
  };
  const bool is_last = part.ordinal + 1 == part.parts;
  std::vector<TextInput> chosen;
  uint64_t before = 0;
  for (const TextInput& input : inputs) {
    const TokenSource& source = *input.source;
    const Documents documents(source);
    const uint64_t width = StoredTypeBytes(source.stored_type());
    // Documents whose middle is in the part's bytes; the last takes what is
    // behind.
    const auto first_from = [&](uint64_t byte) -> absl::StatusOr<uint64_t> {
      if (byte <= before) return uint64_t{0};
      return documents.FirstFrom((byte - before + width - 1) / width);
    };
    TextInput of_part = input;
    PONIENTE_ASSIGN_OR_RETURN(of_part.first_document,
                              first_from(bound(part.ordinal)));
    if (!is_last) {
      PONIENTE_ASSIGN_OR_RETURN(of_part.end_document,
                                first_from(bound(part.ordinal + 1)));
    }
    before += input.bytes;
    if (of_part.first_document == of_part.end_document) continue;
    PONIENTE_ASSIGN_OR_RETURN(of_part.tokens.begin,
                              documents.Begin(of_part.first_document));
    PONIENTE_ASSIGN_OR_RETURN(of_part.tokens.end,
                              documents.Begin(of_part.end_document));
    of_part.bytes = BytesOf(source, of_part.tokens.size());
    chosen.push_back(std::move(of_part));
  }
  return chosen;
}

std::unique_ptr<PackInput> OpenTokenInput(const TextInput& input,
                                          uint64_t vocabulary_size,
                                          bool keeps_loss_mask) {
  return std::make_unique<TokenPackInput>(input, vocabulary_size,
                                          keeps_loss_mask);
}

}  // namespace poniente::internal
