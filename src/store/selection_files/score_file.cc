// SPDX-License-Identifier: Apache-2.0
#include "poniente/score_file.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/files/open_file.h"
#include "store/posix_file.h"
#include "store/selection_files/npy.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

using internal::NpyArray;
using internal::OpenFile;

constexpr uint64_t kChunkBytes = uint64_t{1} << 20;

std::string Quoted(const OpenFile& file) {
  return absl::StrCat("'", file.path(), "'");
}

template <class T>
absl::StatusOr<std::vector<T>> Room(const OpenFile& file, uint64_t count) {
  try {
    return std::vector<T>(count);
  } catch (const std::exception&) {  // bad_alloc, length_error
    return absl::ResourceExhaustedError(
        absl::StrCat(Quoted(file), ": no memory for its ", count,
                     " entries; split the dataset, or free some memory"));
  }
}

absl::Status ReadBytes(const OpenFile& file, uint64_t offset,
                       std::span<std::byte> into) {
  absl::Status read = internal::ReadAll(file, offset, into);
  if (!absl::IsDataLoss(read)) return read;
  return absl::DataLossError(
      absl::StrCat(Quoted(file), " had ", file.size(),
                   " bytes and was cut short while it was read; copy it "
                   "again"));
}

// Returns the array of a NumPy file; nullopt for any other file.
absl::StatusOr<std::optional<NpyArray>> FindNpy(const OpenFile& file) {
  return internal::FindNpy(file.path(), file.size(),
                           [&](uint64_t offset, std::span<std::byte> into) {
                             return ReadBytes(file, offset, into);
                           });
}

// Returns the array of a file that consists of elements only.
absl::StatusOr<NpyArray> RawArray(const OpenFile& file, char kind,
                                  uint32_t width) {
  if (file.size() % width == 0) {
    return NpyArray{kind, width, file.size() / width, 0};
  }
  return absl::DataLossError(
      absl::StrCat(Quoted(file), " has ", file.size(), " bytes, ",
                   file.size() % width, " too many for elements of ", width,
                   ": it was cut short or is in another format; copy it again "
                   "or name the format"));
}

absl::StatusOr<NpyArray> FindScores(const OpenFile& file, ScoreFormat format) {
  if (format == ScoreFormat::kFloat32) return RawArray(file, 'f', 4);
  if (format == ScoreFormat::kFloat64) return RawArray(file, 'f', 8);
  PONIENTE_ASSIGN_OR_RETURN(const std::optional<NpyArray> npy, FindNpy(file));
  const std::string_view path = file.path();
  if (!npy.has_value() && path.ends_with(".f32")) return RawArray(file, 'f', 4);
  if (!npy.has_value() && path.ends_with(".f64")) return RawArray(file, 'f', 8);
  if (npy.has_value() && npy->kind == 'f') return *npy;
  if (npy.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(file), " holds ", npy->width,
                     "-byte elements of kind '", std::string(1, npy->kind),
                     "', expected floating-point scores; save "
                     "array.astype('<f4')"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      Quoted(file),
      " is no NumPy array; raw scores are read from files whose names end in "
      ".f32 or .f64, or name the format"));
}

template <class Score>
absl::StatusOr<Scores> ReadNumbers(const OpenFile& file,
                                   const NpyArray& array) {
  PONIENTE_ASSIGN_OR_RETURN(std::vector<Score> scores,
                            Room<Score>(file, array.count));
  PONIENTE_RETURN_IF_ERROR(ReadBytes(
      file, array.data_offset, std::as_writable_bytes(std::span(scores))));
  const auto bad = std::find_if(scores.begin(), scores.end(),
                                [](Score score) { return std::isnan(score); });
  if (bad != scores.end()) {
    const auto item = static_cast<uint64_t>(bad - scores.begin());
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(file), ": score ", item, " at byte ",
        array.data_offset + item * sizeof(Score),
        " is not a number; give items that have no score one that is, such as "
        "-inf"));
  }
  return Scores{std::move(scores)};
}

uint64_t LoadInteger(const std::byte* from, uint32_t width) {
  uint64_t value = 0;
  std::memcpy(&value, from, width);
  return value;
}

bool IsNegative(uint64_t value, const NpyArray& array) {
  return array.kind == 'i' && (value >> (8 * array.width - 1) & 1) != 0;
}

// Reads the elements of an array of integers, converted to 64 bits.
absl::StatusOr<std::vector<uint64_t>> ReadIntegers(const OpenFile& file,
                                                   const NpyArray& array,
                                                   bool may_be_negative) {
  PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> integers,
                            Room<uint64_t>(file, array.count));
  std::vector<std::byte> chunk;
  for (uint64_t done = 0; done < array.count;) {
    const uint64_t count =
        std::min(array.count - done, kChunkBytes / array.width);
    chunk.resize(count * array.width);
    const uint64_t offset = array.data_offset + done * array.width;
    PONIENTE_RETURN_IF_ERROR(ReadBytes(file, offset, chunk));
    for (uint64_t i = 0; i < count; ++i, ++done) {
      integers[done] = LoadInteger(chunk.data() + i * array.width, array.width);
      if (may_be_negative || !IsNegative(integers[done], array)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          Quoted(file), ": entry ", done, " at byte ", offset + i * array.width,
          " is negative, expected an index"));
    }
  }
  return integers;
}

// Reads a selection from an array with one bool per item.
absl::StatusOr<Selection> ReadMask(const OpenFile& file, const NpyArray& array,
                                   uint64_t size) {
  if (array.count != size) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(file), " holds ", array.count, " bools, the dataset has ", size,
        " items; make it anew for this dataset"));
  }
  PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> words,
                            Room<uint64_t>(file, size / 64 + (size % 64 != 0)));
  std::vector<std::byte> chunk;
  for (uint64_t done = 0; done < size;) {
    chunk.resize(std::min(size - done, kChunkBytes));
    PONIENTE_RETURN_IF_ERROR(ReadBytes(file, array.data_offset + done, chunk));
    for (const std::byte value : chunk) {
      if (value > std::byte{1}) {
        return absl::DataLossError(
            absl::StrCat(Quoted(file), ": byte ", array.data_offset + done,
                         " is ", std::to_integer<uint32_t>(value),
                         ", expected 0 or 1: it is "
                         "damaged; copy it again"));
      }
      words[done / 64] |= std::to_integer<uint64_t>(value) << (done % 64);
      ++done;
    }
  }
  return Selection::FromBitmap(size, std::move(words));
}

// Finds the array to read a selection from: integers of a NumPy file, or raw
// words.
absl::StatusOr<NpyArray> FindIntegers(const OpenFile& file) {
  PONIENTE_ASSIGN_OR_RETURN(const std::optional<NpyArray> npy, FindNpy(file));
  if (!npy.has_value()) return RawArray(file, 'u', 8);
  if (npy->kind != 'f') return *npy;
  return absl::InvalidArgumentError(absl::StrCat(
      Quoted(file),
      " holds floating-point numbers; read scores by ReadScores, or save "
      "array.astype('<u8')"));
}

absl::StatusOr<Selection> WithPath(absl::StatusOr<Selection> made,
                                   const OpenFile& file) {
  if (made.ok()) return made;
  return internal::Prepend(made.status(), Quoted(file));
}

// Rounds the threshold to the type of the scores. A finite threshold beyond the
// range of float still selects the same scores: only inf, or all but -inf.
float NarrowThreshold(double threshold) {
  if (threshold > FLT_MAX) return HUGE_VALF;
  if (threshold < -FLT_MAX)
    return std::isinf(threshold) ? -HUGE_VALF : -FLT_MAX;
  return static_cast<float>(threshold);
}

}  // namespace

uint64_t Scores::size() const {
  return std::visit([](const auto& numbers) { return numbers.size(); }, values);
}

absl::StatusOr<Selection> Scores::AtLeast(double threshold) const {
  if (const auto* narrow = std::get_if<std::vector<float>>(&values)) {
    return Selection::AtLeast(std::span(*narrow), NarrowThreshold(threshold));
  }
  return Selection::AtLeast(std::span(std::get<std::vector<double>>(values)),
                            threshold);
}

absl::StatusOr<ScoreOrder> Scores::Order(ScoreDirection direction) const {
  return std::visit(
      [&](const auto& numbers) {
        return ScoreOrder::FromScores(std::span(numbers), direction);
      },
      values);
}

absl::StatusOr<Scores> ReadScores(const std::string& path, ScoreFormat format) {
  PONIENTE_ASSIGN_OR_RETURN(const OpenFile file, OpenFile::Open(path));
  PONIENTE_ASSIGN_OR_RETURN(const NpyArray array, FindScores(file, format));
  if (array.width == 4) return ReadNumbers<float>(file, array);
  return ReadNumbers<double>(file, array);
}

absl::StatusOr<Selection> ReadBitmap(const std::string& path, uint64_t size) {
  PONIENTE_ASSIGN_OR_RETURN(const OpenFile file, OpenFile::Open(path));
  PONIENTE_ASSIGN_OR_RETURN(const NpyArray array, FindIntegers(file));
  if (array.kind == 'b') return ReadMask(file, array, size);
  if (array.width != 8) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(file), " holds elements of ", array.width,
        " bytes, expected words of 8 or bools; save mask.astype(bool)"));
  }
  const uint64_t words = size / 64 + (size % 64 != 0);
  if (array.count != words) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(file), " holds ", array.count, " words of 64 bits, expected ",
        words, " for the dataset's ", size,
        " items; make it anew for this dataset"));
  }
  PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> bitmap,
                            ReadIntegers(file, array, true));
  return WithPath(Selection::FromBitmap(size, std::move(bitmap)), file);
}

absl::StatusOr<Selection> ReadIndexList(const std::string& path,
                                        uint64_t size) {
  PONIENTE_ASSIGN_OR_RETURN(const OpenFile file, OpenFile::Open(path));
  PONIENTE_ASSIGN_OR_RETURN(const NpyArray array, FindIntegers(file));
  if (array.kind == 'b') {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(file), " holds bools; read it by ReadBitmap"));
  }
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> indices,
                            ReadIntegers(file, array, false));
  return WithPath(Selection::FromIndices(size, indices), file);
}

}  // namespace poniente
