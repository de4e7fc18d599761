// SPDX-License-Identifier: Apache-2.0
// Reads tables of a FlatBuffer without generated code. Every access is
// verified; the first access that fails marks the buffer as damaged.

#ifndef PONIENTE_FORMATS_ARROW_FLAT_TABLE_H_
#define PONIENTE_FORMATS_ARROW_FLAT_TABLE_H_

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "util/byte_order.h"

namespace poniente::internal {

// REQUIRES: the bytes are aligned to 8, fewer than 2^31, and outlive it.
class FlatBuffer {
 public:
  // How often tables may be entered. Tables may share other tables, so a few
  // bytes can describe very many.
  static constexpr uint32_t kMaxTables = 1'000'000;

  explicit FlatBuffer(std::span<const std::byte> bytes)
      : data_(reinterpret_cast<const uint8_t*>(bytes.data())),
        verifier_(data_, bytes.size(), /*max_depth=*/64, kMaxTables) {}
  FlatBuffer(const FlatBuffer&) = delete;
  FlatBuffer& operator=(const FlatBuffer&) = delete;

  bool is_damaged() const { return is_damaged_; }

 private:
  friend class FlatTable;
  friend class FlatTables;

  // Returns `holds`; if it is false, marks the buffer as damaged.
  bool Check(bool holds) {
    is_damaged_ = is_damaged_ || !holds;
    return holds;
  }

  const uint8_t* data_;
  flatbuffers::Verifier verifier_;
  bool is_damaged_ = false;
};

// The elements of a vector of structs or numbers.
struct FlatElements {
  uint64_t size = 0;
  const uint8_t* data = nullptr;

  // Returns the integer at byte `within` of element `i`; elements have `width`
  // bytes.
  int64_t Int64(uint64_t i, uint64_t width, uint64_t within) const {
    return static_cast<int64_t>(
        LoadLittle<uint64_t>(data + i * width + within));
  }
};

class FlatTables;

// A table, which may be missing. A field that is missing or damaged has its
// default value.
class FlatTable {
 public:
  FlatTable() = default;

  static FlatTable Root(FlatBuffer* buffer) {
    const uint32_t offset = buffer->verifier_.VerifyOffset(size_t{0});
    if (!buffer->Check(offset != 0)) return {};
    return At(buffer, buffer->data_ + offset);
  }

  bool exists() const { return at_ != nullptr; }
  bool Has(uint16_t field) const { return Place(field) != 0; }

  template <class T>
  T Scalar(uint16_t field, T fallback) const {
    const flatbuffers::voffset_t place = Place(field);
    if (place == 0) return fallback;
    const bool is_there =
        buffer_->verifier_.VerifyField<T>(at_, place, sizeof(T));
    if (!buffer_->Check(is_there)) return fallback;
    return flatbuffers::ReadScalar<T>(at_ + place);
  }
  FlatTable Child(uint16_t field) const {
    const uint8_t* const target = Target(field);
    return target == nullptr ? FlatTable() : At(buffer_, target);
  }
  std::string_view Text(uint16_t field) const {
    const uint8_t* const target = Target(field);
    if (target == nullptr) return {};
    const auto* text = reinterpret_cast<const flatbuffers::String*>(target);
    if (!buffer_->Check(buffer_->verifier_.VerifyString(text))) return {};
    return {text->c_str(), text->size()};
  }
  // Returns a vector whose elements have `width` bytes.
  FlatElements Elements(uint16_t field, uint64_t width) const {
    const uint8_t* const target = Target(field);
    if (target == nullptr) return {};
    const bool is_there =
        buffer_->verifier_.VerifyVectorOrString(target, width);
    if (!buffer_->Check(is_there)) return {};
    return {flatbuffers::ReadScalar<uint32_t>(target),
            target + sizeof(uint32_t)};
  }
  FlatTables Tables(uint16_t field) const;

 private:
  friend class FlatTables;

  FlatTable(FlatBuffer* buffer, const uint8_t* at) : buffer_(buffer), at_(at) {}

  static FlatTable At(FlatBuffer* buffer, const uint8_t* at) {
    const bool is_there = buffer->verifier_.VerifyTableStart(at);
    buffer->verifier_.EndTable();
    return buffer->Check(is_there) ? FlatTable(buffer, at) : FlatTable();
  }
  // Returns the offset of a field's value from at_; 0 if it is missing.
  flatbuffers::voffset_t Place(uint16_t field) const {
    if (at_ == nullptr) return 0;
    const auto* table = reinterpret_cast<const flatbuffers::Table*>(at_);
    return table->GetOptionalFieldOffset(
        static_cast<flatbuffers::voffset_t>(4 + 2 * field));
  }
  // Returns what a field's offset leads to; null if the field is missing.
  const uint8_t* Target(uint16_t field) const {
    const flatbuffers::voffset_t place = Place(field);
    if (place == 0) return nullptr;
    const uint32_t offset = buffer_->verifier_.VerifyOffset(at_, place);
    return buffer_->Check(offset != 0) ? at_ + place + offset : nullptr;
  }

  FlatBuffer* buffer_ = nullptr;
  const uint8_t* at_ = nullptr;
};

class FlatTables {
 public:
  uint64_t size() const { return offsets_.size; }
  // REQUIRES: i < size().
  FlatTable operator[](uint64_t i) const {
    const uint8_t* const place = offsets_.data + i * sizeof(uint32_t);
    const uint32_t offset = buffer_->verifier_.VerifyOffset(
        static_cast<size_t>(place - buffer_->data_));
    if (!buffer_->Check(offset != 0)) return {};
    return FlatTable::At(buffer_, place + offset);
  }

 private:
  friend class FlatTable;

  FlatTables(FlatBuffer* buffer, FlatElements offsets)
      : buffer_(buffer), offsets_(offsets) {}

  FlatBuffer* buffer_;
  FlatElements offsets_;
};

inline FlatTables FlatTable::Tables(uint16_t field) const {
  return {buffer_, Elements(field, sizeof(uint32_t))};
}

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_ARROW_FLAT_TABLE_H_
