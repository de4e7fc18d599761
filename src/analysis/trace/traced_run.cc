// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/extend/infilled_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/token_source.h"
#include "poniente/trace.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

absl::Status NoStep(uint64_t steps, uint64_t step) {
  return absl::OutOfRangeError(absl::StrCat("the run has ", steps,
                                            steps == 1 ? " step" : " steps",
                                            ": there is no step ", step));
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

}  // namespace poniente
