// SPDX-License-Identifier: Apache-2.0
#include "store/manifest/content_hash.h"

#include <algorithm>
#include <string_view>

#include "util/check.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente::internal {

absl::Status BlockHasher::Add(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t take = static_cast<size_t>(
        std::min<uint64_t>(bytes.size(), block_bytes_ - filled_));
    checksum_ = ExtendCrc32c(checksum_, bytes.first(take));
    filled_ += take;
    bytes = bytes.subspan(take);
    if (filled_ == block_bytes_) PONIENTE_RETURN_IF_ERROR(Finish());
  }
  return absl::OkStatus();
}

absl::Status BlockHasher::AddPiece(uint32_t checksum, uint64_t bytes) {
  PONIENTE_CHECK(bytes <= block_bytes_ - filled_) << bytes;
  if (bytes == 0) return absl::OkStatus();
  checksum_ =
      filled_ == 0 ? checksum : CombineCrc32c(checksum_, checksum, bytes);
  filled_ += bytes;
  return filled_ == block_bytes_ ? Finish() : absl::OkStatus();
}

absl::Status BlockHasher::Finish() {
  if (filled_ == 0) return absl::OkStatus();
  const uint32_t checksum = checksum_;
  filled_ = 0;
  checksum_ = 0;
  return sink_(checksum);
}

FileKey::FileKey()
    : hash_(0), units_(kKeyBlockBytes, [this](uint32_t checksum) {
        hash_.Add(checksum);
        return absl::OkStatus();
      }) {}

uint64_t FileKey::Finish() {
  units_.Finish().IgnoreError();  // the sink never fails
  return hash_.key();
}

uint64_t ContentFingerprint(const StoreManifest& manifest, uint64_t tokens_key,
                            uint64_t documents_key, uint64_t loss_mask_key) {
  const uint64_t end_word =
      manifest.end_of_document ? uint64_t{*manifest.end_of_document} + 1 : 0;
  KeyHash hash(0);
  hash.Add(Tag("tokstore"));
  hash.Add(std::string_view(manifest.vocabulary.tokenizer));
  for (const uint64_t word :
       {manifest.vocabulary.size, end_word, uint64_t{manifest.width()},
        manifest.tokens, manifest.documents, manifest.name_bytes, tokens_key,
        documents_key}) {
    hash.Add(word);
  }
  if (manifest.has_loss_mask) hash.Add(loss_mask_key);
  return hash.key();
}

}  // namespace poniente::internal
