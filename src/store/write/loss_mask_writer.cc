// SPDX-License-Identifier: Apache-2.0
// Whole bytes are appended to the file; the byte that is begun waits. The
// checksums of the blocks are not kept for a writer that continues, which reads
// the file again and so computes them anew.
#include "store/write/loss_mask_writer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "store/manifest/manifest.h"
#include "util/byte_order.h"
#include "util/check.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente::internal {

LossMaskWriter::LossMaskWriter(std::string scratch, uint64_t block_bytes)
    : blocks_(block_bytes,
              [this](uint32_t checksum) {
                std::array<std::byte, 4> bytes;
                StoreLittle(checksum, bytes.data());
                return block_checksums_.Append(bytes);
              }),
      block_checksums_(std::move(scratch)) {}

absl::StatusOr<std::unique_ptr<LossMaskWriter>> LossMaskWriter::Create(
    std::string path, std::string scratch, uint64_t block_bytes) {
  std::unique_ptr<LossMaskWriter> writer(
      new LossMaskWriter(std::move(scratch), block_bytes));
  LossMaskWriter* const observer = writer.get();
  PONIENTE_ASSIGN_OR_RETURN(
      writer->file_,
      FileWriter::Create(std::move(path),
                         [observer](std::span<const std::byte> bytes) {
                           return observer->Observe(bytes);
                         }));
  return writer;
}

absl::StatusOr<std::unique_ptr<LossMaskWriter>> LossMaskWriter::Continue(
    const std::string& path, std::string scratch, uint64_t block_bytes,
    const State& state) {
  std::unique_ptr<LossMaskWriter> writer(
      new LossMaskWriter(std::move(scratch), block_bytes));
  LossMaskWriter* const observer = writer.get();
  PONIENTE_ASSIGN_OR_RETURN(
      writer->file_,
      FileWriter::Continue(path, state.bits / 8,
                           [observer](std::span<const std::byte> bytes) {
                             return observer->Observe(bytes);
                           }));
  if (writer->checksum_ != state.checksum) {
    return absl::DataLossError(
        absl::StrCat("'", path,
                     "' is damaged: what was written there has "
                     "another checksum; remove it, and write the store again"));
  }
  writer->size_ = state.bits;
  writer->last_byte_ = state.last_byte;
  return writer;
}

absl::Status LossMaskWriter::Observe(std::span<const std::byte> bytes) {
  checksum_ = ExtendCrc32c(checksum_, bytes);
  PONIENTE_RETURN_IF_ERROR(key_.Add(bytes));
  return blocks_.Add(bytes);
}

absl::Status LossMaskWriter::AppendByte(uint8_t bits, uint32_t count) {
  const uint32_t begun = size_ % 8;
  const uint32_t both = last_byte_ | uint32_t{bits} << begun;
  size_ += count;
  if (begun + count < 8) {
    last_byte_ = static_cast<uint8_t>(both);
    return absl::OkStatus();
  }
  last_byte_ = static_cast<uint8_t>(both >> 8);
  file_->room().front() = static_cast<std::byte>(both);
  return file_->Advance(1);
}

absl::Status LossMaskWriter::Append(const LossBits& bits) {
  uint64_t left = bits.size();
  for (const uint8_t byte : bits.bytes()) {
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(left, 8));
    PONIENTE_RETURN_IF_ERROR(AppendByte(byte, count));
    left -= count;
  }
  return absl::OkStatus();
}

absl::Status LossMaskWriter::FillTo(uint64_t size) {
  PONIENTE_CHECK(size >= size_) << size;
  while (size_ < size) {
    if (size_ % 8 != 0 || size - size_ < 8) {
      const auto count = static_cast<uint32_t>(
          std::min<uint64_t>(8 - size_ % 8, size - size_));
      PONIENTE_RETURN_IF_ERROR(
          AppendByte(static_cast<uint8_t>((1 << count) - 1), count));
      continue;
    }
    const std::span<std::byte> room = file_->room();
    const size_t whole = std::min<uint64_t>(room.size(), (size - size_) / 8);
    std::memset(room.data(), 0xff, whole);
    size_ += 8 * whole;
    PONIENTE_RETURN_IF_ERROR(file_->Advance(whole));
  }
  return absl::OkStatus();
}

absl::StatusOr<LossMaskWriter::State> LossMaskWriter::Flush() {
  PONIENTE_RETURN_IF_ERROR(file_->Flush());
  return State{size_, checksum_, last_byte_};
}

absl::StatusOr<uint64_t> LossMaskWriter::Finish(FileWriter* checksums) {
  if (size_ % 8 != 0) {
    PONIENTE_RETURN_IF_ERROR(AppendByte(0, 8 - size_ % 8));
  }
  PONIENTE_RETURN_IF_ERROR(file_->Pad(kAlignment));
  PONIENTE_RETURN_IF_ERROR(file_->Sync());
  PONIENTE_RETURN_IF_ERROR(blocks_.Finish());
  PONIENTE_RETURN_IF_ERROR(block_checksums_.CopyTo(checksums));
  return key_.Finish();
}

}  // namespace poniente::internal
