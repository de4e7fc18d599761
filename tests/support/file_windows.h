// SPDX-License-Identifier: Apache-2.0
// A file of ids of one width, cut into windows.

#ifndef PONIENTE_TESTS_SUPPORT_FILE_WINDOWS_H_
#define PONIENTE_TESTS_SUPPORT_FILE_WINDOWS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/range_source.h"
#include "poniente/async_dataset.h"
#include "poniente/byte_reader.h"

namespace poniente::testing {

class FileWindows : public AsyncDataset<TokenWindow>, public RangeSource {
 public:
  // Ids are not compared with the vocabulary's size.
  FileWindows(std::shared_ptr<const ByteReader> reader, uint32_t seq_len,
              uint32_t width = 1, uint64_t vocabulary_size = 256)
      : reader_(std::move(reader)),
        seq_len_(seq_len),
        width_(width),
        vocabulary_{"bytes", vocabulary_size} {}

  std::string name() const override { return reader_->path(0); }
  const Vocabulary* vocabulary() const override { return &vocabulary_; }
  uint64_t fingerprint() const override { return 1; }
  LengthState length_now() const override {
    return LengthState::Final(reader_->size(0) / item_bytes());
  }
  uint32_t item_tokens() const override { return seq_len_; }
  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index> indices) const override {
    std::vector<std::byte> bytes(indices.size() * item_bytes());
    std::vector<ReadRequest> requests;
    for (size_t i = 0; i < indices.size(); ++i) {
      requests.push_back(
          {reader_.get(), 0, indices[i] * item_bytes(),
           std::span(bytes).subspan(i * item_bytes(), item_bytes())});
    }
    const absl::Status read = co_await ReadBatch(requests);
    if (!read.ok()) co_return read;
    std::vector<TokenWindow> windows(indices.size());
    for (size_t b = 0; b < bytes.size(); b += width_) {
      uint32_t id = 0;
      std::memcpy(&id, bytes.data() + b, width_);  // little-endian
      windows[b / item_bytes()].tokens.push_back(id);
    }
    co_return windows;
  }

  const RangeSource* ranges() const override { return this; }
  const ByteReader& reader() const override { return *reader_; }
  uint32_t width_bytes() const override { return width_; }
  uint32_t item_length() const override { return seq_len_; }
  FileRange Locate(uint64_t item, uint32_t begin,
                   uint32_t count) const override {
    return {0, item * item_bytes() + begin * width_, count * width_};
  }

 private:
  uint64_t item_bytes() const { return uint64_t{seq_len_} * width_; }

  const std::shared_ptr<const ByteReader> reader_;
  const uint32_t seq_len_;
  const uint32_t width_;
  const Vocabulary vocabulary_;
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_SUPPORT_FILE_WINDOWS_H_
