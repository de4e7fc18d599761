// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/source_options.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

constexpr char kDtypes[] = "u8|i8|u16|i16|u32|i32|u64|i64";

absl::StatusOr<std::optional<DocumentDelimiter>> ReadDelimiter(
    const std::string& command, const Arguments& arguments) {
  std::optional<DocumentDelimiter> delimiter;
  for (const bool begins : {false, true}) {
    const std::string name = begins ? "document-begin" : "document-end";
    if (!arguments.Has(name)) continue;
    if (delimiter) {
      return absl::InvalidArgumentError(absl::StrCat(
          command, ": --document-begin and --document-end cannot be combined"));
    }
    PONIENTE_ASSIGN_OR_RETURN(const uint64_t id,
                              arguments.Number(name, 0, 0, UINT32_MAX));
    delimiter = DocumentDelimiter{static_cast<uint32_t>(id), begins};
  }
  return delimiter;
}

std::vector<Option> SourceOptions() {
  return {
      {"dtype", kDtypes, "type of the ids in files without a header"},
      {"column", "NAME", "the column, field or feature that holds the ids"},
      {"glob", "PATTERN", "in a folder, read only files whose names match"},
      {"format", "NAME", "the format, if the files could have several"},
      {"document-end", "ID",
       "the id that ends documents, if the files do not state it"},
      {"document-begin", "ID",
       "the id that begins documents, instead of --document-end"},
      {"mask", "PATH", "the files of the loss mask, one number per token"},
      {"mask-glob", "PATTERN",
       "in a folder, read only mask files whose names match"},
      {"mask-column", "NAME", "the column or field that holds the loss mask"},
      {"no-loss-value", "N",
       "all numbers of the mask but N have loss (-100 for labels)"},
      {"loss-value", "N",
       "only the number N of the mask has loss; default: 1 has loss, 0 none"},
  };
}

absl::StatusOr<std::optional<int64_t>> ReadMaskNumber(
    const std::string& command, const Arguments& arguments,
    const std::string& name) {
  const std::optional<std::string> text = arguments.Text(name);
  if (!text) return std::nullopt;
  int64_t number = 0;
  if (absl::SimpleAtoi(*text, &number)) return number;
  return absl::InvalidArgumentError(absl::StrCat(
      command, ": --", name, " must be a whole number, got '", *text, "'"));
}

absl::StatusOr<std::optional<LossMaskFiles>> ReadLossMask(
    const std::string& command, const Arguments& arguments) {
  LossMaskFiles mask;
  mask.path = arguments.Text("mask").value_or("");
  mask.glob = arguments.Text("mask-glob").value_or("");
  mask.column = arguments.Text("mask-column").value_or("");
  PONIENTE_ASSIGN_OR_RETURN(
      mask.no_loss, ReadMaskNumber(command, arguments, "no-loss-value"));
  PONIENTE_ASSIGN_OR_RETURN(mask.loss,
                            ReadMaskNumber(command, arguments, "loss-value"));
  if (mask == LossMaskFiles()) return std::nullopt;
  if (mask.path.empty() && mask.glob.empty() && mask.column.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        command,
        ": --no-loss-value and --loss-value need --mask, --mask-glob or "
        "--mask-column, too"));
  }
  return mask;
}

}  // namespace

std::vector<Option> WithSourceOptions(std::vector<Option> more) {
  std::vector<Option> options = SourceOptions();
  std::move(more.begin(), more.end(), std::back_inserter(options));
  return options;
}

bool HasSourceOption(const Arguments& arguments, std::string_view except) {
  const std::vector<Option> options = SourceOptions();
  return std::any_of(options.begin(), options.end(), [&](const Option& option) {
    return option.name != except && arguments.Has(option.name);
  });
}

absl::StatusOr<TokenSourceOptions> ReadSourceOptions(
    const std::string& command, const Arguments& arguments) {
  TokenSourceOptions options;
  if (const auto dtype = arguments.Text("dtype")) {
    const auto type = ParseStoredType(*dtype);
    if (!type.ok()) {
      return internal::Prepend(type.status(), command + ": --dtype");
    }
    options.dtype = *type;
  }
  options.column = arguments.Text("column").value_or("");
  options.glob = arguments.Text("glob").value_or("");
  options.format = arguments.Text("format").value_or("");
  const std::vector<std::string> known = TokenFormatNames();
  if (!options.format.empty() &&
      std::find(known.begin(), known.end(), options.format) == known.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(command, ": unknown --format '", options.format,
                     "', expected one of ", absl::StrJoin(known, ", ")));
  }
  PONIENTE_ASSIGN_OR_RETURN(options.delimiter,
                            ReadDelimiter(command, arguments));
  PONIENTE_ASSIGN_OR_RETURN(options.loss_mask,
                            ReadLossMask(command, arguments));
  return options;
}

}  // namespace poniente::cli
