// SPDX-License-Identifier: Apache-2.0
// An input of `poniente pack`, cut into units of work that any thread can
// convert to documents.

#ifndef PONIENTE_PACK_PACK_INPUT_H_
#define PONIENTE_PACK_PACK_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pack/text_buffer.h"
#include "store/write/loss_bits.h"

namespace poniente::internal {

// Where a unit begins. The input defines what `at` counts: bytes of a file,
// documents of another store.
struct UnitBegin {
  uint64_t at = 0;
  // For text that is split at lines: whether the unit begins within a line that
  // is too long to be a delimiter.
  bool inside_line = false;

  friend bool operator==(const UnitBegin&, const UnitBegin&) = default;
};

// A range of an input, which one thread converts.
struct PackUnit {
  UnitBegin begin;
  UnitBegin end;
  bool is_last = false;  // of its input
  uint64_t bytes = 0;    // of input, for the progress
  // The bytes of the unit, for an input that cannot be read twice.
  TextBuffer data;
};

// A line of an input that could not be read as a document.
struct BadLine {
  uint64_t line = 0;  // within the unit, from 1 on
  std::string what;
};

// Where the documents of a unit end, counted in tokens of the unit.
struct DocumentEnds {
  // Whether the document that is open at the beginning of the unit ends before
  // the unit's first token.
  bool ends_open_document = false;
  std::vector<uint64_t> ends;
  // Whether a document is open at the end of the unit: there are tokens after
  // the last end.
  bool is_open = false;
  // Names of all documents that end in the unit: either their lines or their
  // own names. `names` may also have the name of the open document. If both are
  // empty, documents are numbered.
  std::vector<uint64_t> lines;
  std::vector<std::string> names;
  // Which tokens of the unit have loss: the first bits of a loss mask, in which
  // all other tokens have loss. nullopt: no document of the unit has a mask.
  std::optional<LossBits> loss;
};

// What the first bytes of an input look like.
enum class LooksLike { kText, kCompressed, kBinary };

// The documents of one unit, encoded as the store holds them. A unit may begin
// and end within a document.
class UnitDocuments {
 public:
  // `end_of_document`, if there is one, is added to each document.
  UnitDocuments(uint32_t token_bytes, std::optional<uint32_t> end_of_document);

  // Starts a new unit; keeps the memory.
  void Clear();

  // Appends to the open document.
  void AppendBytes(std::string_view ids);
  void AppendIds(std::span<const uint32_t> ids);
  // Do the same with a loss mask of one byte per id: 0, or 1 for ids that have
  // loss. The store then has a mask, even if there are no ids. An
  // end-of-document id that is added has loss if the id before it has.
  // REQUIRES: as many bytes as ids.
  void AppendBytes(std::string_view ids, std::span<const uint8_t> has_loss);
  void AppendIds(std::span<const uint32_t> ids,
                 std::span<const uint8_t> has_loss);
  // Ends the open document, if it is not empty.
  void Boundary();
  // Ends a document that began in this unit and may be empty. Its name is its
  // line, counted from 1.
  void EndDocument(uint64_t line);
  // Does the same for a document with its own name.
  void EndDocument(std::string name);
  // Names the document that is open at the end of the unit. Call it last.
  void NameOpenDocument(std::string name);
  // From now on, adds no end-of-document id to documents that already end with
  // it.
  void KeepOwnEnds() { keeps_own_ends_ = true; }

  // Records a line that could not be read.
  void AddBadLine(uint64_t line, std::string what);

  // Lines of the unit, for inputs that count them.
  uint64_t lines = 0;
  LooksLike looks_like = LooksLike::kText;

  const std::vector<BadLine>& bad_lines() const { return bad_lines_; }
  bool ends_open_document() const { return ends_.ends_open_document; }
  // Returns whether a document is open after the unit, given whether one is
  // open before it.
  bool is_open_behind(bool is_open_before) const;
  uint64_t num_tokens() const { return tokens_; }
  // Returns the encoded tokens. If `and_end_before`, an end-of-document id
  // comes first.
  std::span<const std::byte> Bytes(bool and_end_before) const;
  // Returns the ends of the documents. REQUIRES: the next call is Clear().
  DocumentEnds TakeEnds();

 private:
  // Returns the place of the end-of-document id, which lies before the first
  // token.
  std::byte* EndId();
  std::byte* Room(size_t tokens);
  bool HasOpenDocument() const;
  // Says which of the next tokens have loss.
  void MarkLoss(std::span<const uint8_t> has_loss);
  void AppendEnd();

  const uint32_t token_bytes_;
  const std::optional<uint32_t> end_of_document_;
  bool keeps_own_ends_ = false;
  std::vector<std::byte> buffer_;
  uint64_t tokens_ = 0;
  DocumentEnds ends_;
  std::vector<BadLine> bad_lines_;
};

// One input. Thread safety: Convert() and ReadAhead() on any number of threads,
// the rest on one thread at a time.
class PackInput {
 public:
  virtual ~PackInput() = default;

  // Returns the unit that begins where the previous one ended, or at {0,
  // false}. An input has at least one unit; the last one may be empty.
  virtual absl::StatusOr<PackUnit> Cut(const UnitBegin& begin) = 0;

  // Does some of the work of later Cut()s. Returns false, at once, if there is
  // none that can be done now.
  virtual bool ReadAhead() { return false; }

  // Adds the documents of a unit to `to`, in order. The result depends on the
  // unit alone.
  virtual absl::Status Convert(const PackUnit& unit,
                               UnitDocuments* to) const = 0;

  // Returns whether the input is one document, which has the name of the input.
  // If not, documents without names are numbered.
  virtual bool is_one_document() const { return false; }
};

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_INPUT_H_
