// SPDX-License-Identifier: Apache-2.0
#include "store/packing/chunk_table.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "index/keyed_hash.h"
#include "index/packing/packing_options.h"
#include "index/packing/window_packing.h"
#include "io/files/open_file.h"
#include "store/packing/document_ends.h"
#include "store/packing/length_sort.h"
#include "store/packing/open_length_order.h"
#include "store/packing/packed_chunk.h"
#include "store/packing/replaced_file.h"
#include "store/posix_file.h"
#include "util/byte_order.h"
#include "util/crc32c.h"
#include "util/in_parallel.h"
#include "util/mutex.h"
#include "util/rounding.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr std::string_view kTableMagic = "pntchunk";
constexpr uint32_t kTableVersion = 1;
constexpr uint64_t kTableHeaderBytes = 32;
constexpr uint64_t kMaxChunks = uint64_t{1} << 24;

// The numbers of a summary that the file holds, in its order.
template <class Summary, class Visit>
void ForEachNumber(Summary& all, const Visit& visit) {
  visit(all.window_tokens);
  visit(all.documents);
  visit(all.tokens);
  visit(all.placed_tokens);
  visit(all.split_documents);
  visit(all.truncated_documents);
  visit(all.truncated_tokens);
  visit(all.dropped_documents);
  visit(all.dropped_tokens);
  visit(all.pieces);
  visit(all.max_pieces);
  visit(all.plan_bytes);
  visit(all.index_bytes);
}
constexpr uint64_t kNumbers = 13;

// What decides the windows of a chunk, besides its documents.
uint64_t RuleKey(uint32_t window_tokens, const PackingOptions& options) {
  return Derive(kTableVersion, Tag("pchunks"), uint64_t{window_tokens},
                uint64_t{options.chunk_documents},
                static_cast<uint64_t>(options.long_documents),
                uint64_t{options.align}, uint64_t{options.max_documents},
                uint64_t{options.overlap}, uint64_t{options.parts},
                uint64_t{EndTokens(options)});
}

void Add(const PackingSummary& chunk, PackingSummary* all) {
  all->windows += chunk.windows;
  all->documents += chunk.documents;
  all->tokens += chunk.tokens;
  all->placed_tokens += chunk.placed_tokens;
  all->split_documents += chunk.split_documents;
  all->truncated_documents += chunk.truncated_documents;
  all->truncated_tokens += chunk.truncated_tokens;
  all->dropped_documents += chunk.dropped_documents;
  all->dropped_tokens += chunk.dropped_tokens;
  all->pieces += chunk.pieces;
  all->max_pieces = std::max(all->max_pieces, chunk.max_pieces);
  all->plan_bytes = std::max(all->plan_bytes, chunk.plan_bytes);
  all->index_bytes = std::max(all->index_bytes, chunk.index_bytes);
}

// Returns the first chunk's error, and how many others have one: there may be
// millions.
absl::Status FirstOf(const std::vector<absl::Status>& chunks) {
  const auto is_error = [](const absl::Status& status) { return !status.ok(); };
  const auto first = std::find_if(chunks.begin(), chunks.end(), is_error);
  if (first == chunks.end()) return absl::OkStatus();
  const auto others = std::count_if(first + 1, chunks.end(),
                                    [&first](const absl::Status& status) {
                                      return status.code() == first->code();
                                    });
  return absl::Status(
      first->code(),
      absl::StrCat(first->message(),
                   others == 0
                       ? std::string()
                       : absl::StrCat("; so with ", others, " more of the ",
                                      chunks.size(), " chunks")));
}

absl::StatusOr<std::shared_ptr<const ChunkTable>> MakeTable(
    const TokenSource& source, const Selection* selection,
    uint32_t window_tokens, const PackingOptions& options) {
  if (EndTokens(options) > 0) {
    PONIENTE_RETURN_IF_ERROR(CheckEnds(source, selection));
  }
  const uint64_t chunks =
      CeilDivide(source.num_documents(), options.chunk_documents);
  auto table = std::make_shared<ChunkTable>();
  table->windows.resize(chunks);
  std::vector<absl::Status> made(chunks);
  Mutex mu;  // of table->summary
  InParallel(chunks, [&](size_t c) {
    absl::StatusOr<WindowPacking> packing =
        PackChunk(source, selection, window_tokens, options, c);
    made[c] = packing.status();
    if (!packing.ok()) return;
    table->windows[c] = packing->num_windows();
    const MutexLock lock(&mu);
    Add(packing->summary(), &table->summary);
  });
  PONIENTE_RETURN_IF_ERROR(FirstOf(made));
  table->summary.chunks = chunks;
  table->summary.window_tokens = window_tokens;
  table->summary.index_bytes += 8 * chunks;
  return table;
}

}  // namespace

absl::Status WriteChunkTable(int fd, const std::string& path, uint64_t key,
                             const ChunkTable& table) {
  std::vector<std::byte> bytes(kTableHeaderBytes +
                               8 * (kNumbers + table.windows.size()) + 4);
  std::memcpy(bytes.data(), kTableMagic.data(), kTableMagic.size());
  StoreLittle(kTableVersion, bytes.data() + 8);
  StoreLittle(key, bytes.data() + 16);
  StoreLittle(uint64_t{table.windows.size()}, bytes.data() + 24);
  std::byte* to = bytes.data() + kTableHeaderBytes;
  const auto store = [&to](uint64_t number) {
    StoreLittle(number, to);
    to += 8;
  };
  ForEachNumber(table.summary, store);
  for (const uint64_t windows : table.windows) store(windows);
  StoreLittle(Crc32c(std::span(bytes).first(bytes.size() - 4)), to);
  return WriteAll(fd, path, 0, bytes);
}

absl::StatusOr<std::shared_ptr<const ChunkTable>> ReadChunkTable(
    const std::string& path, uint64_t key) {
  absl::StatusOr<OpenFile> file = OpenFile::Open(path);
  if (absl::IsNotFound(file.status())) return nullptr;
  if (!file.ok()) return file.status();
  constexpr uint64_t kLeast = kTableHeaderBytes + 8 * kNumbers + 4;
  const uint64_t size = file->size();
  if (size < kLeast || size > kLeast + 8 * kMaxChunks) {
    return DamagedFile(
        path, absl::StrCat("has ", size, " bytes, expected ", kLeast, " to ",
                           kLeast + 8 * kMaxChunks));
  }
  std::vector<std::byte> bytes(size);
  PONIENTE_RETURN_IF_ERROR(ReadAll(*file, 0, bytes));
  if (std::memcmp(bytes.data(), kTableMagic.data(), kTableMagic.size()) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "' does not begin with '", Absl(kTableMagic),
        "': it does not hold the windows of chunks; name another file"));
  }
  const auto stored = LoadLittle<uint32_t>(bytes.data() + size - 4);
  const uint32_t computed = Crc32c(std::span(bytes).first(size - 4));
  if (stored != computed) {
    return DamagedFile(
        path,
        absl::StrCat("is damaged: checksum ", absl::Hex(stored), " at byte ",
                     size - 4, ", computed ", absl::Hex(computed)));
  }
  const auto version = LoadLittle<uint32_t>(bytes.data() + 8);
  if (version != kTableVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "' has version ", version, " at byte 8, only ",
        kTableVersion,
        " is known; delete it: it is made again from the documents"));
  }
  if (LoadLittle<uint64_t>(bytes.data() + 16) != key) return nullptr;
  const auto chunks = LoadLittle<uint64_t>(bytes.data() + 24);
  if (chunks != (size - kLeast) / 8 || size % 8 != kLeast % 8) {
    return DamagedFile(
        path, absl::StrCat("has ", size, " bytes, its header says ", chunks,
                           " chunks"));
  }
  auto table = std::make_shared<ChunkTable>();
  const std::byte* from = bytes.data() + kTableHeaderBytes;
  const auto load = [&from](auto& number) {
    number = static_cast<std::remove_reference_t<decltype(number)>>(
        LoadLittle<uint64_t>(from));
    from += 8;
  };
  ForEachNumber(table->summary, load);
  table->windows.resize(chunks);
  for (uint64_t& windows : table->windows) {
    load(windows);
    table->summary.windows += windows;
  }
  table->summary.chunks = chunks;
  return table;
}

absl::StatusOr<std::shared_ptr<const ChunkTable>> OpenChunkTable(
    const TokenSource& source, const Selection* selection,
    uint32_t window_tokens, const PackingOptions& options) {
  PONIENTE_RETURN_IF_ERROR(CheckPackable(source, selection));
  PONIENTE_RETURN_IF_ERROR(CheckPackingOptions(window_tokens, options));
  const uint64_t chunks =
      CeilDivide(source.num_documents(), options.chunk_documents);
  if (chunks > kMaxChunks) {
    return absl::InvalidArgumentError(absl::StrCat(
        "chunks of ", options.chunk_documents, " documents are too small: ",
        source.num_documents(), " documents would be ", chunks,
        " chunks, at most ", kMaxChunks, " are allowed; use at least ",
        CeilDivide(source.num_documents(), kMaxChunks), " documents"));
  }
  const uint64_t rule = RuleKey(window_tokens, options);
  const uint64_t key =
      Derive(rule, LengthOrderKey(source, selection, EndTokens(options)));
  const auto make = [&] {
    return MakeTable(source, selection, window_tokens, options);
  };
  // One file for each rule: runs of several lengths keep theirs side by side.
  const std::string path =
      PackingFile(source, selection, options.index_file,
                  absl::StrFormat("windows-by-chunk-%016x.bin", rule));
  if (path.empty()) return make();
  const auto open = [&]() -> absl::StatusOr<std::shared_ptr<const ChunkTable>> {
    PONIENTE_ASSIGN_OR_RETURN(const std::shared_ptr<const ChunkTable> read,
                              ReadChunkTable(path, key));
    if (read == nullptr || read->windows.size() == chunks) return read;
    return DamagedFile(path, absl::StrCat("has ", read->windows.size(),
                                          " chunks, expected ", chunks));
  };
  absl::StatusOr<std::shared_ptr<const ChunkTable>> table =
      OpenOrMake(path, open, [&](ReplacedFile& file) -> absl::Status {
        PONIENTE_ASSIGN_OR_RETURN(const std::shared_ptr<const ChunkTable> made,
                                  make());
        return file.Write([&](int fd, const std::string& temporary) {
          return WriteChunkTable(fd, temporary, key, *made);
        });
      });
  if (table.ok() || !options.index_file.empty()) return table;
  return make();
}

}  // namespace poniente::internal
