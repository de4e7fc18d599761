// SPDX-License-Identifier: Apache-2.0
// Splits a stream of text into documents.

#ifndef PONIENTE_PACK_TEXT_SPLITTER_H_
#define PONIENTE_PACK_TEXT_SPLITTER_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace poniente::internal {

// Receives text and the boundaries between documents. A text may be empty, and
// there may be no text between two boundaries.
class DocumentSink {
 public:
  virtual ~DocumentSink() = default;
  virtual absl::Status Text(std::string_view text) = 0;
  virtual absl::Status Boundary() = 0;
};

// Where documents of text end.
struct SplitRule {
  enum class Kind {
    kWhole,       // one document
    kDelimiter,   // split at lines equal to `delimiter`, which are dropped
    kParagraphs,  // split at blank lines, which are dropped
  };
  Kind kind = Kind::kWhole;
  std::string delimiter;
};

// Largest size in bytes, including its end, of a line at which text is split.
// Longer lines are always text.
inline constexpr size_t kMaxCutLineBytes = 65536;

// Splits text by a rule. A line ends with LF or CR LF, or at the end of the
// text.
//
// Memory: a line is kept only while it might still be a delimiter.
class TextSplitter {
 public:
  // `inside_text_line` says that the text begins within a line that is too long
  // to be a delimiter.
  TextSplitter(const SplitRule& rule, DocumentSink* sink,
               bool inside_text_line = false)
      : rule_(rule), sink_(sink), inside_text_line_(inside_text_line) {}

  // Splits the next piece of text.
  absl::Status Add(std::string_view text);
  // Passes on all text so far, because the rest will be split elsewhere.
  // REQUIRES: the text so far ends after a line, or within one that is too long
  // to be a delimiter.
  absl::Status Pause();
  // Ends the text, which ends the last document.
  absl::Status Finish();

 private:
  // Handles a complete line.
  absl::Status Line(std::string_view line);
  // Returns whether text is split at this line.
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
