// SPDX-License-Identifier: Apache-2.0
#include "poniente/extend/infilled_piece.h"

#include "absl/strings/str_cat.h"
#include "util/check.h"

namespace poniente {
namespace {

absl::Status CheckShare(const char* name, double share) {
  if (share >= 0 && share <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " of fill_in_the_middle must be from 0 to 1, got ", share));
}

}  // namespace

std::string_view InfilledPiecesName(InfilledPieces pieces) {
  return pieces == InfilledPieces::kWhole ? "whole" : "all";
}

std::string_view InfillingOrderName(InfillingOrder order) {
  return order == InfillingOrder::kSpm ? "spm" : "psm";
}

absl::Status CheckInfillingOptions(const InfillingOptions& options) {
  if (absl::Status rate = CheckShare("rate", options.rate); !rate.ok()) {
    return rate;
  }
  if (absl::Status rate = CheckShare("spm_rate", options.spm_rate);
      !rate.ok()) {
    return rate;
  }
  if (options.prefix == options.middle || options.prefix == options.suffix ||
      options.middle == options.suffix) {
    return absl::InvalidArgumentError(absl::StrCat(
        "fill_in_the_middle needs three different ids, got prefix ",
        options.prefix, ", middle ", options.middle, " and suffix ",
        options.suffix));
  }
  if (options.min_tokens < kMinInfilledTokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("min_tokens of fill_in_the_middle must be at least ",
                     kMinInfilledTokens, ", got ", options.min_tokens));
  }
  return absl::OkStatus();
}

InfilledPiece::InfilledPiece(const Shape& shape, const InfillingOptions& marks)
    : shape_(shape) {
  const uint32_t first = shape.keeps_first ? 1 : 0;
  const uint32_t prefix = first + kMarks;
  const uint32_t middle = prefix + shape.prefix_tokens;
  const uint32_t suffix = middle + shape.middle_tokens;
  const uint32_t last = shape.tokens - (shape.keeps_last ? 1 : 0);
  PONIENTE_CHECK(prefix <= middle && middle <= suffix && suffix <= last)
      << "parts of a piece of " << shape.tokens << " tokens";
  AddTokens(0, first);
  AddMark(marks.prefix);
  if (shape.order == InfillingOrder::kPsm) {
    AddTokens(prefix, middle);
    AddMark(marks.suffix);
    AddTokens(suffix, last);
    AddMark(marks.middle);
  } else {
    AddMark(marks.suffix);
    AddTokens(suffix, last);
    AddMark(marks.middle);
    AddTokens(prefix, middle);
  }
  AddTokens(middle, suffix);
  AddTokens(last, shape.tokens);
}

void InfilledPiece::AddTokens(uint32_t from, uint32_t end) {
  if (from == end) return;
  const uint32_t length = end - from;
  Run* const before = num_runs_ == 0 ? nullptr : &runs_[num_runs_ - 1];
  if (before != nullptr && !before->id.has_value() &&
      before->from + before->length == from) {
    before->length += length;
  } else {
    runs_[num_runs_++] = {served_, length, from, std::nullopt};
  }
  served_ += length;
}

void InfilledPiece::AddMark(uint32_t id) {
  runs_[num_runs_++] = {served_++, 1, 0, id};
}

const InfilledPiece::Run& InfilledPiece::RunAt(uint32_t place) const {
  size_t i = 0;
  while (i + 1 < num_runs_ && runs_[i + 1].begin <= place) ++i;
  return runs_[i];
}

std::optional<uint32_t> InfilledPiece::TokenAt(uint32_t place) const {
  const Run& run = RunAt(place);
  if (run.id.has_value()) return std::nullopt;
  return run.from + (place - run.begin);
}

std::optional<uint32_t> InfilledPiece::PlaceOf(uint32_t token) const {
  for (const Run& run : runs()) {
    if (run.id.has_value() || token < run.from) continue;
    if (token - run.from < run.length) return run.begin + (token - run.from);
  }
  return std::nullopt;
}

std::optional<uint32_t> InfilledPiece::MarkAt(uint32_t place) const {
  return RunAt(place).id;
}

}  // namespace poniente
