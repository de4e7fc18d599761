// SPDX-License-Identifier: Apache-2.0
// Reads text that may be compressed by gzip, piece by piece.

#ifndef PONIENTE_FORMATS_DOLMA_UNZIPPED_TEXT_H_
#define PONIENTE_FORMATS_DOLMA_UNZIPPED_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/core/input_bytes.h"

namespace poniente::internal {

// Recognises gzip by its magic bytes. As with gzip itself, several gzip members
// one after another are one text, and zeros after the last one are ignored.
//
// Memory: 200 KiB, however much the text grows.
// Ownership: borrows the input.
// Thread safety: one thread at a time.
class UnzippedText {
 public:
  explicit UnzippedText(const InputBytes& input);
  ~UnzippedText();

  // Returns the next piece, empty at the end; it is valid until the next call.
  // DataLoss, naming path and place, if the input is damaged or ends early.
  absl::StatusOr<std::string_view> Next();

 private:
  struct Inflater;

  // Reads more input if nothing is left in the buffer.
  absl::Status Refill();
  absl::StatusOr<std::string_view> Inflate();
  absl::Status Damaged(std::string_view why) const;

  const InputBytes& input_;
  std::unique_ptr<Inflater> inflater_;  // null: the text is not compressed
  bool in_member_ = false;
  uint64_t read_ = 0;  // bytes of input_
  std::vector<std::byte> buffer_;
  std::span<const std::byte> left_;  // of buffer_
  std::vector<std::byte> text_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_DOLMA_UNZIPPED_TEXT_H_
