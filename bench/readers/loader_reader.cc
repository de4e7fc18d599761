// SPDX-License-Identifier: Apache-2.0
#include "bench/readers/loader_reader.h"

#include <algorithm>
#include <map>
#include <span>
#include <thread>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "bench/measure/require.h"
#include "io/range_source.h"
#include "poniente/dataset_tree.h"
#include "poniente/task.h"
#include "poniente/token_store_writer.h"
#include "util/status_macros.h"

namespace poniente::bench {
namespace {

constexpr uint64_t kBlockBytes = TokenStoreWriterOptions().block_bytes;

const RangeSource& RangesOf(const TreeLeaf& leaf) {
  return *leaf.node->ranges();
}

uint64_t BlocksVerified(const DatasetTree& tree) {
  uint64_t blocks = 0;
  for (const TreeLeaf& leaf : tree.leaves()) {
    blocks += RangesOf(leaf).reader().counters().blocks_verified;
  }
  return blocks;
}

void ReadWhole(const ByteReader& reader, std::span<std::byte> buffer) {
  for (uint64_t at = 0; at < reader.size(0); at += buffer.size()) {
    ReadRequest request;
    request.reader = &reader;
    request.offset = at;
    request.into =
        buffer.first(std::min<uint64_t>(buffer.size(), reader.size(0) - at));
    Require(RunBlocking(ReadBatch(std::span(&request, 1))));
  }
}

template <class Id>
std::vector<uint16_t> Narrowed(const Batch& batch) {
  std::vector<uint16_t> ids;
  for (const Id id : batch.tokens<Id>()) {
    ids.push_back(static_cast<uint16_t>(id));
    if (static_cast<Id>(ids.back()) != id) {
      Require(absl::DataLossError(absl::StrCat("the loader gave id ", id)));
    }
  }
  return ids;
}

// The ids as they are stored.
std::vector<uint16_t> StoredIds(const Batch& batch) {
  switch (batch.token_type()) {
    case TokenType::kU16:
      return Narrowed<uint16_t>(batch);
    case TokenType::kU32:
      return Narrowed<uint32_t>(batch);
    case TokenType::kI64:
      return Narrowed<int64_t>(batch);
    default:
      Require(absl::InvalidArgumentError("no case has such ids"));
      return {};
  }
}

}  // namespace

Config ConfigOf(const BenchTree& tree, const LoaderCase& one) {
  std::string text = absl::StrCat(
      tree.data, "[runtime]\nprefetch_batches = ", kPrefetch, "\nio = '",
      internal::Absl(IoBackendName(one.backend)), "'\nverify_checksums = '",
      internal::Absl(VerifyChecksumsName(one.verify)), "'\n");
  if (one.cache_bytes.has_value()) {
    absl::StrAppend(&text, "cache_bytes = ", *one.cache_bytes, "\n");
  }
  return Require(Config::Parse(text, tree.name, tree.folder));
}

absl::StatusOr<std::unique_ptr<Loader>> OpenLoader(const Config& config,
                                                   const LoaderCase& one,
                                                   uint64_t start_step) {
  LoaderOptions options = config.loader_options();
  // Of stalls, in a loop that does nothing but wait, once per case and round.
  options.warning_sink = [](std::string_view) {};
  options.token_type = one.token_type;
  options.tensors = one.tensors;
  options.device = one.device;
  options.start_step = start_step;
  return config.OpenLoader(options);
}

ServedWindows WindowsOf(const Config& config, uint64_t first_step,
                        uint64_t steps) {
  const DatasetTree tree(*config.dataset());
  std::vector<std::string> paths;
  for (const TreeLeaf& leaf : tree.leaves()) {
    paths.push_back(RangesOf(leaf).reader().path(0));
  }
  ServedWindows served;
  served.files = FileSet(std::move(paths));
  std::vector<Position> positions(kBatchWindows);
  std::vector<LeafPosition> items(kBatchWindows);
  for (uint64_t step = 0; step < steps; ++step) {
    const uint64_t first = config.schedule().FirstSample(first_step + step);
    for (size_t i = 0; i < kBatchWindows; ++i) positions[i].index = first + i;
    Require(tree.Resolve(positions, items));
    for (const LeafPosition& item : items) {
      const FileRange range = RangesOf(tree.leaves()[item.leaf])
                                  .Locate(item.position.index, 0, kSeqLen);
      served.offsets.push_back(served.files.begin(item.leaf) + range.offset);
    }
  }
  return served;
}

void TouchAllBlocks(const BenchTree& tree) {
  LoaderCase one;
  one.backend = IoBackend::kPread;
  const Config config = ConfigOf(tree, one);
  const ReadBuffer buffer = Require(ReadBuffer::Allocate(size_t{16} << 20));
  const DatasetTree opened(*config.dataset());
  uint64_t blocks = 0;
  for (const TreeLeaf& leaf : opened.leaves()) {
    const ByteReader& reader = RangesOf(leaf).reader();
    ReadWhole(reader, buffer.bytes());
    blocks += (reader.size(0) + kBlockBytes - 1) / kBlockBytes;
  }
  if (BlocksVerified(opened) != blocks) {
    Require(absl::InternalError(
        absl::StrCat("blocks verified in one pass: ", BlocksVerified(opened),
                     " of ", blocks)));
  }
}

OpenedReader LoaderReader::Open(const BenchTree& tree, const LoaderCase& one) {
  PONIENTE_ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader,
                            OpenLoader(ConfigOf(tree, one), one));
  return absl::WrapUnique(new LoaderReader(std::move(loader), one));
}

void LoaderReader::ReadAll(Batches* batches) {
  for (;;) {
    const auto offsets = batches->Next();
    if (offsets.empty()) break;
    const Batch batch = Require(loader_->NextBlocking());
    if (batch.num_samples() != offsets.size()) {
      Require(absl::InternalError(absl::StrCat(
          "the loader gave a batch of ", batch.num_samples(), " samples")));
    }
    std::vector<uint16_t> ids;
    if (batches->checks_next()) ids = StoredIds(batch);
    batches->Filled(offsets, std::as_bytes(std::span(ids)));
    if (work_.count() > 0) std::this_thread::sleep_for(work_);
  }
  if ((blocks_verified() > 0) != verifies_) {
    Require(absl::InternalError(
        absl::StrCat("a loader that ", verifies_ ? "has to" : "must not",
                     " verify blocks did so ", blocks_verified(), " times")));
  }
}

uint64_t LoaderReader::blocks_verified() const {
  return BlocksVerified(loader_->tree());
}

std::string LoaderReader::note() const {
  std::map<std::string, int> stores;
  for (const LoaderSource& source : loader_->sources())
    ++stores[source.backend];
  std::string note;
  for (const auto& [backend, count] : stores) {
    absl::StrAppend(&note, note.empty() ? "" : ", ", backend, " ", count);
  }
  return note;
}

}  // namespace poniente::bench
