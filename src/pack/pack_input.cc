// SPDX-License-Identifier: Apache-2.0
#include "pack/pack_input.h"

#include <algorithm>
#include <utility>

#include "store/write/encode_ids.h"

namespace poniente::internal {
namespace {

// Bytes of the buffer before its tokens, which end with the end-of-document id.
// Of more than 16, so that what is copied from or to the beginning of a page is
// not copied to a place a few bytes behind that (see pack_file.cc).
constexpr size_t kFrontBytes = 64;

// What is said of a line is shown on one, and stands in each checkpoint.
constexpr size_t kMaxBadLineBytes = 1024;

// Cuts a longer text, between two characters of UTF-8.
void CutText(std::string* text) {
  if (text->size() <= kMaxBadLineBytes) return;
  size_t end = kMaxBadLineBytes;
  // A character has at most 3 bytes 10xxxxxx after its first.
  while (end > kMaxBadLineBytes - 3 &&
         (static_cast<unsigned char>((*text)[end]) & 0xc0) == 0x80) {
    --end;
  }
  text->resize(end);
  *text += "...";
}

}  // namespace

UnitDocuments::UnitDocuments(uint32_t token_bytes,
                             std::optional<uint32_t> end_of_document)
    : token_bytes_(token_bytes), end_of_document_(end_of_document) {
  buffer_.resize(size_t{1} << 16);
  const uint32_t end = end_of_document.value_or(0);
  EncodeIds(std::span(&end, 1), token_bytes_, EndId());
}

void UnitDocuments::Clear() {
  lines = 0;
  looks_like = LooksLike::kText;
  tokens_ = 0;
  ends_ = DocumentEnds();
  bad_lines_.clear();
}

std::byte* UnitDocuments::EndId() {
  return buffer_.data() + kFrontBytes - token_bytes_;
}

std::byte* UnitDocuments::Room(size_t tokens) {
  const size_t used = kFrontBytes + static_cast<size_t>(tokens_) * token_bytes_;
  const size_t needed = used + tokens * token_bytes_;
  if (needed > buffer_.size()) {
    buffer_.resize(std::max(needed, 2 * buffer_.size()));
  }
  return buffer_.data() + used;
}

void UnitDocuments::AppendBytes(std::string_view ids) {
  const std::span<const uint8_t> bytes(
      reinterpret_cast<const uint8_t*>(ids.data()), ids.size());
  EncodeIds(bytes, token_bytes_, Room(bytes.size()));
  tokens_ += bytes.size();
}

void UnitDocuments::AppendIds(std::span<const uint32_t> ids) {
  EncodeIds(ids, token_bytes_, Room(ids.size()));
  tokens_ += ids.size();
}

void UnitDocuments::MarkLoss(std::span<const uint8_t> has_loss) {
  if (!ends_.loss) ends_.loss.emplace();
  ends_.loss->FillTo(tokens_);
  ends_.loss->Append(has_loss);
}

void UnitDocuments::AppendBytes(std::string_view ids,
                                std::span<const uint8_t> has_loss) {
  MarkLoss(has_loss);
  AppendBytes(ids);
}

void UnitDocuments::AppendIds(std::span<const uint32_t> ids,
                              std::span<const uint8_t> has_loss) {
  MarkLoss(has_loss);
  AppendIds(ids);
}

bool UnitDocuments::HasOpenDocument() const {
  return tokens_ > (ends_.ends.empty() ? 0 : ends_.ends.back());
}

void UnitDocuments::AppendEnd() {
  if (!end_of_document_) return;
  if (keeps_own_ends_ && HasOpenDocument()) {
    const std::byte* const last = Room(0) - token_bytes_;
    if (std::equal(last, last + token_bytes_, EndId())) return;
  }
  const bool has_no_loss = HasOpenDocument() && ends_.loss &&
                           ends_.loss->size() == tokens_ && !ends_.loss->back();
  if (has_no_loss) ends_.loss->Append(1, false);
  AppendIds(std::span(&*end_of_document_, 1));
}

void UnitDocuments::Boundary() {
  if (HasOpenDocument()) {
    AppendEnd();
    ends_.ends.push_back(tokens_);
  } else if (ends_.ends.empty()) {
    ends_.ends_open_document = true;
  }
}

void UnitDocuments::EndDocument(uint64_t line) {
  AppendEnd();
  ends_.ends.push_back(tokens_);
  ends_.lines.push_back(line);
}

void UnitDocuments::EndDocument(std::string name) {
  AppendEnd();
  ends_.ends.push_back(tokens_);
  ends_.names.push_back(std::move(name));
}

void UnitDocuments::NameOpenDocument(std::string name) {
  ends_.names.push_back(std::move(name));
}

void UnitDocuments::AddBadLine(uint64_t line, std::string what) {
  CutText(&what);
  bad_lines_.push_back({line, std::move(what)});
}

bool UnitDocuments::is_open_behind(bool is_open_before) const {
  if (HasOpenDocument()) return true;
  return is_open_before && ends_.ends.empty() && !ends_.ends_open_document;
}

std::span<const std::byte> UnitDocuments::Bytes(bool and_end_before) const {
  const size_t before = and_end_before ? token_bytes_ : 0;
  return {buffer_.data() + kFrontBytes - before,
          before + static_cast<size_t>(tokens_) * token_bytes_};
}

DocumentEnds UnitDocuments::TakeEnds() {
  ends_.is_open = HasOpenDocument();
  return std::exchange(ends_, {});
}

}  // namespace poniente::internal
