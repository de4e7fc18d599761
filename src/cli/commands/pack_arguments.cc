// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/pack_arguments.h"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <span>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/source_options.h"
#include "cli/screen/sizes.h"
#include "pack/pack_token_files.h"
#include "poniente/ranks.h"
#include "store/posix_file.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

using internal::InputFormat;
using internal::JsonField;
using internal::PackPart;
using internal::PackRequest;
using internal::SentencePiece;
using internal::SplitRule;
using internal::TextInput;

constexpr uint32_t kByteEnd = 256;
constexpr uint64_t kMaxModelFileBytes = uint64_t{256} << 20;
constexpr uint64_t kCheckpointBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxThreads = 256;
constexpr unsigned kDefaultThreads = 8;

absl::Status Wrong(std::string what) {
  return absl::InvalidArgumentError("pack: " + std::move(what));
}

absl::Status ReadSplitting(const Arguments& arguments, PackRequest* request) {
  PONIENTE_ASSIGN_OR_RETURN(const std::string split,
                            arguments.Choice("split", {"files", "paragraphs"}));
  const auto delimiter = arguments.Text("delimiter");
  const bool is_text =
      request->format.value_or(InputFormat::kText) == InputFormat::kText;
  if (!is_text && (delimiter || arguments.Has("split"))) {
    return Wrong(
        "--split and --delimiter are for text, but the inputs are not text: "
        "leave them out");
  }
  if (split == "paragraphs") {
    request->rule.kind = SplitRule::Kind::kParagraphs;
  }
  if (!delimiter) return absl::OkStatus();
  if (split == "paragraphs") {
    return Wrong("--delimiter and --split paragraphs cannot be combined");
  }
  if (delimiter->find('\n') != std::string::npos) {
    return Wrong("--delimiter must be one line, without a line end");
  }
  if (delimiter->size() + 2 > internal::kMaxCutLineBytes) {
    return Wrong(absl::StrCat("--delimiter must have at most ",
                              internal::kMaxCutLineBytes - 2, " bytes, got ",
                              delimiter->size()));
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
    return Wrong(absl::StrCat(
        "'", *token_files, "' holds token ids, but '", *others,
        "' does not, or is in an unknown format: pack them separately, or "
        "state the format of all inputs with --input-format"));
  }
  return others == nullptr;
}

absl::Status ReadFormat(const Arguments& arguments, PackRequest* request) {
  const auto format = arguments.Choice(
      "input-format", {"text", "jsonl", "tokens", "token-files"});
  if (!format.ok()) return format.status();
  if (arguments.Has("input-format")) {
    request->format = *format == "text"     ? InputFormat::kText
                      : *format == "jsonl"  ? InputFormat::kJsonl
                      : *format == "tokens" ? InputFormat::kTokens
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
  const auto field = arguments.Text("field");
  if (!field) return absl::OkStatus();
  if (request->format == InputFormat::kText ||
      request->format == InputFormat::kTokenFiles) {
    return Wrong(
        "--field names a field of JSONL, but the inputs are not JSONL; see "
        "--input-format");
  }
  request->field.names = {*field};
  return absl::OkStatus();
}

// nullopt inside: none.
absl::StatusOr<std::optional<uint32_t>> ReadEnd(
    const Arguments& arguments, std::optional<uint32_t> otherwise) {
  const auto text = arguments.Text("eod");
  if (!text) return otherwise;
  if (*text == "none") return std::optional<uint32_t>();
  uint32_t id = 0;
  if (absl::SimpleAtoi(*text, &id)) return std::optional<uint32_t>(id);
  return Wrong(absl::StrCat("--eod must be an id or none, got '", *text, "'"));
}

absl::Status ReadTokens(const Arguments& arguments, PackRequest* request) {
  if (arguments.Has("tokenizer")) {
    return Wrong(
        "--input-format tokens takes ids as they are; leave --tokenizer out");
  }
  if (!arguments.Has("vocab-size") || !arguments.Has("tokenizer-name")) {
    return Wrong(
        "--input-format tokens needs to know where the ids come from: "
        "--vocab-size N --tokenizer-name NAME");
  }
  PONIENTE_ASSIGN_OR_RETURN(
      request->vocabulary.size,
      arguments.Number("vocab-size", 0, 1, uint64_t{1} << 32));
  request->vocabulary.tokenizer = *arguments.Text("tokenizer-name");
  request->field.vocabulary_size = request->vocabulary.size;
  PONIENTE_ASSIGN_OR_RETURN(request->end_of_document,
                            ReadEnd(arguments, std::nullopt));
  return absl::OkStatus();
}

absl::Status AreAlike(const PackRequest& request) {
  const TokenSource& first = *request.token_inputs.front().source;
  for (const TextInput& input : request.token_inputs) {
    const Vocabulary* const a = first.known_vocabulary();
    const Vocabulary* const b = input.source->known_vocabulary();
    if (a == nullptr || b == nullptr || *a == *b) continue;
    return Wrong(absl::StrCat(
        "'", first.path(), "' has ids of the tokenizer '", a->tokenizer,
        "', but '", input.path, "' has ids of '", b->tokenizer,
        "', and a store has one tokenizer: pack them separately"));
  }
  return absl::OkStatus();
}

absl::Status ReadTokenFiles(const Arguments& arguments, PackRequest* request) {
  if (arguments.Has("tokenizer")) {
    return Wrong(
        "the inputs are ids, which are taken as they are; leave "
        "--tokenizer out");
  }
  if (arguments.Has("vocab-size") != arguments.Has("tokenizer-name")) {
    return Wrong("--vocab-size and --tokenizer-name must be given together");
  }
  PONIENTE_ASSIGN_OR_RETURN(TokenSourceOptions options,
                            ReadSourceOptions("pack", arguments));
  if (arguments.Has("vocab-size")) {
    PONIENTE_ASSIGN_OR_RETURN(
        const uint64_t size,
        arguments.Number("vocab-size", 0, 1, uint64_t{1} << 32));
    options.vocabulary = Vocabulary{*arguments.Text("tokenizer-name"), size};
  }
  auto opened = internal::OpenTokenInputs(request->inputs, options);
  // Not the command line is wrong, but what it names.
  if (!opened.ok()) {
    return absl::FailedPreconditionError(opened.status().message());
  }
  request->token_inputs = *std::move(opened);
  PONIENTE_RETURN_IF_ERROR(AreAlike(*request));
  std::optional<uint32_t> end;
  for (const TextInput& input : request->token_inputs) {
    if (const Vocabulary* known = input.source->known_vocabulary()) {
      request->vocabulary = *known;
    }
    const auto delimiter = DelimiterOf(*input.source);
    if (delimiter && !delimiter->begins) end = delimiter->id;
  }
  if (request->vocabulary.size == 0) {
    return Wrong(
        "nothing says which tokenizer the ids come from: state --vocab-size N "
        "and --tokenizer-name NAME");
  }
  PONIENTE_ASSIGN_OR_RETURN(request->end_of_document, ReadEnd(arguments, end));
  return absl::OkStatus();
}

absl::Status ReadBytes(const Arguments& arguments, PackRequest* request) {
  if (arguments.Has("tokenizer-name")) {
    return Wrong(
        "--tokenizer-name is for a model or for ids; the tokenizer of bytes is "
        "always called 'bytes'");
  }
  PONIENTE_ASSIGN_OR_RETURN(request->end_of_document,
                            ReadEnd(arguments, kByteEnd));
  const uint64_t end = request->end_of_document.value_or(0);
  request->vocabulary = {"bytes", std::max<uint64_t>(256, end + 1)};
  return absl::OkStatus();
}

// "llama-1a2b3c4d" for .../llama.model: its name and what is in it.
std::string NameOfModel(const std::string& path, uint32_t checksum) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  if (absl::EndsWith(name, ".model")) name.resize(name.size() - 6);
  return absl::StrCat(name, "-", absl::Hex(checksum, absl::kZeroPad8));
}

absl::Status ReadModel(const Arguments& arguments, const std::string& path,
                       PackRequest* request) {
  struct stat facts;
  if (!absl::EndsWith(path, ".model") && ::stat(path.c_str(), &facts) != 0) {
    return Wrong(absl::StrCat(
        "--tokenizer must be bytes or the file of a SentencePiece model, got '",
        path, "'"));
  }
  absl::StatusOr<std::string> bytes = internal::ReadSmallFile(
      path, "a SentencePiece model", kMaxModelFileBytes);
  // Not the command line is wrong, but what it names.
  const auto failed = [](std::string message) {
    return absl::FailedPreconditionError(std::move(message));
  };
  if (!bytes.ok()) return failed(std::string(bytes.status().message()));
  std::string error;
  request->model = SentencePiece::Load(*bytes, &error);
  if (request->model == nullptr) {
    return failed(absl::StrCat("'", path, "' ", error));
  }
  const int end = request->model->end_of_sentence();
  if (end < 0 && !arguments.Has("eod")) {
    return failed(absl::StrCat("'", path,
                               "' has no end-of-sentence id to end documents "
                               "with; say --eod ID or --eod none"));
  }
  std::optional<uint32_t> otherwise;
  if (end >= 0) otherwise = static_cast<uint32_t>(end);
  PONIENTE_ASSIGN_OR_RETURN(request->end_of_document,
                            ReadEnd(arguments, otherwise));
  request->model_checksum = internal::Crc32c(std::as_bytes(std::span(*bytes)));
  request->vocabulary = {
      arguments.Text("tokenizer-name")
          .value_or(NameOfModel(path, request->model_checksum)),
      request->model->vocabulary_size()};
  return absl::OkStatus();
}

absl::Status ReadTokenizer(const Arguments& arguments, PackRequest* request) {
  if (request->format == InputFormat::kTokens) {
    PONIENTE_RETURN_IF_ERROR(ReadTokens(arguments, request));
  } else if (request->format == InputFormat::kTokenFiles) {
    PONIENTE_RETURN_IF_ERROR(ReadTokenFiles(arguments, request));
  } else if (arguments.Has("vocab-size")) {
    return Wrong(
        "--vocab-size is only for inputs that are ids (--input-format tokens "
        "or token-files); a tokenizer knows its vocabulary size");
  } else {
    const std::string tokenizer = arguments.Text("tokenizer").value_or("bytes");
    PONIENTE_RETURN_IF_ERROR(tokenizer == "bytes"
                                 ? ReadBytes(arguments, request)
                                 : ReadModel(arguments, tokenizer, request));
  }
  const uint64_t size = request->vocabulary.size;
  if (request->end_of_document.value_or(0) >= size) {
    return Wrong(absl::StrCat("--eod ", *request->end_of_document,
                              " is outside of the vocabulary, whose ids are "
                              "below ",
                              size));
  }
  return absl::OkStatus();
}

absl::Status ReadSize(const Arguments& arguments, const std::string& option,
                      const std::string& example, uint64_t least, uint64_t most,
                      uint64_t* size) {
  const auto text = arguments.Text(option);
  if (!text.has_value()) return absl::OkStatus();
  const auto sizes = ParseSizes(*text, least, most);
  if (!sizes.ok() || sizes->size() != 1) {
    return Wrong(absl::StrCat("--", option, " must be a size such as ", example,
                              ", got '", *text, "'"));
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
    return Wrong(
        absl::StrCat("--block-bytes must be a power of two, got ", bytes));
  }
  request->block_bytes = static_cast<uint32_t>(bytes);
  return absl::OkStatus();
}

absl::Status ReadWork(const Arguments& arguments, PackRequest* request) {
  PONIENTE_ASSIGN_OR_RETURN(
      const uint64_t threads,
      arguments.Number(
          "threads",
          std::clamp(std::thread::hardware_concurrency(), 1u, kDefaultThreads),
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
  command.json = arguments.Has("json");
  command.quiet = arguments.Has("quiet");
  if (request.inputs.empty()) {
    return Wrong(
        "no input; name a file, a folder or -: "
        "poniente pack INPUT... --out DIR");
  }
  request.out = arguments.Text("out").value_or("");
  if (request.out.empty()) {
    return Wrong("--out is missing; say where the store goes: --out DIR");
  }
  if (command.json && command.quiet) {
    return Wrong("--json and --quiet cannot be combined");
  }
  PONIENTE_RETURN_IF_ERROR(ReadFormat(arguments, &request));
  PONIENTE_RETURN_IF_ERROR(ReadSplitting(arguments, &request));
  PONIENTE_RETURN_IF_ERROR(ReadWork(arguments, &request));
  PONIENTE_RETURN_IF_ERROR(ReadPart(arguments, &command));
  PONIENTE_RETURN_IF_ERROR(ReadTokenizer(arguments, &request));
  return command;
}

}  // namespace poniente::cli
