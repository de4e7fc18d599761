// SPDX-License-Identifier: Apache-2.0
// Cuts a stream of text into documents, piece by piece.

#ifndef PONIENTE_PACK_TEXT_SPLITTER_H_
#define PONIENTE_PACK_TEXT_SPLITTER_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace poniente::internal {

// Receives text and the boundaries between documents. Text may be empty, and
// boundaries may follow each other.
class DocumentSink {
 public:
  virtual ~DocumentSink() = default;
  virtual absl::Status Text(std::string_view text) = 0;
  virtual absl::Status Boundary() = 0;
};

struct SplitRule {
  enum class Kind {
    kWhole,       // one document
    kDelimiter,   // cut at lines equal to `delimiter`, which are dropped
    kParagraphs,  // cut at blank lines, which are dropped
  };
  Kind kind = Kind::kWhole;
  std::string delimiter;
};

// Most bytes, with its end, of a line at which text is cut. Longer lines are
// text.
inline constexpr size_t kMaxCutLineBytes = 65536;

// Splits text. A line ends with LF or CR LF, or where the text ends.
//
// Memory: a line is kept only while it might still be a delimiter.
class TextSplitter {
 public:
  // `inside_text_line`: the text begins within a line that is too long to be a
  // delimiter.
  TextSplitter(const SplitRule& rule, DocumentSink* sink,
               bool inside_text_line = false)
      : rule_(rule), sink_(sink), inside_text_line_(inside_text_line) {}

  absl::Status Add(std::string_view text);
  // Prepares for text to continue elsewhere: after a line, or within one that
  // is too long to be a delimiter.
  absl::Status Pause();
  // Ends the text, which is a boundary.
  absl::Status Finish();

 private:
  // Handles a complete line.
  absl::Status Line(std::string_view line);
  bool IsCut(std::string_view line) const;

  const SplitRule rule_;
  DocumentSink* const sink_;
  // The beginning of a line whose end has not arrived yet.
  std::string begun_;
  // The rest of the line is text in any case.
  bool inside_text_line_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_TEXT_SPLITTER_H_
