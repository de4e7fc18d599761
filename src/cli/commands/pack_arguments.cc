// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/pack_arguments.h"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/commands/pack_tokenizer.h"
#include "cli/commands/source_options.h"
#include "cli/screen/sizes.h"
#include "poniente/ranks.h"
#include "util/status_macros.h"
#include "util/usable_cores.h"

namespace poniente::cli {
namespace {

using internal::InputFormat;
using internal::JsonField;
using internal::PackPart;
using internal::PackRequest;
using internal::SplitRule;

constexpr uint64_t kCheckpointBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxThreads = 256;
constexpr unsigned kDefaultThreads = 8;

// Whether one of the inputs has the format, or may have it. A folder holds
// files that are not known yet.
bool MayHave(InputFormat format, const PackRequest& request) {
  return std::any_of(
      request.inputs.begin(), request.inputs.end(),
      [format](const std::string& input) {
        struct stat facts;
        const bool is_folder =
            ::stat(input.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
        return is_folder || internal::FormatOfName(input) == format;
      });
}

// Options that would change nothing: it is not what somebody meant who states
// one. Call it for inputs whose format is not stated.
absl::Status CheckOptionsApply(const Arguments& arguments,
                               const PackRequest& request) {
  if (request.format) return absl::OkStatus();
  struct Use {
    const char* option;
    InputFormat format;
    const char* name;
    const char* other;  // what the inputs are then
  };
  constexpr Use kUses[] = {
      {"field", InputFormat::kJsonl, "JSONL", "text"},
      {"skip-bad-lines", InputFormat::kJsonl, "JSONL", "text"},
      {"delimiter", InputFormat::kText, "text", "JSONL"},
      {"split", InputFormat::kText, "text", "JSONL"}};
  for (const Use& use : kUses) {
    if (!arguments.Has(use.option) || MayHave(use.format, request)) continue;
    return PackUsageError(absl::StrCat(
        "--", use.option, " is for ", use.name,
        ", but the names of the inputs ('", request.inputs.front(),
        "') say that they are ", use.other, ": state --input-format ",
        absl::AsciiStrToLower(use.name), ", or leave --", use.option, " out"));
  }
  return absl::OkStatus();
}

absl::Status ReadSplitting(const Arguments& arguments, PackRequest* request) {
  PONIENTE_ASSIGN_OR_RETURN(const std::string split,
                            arguments.Choice("split", {"files", "paragraphs"}));
  const auto delimiter = arguments.Text("delimiter");
  const bool is_text =
      request->format.value_or(InputFormat::kText) == InputFormat::kText;
  if (!is_text && (delimiter || arguments.Has("split"))) {
    return PackUsageError(
        "--split and --delimiter are for text, but the inputs are not text: "
        "leave them out");
  }
  if (split == "paragraphs") {
    request->rule.kind = SplitRule::Kind::kParagraphs;
  }
  if (!delimiter) return absl::OkStatus();
  if (split == "paragraphs") {
    return PackUsageError(
        "--delimiter and --split paragraphs cannot be combined");
  }
  if (delimiter->find('\n') != std::string::npos) {
    return PackUsageError("--delimiter must be one line, without a line end");
  }
  if (delimiter->size() + 2 > internal::kMaxCutLineBytes) {
    return PackUsageError(absl::StrCat("--delimiter must have at most ",
                                       internal::kMaxCutLineBytes - 2,
                                       " bytes, got ", delimiter->size()));
  }
  request->rule = {SplitRule::Kind::kDelimiter, *delimiter};
  return absl::OkStatus();
}

// Whether the inputs are, by their bytes; one kind at a time is packed.
absl::StatusOr<bool> AreTokenFiles(const PackRequest& request) {
  const std::string* token_files = nullptr;
  const std::string* others = nullptr;
  for (const std::string& path : request.inputs) {
    const bool is_known = path != "-" && IsTokenSource(path);
    (is_known ? token_files : others) = &path;
  }
  if (token_files != nullptr && others != nullptr) {
    return PackUsageError(absl::StrCat(
        "'", *token_files, "' holds token ids, but '", *others,
        "' does not, or is in an unknown format: pack them separately, or "
        "state the format of all inputs with --input-format"));
  }
  return others == nullptr;
}

absl::Status ReadFormat(const Arguments& arguments, PackRequest* request) {
  const auto format = arguments.Choice(
      "input-format", {"text", "jsonl", "tokens", "messages", "token-files"});
  if (!format.ok()) return format.status();
  if (arguments.Has("input-format")) {
    request->format = *format == "text"       ? InputFormat::kText
                      : *format == "jsonl"    ? InputFormat::kJsonl
                      : *format == "tokens"   ? InputFormat::kTokens
                      : *format == "messages" ? InputFormat::kMessages
                                              : InputFormat::kTokenFiles;
  } else if (HasSourceOption(arguments, /*except=*/"glob")) {
    request->format = InputFormat::kTokenFiles;
  } else {
    PONIENTE_ASSIGN_OR_RETURN(const bool are_ids, AreTokenFiles(*request));
    if (are_ids) request->format = InputFormat::kTokenFiles;
  }
  if (request->format == InputFormat::kTokens) {
    request->field.kind = JsonField::Kind::kIds;
    request->field.names = {"tokens", "input_ids"};
  }
  if (request->format == InputFormat::kMessages) {
    request->field.kind = JsonField::Kind::kMessages;
    request->field.names = {"messages"};
  }
  const bool has_lines = request->format != InputFormat::kText &&
                         request->format != InputFormat::kTokenFiles;
  if (request->skip_bad_lines && !has_lines) {
    return PackUsageError(
        "--skip-bad-lines skips lines of JSONL, but the inputs are not JSONL: "
        "leave it out, or see --input-format");
  }
  const auto field = arguments.Text("field");
  if (!field) return absl::OkStatus();
  if (!has_lines) {
    return PackUsageError(
        "--field names a field of JSONL, but the inputs are not JSONL; see "
        "--input-format");
  }
  request->field.names = {*field};
  return absl::OkStatus();
}

// Returns the text with \n, \t and \\ for a line feed, a tab and a backslash.
absl::StatusOr<std::string> Frame(const std::string& option,
                                  const std::string& text) {
  std::string frame;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      frame += text[i];
      continue;
    }
    const char letter = ++i < text.size() ? text[i] : '\0';
    if (letter != 'n' && letter != 't' && letter != '\\') {
      return PackUsageError(absl::StrCat(
          "in --", option, ", a backslash begins \\n, \\t or \\\\, got '", text,
          "'"));
    }
    frame += letter == 'n' ? '\n' : letter == 't' ? '\t' : '\\';
  }
  return frame;
}

absl::Status ReadChat(const Arguments& arguments, PackRequest* request) {
  for (const char* option : {"loss-roles", "turn-begin", "turn-end"}) {
    if (!arguments.Has(option)) continue;
    if (request->format != InputFormat::kMessages) {
      return PackUsageError(absl::StrCat(
          "--", option, " is for chats: add --input-format messages"));
    }
  }
  if (const auto roles = arguments.Text("loss-roles")) {
    request->field.chat.loss_roles = absl::StrSplit(*roles, ',');
    for (const std::string& role : request->field.chat.loss_roles) {
      if (!role.empty()) continue;
      return PackUsageError(absl::StrCat(
          "--loss-roles must be roles such as assistant,tool, got '", *roles,
          "'"));
    }
  }
  if (const auto text = arguments.Text("turn-begin")) {
    PONIENTE_ASSIGN_OR_RETURN(request->field.chat.turn_begin,
                              Frame("turn-begin", *text));
  }
  if (const auto text = arguments.Text("turn-end")) {
    PONIENTE_ASSIGN_OR_RETURN(request->field.chat.turn_end,
                              Frame("turn-end", *text));
  }
  PONIENTE_ASSIGN_OR_RETURN(const std::string mask,
                            arguments.Choice("loss-mask", {"keep", "drop"}));
  request->keeps_loss_mask = mask == "keep";
  return absl::OkStatus();
}

absl::Status ReadSize(const Arguments& arguments, const std::string& option,
                      const std::string& example, uint64_t least, uint64_t most,
                      uint64_t* size) {
  const auto text = arguments.Text(option);
  if (!text.has_value()) return absl::OkStatus();
  const auto sizes = ParseSizes(*text, least, most);
  if (!sizes.ok() || sizes->size() != 1) {
    return PackUsageError(absl::StrCat("--", option, " must be a size such as ",
                                       example, ", got '", *text, "'"));
  }
  *size = sizes->front();
  return absl::OkStatus();
}

absl::Status ReadBlockBytes(const Arguments& arguments, PackRequest* request) {
  uint64_t bytes = request->block_bytes;
  PONIENTE_RETURN_IF_ERROR(ReadSize(arguments, "block-bytes", "4KiB",
                                    PackRequest::kMinBlockBytes,
                                    PackRequest::kMaxBlockBytes, &bytes));
  if (!std::has_single_bit(bytes)) {
    return PackUsageError(
        absl::StrCat("--block-bytes must be a power of two, got ", bytes));
  }
  request->block_bytes = static_cast<uint32_t>(bytes);
  return absl::OkStatus();
}

absl::Status ReadWork(const Arguments& arguments, PackRequest* request) {
  PONIENTE_ASSIGN_OR_RETURN(
      const uint64_t threads,
      arguments.Number("threads",
                       std::clamp(internal::UsableCores(), 1u, kDefaultThreads),
                       1, kMaxThreads));
  request->threads = static_cast<int>(threads);
  PONIENTE_ASSIGN_OR_RETURN(const std::string direct,
                            arguments.Choice("direct", {"auto", "on", "off"}));
  if (direct != "auto") request->writes_directly = direct == "on";
  PONIENTE_RETURN_IF_ERROR(ReadBlockBytes(arguments, request));
  request->checkpoint_bytes = kCheckpointBytes;
  return ReadSize(arguments, "checkpoint-bytes", "256MiB", 1, uint64_t{1} << 50,
                  &request->checkpoint_bytes);
}

absl::Status ReadPart(const Arguments& arguments, PackCommand* command) {
  if (arguments.Has("part")) {
    PONIENTE_ASSIGN_OR_RETURN(const Rank part, arguments.RankOf("part"));
    command->request.part = PackPart{part.rank, part.ranks};
    return absl::OkStatus();
  }
  PONIENTE_ASSIGN_OR_RETURN(const Ranks ranks, RanksFromEnvironment());
  if (ranks.ranks == 1) return absl::OkStatus();
  command->request.part = PackPart{ranks.rank, ranks.ranks};
  command->launcher = ranks.launcher;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PackCommand> ReadPackCommand(const Arguments& arguments) {
  PackCommand command;
  PackRequest& request = command.request;
  request.inputs = arguments.positionals();
  request.patterns = arguments.Texts("glob");
  request.skip_bad_lines = arguments.Has("skip-bad-lines");
  request.restart = arguments.Has("restart");
  request.publishes = arguments.Has("growing");
  command.json = arguments.Has("json");
  command.quiet = arguments.Has("quiet");
  if (request.inputs.empty()) {
    return PackUsageError(
        "no input; name a file, a folder or -: "
        "poniente pack INPUT... --out DIR");
  }
  request.out = arguments.Text("out").value_or("");
  if (request.out.empty()) {
    return PackUsageError(
        "--out is missing; say where the store goes: --out DIR");
  }
  if (command.json && command.quiet) {
    return PackUsageError("--json and --quiet cannot be combined");
  }
  PONIENTE_RETURN_IF_ERROR(ReadFormat(arguments, &request));
  PONIENTE_RETURN_IF_ERROR(CheckOptionsApply(arguments, request));
  PONIENTE_RETURN_IF_ERROR(ReadSplitting(arguments, &request));
  PONIENTE_RETURN_IF_ERROR(ReadChat(arguments, &request));
  if (request.publishes && request.format == InputFormat::kMessages &&
      request.keeps_loss_mask) {
    return PackUsageError(
        "a store that is read while it grows cannot have the loss mask that "
        "chats have: add --loss-mask drop, or leave out --growing");
  }
  PONIENTE_RETURN_IF_ERROR(ReadWork(arguments, &request));
  PONIENTE_RETURN_IF_ERROR(ReadPart(arguments, &command));
  PONIENTE_RETURN_IF_ERROR(
      ReadTokenizer(arguments, &request, &command.warnings));
  return command;
}

}  // namespace poniente::cli
