// SPDX-License-Identifier: Apache-2.0
#include "store/packing/packing_plans.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "index/packing/bin_squares.h"
#include "index/packing/packing_options.h"
#include "store/packing/chunk_table.h"
#include "store/packing/live_values.h"
#include "store/packing/open_length_order.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// All documents are packed together.
class WholePlan final : public PackingPlans {
 public:
  explicit WholePlan(PackedChunk all)
      : all_(std::make_shared<const PackedChunk>(std::move(all))),
        summary_(all_->packing.summary()) {
    summary_.index_bytes += all_->order.numbers().bytes();
  }

  const PackingSummary& summary() const override { return summary_; }

  absl::StatusOr<PackedBin> BinOf(uint64_t window, const PackingOrder& order,
                                  bool) const override {
    return PackedBin{all_, all_->packing.BinAt(window, order), order};
  }

  absl::StatusOr<bool> FindSquaredLengths(
      std::span<const uint64_t> windows, const PackingOrder& order, bool,
      std::span<uint64_t> squares) const override {
    std::call_once(making_squares_,
                   [this] { squares_.emplace(all_->packing); });
    std::copy(windows.begin(), windows.end(), squares.begin());
    all_->packing.ToBins(squares, order);
    for (uint64_t& square : squares) square = squares_->Of(square);
    return true;
  }

  absl::StatusOr<std::vector<PackedPlace>> PlacesOf(
      uint64_t document, uint64_t length,
      const PackingOrder& order) const override {
    PONIENTE_ASSIGN_OR_RETURN(std::vector<PackedPlace> places,
                              all_->BinPlacesOf(document, length, order));
    for (PackedPlace& place : places) {
      place.window = all_->packing.WindowOf(place.window, order);
    }
    return places;
  }

 private:
  const std::shared_ptr<const PackedChunk> all_;
  PackingSummary summary_;
  mutable std::once_flag making_squares_;
  mutable std::optional<BinSquares> squares_;  // once they have been asked for
};

// Chunks are packed apart. Of their orders and packings, which need the lengths
// of their documents, those used last are in memory.
class ChunkPlans final : public PackingPlans {
 public:
  // The chunks in memory, by their number and that of the length of windows.
  using LiveChunks = LiveValues<PackedChunk>;

  // Batches at the end of one shuffle window read the next one, too.
  static std::shared_ptr<const LiveChunks> MakeLive(
      const PackingOptions& options) {
    return std::make_shared<const LiveChunks>(2 *
                                              size_t{options.shuffle_chunks});
  }

  // `number`: that of the length, among those that share `chunks`.
  ChunkPlans(std::shared_ptr<const TokenSource> source, uint32_t window_tokens,
             const PackingOptions& options, std::optional<Selection> selection,
             std::shared_ptr<const ChunkTable> table,
             std::shared_ptr<const LiveChunks> chunks, uint32_t number)
      : source_(std::move(source)),
        window_tokens_(window_tokens),
        options_(options),
        selection_(std::move(selection)),
        table_(std::move(table)),
        orders_(std::clamp<size_t>(
            kOrderBytes / (8 * table_->windows.size() + 1), 4, 64)),
        chunks_(std::move(chunks)),
        first_key_(uint64_t{number} << 32) {}

  void AddSeed() const override {
    // Relaxed: publishes nothing.
    const uint64_t seeds = seeds_.fetch_add(1, std::memory_order_relaxed) + 1;
    chunks_->KeepAtLeast(2 * size_t{options_.shuffle_chunks} *
                         std::min(seeds, kMostSeeds));
  }

  const PackingSummary& summary() const override { return table_->summary; }

  std::shared_ptr<const ChunkOrder> ChunksIn(
      const PackingOrder& order) const override {
    return OrderOf(order);
  }

  absl::StatusOr<PackedBin> BinOf(uint64_t window, const PackingOrder& order,
                                  bool may_read) const override {
    std::shared_ptr<const ChunkOrder> windows = orders_.Find(order.key);
    if (windows == nullptr) {
      if (!may_read) return PackedBin();
      windows = OrderOf(order);
    }
    const ChunkBin at = windows->BinAt(window);
    std::shared_ptr<const PackedChunk> chunk =
        chunks_->Find(first_key_ + at.chunk);
    if (chunk == nullptr) {
      if (!may_read) return PackedBin();
      PONIENTE_ASSIGN_OR_RETURN(chunk, Chunk(at.chunk));
    }
    return PackedBin{std::move(chunk), at.bin, order.OfChunk(at.chunk)};
  }

  absl::StatusOr<bool> FindSquaredLengths(
      std::span<const uint64_t> windows, const PackingOrder& order,
      bool may_read, std::span<uint64_t> squares) const override {
    for (size_t i = 0; i < windows.size(); ++i) {
      PONIENTE_ASSIGN_OR_RETURN(const PackedBin at,
                                BinOf(windows[i], order, may_read));
      if (at.chunk == nullptr) return false;
      squares[i] = at.chunk->packing.SquaredLengthsOfBin(at.bin);
    }
    return true;
  }

  absl::StatusOr<std::vector<PackedPlace>> PlacesOf(
      uint64_t document, uint64_t length,
      const PackingOrder& order) const override {
    const uint64_t number = document / options_.chunk_documents;
    PONIENTE_ASSIGN_OR_RETURN(const std::shared_ptr<const PackedChunk> chunk,
                              Chunk(number));
    PONIENTE_ASSIGN_OR_RETURN(
        std::vector<PackedPlace> places,
        chunk->BinPlacesOf(document, length, order.OfChunk(number)));
    const std::shared_ptr<const ChunkOrder> windows = OrderOf(order);
    for (PackedPlace& place : places) {
      place.window = windows->WindowOf({number, place.window});
    }
    return places;
  }

 private:
  // Orders of epochs are kept up to this size: this epoch's and the next one's,
  // for two seeds or more.
  static constexpr size_t kOrderBytes = size_t{64} << 20;
  // Beyond this, chunks are made again and again, in bounded memory.
  static constexpr uint64_t kMostSeeds = 16;

  // Without shuffle, the key is 0 and there is one order.
  std::shared_ptr<const ChunkOrder> OrderOf(const PackingOrder& order) const {
    return *orders_.Get(
        order.key,
        [&](uint64_t) -> absl::StatusOr<std::shared_ptr<const ChunkOrder>> {
          return std::make_shared<const ChunkOrder>(
              table_->windows, options_.shuffle_chunks, order);
        });
  }

  absl::StatusOr<std::shared_ptr<const PackedChunk>> Chunk(
      uint64_t number) const {
    return chunks_->Get(first_key_ + number,
                        [&](uint64_t) { return Make(number); });
  }

  absl::StatusOr<std::shared_ptr<const PackedChunk>> Make(
      uint64_t number) const {
    const Selection* const selection =
        selection_.has_value() ? &*selection_ : nullptr;
    PONIENTE_ASSIGN_OR_RETURN(
        std::shared_ptr<const PackedChunk> chunk,
        MakeChunk(*source_, selection, window_tokens_, options_, number));
    const uint64_t windows = chunk->packing.num_windows();
    if (windows == table_->windows[number]) return chunk;
    return absl::DataLossError(absl::StrCat(
        "documents ", chunk->documents.first, " to ", chunk->documents.end - 1,
        " of '", source_->path(), "' fill ", windows, " windows, ",
        table_->windows[number],
        " when the source was opened first: it or the file of the windows by "
        "chunk was changed; delete the file and open the source again"));
  }

  const std::shared_ptr<const TokenSource> source_;
  const uint32_t window_tokens_;
  const PackingOptions options_;
  const std::optional<Selection> selection_;
  const std::shared_ptr<const ChunkTable> table_;
  mutable std::atomic<uint64_t> seeds_ = 0;
  LiveValues<ChunkOrder> orders_;
  const std::shared_ptr<const LiveChunks> chunks_;
  const uint64_t first_key_;  // in chunks_; chunks are fewer than 2^32
};

}  // namespace

absl::StatusOr<std::unique_ptr<const PackingPlans>> PackingPlans::Open(
    std::shared_ptr<const TokenSource> source, uint32_t window_tokens,
    const PackingOptions& options, std::optional<Selection> selection) {
  const Selection* const selected =
      selection.has_value() ? &*selection : nullptr;
  if (options.chunk_documents > 0) {
    PONIENTE_ASSIGN_OR_RETURN(
        std::shared_ptr<const ChunkTable> table,
        OpenChunkTable(*source, selected, window_tokens, options));
    return std::make_unique<const ChunkPlans>(
        std::move(source), window_tokens, options, std::move(selection),
        std::move(table), ChunkPlans::MakeLive(options), /*number=*/0);
  }
  PONIENTE_ASSIGN_OR_RETURN(
      LengthOrder order, OpenLengthOrder(*source, selected, options.index_file,
                                         EndTokens(options)));
  PONIENTE_ASSIGN_OR_RETURN(
      WindowPacking packing,
      WindowPacking::Create(order.histogram(), window_tokens, options));
  return std::make_unique<const WholePlan>(
      PackedChunk{{0, source->num_documents()},
                  EndTokens(options),
                  std::move(order),
                  std::move(packing)});
}

absl::StatusOr<std::vector<std::unique_ptr<const PackingPlans>>>
PackingPlans::OpenEach(const std::shared_ptr<const TokenSource>& source,
                       std::span<const uint32_t> lengths,
                       const PackingOptions& options,
                       const std::optional<Selection>& selection) {
  const Selection* const selected =
      selection.has_value() ? &*selection : nullptr;
  const auto live = ChunkPlans::MakeLive(options);
  std::vector<std::unique_ptr<const PackingPlans>> plans;
  for (const uint32_t length : lengths) {
    PackingOptions own = options;
    if (!own.index_file.empty()) absl::StrAppend(&own.index_file, "-", length);
    PONIENTE_ASSIGN_OR_RETURN(std::shared_ptr<const ChunkTable> table,
                              OpenChunkTable(*source, selected, length, own));
    const auto number = static_cast<uint32_t>(plans.size());
    plans.push_back(std::make_unique<const ChunkPlans>(
        source, length, options, selection, std::move(table), live, number));
  }
  return plans;
}

}  // namespace poniente::internal
