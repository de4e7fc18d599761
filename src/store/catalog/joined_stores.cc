// SPDX-License-Identifier: Apache-2.0
#include "store/catalog/joined_stores.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "store/read/stored_ids.h"
#include "store/read/token_store_access.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

absl::Status CheckAlike(const TokenStore& a, const TokenStore& b) {
  const char* differs = nullptr;
  if (a.vocabulary() != b.vocabulary()) {
    differs = "tokenizer";
  } else if (a.token_type() != b.token_type()) {
    differs = "type of tokens";
  } else if (a.end_of_document() != b.end_of_document()) {
    differs = "end-of-document id";
  }
  if (differs == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", a.path(), "' and '", b.path(), "' differ in their ", differs,
      ", so the stores of their catalogue are no one source; name them one by "
      "one"));
}

// Returns the first store whose end is greater than `at`.
size_t Holder(const std::vector<uint64_t>& ends, uint64_t at) {
  return static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), at) -
                             ends.begin());
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TokenSource>> JoinedStores::Open(
    std::string path, std::span<const std::shared_ptr<const KnownStore>> known,
    const TokenStoreOptions& options) {
  if (known.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the catalogue at '", path,
        "' lists no store; pack some and run `poniente catalog` again"));
  }
  std::shared_ptr<JoinedStores> joined(new JoinedStores(std::move(path)));
  std::vector<ByteFile> files;
  KeyHash hash(Derive(0, Tag("joined")));
  uint64_t tokens = 0;
  uint64_t documents = 0;
  for (const std::shared_ptr<const KnownStore>& one : known) {
    PONIENTE_ASSIGN_OR_RETURN(auto store,
                              TokenStoreAccess::OpenKnown(one, options));
    if (joined->stores_.empty()) {
      joined->library_ = store->tokenizer_library();
    } else {
      PONIENTE_RETURN_IF_ERROR(CheckAlike(joined->first(), *store));
      if (joined->library_ != store->tokenizer_library()) {
        joined->library_.clear();
      }
    }
    joined->arrays_.push_back({tokens, static_cast<uint32_t>(files.size()), 0});
    files.push_back(KnownTokensFile(one));
    tokens += store->num_tokens();
    documents += store->num_documents();
    joined->token_ends_.push_back(tokens);
    joined->document_ends_.push_back(documents);
    hash.Add(store->fingerprint());
    joined->stores_.push_back(std::move(store));
  }
  joined->fingerprint_ = hash.key();
  joined->AddLossMasks(known, &files);
  PONIENTE_ASSIGN_OR_RETURN(joined->reader_,
                            ByteReader::Open(std::move(files), options.io));
  return joined;
}

void JoinedStores::AddLossMasks(
    std::span<const std::shared_ptr<const KnownStore>> known,
    std::vector<ByteFile>* files) {
  const auto has_mask = [](const std::shared_ptr<const KnownStore>& one) {
    return one->manifest.has_loss_mask;
  };
  if (!std::any_of(known.begin(), known.end(), has_mask)) return;
  for (size_t i = 0; i < known.size(); ++i) {
    LossMaskArray& mask = loss_masks_.emplace_back();
    mask.first_token = TokensBefore(i);
    if (!has_mask(known[i])) continue;
    mask.file = static_cast<uint32_t>(files->size());
    files->push_back(KnownLossMaskFile(known[i]));
  }
}

uint64_t JoinedStores::num_bytes() const {
  uint64_t bytes = 0;
  for (const auto& store : stores_) bytes += store->num_bytes();
  return bytes;
}

Task<std::vector<TokenWindow>> JoinedStores::ReadRanges(
    std::vector<TokenRange> ranges) const {
  absl::StatusOr<std::vector<TokenWindow>> windows =
      co_await ReadFromArrays(*this, std::move(ranges));
  co_return windows;
}

uint64_t JoinedStores::TokensBefore(size_t store) const {
  return store == 0 ? 0 : token_ends_[store - 1];
}
uint64_t JoinedStores::DocumentsBefore(size_t store) const {
  return store == 0 ? 0 : document_ends_[store - 1];
}

absl::StatusOr<size_t> JoinedStores::StoreOf(uint64_t document) const {
  if (document < num_documents()) return Holder(document_ends_, document);
  return absl::OutOfRangeError(absl::StrCat("document ", document, " of '",
                                            path_, "', which holds ",
                                            num_documents()));
}

absl::StatusOr<TokenRange> JoinedStores::DocumentRange(
    uint64_t document) const {
  PONIENTE_ASSIGN_OR_RETURN(const size_t at, StoreOf(document));
  PONIENTE_ASSIGN_OR_RETURN(
      const TokenRange tokens,
      stores_[at]->DocumentRange(document - DocumentsBefore(at)));
  const uint64_t before = TokensBefore(at);
  return TokenRange{before + tokens.begin, before + tokens.end};
}

absl::Status JoinedStores::DocumentRanges(std::span<const uint64_t> documents,
                                          std::span<TokenRange> ranges) const {
  for (size_t i = 0; i < documents.size(); ++i) {
    PONIENTE_ASSIGN_OR_RETURN(const size_t at, StoreOf(documents[i]));
    const uint64_t document = documents[i] - DocumentsBefore(at);
    PONIENTE_RETURN_IF_ERROR(stores_[at]->DocumentRanges(
        std::span(&document, 1), ranges.subspan(i, 1)));
    ranges[i].begin += TokensBefore(at);
    ranges[i].end += TokensBefore(at);
  }
  return absl::OkStatus();
}

bool JoinedStores::HasRangesInMemory(
    std::span<const uint64_t> documents) const {
  for (const uint64_t each : documents) {
    if (each >= num_documents()) continue;  // fails without a read
    const size_t at = Holder(document_ends_, each);
    const uint64_t document = each - DocumentsBefore(at);
    if (!stores_[at]->HasRangesInMemory(std::span(&document, 1))) return false;
  }
  return true;
}

absl::StatusOr<std::vector<uint64_t>> JoinedStores::DocumentBounds(
    uint64_t first, uint64_t count) const {
  if (first > num_documents() || count > num_documents() - first) {
    return absl::OutOfRangeError(
        absl::StrCat(count, " documents from ", first, " on of '", path_,
                     "', which holds ", num_documents()));
  }
  std::vector<uint64_t> bounds;
  size_t at = Holder(document_ends_, first);
  if (count == 0) {
    bounds.push_back(num_tokens());
    if (first < num_documents()) {
      PONIENTE_ASSIGN_OR_RETURN(const TokenRange tokens, DocumentRange(first));
      bounds.back() = tokens.begin;
    }
    return bounds;
  }
  while (count > 0) {
    const uint64_t some = std::min(count, document_ends_[at] - first);
    PONIENTE_ASSIGN_OR_RETURN(
        const std::vector<uint64_t> part,
        stores_[at]->DocumentBounds(first - DocumentsBefore(at), some));
    // The last bound of one store is the first bound of the next.
    if (!bounds.empty()) bounds.pop_back();
    for (const uint64_t bound : part) {
      bounds.push_back(TokensBefore(at) + bound);
    }
    first += some;
    count -= some;
    while (at < stores_.size() && document_ends_[at] <= first) ++at;
  }
  return bounds;
}

absl::StatusOr<std::string> JoinedStores::DocumentName(
    uint64_t document) const {
  PONIENTE_ASSIGN_OR_RETURN(const size_t at, StoreOf(document));
  return stores_[at]->DocumentName(document - DocumentsBefore(at));
}

absl::StatusOr<uint64_t> JoinedStores::DocumentAt(uint64_t token) const {
  if (token >= num_tokens()) {
    return absl::OutOfRangeError(absl::StrCat("token ", token, " of '", path_,
                                              "', which has ", num_tokens()));
  }
  const size_t at = Holder(token_ends_, token);
  PONIENTE_ASSIGN_OR_RETURN(const uint64_t document,
                            stores_[at]->DocumentAt(token - TokensBefore(at)));
  return DocumentsBefore(at) + document;
}

absl::StatusOr<std::vector<ItemPiece>> JoinedStores::DocumentPieces(
    uint64_t begin, uint64_t end) const {
  std::vector<ItemPiece> pieces;
  if (begin > end || end > num_tokens()) {
    return absl::OutOfRangeError(absl::StrCat("tokens ", begin, " to ", end,
                                              " of '", path_, "', which has ",
                                              num_tokens()));
  }
  while (begin < end) {
    const size_t at = Holder(token_ends_, begin);
    const uint64_t before = TokensBefore(at);
    const uint64_t until = std::min(end, token_ends_[at]);
    PONIENTE_ASSIGN_OR_RETURN(
        const std::vector<ItemPiece> part,
        stores_[at]->DocumentPieces(begin - before, until - before));
    for (const ItemPiece& piece : part) {
      pieces.push_back({DocumentsBefore(at) + piece.document,
                        before + piece.begin, before + piece.end});
    }
    begin = until;
  }
  return pieces;
}

bool JoinedStores::HasPiecesInMemory(uint64_t begin, uint64_t end) const {
  end = std::min(end, num_tokens());
  while (begin < end) {
    const size_t at = Holder(token_ends_, begin);
    const uint64_t before = TokensBefore(at);
    const uint64_t until = std::min(end, token_ends_[at]);
    if (!stores_[at]->HasPiecesInMemory(begin - before, until - before)) {
      return false;
    }
    begin = until;
  }
  return true;
}

}  // namespace poniente::internal
