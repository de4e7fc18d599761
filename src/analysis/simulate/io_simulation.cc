// SPDX-License-Identifier: Apache-2.0
#include "analysis/simulate/io_simulation.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "analysis/simulate/lru_stack.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// A cache may fetch one chunk in so many again.
constexpr uint64_t kFetchedAgain = 20;
// Chunks that are asked whether they have something to give later.
constexpr uint32_t kLookedAt = 256;
// At most 200 bytes of memory each.
constexpr uint64_t kMaxChunks = uint64_t{1} << 23;

// Weights by size, in classes that are less than 1 % wide.
class SizeHistogram {
 public:
  void Add(uint64_t size, uint64_t weight) {
    const size_t at = ClassOf(size);
    if (at >= weights_.size()) weights_.resize(at + 1);
    weights_[at] += weight;
  }
  // The least size, rounded up to its class, above which the weights add up to
  // at most `allowed`; 0 if all do.
  uint64_t LeastSize(uint64_t allowed) const {
    uint64_t above = 0;
    for (size_t at = weights_.size(); at-- > 0;) {
      above += weights_[at];
      if (above > allowed) return Greatest(at);
    }
    return 0;
  }

 private:
  // Sizes below 256 are classes of their own; then 128 for each power of two.
  static size_t ClassOf(uint64_t size) {
    const size_t bits = std::bit_width(size);
    const size_t shift = bits < 8 ? 0 : bits - 8;
    return shift * 128 + (size >> shift);
  }
  static uint64_t Greatest(size_t at) {
    const size_t shift = at < 256 ? 0 : at / 128 - 1;
    return ((at - 128 * shift + 1) << shift) - 1;
  }

  std::vector<uint64_t> weights_;
};

class ChunkSimulation {
 public:
  ChunkSimulation(const RunReads& reads, const ReadTrace& trace,
                  uint64_t chunk_bytes, std::span<const uint64_t> cache_bytes)
      : reads_(reads), trace_(trace), cache_bytes_(cache_bytes) {
    result_.chunk_bytes = chunk_bytes;
    result_.fetched_bytes.resize(cache_bytes.size());
    uint64_t chunks = 0;
    for (const ReadFile& file : reads.files()) {
      first_chunk_.push_back(chunks);
      chunks += file.bytes / chunk_bytes + 1;
    }
  }

  absl::StatusOr<ChunkLocality> Run() {
    size_t next = 0;
    uint64_t used = 0;
    for (const size_t end : trace_.step_ends) {
      chunks_in_batch_ = 0;
      ++batch_;
      for (; next < end; ++next) {
        const ReadSpan& read = trace_.reads[next];
        used += read.end - read.begin;
        const uint64_t last = (read.end - 1) / result_.chunk_bytes;
        for (uint64_t number = read.begin / result_.chunk_bytes; number <= last;
             ++number) {
          Ask(read, number);
        }
      }
      result_.asked_chunks += chunks_in_batch_;
      result_.most_chunks_in_batch =
          std::max(result_.most_chunks_in_batch, chunks_in_batch_);
    }
    result_.touched_chunks = stack_.objects();
    result_.touched_bytes = stack_.bytes();
    if (pass_bytes_ > 0) {
      result_.used_share =
          static_cast<double>(used) / static_cast<double>(pass_bytes_);
    }
    const uint64_t allowed = pass_bytes_ / kFetchedAgain;
    const uint64_t seen = again_.LeastSize(allowed);
    PONIENTE_RETURN_IF_ERROR(LookAhead());
    result_.cache_needed_bytes =
        std::min(again_.LeastSize(allowed), stack_.bytes());
    result_.is_at_least = result_.cache_needed_bytes > seen + seen / 20;
    return std::move(result_);
  }

 private:
  struct Chunk {
    uint64_t number = 0;
    uint64_t bytes = 0;
    uint64_t batch = 0;  // the last that asked for it, counted from 1
    uint64_t first_epoch = 0;
    ReadSpan seen;  // a read of the last pass over it
  };

  void Ask(const ReadSpan& read, uint64_t number) {
    const auto [at, is_new] =
        id_of_.try_emplace(first_chunk_[read.file] + number, stack_.objects());
    const uint32_t id = at->second;
    if (is_new) {
      const uint64_t begin = number * result_.chunk_bytes;
      // Never empty, whatever the size of the file was.
      const uint64_t end = std::max(reads_.files()[read.file].bytes, read.end);
      chunks_.push_back({number, std::min(result_.chunk_bytes, end - begin), 0,
                         read.epoch, read});
    }
    Chunk& chunk = chunks_[id];
    const bool begins_pass = is_new || BeginsPass(id, read.epoch);
    if (begins_pass) pass_bytes_ += chunk.bytes;
    if (read.epoch > chunk.seen.epoch) chunk.seen = read;
    if (chunk.batch == batch_) return;
    chunk.batch = batch_;
    ++chunks_in_batch_;
    const uint64_t distance = stack_.Use(id, chunk.bytes);
    result_.fetched_bytes_without_cache += chunk.bytes;
    for (size_t i = 0; i < cache_bytes_.size(); ++i) {
      if (is_new || distance > cache_bytes_[i]) {
        result_.fetched_bytes[i] += chunk.bytes;
      }
    }
    if (!begins_pass) again_.Add(distance, chunk.bytes);
  }

  // Passes follow one another, but for samples of a block of a mixture, which
  // are in any order.
  bool BeginsPass(uint32_t id, uint64_t epoch) {
    return epoch != chunks_[id].first_epoch &&
           later_passes_.emplace(id, epoch).second;
  }

  // Counts chunks that the pass will come to again as asked for once more.
  absl::Status LookAhead() {
    const uint32_t every = std::max(1u, stack_.objects() / kLookedAt);
    for (uint32_t id = 0; id < stack_.objects(); id += every) {
      PONIENTE_ASSIGN_OR_RETURN(const bool is_asked_again,
                                IsAskedAgain(chunks_[id]));
      if (!is_asked_again) continue;
      again_.Add(stack_.Distance(id), chunks_[id].bytes * every);
    }
    return absl::OkStatus();
  }

  // Looks at the item seen in the chunk, and at those 1, 2, 4, ... items before
  // and after it that also lie in the chunk.
  absl::StatusOr<bool> IsAskedAgain(const Chunk& chunk) const {
    const Index item = chunk.seen.item;
    PONIENTE_ASSIGN_OR_RETURN(bool found, IsReadLater(chunk, item));
    for (const bool down : {true, false}) {
      for (uint64_t far = 1; !found && far != 0; far *= 2) {
        if (down ? far > item : far >= reads_.Items(chunk.seen.leaf) - item) {
          break;
        }
        const Index other = down ? item - far : item + far;
        PONIENTE_ASSIGN_OR_RETURN(const bool is_inside, LiesIn(chunk, other));
        if (!is_inside) break;
        PONIENTE_ASSIGN_OR_RETURN(found, IsReadLater(chunk, other));
      }
    }
    return found;
  }

  absl::StatusOr<bool> LiesIn(const Chunk& chunk, Index item) const {
    std::vector<ReadSpan> spans;
    PONIENTE_RETURN_IF_ERROR(reads_.Locate(
        chunk.seen.leaf, reads_.Whole(chunk.seen.leaf, item), &spans));
    const uint64_t begin = chunk.number * result_.chunk_bytes;
    return std::any_of(spans.begin(), spans.end(), [&](const ReadSpan& span) {
      return span.file == chunk.seen.file && span.end > begin &&
             span.begin < begin + chunk.bytes;
    });
  }

  absl::StatusOr<bool> IsReadLater(const Chunk& chunk, Index item) const {
    return trace_.is_read_later(chunk.seen.leaf, item, chunk.seen.epoch);
  }

  const RunReads& reads_;
  const ReadTrace& trace_;
  const std::span<const uint64_t> cache_bytes_;
  ChunkLocality result_;
  // Of each file, in the numbering of all chunks of all files; and the chunks
  // of that numbering that are in the stack.
  std::vector<uint64_t> first_chunk_;
  absl::flat_hash_map<uint64_t, uint32_t> id_of_;
  std::vector<Chunk> chunks_;
  // Chunk and epoch, but for the first of each chunk.
  absl::flat_hash_set<std::pair<uint32_t, uint64_t>> later_passes_;
  LruStack stack_;
  // Bytes asked for again within a pass, by the cache that would have them.
  SizeHistogram again_;
  // Of the chunks of each pass.
  uint64_t pass_bytes_ = 0;
  uint64_t batch_ = 0;
  uint64_t chunks_in_batch_ = 0;
};

}  // namespace

absl::StatusOr<ChunkLocality> SimulateChunks(
    const RunReads& reads, const ReadTrace& trace, uint64_t chunk_bytes,
    std::span<const uint64_t> cache_bytes) {
  PONIENTE_CHECK(chunk_bytes > 0);
  uint64_t chunks = 0;
  for (const ReadSpan& read : trace.reads) {
    chunks += (read.end - read.begin) / chunk_bytes + 1;
  }
  if (chunks > kMaxChunks) {
    return absl::InvalidArgumentError(
        absl::StrCat("the steps ask for ", chunks, " chunks of ", chunk_bytes,
                     " bytes; at most ", kMaxChunks,
                     " can be simulated: take fewer steps or larger chunks"));
  }
  return ChunkSimulation(reads, trace, chunk_bytes, cache_bytes).Run();
}

absl::StatusOr<IoSimulation> SimulateIo(const RunReads& reads,
                                        const IoSimulationOptions& options) {
  IoSimulation simulation;
  const auto add = [&](const char* order,
                       absl::StatusOr<ReadTrace> trace) -> absl::Status {
    PONIENTE_RETURN_IF_ERROR(trace.status());
    OrderLocality locality = {order, {}};
    uint64_t used_bytes = 0;
    for (const ReadSpan& read : trace->reads) {
      used_bytes += read.end - read.begin;
    }
    for (const uint64_t chunk_bytes : options.chunk_bytes) {
      PONIENTE_ASSIGN_OR_RETURN(
          ChunkLocality chunks,
          SimulateChunks(reads, *trace, chunk_bytes, options.cache_bytes));
      locality.chunks.push_back(std::move(chunks));
    }
    simulation.used_bytes = used_bytes;
    simulation.orders.push_back(std::move(locality));
    return absl::OkStatus();
  };
  const auto add_other = [&](const char* order, const ShuffleOptions& shuffle) {
    const absl::Status added = add(order, reads.InOrder(shuffle));
    if (!added.ok()) simulation.left_out.push_back({order, added});
  };
  PONIENTE_RETURN_IF_ERROR(add("configured", reads.AsConfigured()));
  add_other("full_shuffle", ShuffleOptions::Full());
  add_other("block_shuffle", ShuffleOptions::Blocks(options.blocks));
  return simulation;
}

}  // namespace poniente::internal
