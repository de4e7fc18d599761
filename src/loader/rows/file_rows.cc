// SPDX-License-Identifier: Apache-2.0
#include "loader/rows/file_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "loader/batch_access.h"
#include "loader/rows/id_errors.h"
#include "loader/widen.h"
#include "poniente/extend/piecewise_items.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Ids read from a leaf are below this.
uint64_t IdLimit(const DatasetNode& leaf, TokenType type) {
  const Vocabulary* vocabulary = leaf.vocabulary();
  const uint64_t held = MaxTokenId(type) + 1;
  return std::min(
      {vocabulary ? vocabulary->size : held, leaf.ranges()->id_limit(), held});
}

// Whether every id of so many bytes is below `ids`.
bool HoldsNoOther(uint64_t ids, uint32_t width) {
  return width < sizeof(ids) && ids >> (8 * width) != 0;
}

bool IsChanged(const Infillings* infillings, size_t leaf) {
  return infillings != nullptr &&
         infillings->Changes(static_cast<uint32_t>(leaf));
}

// Calls read(begin, end, at) for the tokens that a sample's row has from place
// `at` on, counted as in SamplePart, and mark(id, at) for its marks.
template <class Read, class Mark>
void ForEachStretch(const SampleParts& parts, size_t sample, const Read& read,
                    const Mark& mark) {
  const std::span<const SamplePart> row = parts.Of(sample);
  uint32_t at = 0;
  for (size_t i = 0; i < row.size();) {
    const SamplePart& part = row[i];
    if (part.kind == SamplePart::Kind::kPadding) {
      at += part.length;
      ++i;
      continue;
    }
    if (part.infilled >= 0) {
      const uint32_t place_end = part.place + part.length;
      for (const InfilledPiece::Run& run :
           parts.Infilled(part.infilled).runs()) {
        const uint32_t begin = std::max(run.begin, part.place);
        const uint32_t end = std::min(run.begin + run.length, place_end);
        if (begin >= end) continue;
        const uint32_t to = at + (begin - part.place);
        if (run.id.has_value()) {
          mark(*run.id, to);
          continue;
        }
        const uint64_t from = part.begin + run.from + (begin - run.begin);
        read(from, from + (end - begin), to);
      }
      at += part.length;
      ++i;
      continue;
    }
    // Parts that follow one another in the source are read together.
    uint64_t end = part.begin;
    uint32_t length = 0;
    for (; i < row.size() && row[i].begin == end && row[i].infilled < 0 &&
           row[i].kind == SamplePart::Kind::kDocument;
         ++i) {
      end += row[i].length;
      length += row[i].length;
    }
    read(part.begin, end, at);
    at += length;
  }
}

// The unsigned type of ids of so many bytes: 1, 2 or 4.
TokenType TypeOfWidth(uint32_t width) {
  return width == 1   ? TokenType::kU8
         : width == 2 ? TokenType::kU16
                      : TokenType::kU32;
}

}  // namespace

bool FileRows::CanRead(const DatasetTree& tree) {
  return std::all_of(tree.leaves().begin(), tree.leaves().end(),
                     [](const TreeLeaf& leaf) {
                       return leaf.is_plain && leaf.node->ranges();
                     });
}

FileRows::FileRows(const DatasetTree& tree, const Options& options)
    : tree_(tree),
      reads_labels_(options.reads_labels),
      host_type_(options.type) {
  const TokenType type = options.type;
  for (const TreeLeaf& leaf : tree.leaves()) {
    const RangeSource& ranges = *leaf.node->ranges();
    const uint64_t ids = IdLimit(*leaf.node, type);
    const PiecewiseItems* const pieces = PiecesOf(*leaf.node);
    const uint32_t width = ranges.width_bytes();
    leaves_.push_back({&ranges, &ranges.reader(), ids, width,
                       ranges.ids_are_checked() || HoldsNoOther(ids, width),
                       ranges.items_are_split(),
                       ranges.has_pieces() || options.reads_slices ||
                           IsChanged(options.infillings, leaves_.size()),
                       pieces == nullptr,
                       pieces == nullptr ? 0 : pieces->padding_id()});
  }
  const uint64_t most =
      options.infillings == nullptr ? 0 : options.infillings->max_id();
  if (const uint32_t width = options.may_widen ? WidthBelow(type) : 0;
      width > 0 && most <= MaxTokenId(TypeOfWidth(width))) {
    host_type_ = TypeOfWidth(width);
    widened_from_ = width;
    return;
  }
  for (const Leaf& leaf : leaves_) {
    if (leaf.width == TokenTypeBytes(type)) continue;
    widened_from_ = std::max(widened_from_, leaf.width);
  }
}

uint32_t FileRows::WidthBelow(TokenType type) const {
  if (leaves_.empty()) return 0;
  const uint32_t width = leaves_[0].width;
  const bool is_shared =
      std::all_of(leaves_.begin(), leaves_.end(),
                  [&](const Leaf& leaf) { return leaf.width == width; });
  return is_shared && width < TokenTypeBytes(type) ? width : 0;
}

Task<std::unique_ptr<const FileRows::PlannedReads>> FileRows::Read(
    std::span<const LeafPosition> items, const SamplesByLeaf& by_leaf,
    const SampleParts& parts, std::span<const ReadRequest> besides,
    Batch* batch, Slot* slot, FetchTimes* times) const {
  Stopwatch watch;
  absl::StatusOr<PlannedReads> planned =
      PlanReads(items, by_leaf, parts, batch, slot);
  if (!planned.ok()) co_return planned.status();
  auto reads = std::make_unique<PlannedReads>(*std::move(planned));
  if (reads_labels_) PlanLabels(items, by_leaf, parts, reads.get());
  reads->requests.insert(reads->requests.end(), besides.begin(), besides.end());
  times->resolve += watch.Lap();
  absl::Status read = co_await ReadBatch(reads->requests);
  times->read += watch.Lap();
  if (!read.ok()) co_return read;
  std::unique_ptr<const PlannedReads> done = std::move(reads);
  co_return done;
}

// Reads and marks are in the order of the samples.
absl::StatusOr<std::vector<LabelBesides>> FileRows::Decode(
    std::span<const LeafPosition> items, const SamplesByLeaf& by_leaf,
    const SampleParts& parts, const PlannedReads& reads,
    const std::function<void(uint32_t)>& finish, Batch* batch) const {
  size_t read = 0;
  size_t mark = 0;
  for (const SamplesByLeaf::Group& group : by_leaf) {
    const Leaf& from = leaves_[group.leaf];
    for (const uint32_t sample : group.samples) {
      for (; read < reads.places.size() && reads.places[read].sample == sample;
           ++read) {
        PONIENTE_RETURN_IF_ERROR(WidenRead(items[sample], reads, read, batch));
      }
      if (from.reads_parts) FillPadding(from, parts.Of(sample), sample, batch);
      for (; mark < reads.marks.size() && reads.marks[mark].sample == sample;
           ++mark) {
        FillMark(reads.marks[mark], batch);
      }
      finish(sample);
    }
  }
  return DecodeLabels(items, reads);
}

void FileRows::Locate(const LeafPosition& item, uint64_t begin, uint64_t end,
                      std::vector<FileRange>* ranges) const {
  const Leaf& from = leaves_[item.leaf];
  if (!from.counts_in_item) {
    from.ranges->LocateTokens(begin, end, ranges);
    return;
  }
  const Position& position = item.position;
  from.ranges->LocateAll(position.index,
                         position.part_begin + static_cast<uint32_t>(begin),
                         static_cast<uint32_t>(end - begin), ranges);
}

// Rows that lie on the host as they are stored are read in place, others
// beside it.
absl::StatusOr<FileRows::PlannedReads> FileRows::PlanReads(
    std::span<const LeafPosition> items, const SamplesByLeaf& by_leaf,
    const SampleParts& parts, Batch* batch, Slot* slot) const {
  const uint32_t width = TokenTypeBytes(host_type_);
  const uint32_t seq_len = batch->seq_len();
  size_t beside = 0;
  for (const SamplesByLeaf::Group& group : by_leaf) {
    const uint32_t stored = leaves_[group.leaf].width;
    if (stored != width) beside += group.samples.size() * seq_len * stored;
  }
  PONIENTE_ASSIGN_OR_RETURN(std::span<std::byte> scratch,
                            slot->Scratch(beside));
  const std::span<std::byte> rows =
      BatchAccess::Bytes(batch, BatchTensor::kTokens);
  const size_t row_bytes = size_t{seq_len} * width;
  PlannedReads reads;
  reads.requests.reserve(items.size());
  reads.places.reserve(items.size());
  std::vector<FileRange> ranges;
  for (const SamplesByLeaf::Group& group : by_leaf) {
    const Leaf& from = leaves_[group.leaf];
    const bool in_place = from.width == width;
    const auto add = [&](const FileRange& range, uint32_t sample, uint32_t at) {
      const std::span<std::byte> into =
          in_place ? rows.subspan(sample * row_bytes + size_t{at} * width,
                                  range.bytes)
                   : scratch.first(range.bytes);
      if (!in_place) scratch = scratch.subspan(range.bytes);
      reads.requests.push_back({from.reader, range.file, range.offset, into});
      reads.places.push_back({group.leaf, sample, at});
    };
    // From `at` on of a sample's row.
    const auto add_all = [&](uint32_t sample, uint32_t at) {
      for (const FileRange& range : ranges) {
        add(range, sample, at);
        at += static_cast<uint32_t>(range.bytes / from.width);
      }
    };
    for (const uint32_t sample : group.samples) {
      const Position& position = items[sample].position;
      if (!from.reads_parts && !from.items_are_split) {
        add(from.ranges->Locate(position.index, position.part_begin, seq_len),
            sample, 0);
        continue;
      }
      ranges.clear();
      if (!from.reads_parts) {
        from.ranges->LocateAll(position.index, position.part_begin, seq_len,
                               &ranges);
        add_all(sample, 0);
        continue;
      }
      ForEachStretch(
          parts, sample,
          [&](uint64_t begin, uint64_t end, uint32_t at) {
            ranges.clear();
            Locate(items[sample], begin, end, &ranges);
            add_all(sample, at);
          },
          [&](uint32_t id, uint32_t at) {
            reads.marks.push_back({sample, at, id});
          });
    }
  }
  return reads;
}

void FileRows::PlanLabels(std::span<const LeafPosition> items,
                          const SamplesByLeaf& by_leaf,
                          const SampleParts& parts, PlannedReads* reads) const {
  std::vector<FileRange> ranges;
  for (const SamplesByLeaf::Group& group : by_leaf) {
    for (const uint32_t sample : group.samples) {
      uint32_t end = 0;
      for (const SamplePart& part : parts.Of(sample)) {
        end += part.length;
        if (part.last_label != SamplePart::LastLabel::kBesides) continue;
        if (part.label_mark.has_value()) {
          reads->label_marks.push_back({sample, end - 1, *part.label_mark});
          continue;
        }
        Locate(items[sample], part.label_token, part.label_token + 1, &ranges);
        reads->labels.push_back({group.leaf, sample, end - 1});
      }
    }
  }
  reads->label_ids.resize(ranges.size());
  const std::span<std::byte> into =
      std::as_writable_bytes(std::span(reads->label_ids));
  for (size_t i = 0; i < ranges.size(); ++i) {
    const FileRange& range = ranges[i];
    reads->requests.push_back(
        {leaves_[reads->labels[i].leaf].reader, range.file, range.offset,
         into.subspan(i * sizeof(uint64_t), range.bytes)});
  }
}

absl::StatusOr<std::vector<LabelBesides>> FileRows::DecodeLabels(
    std::span<const LeafPosition> items, const PlannedReads& reads) const {
  std::vector<LabelBesides> labels(reads.labels.size());
  for (size_t i = 0; i < reads.labels.size(); ++i) {
    const RowPlace& place = reads.labels[i];
    const uint64_t id = reads.label_ids[i];
    if (id >= leaves_[place.leaf].ids) {
      return NotAnIdOfFile(tree_.leaves()[place.leaf],
                           items[place.sample].position.index, id,
                           leaves_[place.leaf].ids);
    }
    labels[i] = {place.sample, place.at, id};
  }
  labels.insert(labels.end(), reads.label_marks.begin(),
                reads.label_marks.end());
  return labels;
}

absl::Status FileRows::WidenRead(const LeafPosition& item,
                                 const PlannedReads& reads, size_t i,
                                 Batch* batch) const {
  const RowPlace& place = reads.places[i];
  const Leaf& from = leaves_[place.leaf];
  const uint32_t width = TokenTypeBytes(host_type_);
  if (from.width == width && from.ids_are_checked) return absl::OkStatus();
  const std::span<const std::byte> stored = reads.requests[i].into;
  const size_t at = size_t{place.sample} * batch->seq_len() + place.at;
  const uint64_t greatest =
      Widen(stored, from.width, host_type_,
            BatchAccess::Bytes(batch, BatchTensor::kTokens)
                .subspan(at * width, stored.size() / from.width * width));
  if (greatest < from.ids) return absl::OkStatus();
  return NotAnIdOfFile(tree_.leaves()[place.leaf], item.position.index,
                       greatest, from.ids);
}

void FileRows::FillPadding(const Leaf& from, std::span<const SamplePart> parts,
                           uint32_t sample, Batch* batch) const {
  const uint32_t width = TokenTypeBytes(host_type_);
  const uint64_t id = from.padding_id;
  std::byte* to = BatchAccess::Bytes(batch, BatchTensor::kTokens).data() +
                  size_t{sample} * batch->seq_len() * width;
  for (const SamplePart& part : parts) {
    std::byte* const end = to + size_t{part.length} * width;
    if (part.kind == SamplePart::Kind::kDocument) {
      to = end;
      continue;
    }
    for (; to != end; to += width) {
      // Little-endian, as all ids are.
      std::memcpy(to, &id, width);
    }
  }
}

void FileRows::FillMark(const LabelBesides& mark, Batch* batch) const {
  const uint32_t width = TokenTypeBytes(host_type_);
  const size_t at = size_t{mark.sample} * batch->seq_len() + mark.at;
  std::memcpy(
      BatchAccess::Bytes(batch, BatchTensor::kTokens).data() + at * width,
      &mark.id, width);  // little-endian
}

}  // namespace poniente::internal
