// SPDX-License-Identifier: Apache-2.0
// The header is a Python dictionary, as NumPy prints it:
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3,), }
// followed by spaces and a newline. Parses only the Python that can occur
// there.
#include "store/selection_files/npy.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "util/byte_order.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMaxElements = (uint64_t{1} << 60) - 1;

uint64_t LengthBytes(std::span<const std::byte> bytes) {
  return bytes[6] == std::byte{1} ? 2 : 4;
}

class HeaderParser {
 public:
  HeaderParser(std::string_view text, NpyShape shape)
      : text_(text), shape_(shape) {}

  absl::StatusOr<NpyArray> Parse() {
    PONIENTE_RETURN_IF_ERROR(Expect('{'));
    while (!Accept('}')) {
      PONIENTE_RETURN_IF_ERROR(ParseMember());
      if (Accept(',')) continue;
      PONIENTE_RETURN_IF_ERROR(Expect('}'));
      break;
    }
    SkipSpace();
    if (at_ != text_.size()) return Error("the end");
    for (const auto& [seen, name] :
         {std::pair(has_descr_, "descr"), std::pair(has_shape_, "shape"),
          std::pair(has_order_, "fortran_order")}) {
      if (!seen) return Error(absl::StrCat("a member '", name, "'"));
    }
    // A list is the same in both orders; Julia writes lists in Fortran order.
    if (is_fortran_ && (dimensions_ > 1 || shape_ == NpyShape::kList)) {
      return absl::InvalidArgumentError(
          "the NumPy array is in Fortran order; save "
          "np.ascontiguousarray(array)");
    }
    return array_;
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  bool Accept(std::string_view word) {
    SkipSpace();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  bool Accept(char c) { return Accept(std::string_view(&c, 1)); }
  absl::Status Expect(char c) {
    if (Accept(c)) return absl::OkStatus();
    return Error(absl::StrCat("'", std::string(1, c), "'"));
  }
  absl::Status Error(std::string_view expected) const {
    return absl::InvalidArgumentError(
        absl::StrCat("the NumPy header is not understood at its character ",
                     at_, ": expected ", Absl(expected), " in \"",
                     OneLine(text_.substr(0, 200)), "\"; write it by np.save"));
  }

  absl::StatusOr<std::string_view> ParseString() {
    SkipSpace();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '\'' && quote != '"') return Error("a quoted word");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return Error("a closing quote");
    const std::string_view word = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return word;
  }

  absl::StatusOr<uint64_t> ParseCount() {
    SkipSpace();
    const size_t begin = at_;
    uint64_t count = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';
         ++at_) {
      if (count > (uint64_t{1} << 56)) return Error("a count below 2^60");
      count = 10 * count + static_cast<uint64_t>(text_[at_] - '0');
    }
    if (at_ == begin) return Error("a count");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // by Python 2
    return count;
  }

  absl::Status ParseMember() {
    PONIENTE_ASSIGN_OR_RETURN(const std::string_view key, ParseString());
    PONIENTE_RETURN_IF_ERROR(Expect(':'));
    if (key == "descr") return ParseType();
    if (key == "shape") return ParseShape();
    if (key == "fortran_order") return ParseOrder();
    return Error("'descr', 'fortran_order' or 'shape'");
  }

  absl::Status ParseType() {
    SkipSpace();
    if (at_ < text_.size() && text_[at_] == '[') {
      return absl::InvalidArgumentError(
          "the NumPy array has several fields; save one of them");
    }
    PONIENTE_ASSIGN_OR_RETURN(const std::string_view type, ParseString());
    if (type == "|O" || type == "O") {
      return absl::InvalidArgumentError(
          "the NumPy array has type '|O': pickled Python objects, which are "
          "not read; save it as numbers");
    }
    constexpr std::string_view kTypes[] = {"<f4", "<f8", "<i8", "<u8", "<i4",
                                           "<u4", "<i2", "<u2", "|i1", "|u1",
                                           "|b1", "<i1", "<u1", "<b1"};
    if (std::find(std::begin(kTypes), std::end(kTypes), type) ==
        std::end(kTypes)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the NumPy array has type '", OneLine(type.substr(0, 40)),
          "'; save it as a little-endian number, such as "
          "array.astype('<f4') of scores, '<u4' of ids"));
    }
    array_.kind = type[1];
    array_.width = static_cast<uint32_t>(type[2] - '0');
    has_descr_ = true;
    return absl::OkStatus();
  }

  absl::Status ParseShape() {
    PONIENTE_RETURN_IF_ERROR(Expect('('));
    dimensions_ = 0;
    array_.count = 1;
    while (!Accept(')')) {
      PONIENTE_ASSIGN_OR_RETURN(const uint64_t length, ParseCount());
      if (length > 0 && array_.count > kMaxElements / length) {
        return Error("a count below 2^60");
      }
      array_.count *= length;
      ++dimensions_;
      if (Accept(',')) continue;
      PONIENTE_RETURN_IF_ERROR(Expect(')'));
      break;
    }
    const bool takes_rows = shape_ == NpyShape::kListOrRows;
    if (dimensions_ != 1 && !(takes_rows && dimensions_ == 2)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the NumPy array has ", dimensions_, " dimensions; save one",
          takes_rows ? " or two" : "", ", such as array.ravel()"));
    }
    has_shape_ = true;
    return absl::OkStatus();
  }

  absl::Status ParseOrder() {
    is_fortran_ = Accept("True");
    if (!is_fortran_ && !Accept("False")) return Error("True or False");
    has_order_ = true;
    return absl::OkStatus();
  }

  const std::string_view text_;
  const NpyShape shape_;
  size_t at_ = 0;
  uint64_t dimensions_ = 0;
  bool is_fortran_ = false;
  NpyArray array_;
  bool has_descr_ = false;
  bool has_shape_ = false;
  bool has_order_ = false;
};

}  // namespace

bool IsNpy(std::span<const std::byte> bytes) {
  return bytes.size() >= kNpyMagic.size() &&
         std::memcmp(bytes.data(), kNpyMagic.data(), kNpyMagic.size()) == 0;
}

absl::StatusOr<uint64_t> NpyDataOffset(std::span<const std::byte> bytes) {
  if (bytes.size() >= 8) {
    const auto version = std::to_integer<uint32_t>(bytes[6]);
    if (version < 1 || version > 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("NumPy format ", version, ", only 1 to 3 are known"));
    }
    const uint64_t begin = 8 + LengthBytes(bytes);
    if (bytes.size() >= begin) {
      const uint64_t length = begin == 10
                                  ? LoadLittle<uint16_t>(bytes.data() + 8)
                                  : LoadLittle<uint32_t>(bytes.data() + 8);
      if (length <= kMaxNpyHeaderBytes) return begin + length;
      return absl::InvalidArgumentError(absl::StrCat(
          "a NumPy header of ", length, " bytes at byte 8, expected at most ",
          kMaxNpyHeaderBytes));
    }
  }
  return absl::DataLossError(
      absl::StrCat("ends at byte ", bytes.size(),
                   ", within the NumPy header: it was cut short; copy it "
                   "again"));
}

absl::StatusOr<NpyArray> ParseNpy(std::span<const std::byte> bytes,
                                  NpyShape shape) {
  const uint64_t begin = 8 + LengthBytes(bytes);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());
  PONIENTE_ASSIGN_OR_RETURN(NpyArray array,
                            HeaderParser(text.substr(begin), shape).Parse());
  array.data_offset = bytes.size();
  return array;
}

absl::StatusOr<std::optional<NpyArray>> FindNpy(const std::string& path,
                                                uint64_t size,
                                                const ReadBytesAt& read,
                                                NpyShape shape) {
  const std::string quoted = absl::StrCat("'", path, "'");
  std::vector<std::byte> head(std::min(size, kNpyPrefixBytes));
  PONIENTE_RETURN_IF_ERROR(read(0, head));
  if (!IsNpy(head)) return std::nullopt;
  const absl::StatusOr<uint64_t> offset = NpyDataOffset(head);
  if (!offset.ok()) return Prepend(offset.status(), quoted);
  if (*offset > size) {
    return absl::DataLossError(
        absl::StrCat(quoted, " has ", size, " bytes, its NumPy header alone ",
                     *offset, ": it was cut short; copy it again"));
  }
  head.resize(*offset);
  PONIENTE_RETURN_IF_ERROR(read(0, head));
  const absl::StatusOr<NpyArray> array = ParseNpy(head, shape);
  if (!array.ok()) return Prepend(array.status(), quoted);
  // Counts are below 2^60, so nothing overflows.
  const uint64_t bytes = array->data_offset + array->count * array->width;
  if (bytes == size) return *array;
  return absl::DataLossError(absl::StrCat(
      quoted, " has ", size, " bytes, expected ", bytes, " for the ",
      array->count, " elements from byte ", array->data_offset,
      " on that its NumPy header says; copy it again"));
}

}  // namespace poniente::internal
