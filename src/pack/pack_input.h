// SPDX-License-Identifier: Apache-2.0
// Where `poniente pack` takes documents from: one input, cut into units of work
// that are converted on any thread.

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

namespace poniente::internal {

// Where a unit begins; what `at` counts is the input's affair: bytes of a file,
// documents of another store.
struct UnitBegin {
  uint64_t at = 0;
  // Of text that is cut at lines: within a line that is none to cut at.
  bool inside_line = false;

  friend bool operator==(const UnitBegin&, const UnitBegin&) = default;
};

struct PackUnit {
  UnitBegin begin;
  UnitBegin end;
  bool is_last = false;  // of its input
  uint64_t bytes = 0;    // of the input, for the progress
  // What an input that cannot be read twice has read for it.
  std::string data;
};

// A document of an input that could not be read, by its line.
struct BadLine {
  uint64_t line = 0;  // of the unit, from 1 on
  std::string what;
};

// Where documents of a unit end, in tokens of the unit.
struct DocumentEnds {
  // The document that was open before the unit ends before its first token.
  bool ends_open_document = false;
  std::vector<uint64_t> ends;
  // A document is open behind it: it has tokens that no end follows.
  bool is_open = false;
  // What names the documents, for all that end in the unit or for none: their
  // lines, or names of their own, to which that of the open one may be added.
  // Else they are counted.
  std::vector<uint64_t> lines;
  std::vector<std::string> names;
};

// By the first bytes of an input.
enum class LooksLike { kText, kCompressed, kBinary };

// The documents of one unit, as the store holds them. A unit may begin and end
// within a document.
class UnitDocuments {
 public:
  // `end_of_document` is added to each document.
  UnitDocuments(uint32_t token_bytes, std::optional<uint32_t> end_of_document);

  void Clear();

  // More of the document that is open.
  void AppendBytes(std::string_view ids);
  void AppendIds(std::span<const uint32_t> ids);
  // Ends the document that is open, if there is anything of it.
  void Boundary();
  // Ends a document that began in this unit and may be empty, named by its
  // line, from 1 on.
  void EndDocument(uint64_t line);
  // The same for one with a name of its own.
  void EndDocument(std::string name);
  // Of the document that is open behind the unit. Nothing can follow.
  void NameOpenDocument(std::string name);
  // Documents that end with the end-of-document id as they come get no other.
  void KeepOwnEnds() { keeps_own_ends_ = true; }

  void AddBadLine(uint64_t line, std::string what);

  // Lines of the unit, for inputs that count them.
  uint64_t lines = 0;
  LooksLike looks_like = LooksLike::kText;

  const std::vector<BadLine>& bad_lines() const { return bad_lines_; }
  bool ends_open_document() const { return ends_.ends_open_document; }
  // Whether a document is open behind the unit, if one is before it.
  bool is_open_behind(bool is_open_before) const;
  uint64_t num_tokens() const { return tokens_; }
  // The tokens; with `and_end_before` an end-of-document id comes before them.
  std::span<const std::byte> Bytes(bool and_end_before) const;
  // REQUIRES: Clear() comes next.
  DocumentEnds TakeEnds();

 private:
  // The end-of-document id, if there is one, lies before the first token.
  std::byte* EndId();
  std::byte* Room(size_t tokens);
  bool HasOpenDocument() const;
  void AppendEnd();

  const uint32_t token_bytes_;
  const std::optional<uint32_t> end_of_document_;
  bool keeps_own_ends_ = false;
  std::vector<std::byte> buffer_;
  uint64_t tokens_ = 0;
  DocumentEnds ends_;
  std::vector<BadLine> bad_lines_;
};

// Thread safety: Convert() on any number of threads; the rest on one at a time.
class PackInput {
 public:
  virtual ~PackInput() = default;

  // The unit that begins where the one before it ended, or at {0, false}. An
  // input has at least one; the last one may be empty.
  virtual absl::StatusOr<PackUnit> Cut(const UnitBegin& begin) = 0;

  // Adds the documents of a unit, in order. What they are follows from the unit
  // alone.
  virtual absl::Status Convert(const PackUnit& unit,
                               UnitDocuments* to) const = 0;

  // Its document is called as the input is; else they are told apart by number.
  virtual bool is_one_document() const { return false; }
};

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_INPUT_H_
