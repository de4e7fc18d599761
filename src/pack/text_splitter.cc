// SPDX-License-Identifier: Apache-2.0
#include "pack/text_splitter.h"

#include <utility>

#include "util/status_macros.h"

namespace poniente::internal {

absl::Status TextSplitter::Add(std::string_view text) {
  if (rule_.kind == SplitRule::Kind::kWhole) return sink_->Text(text);
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    const bool ends = newline != std::string_view::npos;
    const std::string_view piece = text.substr(0, ends ? newline + 1 : newline);
    text.remove_prefix(piece.size());
    if (inside_text_line_) {
      PONIENTE_RETURN_IF_ERROR(sink_->Text(piece));
      inside_text_line_ = !ends;
    } else if (begun_.empty() && (ends || piece.size() > kMaxCutLineBytes)) {
      PONIENTE_RETURN_IF_ERROR(Line(piece));
      inside_text_line_ = !ends;
    } else {
      begun_ += piece;
      if (!ends && begun_.size() <= kMaxCutLineBytes) continue;
      inside_text_line_ = !ends;
      PONIENTE_RETURN_IF_ERROR(Line(begun_));
      begun_.clear();
    }
  }
  return absl::OkStatus();
}

absl::Status TextSplitter::Pause() {
  const std::string begun = std::exchange(begun_, "");
  return begun.empty() ? absl::OkStatus() : sink_->Text(begun);
}

absl::Status TextSplitter::Finish() {
  if (!begun_.empty()) PONIENTE_RETURN_IF_ERROR(Line(begun_));
  begun_.clear();
  inside_text_line_ = false;
  return sink_->Boundary();
}

absl::Status TextSplitter::Line(std::string_view line) {
  return IsCut(line) ? sink_->Boundary() : sink_->Text(line);
}

bool TextSplitter::IsCut(std::string_view line) const {
  if (line.size() > kMaxCutLineBytes) return false;
  if (rule_.kind == SplitRule::Kind::kParagraphs) {
    return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
  }
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line == rule_.delimiter;
}

}  // namespace poniente::internal
