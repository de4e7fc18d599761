// SPDX-License-Identifier: Apache-2.0
// Writes one document after the other through a buffer. store_builder.cc writes
// the files of the store and makes them visible.
#include "poniente/token_store_writer.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "store/write/encode_ids.h"
#include "store/write/loss_bits.h"
#include "store/write/store_builder.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

using internal::PieceChecksums;
using internal::StoreBuilder;
using internal::StoreManifest;

constexpr size_t kTokenBufferBytes = size_t{1} << 20;

}  // namespace

class TokenStoreWriter::Impl {
 public:
  Impl(std::unique_ptr<StoreBuilder> builder, bool publishes)
      : publishes_(publishes),
        builder_(std::move(builder)),
        buffer_(
            std::make_unique_for_overwrite<std::byte[]>(kTokenBufferBytes)) {}

  absl::Status Begin(std::string_view name);
  template <class Id>
  absl::Status Append(std::span<const Id> ids);
  // Says which of the next tokens have loss.
  absl::Status MarkLoss(std::span<const uint8_t> has_loss);
  absl::Status End();
  absl::Status Publish();
  absl::StatusOr<TokenStoreFacts> Finish();

  // Returns OK if a document is open exactly if `want_open` is true.
  absl::Status CheckTurn(bool want_open, const char* call) const;
  template <class Id>
  absl::Status CheckIds(std::span<const Id> ids) const;
  absl::Status CheckMask(size_t ids, size_t has_loss) const;
  bool publishes() const { return publishes_; }

 private:
  // Remembers an error, after which the files are useless. Returns `status`.
  absl::Status Keep(absl::Status status);
  template <class Id>
  absl::Status WriteIds(std::span<const Id> ids);
  absl::Status Flush();

  const bool publishes_;
  const std::unique_ptr<StoreBuilder> builder_;
  const std::unique_ptr<std::byte[]> buffer_;
  size_t filled_ = 0;
  internal::LossBits bits_;  // kept for its memory
  uint64_t tokens_ = 0;      // buffered ones included
  bool in_document_ = false;
  uint64_t document_begin_ = 0;
  bool finished_ = false;
  absl::Status broken_;
};

absl::Status TokenStoreWriter::Impl::Keep(absl::Status status) {
  if (!status.ok()) broken_ = status;
  return status;
}

absl::Status TokenStoreWriter::Impl::CheckTurn(bool want_open,
                                               const char* call) const {
  PONIENTE_RETURN_IF_ERROR(broken_);
  if (finished_) {
    return absl::FailedPreconditionError(absl::StrCat(
        call, " after Finish: this writer's store is complete; make another"));
  }
  if (in_document_ == want_open) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(call, want_open ? " without BeginDocument"
                                   : " while a document is open; call "
                                     "EndDocument first"));
}

template <class Id>
absl::Status TokenStoreWriter::Impl::CheckIds(std::span<const Id> ids) const {
  const uint64_t size = builder_->manifest().vocabulary.size;
  if (size > std::numeric_limits<Id>::max()) return absl::OkStatus();
  Id greatest = 0;
  for (const Id id : ids) greatest = std::max(greatest, id);
  if (greatest < size) return absl::OkStatus();
  const auto bad = std::find_if(ids.begin(), ids.end(),
                                [size](Id id) { return id >= size; });
  const uint64_t place = (in_document_ ? tokens_ - document_begin_ : 0) +
                         static_cast<uint64_t>(bad - ids.begin());
  return absl::InvalidArgumentError(absl::StrCat(
      "token ", place, " of document ", builder_->manifest().documents,
      " is id ", uint64_t{*bad}, ", the vocabulary '",
      builder_->manifest().vocabulary.tokenizer, "' has ids below ", size));
}

absl::Status TokenStoreWriter::Impl::CheckMask(size_t ids,
                                               size_t has_loss) const {
  if (ids == has_loss) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "document ", builder_->manifest().documents, ": the loss mask of ", ids,
      " tokens has ", has_loss, " bytes; give one for each token"));
}

absl::Status TokenStoreWriter::Impl::MarkLoss(
    std::span<const uint8_t> has_loss) {
  // In pieces, so that memory does not grow with a document.
  uint64_t first = tokens_;
  do {
    const auto piece =
        has_loss.first(std::min(has_loss.size(), kTokenBufferBytes));
    has_loss = has_loss.subspan(piece.size());
    bits_.Clear();
    bits_.Append(piece);
    PONIENTE_RETURN_IF_ERROR(Keep(builder_->AddLossBits(first, bits_)));
    first += piece.size();
  } while (!has_loss.empty());
  return absl::OkStatus();
}

absl::Status TokenStoreWriter::Impl::Begin(std::string_view name) {
  PONIENTE_RETURN_IF_ERROR(Keep(builder_->BeginDocument(name)));
  in_document_ = true;
  document_begin_ = tokens_;
  return absl::OkStatus();
}

template <class Id>
absl::Status TokenStoreWriter::Impl::Append(std::span<const Id> ids) {
  return Keep(WriteIds(ids));
}

template <class Id>
absl::Status TokenStoreWriter::Impl::WriteIds(std::span<const Id> ids) {
  const uint32_t width = builder_->manifest().width();
  while (!ids.empty()) {
    const size_t count =
        std::min(ids.size(), (kTokenBufferBytes - filled_) / width);
    internal::EncodeIds(ids.first(count), width, buffer_.get() + filled_);
    filled_ += count * width;
    tokens_ += count;
    ids = ids.subspan(count);
    if (filled_ == kTokenBufferBytes) PONIENTE_RETURN_IF_ERROR(Flush());
  }
  return absl::OkStatus();
}

absl::Status TokenStoreWriter::Impl::Flush() {
  PONIENTE_ASSIGN_OR_RETURN(
      const PieceChecksums checksums,
      builder_->WriteTokens(builder_->manifest().tokens,
                            std::span(buffer_.get(), filled_)));
  filled_ = 0;
  return builder_->AddTokens(checksums);
}

absl::Status TokenStoreWriter::Impl::End() {
  PONIENTE_RETURN_IF_ERROR(Keep(builder_->EndDocument(tokens_)));
  in_document_ = false;
  return absl::OkStatus();
}

absl::Status TokenStoreWriter::Impl::Publish() {
  PONIENTE_RETURN_IF_ERROR(Keep(Flush()));
  const absl::StatusOr<internal::StoreCheckpoint> mark = builder_->Mark();
  PONIENTE_RETURN_IF_ERROR(Keep(mark.status()));
  PONIENTE_RETURN_IF_ERROR(Keep(builder_->Save(*mark)));
  return builder_->Publish(*mark);
}

absl::StatusOr<TokenStoreFacts> TokenStoreWriter::Impl::Finish() {
  PONIENTE_RETURN_IF_ERROR(Keep(Flush()));
  absl::StatusOr<TokenStoreFacts> facts = builder_->Finish();
  PONIENTE_RETURN_IF_ERROR(Keep(facts.status()));
  finished_ = true;
  return facts;
}

absl::StatusOr<std::unique_ptr<TokenStoreWriter>> TokenStoreWriter::Create(
    const std::string& path, const TokenStoreWriterOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(StoreManifest manifest,
                            internal::ManifestToWrite(path, options));
  const auto starts_anew = [](std::string_view) { return false; };
  absl::StatusOr<std::unique_ptr<StoreBuilder>> builder =
      options.publishes
          ? StoreBuilder::CreateToSave(path, std::move(manifest), starts_anew)
          : StoreBuilder::Create(path, std::move(manifest));
  if (!builder.ok()) return builder.status();
  std::unique_ptr<TokenStoreWriter> writer(new TokenStoreWriter(
      std::make_unique<Impl>(*std::move(builder), options.publishes)));
  // Readers may come before the first document.
  if (options.publishes) PONIENTE_RETURN_IF_ERROR(writer->Publish());
  return writer;
}

TokenStoreWriter::TokenStoreWriter(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

TokenStoreWriter::~TokenStoreWriter() = default;

absl::Status TokenStoreWriter::AddDocument(std::span<const uint32_t> ids,
                                           std::string_view name) {
  PONIENTE_RETURN_IF_ERROR(impl_->CheckTurn(false, "AddDocument"));
  PONIENTE_RETURN_IF_ERROR(impl_->CheckIds(ids));
  PONIENTE_RETURN_IF_ERROR(impl_->Begin(name));
  PONIENTE_RETURN_IF_ERROR(impl_->Append(ids));
  return impl_->End();
}

absl::Status TokenStoreWriter::AddDocument(std::span<const uint32_t> ids,
                                           std::string_view name,
                                           std::span<const uint8_t> has_loss) {
  PONIENTE_RETURN_IF_ERROR(impl_->CheckTurn(false, "AddDocument"));
  PONIENTE_RETURN_IF_ERROR(impl_->CheckIds(ids));
  PONIENTE_RETURN_IF_ERROR(impl_->CheckMask(ids.size(), has_loss.size()));
  PONIENTE_RETURN_IF_ERROR(impl_->Begin(name));
  PONIENTE_RETURN_IF_ERROR(impl_->MarkLoss(has_loss));
  PONIENTE_RETURN_IF_ERROR(impl_->Append(ids));
  return impl_->End();
}

absl::Status TokenStoreWriter::BeginDocument(std::string_view name) {
  PONIENTE_RETURN_IF_ERROR(impl_->CheckTurn(false, "BeginDocument"));
  return impl_->Begin(name);
}

absl::Status TokenStoreWriter::Append(std::span<const uint32_t> ids) {
  PONIENTE_RETURN_IF_ERROR(impl_->CheckTurn(true, "Append"));
  PONIENTE_RETURN_IF_ERROR(impl_->CheckIds(ids));
  return impl_->Append(ids);
}

absl::Status TokenStoreWriter::Append(std::span<const uint32_t> ids,
                                      std::span<const uint8_t> has_loss) {
  PONIENTE_RETURN_IF_ERROR(impl_->CheckTurn(true, "Append"));
  PONIENTE_RETURN_IF_ERROR(impl_->CheckIds(ids));
  PONIENTE_RETURN_IF_ERROR(impl_->CheckMask(ids.size(), has_loss.size()));
  PONIENTE_RETURN_IF_ERROR(impl_->MarkLoss(has_loss));
  return impl_->Append(ids);
}

absl::Status TokenStoreWriter::AppendBytes(std::string_view ids) {
  PONIENTE_RETURN_IF_ERROR(impl_->CheckTurn(true, "AppendBytes"));
  const std::span<const uint8_t> bytes(
      reinterpret_cast<const uint8_t*>(ids.data()), ids.size());
  PONIENTE_RETURN_IF_ERROR(impl_->CheckIds(bytes));
  return impl_->Append(bytes);
}

absl::Status TokenStoreWriter::EndDocument() {
  PONIENTE_RETURN_IF_ERROR(impl_->CheckTurn(true, "EndDocument"));
  return impl_->End();
}

absl::Status TokenStoreWriter::Publish() {
  PONIENTE_RETURN_IF_ERROR(impl_->CheckTurn(false, "Publish"));
  if (impl_->publishes()) return impl_->Publish();
  return absl::FailedPreconditionError(
      "Publish: the writer was not created with "
      "TokenStoreWriterOptions::publishes");
}

absl::StatusOr<TokenStoreFacts> TokenStoreWriter::Finish() {
  PONIENTE_RETURN_IF_ERROR(impl_->CheckTurn(false, "Finish"));
  return impl_->Finish();
}

}  // namespace poniente
