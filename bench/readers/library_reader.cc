// SPDX-License-Identifier: Apache-2.0
#include "bench/readers/library_reader.h"

#include <span>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "bench/measure/require.h"
#include "poniente/task.h"
#include "util/status_macros.h"

namespace poniente::bench {
namespace {

// Reads batch after batch into one slot.
Task<> FillSlot(const ByteReader* reader, const FileSet* files,
                std::span<std::byte> slot, Batches* batches) {
  std::vector<ReadRequest> requests(slot.size() / kWindowBytes);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].reader = reader;
    requests[i].into = SlotWindow(slot, i);
  }
  for (;;) {
    const auto offsets = batches->Next();
    if (offsets.empty()) co_return absl::OkStatus();
    for (size_t i = 0; i < requests.size(); ++i) {
      const FileSet::Place place = files->Find(offsets[i]);
      requests[i].file = place.file;
      requests[i].offset = place.offset;
    }
    absl::Status read = co_await ReadBatch(requests);
    if (!read.ok()) co_return read;
    batches->Filled(offsets, slot);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<LibraryReader>> LibraryReader::Open(
    const LibraryCase& one) {
  std::vector<std::string> paths;
  for (const ByteFile& file : one.files) paths.push_back(file.path);
  PONIENTE_ASSIGN_OR_RETURN(auto reader,
                            ByteReader::Open(one.files, one.options));
  PONIENTE_ASSIGN_OR_RETURN(ReadBuffer slots,
                            ReadBuffer::Allocate(one.layout.bytes()));
  return absl::WrapUnique(new LibraryReader(
      std::move(reader), FileSet(std::move(paths)), std::move(slots), one));
}

void LibraryReader::ReadAll(Batches* batches) {
  std::vector<Task<>> fills;
  for (size_t i = 0; i < layout_.slots; ++i) {
    const size_t bytes = layout_.slot_bytes();
    fills.push_back(FillSlot(reader_.get(), &files_,
                             slots_.bytes().subspan(i * bytes, bytes),
                             batches));
  }
  Require(RunBlocking(WhenAll(std::move(fills))));
  if ((blocks_verified() > 0) != verifies_) {
    Require(absl::InternalError(
        absl::StrCat("a reader that ", verifies_ ? "has to" : "must not",
                     " verify blocks did so ", blocks_verified(), " times")));
  }
}

std::string LibraryReader::note() const {
  std::string note(IoBackendName(reader_->backend()));
  if (!reader_->fallback_reason().empty()) {
    note += " (" + reader_->fallback_reason() + ")";
  }
  return note;
}

}  // namespace poniente::bench
