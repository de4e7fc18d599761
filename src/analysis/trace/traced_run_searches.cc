// SPDX-License-Identifier: Apache-2.0
// Finds sources by name, and the samples that read an item or a document.
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/extend/infilled_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/token_source.h"
#include "poniente/trace.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

constexpr size_t kMaxNamed = 8;

std::string QuotedName(std::string_view name) {
  return absl::StrCat("'", internal::Absl(name), "'");
}

bool EndsWithName(std::string_view path, std::string_view name) {
  return path.size() > name.size() && path.ends_with(name) &&
         path[path.size() - name.size() - 1] == '/';
}

// The first of them.
std::string Listed(const std::vector<std::string>& paths) {
  const size_t count = std::min(paths.size(), kMaxNamed);
  std::string list;
  for (size_t i = 0; i < count; ++i) {
    absl::StrAppend(&list, i == 0 ? "" : ", ", QuotedName(paths[i]));
  }
  if (paths.size() > count) {
    absl::StrAppend(&list, " and ", paths.size() - count, " more");
  }
  return list;
}

void SortUnique(std::vector<std::string>* paths) {
  std::sort(paths->begin(), paths->end());
  paths->erase(std::unique(paths->begin(), paths->end()), paths->end());
}

absl::Status UnknownDocuments(std::string_view path, const ConfigSource& source,
                              std::string_view remedy) {
  std::string why;
  if (source.data != nullptr) {
    why = absl::StrCat(": '", source.data->path(), "' (",
                       internal::Absl(source.data->format()),
                       ") does not say where they end; state document_end or "
                       "document_begin");
  } else {
    why = source.is_readable ? ", because it is a dataset of the program's own"
                             : ", only its number of tokens";
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the documents of ", QuotedName(path), " are not known", why,
                   internal::Absl(remedy)));
}

// Returns the error of a search for a document, whose items are not found
// because of `error`.
absl::Status DocumentError(std::string_view path, uint64_t document,
                           const TokenSource* data, const absl::Status& error) {
  if (!absl::IsOutOfRange(error)) {
    return internal::Prepend(
        error, absl::StrCat(QuotedName(path), " document ", document));
  }
  if (data == nullptr || document < data->num_documents()) {
    return absl::OutOfRangeError(absl::StrCat(QuotedName(path),
                                              " has no document ", document,
                                              ": ", error.message()));
  }
  const uint64_t count = data->num_documents();
  return absl::OutOfRangeError(absl::StrCat(
      QuotedName(path), " has ", count, count == 1 ? " document" : " documents",
      count > 0 ? absl::StrCat(", 0 to ", count - 1) : std::string(),
      ": there is no document ", document));
}

// Returns which tokens of a document, which lies at `whole`, a sample has of
// `part`. REQUIRES: it has at least one.
std::optional<TokenRange> TokensOfDocument(
    const std::optional<TokenRange>& whole, const PieceOfItem& part,
    const Reading& reading) {
  if (!whole.has_value()) return std::nullopt;
  const uint32_t first = std::max(reading.token_begin, part.item_begin);
  const uint64_t begin = part.begin + (first - part.item_begin);
  const uint64_t end =
      std::min(part.end, part.begin + (reading.token_end - part.item_begin));
  return TokenRange{begin - whole->begin, end - whole->begin};
}

void SortBySample(std::vector<TracedReading>* readings) {
  std::sort(readings->begin(), readings->end(),
            [](const TracedReading& a, const TracedReading& b) {
              return a.reading.sample < b.reading.sample;
            });
}

}  // namespace

absl::StatusOr<std::string> TracedRun::FindSource(std::string_view name) const {
  std::vector<std::string> named, candidates, below;
  const auto leaves = trace_.tree().leaves();
  for (size_t i = 0; i < leaves.size(); ++i) {
    const TreeLeaf& leaf = leaves[i];
    if (leaf.path == name) return leaf.path;
    if (names_[i] == name) named.push_back(leaf.path);
    if (EndsWithName(leaf.path, name)) candidates.push_back(leaf.path);
    if (leaf.path.starts_with(absl::StrCat(internal::Absl(name), "/"))) {
      below.push_back(leaf.path);
    }
  }
  if (!named.empty()) candidates = std::move(named);
  SortUnique(&candidates);
  SortUnique(&below);
  if (candidates.size() == 1) return candidates[0];
  if (!candidates.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        QuotedName(name), " is the name of ", candidates.size(), " sources: ",
        Listed(candidates), "; give the whole path of the one you mean"));
  }
  if (!below.empty()) {
    return absl::NotFoundError(
        absl::StrCat(QuotedName(name), " is not a source, but has ",
                     Listed(below), " below it; give one of these"));
  }
  std::vector<std::string> known;
  for (const TreeLeaf& leaf : leaves) known.push_back(leaf.path);
  known.insert(known.end(), names_.begin(), names_.end());
  return absl::NotFoundError(absl::StrCat("there is no source ",
                                          QuotedName(name),
                                          internal::DidYouMean(name, known)));
}

absl::StatusOr<std::vector<uint32_t>> TracedRun::LeavesAt(
    std::string_view path) const {
  std::vector<uint32_t> leaves;
  for (uint32_t leaf = 0; leaf < views_.size(); ++leaf) {
    if (trace_.tree().leaves()[leaf].path == path) leaves.push_back(leaf);
  }
  if (!leaves.empty()) return leaves;
  return absl::NotFoundError(
      absl::StrCat("there is no source at ", QuotedName(path)));
}

absl::StatusOr<std::vector<TracedReading>> TracedRun::FindItem(
    std::string_view path, Index item, std::optional<StepRange> steps) const {
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint32_t> leaves, LeavesAt(path));
  PONIENTE_ASSIGN_OR_RETURN(const StepRange range, Served(steps));
  const auto items = [&](uint32_t leaf) {
    return trace_.tree().leaves()[leaf].node->length_now().readable;
  };
  uint64_t most = 0;
  std::vector<TracedReading> found;
  for (const uint32_t leaf : leaves) {
    most = std::max(most, items(leaf));
    if (item >= items(leaf)) continue;
    PONIENTE_ASSIGN_OR_RETURN(
        const std::vector<Reading> readings,
        trace_.FindInLeaf(leaf, item, range.begin, range.end));
    for (const Reading& reading : readings) {
      found.push_back({reading, item, views_[leaf], std::nullopt});
    }
  }
  if (item >= most) {
    return absl::OutOfRangeError(absl::StrCat(
        QuotedName(path), " has ", most, most == 1 ? " item" : " items",
        most > 0 ? absl::StrCat(", 0 to ", most - 1) : std::string(),
        ": there is no item ", item));
  }
  SortBySample(&found);
  return found;
}

absl::StatusOr<std::vector<TracedReading>> TracedRun::FindDocument(
    std::string_view path, uint64_t document,
    std::optional<StepRange> steps) const {
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint32_t> leaves, LeavesAt(path));
  PONIENTE_ASSIGN_OR_RETURN(const StepRange range, Served(steps));
  std::vector<TracedReading> found;
  const InfilledDataset* const infilled = InfilledOf(*dataset_);
  for (const uint32_t leaf : leaves) {
    const PiecewiseItems* const pieces =
        PiecesOf(*trace_.tree().leaves()[leaf].node);
    if (pieces == nullptr) {
      return UnknownDocuments(path, sources_[leaf], "; search for an item");
    }
    const TokenSource* const data = sources_[leaf].data.get();
    std::optional<TokenRange> whole;
    if (data != nullptr && document < data->num_documents()) {
      PONIENTE_ASSIGN_OR_RETURN(whole, data->DocumentRange(document));
    }
    const auto add = [&](const PieceOfItem& part,
                         std::span<const Reading> readings) {
      const uint64_t part_end = part.item_begin + (part.end - part.begin);
      for (const Reading& reading : readings) {
        const bool is_masked =
            infilled != nullptr &&
            infilled->infillings().IsMasked(leaf, reading.sample, document);
        if (!is_masked && reading.token_begin < part_end &&
            reading.token_end > part.item_begin) {
          found.push_back({reading, part.item, views_[leaf], document,
                           TokensOfDocument(whole, part, reading)});
        }
      }
    };
    if (!pieces->changes_with_epoch()) {
      const absl::StatusOr<std::vector<PieceOfItem>> parts =
          pieces->ItemsOf(document);
      if (!parts.ok())
        return DocumentError(path, document, data, parts.status());
      for (const PieceOfItem& part : *parts) {
        PONIENTE_ASSIGN_OR_RETURN(
            const std::vector<Reading> readings,
            trace_.FindInLeaf(leaf, part.item, range.begin, range.end));
        add(part, readings);
      }
      continue;
    }
    const auto search = [&](uint64_t epoch) -> absl::Status {
      const absl::StatusOr<std::vector<PieceOfItem>> parts =
          pieces->ItemsIn(document, epoch);
      if (!parts.ok())
        return DocumentError(path, document, data, parts.status());
      for (const PieceOfItem& part : *parts) {
        PONIENTE_ASSIGN_OR_RETURN(
            const std::vector<Reading> readings,
            trace_.FindInEpoch(leaf, part.item, epoch, range.begin, range.end));
        add(part, readings);
      }
      return absl::OkStatus();
    };
    PONIENTE_RETURN_IF_ERROR(
        trace_.ForEachEpoch(leaf, range.begin, range.end, search));
  }
  SortBySample(&found);
  return found;
}

absl::StatusOr<std::vector<uint64_t>> TracedRun::DocumentsNamed(
    std::string_view path, std::string_view name) const {
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint32_t> leaves, LeavesAt(path));
  // Views of one path may be of different stores: those of the first are meant,
  // as numbers are the same in all views of one store.
  const TokenSource* const data = sources_[leaves[0]].data.get();
  if (data == nullptr &&
      PiecesOf(*trace_.tree().leaves()[leaves[0]].node) != nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the documents of ", QuotedName(path),
        " have no names, because it is a dataset of the program's own: find "
        "them by number"));
  }
  if (data == nullptr || !data->knows_documents()) {
    return UnknownDocuments(path, sources_[leaves[0]], "");
  }
  std::vector<uint64_t> documents;
  for (uint64_t document = 0; document < data->num_documents(); ++document) {
    PONIENTE_ASSIGN_OR_RETURN(const std::string known,
                              data->DocumentName(document));
    if (known == name) documents.push_back(document);
  }
  if (!documents.empty()) return documents;
  return absl::NotFoundError(absl::StrCat("none of the ", data->num_documents(),
                                          " documents of ", QuotedName(path),
                                          " has the name ", QuotedName(name)));
}

}  // namespace poniente
