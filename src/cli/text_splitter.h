// SPDX-License-Identifier: Apache-2.0
// Cuts a stream of text into documents, piece by piece.

#ifndef PONIENTE_CLI_TEXT_SPLITTER_H_
#define PONIENTE_CLI_TEXT_SPLITTER_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace poniente::cli {

// Receives text and the places between documents. Text may be empty, and
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

// A line ends with LF or CR LF, or where the text ends.
//
// Memory: a line is kept only while it might still be one to cut at, up to 64
//     KiB.
class TextSplitter {
 public:
  TextSplitter(const SplitRule& rule, DocumentSink* sink)
      : rule_(rule), sink_(sink) {}

  absl::Status Add(std::string_view text);
  // The end of the text, which is a boundary.
  absl::Status Finish();

 private:
  // A complete line.
  absl::Status Line(std::string_view line);
  bool IsCut(std::string_view line) const;

  const SplitRule rule_;
  DocumentSink* const sink_;
  // The beginning of a line whose end has not come yet.
  std::string begun_;
  // The rest of the line is text, whatever comes.
  bool inside_text_line_ = false;
};

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_TEXT_SPLITTER_H_
