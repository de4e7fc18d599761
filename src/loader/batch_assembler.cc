// SPDX-License-Identifier: Apache-2.0
#include "loader/batch_assembler.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataset/samples_by_leaf.h"
#include "index/part_at.h"
#include "loader/batch_access.h"
#include "loader/batch_checks.h"
#include "loader/rows/id_errors.h"
#include "loader/widen.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/extend/infilled_dataset.h"
#include "util/status_macros.h"
#include "util/usable_cores.h"

namespace poniente::internal {
namespace {

// Threads that look up documents that are not in memory, one batch each.
constexpr size_t kBlockingThreads = 4;
// Threads that make tensors, at most. One keeps up with the loader's thread
// unless batches have all tensors.
constexpr unsigned kDecodingThreads = 2;
// Tensors of fewer bytes are made sooner than they are handed over.
constexpr uint64_t kLeastHandedOver = uint64_t{512} << 10;

// Says for its lifetime that a batch is under way.
class UnderWay {
 public:
  // `count` may be null.
  explicit UnderWay(std::atomic<uint32_t>* count) : count_(count) {
    // Relaxed: publishes nothing.
    if (count_ != nullptr) count_->fetch_add(1, std::memory_order_relaxed);
  }
  ~UnderWay() {
    if (count_ != nullptr) count_->fetch_sub(1, std::memory_order_relaxed);
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

 private:
  std::atomic<uint32_t>* const count_;
};

// Which documents the root rearranges; null if it rearranges none.
const Infillings* InfillingsOf(const DatasetNode& root) {
  const InfilledDataset* const infilled = InfilledOf(root);
  return infilled == nullptr ? nullptr : &infilled->infillings();
}

// Says of a part that a dataset's windows do not have how long they should be.
absl::Status OfWindows(const absl::Status& error, const Schedule& schedule) {
  if (!absl::IsOutOfRange(error) || !schedule.cuts_items()) return error;
  return absl::Status(
      error.code(),
      absl::StrCat(error.message(), "; the schedule asks for ", "windows of ",
                   schedule.max_seq_len(), " tokens"));
}

}  // namespace

BatchAssembler::BatchAssembler(DatasetPtr<TokenWindow> dataset,
                               Schedule schedule, const LoaderOptions& options,
                               std::shared_ptr<SlotRing> slots)
    : dataset_(std::move(dataset)),
      schedule_(std::move(schedule)),
      tree_(*dataset_),
      rank_(options.rank),
      ranks_(options.ranks),
      context_ranks_(options.context.ranks),
      last_batch_(options.last_batch),
      tensors_(tree_, options),
      parts_(tree_, options, InfillingsOf(*dataset_), tensors_.needs_parts(),
             FileRows::CanRead(tree_)),
      sharing_(tree_, options.sharing),
      loss_masks_(tree_),
      slots_(std::move(slots)),
      decoding_(kDecodingThreads),
      blocking_(kBlockingThreads) {
  for (const TreeLeaf& leaf : tree_.leaves()) {
    whole_tokens_.push_back(WholeTokens(leaf));
  }
  if (!FileRows::CanRead(tree_)) {
    dataset_times_.emplace(*dataset_);
    return;
  }
  // Labels are made of the tokens, by the host.
  const bool has_labels = tensors_.layout().Has(BatchTensor::kLabels);
  FileRows::Options rows;
  rows.type = options.token_type;
  rows.reads_slices = context_ranks_ > 1;
  rows.infillings = InfillingsOf(*dataset_);
  // Of whole samples, all other labels are in the rows.
  rows.reads_labels = has_labels && (rows.reads_slices ||
                                     options.documents.labels_beyond_sample);
  rows.may_widen =
      options.widen_on_device && !has_labels && slots_->can_widen();
  file_rows_.emplace(tree_, rows);
}

TokenType BatchAssembler::host_type() const {
  return file_rows_.has_value() ? file_rows_->host_type()
                                : tensors_.layout().token_type();
}

Widening BatchAssembler::WideningOf(uint64_t num_samples,
                                    uint32_t seq_len) const {
  const TokenType type = tensors_.layout().token_type();
  if (host_type() == type) return {};
  return {num_samples * seq_len, TokenTypeBytes(host_type()),
          TokenTypeBytes(type)};
}

uint64_t BatchAssembler::BytesOf(uint64_t step) const {
  if (!schedule_.Has(step)) return 0;
  const Stretch& stretch =
      PartAt(schedule_.stretches(), step, &Stretch::first_step);
  const BatchShare share = RankShare(stretch.batch_size, rank_, ranks_);
  const uint64_t samples = share.end - share.begin;
  const uint32_t widened_from =
      file_rows_.has_value() ? file_rows_->widened_from() : 0;
  const uint32_t row_tokens = RowTokens(stretch.seq_len);
  return tensors_.layout().Bytes(samples, row_tokens) +
         samples * row_tokens * widened_from;
}

Task<std::optional<Batch>> BatchAssembler::Assemble(uint64_t step,
                                                    bool may_hand_over,
                                                    FetchTimes* times) const {
  if (!schedule_.Has(step)) co_return std::nullopt;
  const UnderWay under_way(may_hand_over ? &under_way_ : nullptr);
  if (dataset_times_.has_value()) {
    // Core::Arrive() makes it an owner.
    times->datasets = {std::shared_ptr<const void>(), &*dataset_times_};
  }
  StepPlan plan = schedule_.At(step);
  Stopwatch watch;
  absl::StatusOr<uint64_t> readable =
      co_await AskLength(dataset_, plan.first_sample + plan.batch_size);
  if (!readable.ok()) co_return readable.status();
  times->length = watch.Lap();
  const uint64_t left =
      *readable - std::min<uint64_t>(*readable, plan.first_sample);
  if (left == 0) co_return std::nullopt;
  if (left < plan.batch_size) {
    if (last_batch_ == LastBatch::kDrop) co_return std::nullopt;
    plan.batch_size = left;
  }
  std::vector<uint64_t> samples;
  absl::StatusOr<bool> known =
      sharing_.Find(plan, rank_, ranks_, /*may_read=*/false, &samples);
  if (!known.ok()) co_return known.status();
  if (!*known) {
    absl::StatusOr<std::vector<uint64_t>> read = co_await ReadSamples(plan);
    if (!read.ok()) co_return read.status();
    samples = *std::move(read);
  }
  const uint32_t row_tokens = RowTokens(plan.seq_len);
  const uint64_t bytes = tensors_.layout().Bytes(samples.size(), row_tokens);
  const Widening widening = WideningOf(samples.size(), row_tokens);
  absl::StatusOr<SlotPtr> slot =
      co_await slots_->Take(bytes, widening.bytes_before());
  if (!slot.ok()) co_return slot.status();
  Batch batch = BatchAccess::Make(std::move(plan), samples.size(), row_tokens,
                                  tensors_.layout(), *slot);
  if (host_type() != batch.token_type()) BatchAccess::HideHostTokens(&batch);
  for (size_t i = 0; i < batch.num_samples(); ++i) {
    BatchAccess::Provenance(&batch)[i].sample = samples[i];
  }
  absl::Status filled =
      co_await Fill(&batch, slot->get(), may_hand_over, times);
  if (!filled.ok()) co_return filled;
  absl::Status uploading = (*slot)->Upload(bytes, widening);
  if (!uploading.ok()) co_return uploading;
  co_return std::optional<Batch>(std::move(batch));
}

bool BatchAssembler::HandsOver(const Batch& batch) const {
  static const bool has_cores = UsableCores() > 1;
  if (!has_cores || num_under_way() < 2) return false;
  uint64_t bytes =
      tensors_.layout().Bytes(batch.num_samples(), batch.seq_len());
  if (file_rows_.has_value() && file_rows_->widened_from() == 0) {
    bytes -= batch.num_samples() * batch.seq_len() *
             TokenTypeBytes(batch.token_type());  // read in place
  }
  return bytes >= kLeastHandedOver;
}

Task<> BatchAssembler::Fill(Batch* batch, Slot* slot, bool may_hand_over,
                            FetchTimes* times) const {
  Stopwatch watch;
  std::vector<Position> positions(batch->num_samples());
  for (size_t i = 0; i < positions.size(); ++i) {
    positions[i].index = batch->provenance(i).sample;
  }
  std::vector<LeafPosition> items(positions.size());
  absl::Status resolved = tree_.Resolve(positions, items);
  if (!resolved.ok()) co_return resolved;
  for (size_t i = 0; i < items.size(); ++i) {
    SampleProvenance& provenance = BatchAccess::Provenance(batch)[i];
    provenance.source = items[i].leaf;
    provenance.item = items[i].position.index;
    provenance.epoch = items[i].position.epoch;
    provenance.token_begin = items[i].position.part_begin;
  }
  const SamplesByLeaf by_leaf(items, tree_.leaves().size());
  const uint32_t seq_len = batch->plan().seq_len;
  absl::Status lengths = CheckLengths(items, by_leaf, seq_len);
  if (!lengths.ok()) co_return lengths;
  times->resolve = watch.Lap();
  absl::StatusOr<SampleParts> parts =
      co_await FindParts(positions, items, seq_len);
  if (!parts.ok()) co_return parts.status();
  times->read = watch.Lap();
  const LossMaskRows::Reads masks = loss_masks_.Plan(by_leaf, *parts);
  absl::StatusOr<std::unique_ptr<const FileRows::PlannedReads>> reads;
  absl::StatusOr<std::vector<LabelBesides>> besides;
  if (file_rows_.has_value()) {
    reads = co_await file_rows_->Read(items, by_leaf, *parts, masks.requests,
                                      batch, slot, times);
    if (!reads.ok()) co_return reads.status();
  } else {
    besides = co_await FillFromItems(positions, *parts, batch);
    if (!besides.ok()) co_return besides.status();
    if (!masks.requests.empty()) {
      absl::Status read = co_await ReadBatch(masks.requests);
      if (!read.ok()) co_return read;
    }
    times->decode += watch.Lap();
  }
  std::function<absl::Status()> decode = [&]() -> absl::Status {
    Stopwatch decoding;
    const std::function<void(uint32_t)> fill = [&](uint32_t sample) {
      if (!tensors_.needs_parts()) return;
      tensors_.FillSample(parts->Of(sample), sample, batch);
    };
    if (file_rows_.has_value()) {
      besides =
          file_rows_->Decode(items, by_leaf, *parts, **reads, fill, batch);
      PONIENTE_RETURN_IF_ERROR(besides.status());
    } else {
      for (uint32_t i = 0; i < items.size(); ++i) fill(i);
    }
    PONIENTE_RETURN_IF_ERROR(tensors_.Finish(items, *parts, *besides, batch));
    PONIENTE_RETURN_IF_ERROR(LossMaskRows::Apply(masks, batch));
    times->decode += decoding.Lap();
    return absl::OkStatus();
  };
  absl::Status decoded;
  if (may_hand_over && HandsOver(*batch)) {
    decoded = co_await decoding_.RunToEnd(std::move(decode));
  } else {
    decoded = decode();
  }
  co_return decoded;
}

template <class Found>
Task<Found> BatchAssembler::Read(
    std::function<absl::StatusOr<bool>(Found*)> find) const {
  // Owned by the call, too, which may outlast this coroutine.
  auto found = std::make_shared<Found>();
  std::function<absl::Status()> call = [found, find = std::move(find)] {
    return find(found.get()).status();
  };
  absl::Status done = co_await blocking_.Run(std::move(call));
  if (!done.ok()) co_return done;
  co_return std::move(*found);
}

Task<std::vector<uint64_t>> BatchAssembler::ReadSamples(StepPlan plan) const {
  std::function<absl::StatusOr<bool>(std::vector<uint64_t>*)> find =
      [this, plan](std::vector<uint64_t>* samples) {
        return sharing_.Find(plan, rank_, ranks_, /*may_read=*/true, samples);
      };
  absl::StatusOr<std::vector<uint64_t>> samples =
      co_await Read(std::move(find));
  co_return samples;
}

Task<SampleParts> BatchAssembler::FindParts(std::span<const Position> positions,
                                            std::span<const LeafPosition> items,
                                            uint32_t seq_len) const {
  if (!parts_.is_needed()) co_return SampleParts();
  std::vector<PartFinder::Sample> samples(items.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i] = {positions[i].index, items[i]};
  }
  SampleParts in_memory;
  absl::StatusOr<bool> known =
      parts_.Find(samples, seq_len, /*may_read=*/false, &in_memory);
  if (!known.ok()) co_return known.status();
  if (*known) co_return in_memory;
  std::function<absl::StatusOr<bool>(SampleParts*)> find =
      [this, seq_len, all = std::move(samples)](SampleParts* parts) {
        return parts_.Find(all, seq_len, /*may_read=*/true, parts);
      };
  absl::StatusOr<SampleParts> parts = co_await Read(std::move(find));
  co_return parts;
}

absl::Status BatchAssembler::CheckLengths(std::span<const LeafPosition> items,
                                          const SamplesByLeaf& by_leaf,
                                          uint32_t seq_len) const {
  for (const SamplesByLeaf::Group& group : by_leaf) {
    const uint64_t whole_tokens = whole_tokens_[group.leaf];
    for (const uint32_t sample : group.samples) {
      const uint64_t tokens = TokensOf(items[sample], whole_tokens);
      if (tokens == seq_len) continue;
      PONIENTE_RETURN_IF_ERROR(
          CheckLength(tree_.leaves()[group.leaf], tokens, seq_len));
    }
  }
  return absl::OkStatus();
}

Task<std::vector<LabelBesides>> BatchAssembler::FillFromItems(
    std::span<const Position> positions, const SampleParts& parts,
    Batch* batch) const {
  absl::StatusOr<std::vector<TokenWindow>> windows =
      co_await Ask(dataset_, positions);
  if (!windows.ok()) {
    co_return OfWindows(windows.status(), schedule_);
  }
  if (windows->size() != positions.size()) {
    co_return CountError(dataset_->name(), windows->size(), positions.size());
  }
  const uint32_t width = TokenTypeBytes(batch->token_type());
  const Vocabulary* vocabulary = dataset_->vocabulary();
  const uint64_t ids =
      vocabulary ? vocabulary->size : MaxTokenId(batch->token_type()) + 1;
  std::vector<LabelBesides> besides;
  std::span<std::byte> rows = BatchAccess::Bytes(batch, BatchTensor::kTokens);
  for (uint32_t i = 0; i < windows->size(); ++i) {
    const std::vector<uint32_t>& tokens = (*windows)[i].tokens;
    const TreeLeaf& leaf = tree_.leaves()[batch->source(i)];
    if (tokens.size() != batch->plan().seq_len) {
      co_return WindowLengthError(leaf.path, tokens.size(),
                                  batch->plan().seq_len);
    }
    uint64_t greatest = 0;
    const auto copy = [&](size_t begin, size_t count) {
      const std::span<std::byte> to = rows.first(count * width);
      rows = rows.subspan(to.size());
      greatest =
          std::max(greatest,
                   Widen(std::as_bytes(std::span(tokens).subspan(begin, count)),
                         sizeof(uint32_t), batch->token_type(), to));
    };
    if (context_ranks_ == 1) {
      copy(0, tokens.size());
    } else {
      uint32_t end = 0;
      for (const SamplePart& part : parts.Of(i)) {
        copy(part.begin_in_sample, part.length);
        end += part.length;
        if (part.last_label != SamplePart::LastLabel::kBesides) continue;
        const uint64_t label = tokens[part.begin_in_sample + part.length];
        besides.push_back({i, end - 1, label});
        greatest = std::max(greatest, label);
      }
    }
    if (greatest >= ids) {
      co_return NotAnIdOf(leaf, batch->provenance(i).item, greatest, ids);
    }
  }
  co_return besides;
}

}  // namespace poniente::internal
