// SPDX-License-Identifier: Apache-2.0
#include "store/catalog/tokenizer_origin.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "poniente/token_store.h"
#include "store/catalog/joined_stores.h"
#include "store/manifest/known_store.h"

namespace poniente::internal {
namespace {

// Collects the libraries of one tokenizer after another.
class LibraryComparison {
 public:
  void Add(size_t number, const TokenSource& source) {
    const Vocabulary* const vocabulary = source.known_vocabulary();
    const std::string library = source.tokenizer_library();
    if (vocabulary == nullptr || library.empty()) return;
    const auto [first, is_new] =
        first_.try_emplace(vocabulary->tokenizer, Seen{source.path(), library});
    if (is_new || library == first->second.library ||
        !reported_.emplace(vocabulary->tokenizer, library).second) {
      return;
    }
    found_.push_back(
        {number,
         absl::StrCat("'", source.path(), "' has ids made by '", library,
                      "', but '", first->second.path, "' has ids made by '",
                      first->second.library, "', both of the tokenizer '",
                      vocabulary->tokenizer,
                      "': two versions may cut the same text into different "
                      "ids; to be sure, pack one of the two again with the "
                      "version of the other")});
  }
  std::vector<LibraryDifference> Take() && { return std::move(found_); }

 private:
  struct Seen {
    std::string path;
    std::string library;
  };
  std::map<std::string, Seen> first_;  // by tokenizer
  std::set<std::pair<std::string, std::string>> reported_;
  std::vector<LibraryDifference> found_;
};

}  // namespace

std::vector<LibraryDifference> LibraryDifferences(
    std::span<const TokenSource* const> sources) {
  LibraryComparison comparison;
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto* const joined = dynamic_cast<const JoinedStores*>(sources[i]);
    if (joined == nullptr) {
      comparison.Add(i, *sources[i]);
      continue;
    }
    for (const auto& store : joined->stores()) comparison.Add(i, *store);
  }
  return std::move(comparison).Take();
}

std::optional<RecordedModel> ModelOf(const TokenSource& source) {
  const auto* store = dynamic_cast<const TokenStore*>(&source);
  if (const auto* joined = dynamic_cast<const JoinedStores*>(&source)) {
    store = joined->stores().front().get();
  }
  if (store == nullptr) return std::nullopt;
  absl::StatusOr<KnownStore> known = ReadKnownStore(store->path());
  if (!known.ok() || !known->manifest.tokenizer_model) return std::nullopt;
  return RecordedModel{*std::move(known->manifest.tokenizer_model),
                       store->path()};
}

}  // namespace poniente::internal
