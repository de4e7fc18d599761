// SPDX-License-Identifier: Apache-2.0
#include "config/tree/hold_outs.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/run_nodes.h"
#include "store/catalog/joined_stores.h"
#include "util/alike_lines.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

uint64_t CommonWindows(const Selection& a, const Selection& b) {
  const uint64_t windows = std::min(a.size(), b.size());
  uint64_t count = 0;
  for (uint64_t w = 0; w < windows; ++w) {
    count += a.Contains(w) && b.Contains(w) ? 1 : 0;
  }
  return count;
}

// All as one document where documents are not known.
uint64_t CommonDocuments(const ConfigSource& a, const StorePart& in_a,
                         const ConfigSource& b, const StorePart& in_b) {
  const uint64_t documents = std::min(in_a.documents, in_b.documents);
  if (a.documents == nullptr && b.documents == nullptr) {
    return std::max<uint64_t>(1, documents);
  }
  uint64_t count = 0;
  for (uint64_t d = 0; d < documents; ++d) {
    count += ReadsDocument(a, in_a.first_document + d) &&
                     ReadsDocument(b, in_b.first_document + d)
                 ? 1
                 : 0;
  }
  return count;
}

std::string HeldOutText(const ConfigSource& source) {
  if (!source.hold_out.has_value()) return "holds nothing out";
  return absl::StrCat("states hold_out = ",
                      HoldOutText(*source.hold_out, /*all=*/false));
}

}  // namespace

std::vector<StorePart> StoresOf(const TokenSource& source) {
  std::vector<StorePart> parts;
  const auto* const joined = dynamic_cast<const JoinedStores*>(&source);
  if (joined == nullptr) {
    parts.push_back({source.fingerprint(), 0, source.num_documents()});
    return parts;
  }
  uint64_t first = 0;
  for (const auto& store : joined->stores()) {
    parts.push_back({store->fingerprint(), first, store->num_documents()});
    first += store->num_documents();
  }
  return parts;
}

bool ReadsDocument(const ConfigSource& source, uint64_t document) {
  return source.documents == nullptr || source.documents->Contains(document);
}

absl::StatusOr<Selection> SelectDocuments(const TokenSource& source,
                                          const NodeHoldOut& hold_out,
                                          const Selection* chosen) {
  const uint64_t documents = source.num_documents();
  if (!source.knows_documents() || documents == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", source.path(),
        "' does not say where its documents end, so none can be held out; "
        "state document_end, or hold out windows"));
  }
  if (chosen != nullptr && chosen->size() != documents) {
    return absl::InvalidArgumentError(
        absl::StrCat("the selection is of ", chosen->size(), " items, '",
                     source.path(), "' has ", documents, " documents"));
  }
  const std::vector<StorePart> stores = StoresOf(source);
  uint64_t most = 0;
  for (const StorePart& store : stores) most = std::max(most, store.documents);
  PONIENTE_ASSIGN_OR_RETURN(
      const Selection held,
      Selection::ByHash(most, hold_out.documents, hold_out.seed));
  std::vector<uint64_t> words((documents + 63) / 64);
  for (const StorePart& store : stores) {
    for (uint64_t d = 0; d < store.documents; ++d) {
      const uint64_t document = store.first_document + d;
      if (held.Contains(d) != hold_out.invert) continue;
      if (chosen != nullptr && !chosen->Contains(document)) continue;
      words[document / 64] |= uint64_t{1} << document % 64;
    }
  }
  return Selection::FromBitmap(documents, std::move(words));
}

absl::StatusOr<Selection> SelectWindows(uint64_t windows,
                                        const NodeHoldOut& hold_out) {
  absl::StatusOr<Selection> held =
      Selection::ByHash(windows, hold_out.windows, hold_out.seed);
  if (held.ok() && !hold_out.invert) held = held->Complement();
  return held;
}

SharedData SharedBy(const ConfigSource& a, const ConfigSource& b) {
  SharedData shared;
  if (a.data == nullptr || b.data == nullptr) {
    // Numbers of tokens are the same source if the path is.
    shared.shares_store = a.data == b.data && a.windows != nullptr &&
                          b.windows != nullptr && a.path == b.path;
    if (!shared.shares_store) return shared;
  }
  if (a.windows != nullptr && b.windows != nullptr) {
    if (a.data != nullptr && a.data->fingerprint() != b.data->fingerprint()) {
      return shared;
    }
    return {true, CommonWindows(*a.windows, *b.windows), true};
  }
  std::multimap<uint64_t, StorePart> stores_of_a;
  for (const StorePart& store : StoresOf(*a.data)) {
    stores_of_a.emplace(store.fingerprint, store);
  }
  for (const StorePart& in_b : StoresOf(*b.data)) {
    const auto [begin, end] = stores_of_a.equal_range(in_b.fingerprint);
    for (auto in_a = begin; in_a != end; ++in_a) {
      shared.shares_store = true;
      shared.count += CommonDocuments(a, in_a->second, b, in_b);
    }
  }
  return shared;
}

void ForEachSharedPair(const std::vector<ConfigSource>& sources,
                       const std::function<void(size_t i, size_t j)>& visit) {
  std::map<uint64_t, std::set<size_t>> by_store;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].data == nullptr) continue;
    for (const StorePart& store : StoresOf(*sources[i].data)) {
      by_store[store.fingerprint].insert(i);
    }
  }
  std::set<std::pair<size_t, size_t>> seen;
  for (const auto& [fingerprint, users] : by_store) {
    for (auto i = users.begin(); i != users.end(); ++i) {
      for (auto j = std::next(i); j != users.end(); ++j) {
        if (seen.emplace(*i, *j).second) visit(*i, *j);
      }
    }
  }
}

absl::Status CheckHoldOuts(const std::vector<ConfigSource>& sources) {
  if (std::none_of(sources.begin(), sources.end(), [](const auto& source) {
        return source.hold_out.has_value();
      })) {
    return absl::OkStatus();
  }
  std::vector<absl::Status> errors;
  ForEachSharedPair(sources, [&](size_t i, size_t j) {
    const ConfigSource& a = sources[i];
    const ConfigSource& b = sources[j];
    const bool is_of_windows = a.windows != nullptr;
    if (a.hold_out == b.hold_out &&
        (!is_of_windows || a.data->fingerprint() == b.data->fingerprint())) {
      return;
    }
    errors.push_back(absl::InvalidArgumentError(absl::StrCat(
        "data: '", a.path, "' and '", b.path, "' read the same store, '",
        b.location, "', but '", a.path, "' ", HeldOutText(a), " and '", b.path,
        "' ", HeldOutText(b), is_of_windows ? " of another source" : "",
        ": what one holds out, the other would train on; state the same "
        "hold_out for both")));
  });
  return JoinErrors(errors);
}

}  // namespace poniente::internal
