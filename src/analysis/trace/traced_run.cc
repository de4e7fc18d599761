// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "poniente/extend/infilled_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/packing.h"
#include "poniente/token_source.h"
#include "poniente/trace.h"
#include "util/check.h"
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

absl::Status NoStep(uint64_t steps, uint64_t step) {
  return absl::OutOfRangeError(absl::StrCat("the run has ", steps,
                                            steps == 1 ? " step" : " steps",
                                            ": there is no step ", step));
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

// The last name that leads to each leaf, depth first.
void AppendLastNames(const DatasetNode& node, const std::string& name,
                     std::vector<std::string>* names) {
  const std::vector<NamedNode> children = node.children();
  if (children.empty()) {
    const std::string folder = node.name();
    names->push_back(name.empty() ? folder.substr(folder.rfind('/') + 1)
                                  : name);
  }
  for (const NamedNode& child : children) {
    if (child.shares_sources) continue;
    AppendLastNames(*child.node, child.name.empty() ? name : child.name, names);
  }
}

}  // namespace

TracedRun::TracedRun(DatasetPtr<TokenWindow> dataset, const Schedule& schedule,
                     std::vector<ConfigSource> sources, LoaderOptions options,
                     ByteReaderOptions io_options)
    : dataset_(std::move(dataset)),
      trace_(*dataset_, schedule, options.sharing),
      sources_(std::move(sources)),
      options_(std::move(options)),
      io_options_(io_options) {
  const auto leaves = trace_.tree().leaves();
  PONIENTE_CHECK(sources_.size() == leaves.size())
      << sources_.size() << " sources of " << leaves.size() << " leaves";
  std::unordered_map<std::string_view, uint32_t> seen;
  views_.reserve(leaves.size());
  for (const TreeLeaf& leaf : leaves) views_.push_back(seen[leaf.path]++);
  std::vector<std::string> names;
  AppendLastNames(*dataset_, "", &names);
  // Those of components that the run's journal added come last in leaves().
  const std::vector<uint32_t> numbers = trace_.tree().LeavesDepthFirst();
  PONIENTE_CHECK(numbers.size() == names.size())
      << numbers.size() << ' ' << names.size();
  names_.resize(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    names_[numbers[i]] = std::move(names[i]);
  }
}

TracedRun::TracedRun(const Config& config)
    : TracedRun(config.dataset(), config.schedule(), config.sources(),
                config.loader_options(), config.io_options()) {
  run_ = config.run();
  journal_ = config.journal();
}

std::optional<uint64_t> TracedRun::steps() const {
  const LengthState length = dataset_->length_now();
  const uint64_t planned = schedule().steps();
  const bool lasts = length.is_endless ||
                     (planned > 0 && schedule().samples() <= length.readable);
  if (lasts) return planned > 0 ? std::optional(planned) : std::nullopt;
  if (length.readable == 0) return 0;
  const uint64_t last = schedule().StepOf(length.readable - 1);
  const StepPlan plan = schedule().At(last);
  const bool is_short = length.readable - plan.first_sample < plan.batch_size;
  return is_short && options_.last_batch == LastBatch::kDrop ? last : last + 1;
}

absl::StatusOr<StepRange> TracedRun::Served(
    std::optional<StepRange> steps) const {
  std::optional<uint64_t> end = this->steps();
  const std::optional<uint64_t> there = trace_.steps_there();
  if (there.has_value()) {
    // Says which steps are there.
    if (steps.has_value() && steps->begin >= *there) {
      PONIENTE_RETURN_IF_ERROR(trace_.Resolve(steps->begin).status());
    }
    end = there;
  }
  if (steps.has_value()) {
    if (!end.has_value()) return *steps;
    if (steps->begin >= *end) return NoStep(*end, steps->begin);
    return StepRange{steps->begin, std::min(steps->end, *end)};
  }
  if (end.has_value()) return StepRange{0, *end};
  return absl::FailedPreconditionError(
      "the run has no end: say which steps to search");
}

absl::StatusOr<std::vector<TracedDocument>> TracedRun::DocumentsOf(
    const SampleOrigin& origin) const {
  std::vector<TracedDocument> documents;
  const PiecewiseItems* const pieces =
      PiecesOf(*trace_.tree().leaves()[origin.leaf].node);
  if (pieces == nullptr) return documents;
  Position position = {.index = origin.item, .epoch = origin.epoch};
  position.part_begin = origin.token_begin;
  position.part_length = origin.token_end - origin.token_begin;
  PONIENTE_ASSIGN_OR_RETURN(std::vector<ItemPiece> made_of,
                            pieces->Pieces(position));
  const TokenSource* const data = sources_[origin.leaf].data.get();
  const InfilledDataset* const infilled = InfilledOf(*dataset_);
  if (infilled != nullptr) {
    infilled->infillings().Mask(origin.leaf, origin.sample, made_of);
  }
  for (const ItemPiece& piece : made_of) {
    if (piece.is_padding()) {
      documents.push_back({kNoDocument, "", piece.end - piece.begin});
      continue;
    }
    documents.push_back({piece.document, "", piece.end - piece.begin,
                         /*has_beginning=*/!documents.empty(), piece.begin});
    if (infilled != nullptr) {
      PONIENTE_RETURN_IF_ERROR(
          infilled->infillings()
              .Find(origin.leaf, origin.sample, origin.epoch, piece,
                    /*may_read=*/true, &documents.back().infilled)
              .status());
    }
    PieceEnds ends;
    PONIENTE_RETURN_IF_ERROR(
        pieces->FindEnds(piece, /*may_read=*/true, &ends).status());
    documents.back().is_whole = ends.is_whole;
    if (data == nullptr) continue;
    PONIENTE_ASSIGN_OR_RETURN(documents.back().document,
                              data->DocumentRange(piece.document));
    documents.back().has_beginning =
        documents.back().document->begin == piece.begin;
    PONIENTE_ASSIGN_OR_RETURN(documents.back().name,
                              data->DocumentName(piece.document));
  }
  return documents;
}

absl::StatusOr<TracedStep> TracedRun::Show(uint64_t step, uint32_t rank,
                                           uint32_t ranks) const {
  const std::optional<uint64_t> end = steps();
  if (end.has_value() && step >= *end) {
    return NoStep(*end, step);
  }
  PONIENTE_ASSIGN_OR_RETURN(std::vector<SampleOrigin> origins,
                            trace_.Resolve(step, rank, ranks));
  TracedStep traced;
  traced.plan = schedule().At(step);
  traced.stage_name = StageLabel(schedule().stages()[traced.plan.stage]);
  for (SampleOrigin& origin : origins) {
    TracedSample& sample = traced.samples.emplace_back();
    PONIENTE_ASSIGN_OR_RETURN(sample.documents, DocumentsOf(origin));
    sample.source = names_[origin.leaf];
    sample.view = views_[origin.leaf];
    sample.origin = std::move(origin);
  }
  return traced;
}

absl::StatusOr<std::vector<TokenWindow>> TracedRun::Tokens(
    const std::vector<TracedSample>& samples) const {
  std::vector<Index> indices;
  for (const TracedSample& sample : samples) {
    indices.push_back(sample.origin.sample);
  }
  return dataset_->GetBatchBlocking(indices);
}

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
    PONIENTE_ASSIGN_OR_RETURN(const auto epochs,
                              trace_.EpochsIn(leaf, range.begin, range.end));
    if (!epochs.has_value()) continue;
    for (uint64_t epoch = epochs->first; epoch <= epochs->last; ++epoch) {
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
    }
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
