// SPDX-License-Identifier: Apache-2.0
#include "bench/library_reader.h"

#include <span>
#include <string_view>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "bench/require.h"
#include "poniente/task.h"
#include "util/status_macros.h"

namespace poniente::bench {
namespace {

// Reads batch after batch into one slot.
Task<> FillSlot(const ByteReader* reader, std::span<std::byte> slot,
                Batches* batches) {
  std::vector<ReadRequest> requests(kBatch);
  for (size_t i = 0; i < kBatch; ++i) {
    requests[i].reader = reader;
    requests[i].into = SlotWindow(slot, i);
  }
  for (;;) {
    const auto offsets = batches->Next();
    if (offsets.empty()) co_return absl::OkStatus();
    for (size_t i = 0; i < kBatch; ++i) requests[i].offset = offsets[i];
    absl::Status read = co_await ReadBatch(requests);
    if (!read.ok()) co_return read;
    batches->Filled(offsets, slot);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<LibraryReader>> LibraryReader::Open(
    const LibraryCase& one) {
  PONIENTE_ASSIGN_OR_RETURN(auto reader,
                            ByteReader::Open({one.file}, one.options));
  PONIENTE_ASSIGN_OR_RETURN(ReadBuffer slots,
                            ReadBuffer::Allocate(one.in_flight * kSlotBytes));
  return absl::WrapUnique(
      new LibraryReader(std::move(reader), std::move(slots), one.verifies));
}

void LibraryReader::ReadAll(Batches* batches) {
  std::vector<Task<>> fills;
  for (std::span<std::byte> left = slots_.bytes(); !left.empty();
       left = left.subspan(kSlotBytes)) {
    fills.push_back(FillSlot(reader_.get(), left.first(kSlotBytes), batches));
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
