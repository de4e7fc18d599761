// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/pack_tokenizer.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/source_options.h"
#include "pack/pack_token_files.h"
#include "store/catalog/tokenizer_origin.h"
#include "store/manifest/known_store.h"
#include "store/posix_file.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

using internal::InputFormat;
using internal::PackRequest;
using internal::SentencePiece;
using internal::TextInput;

constexpr uint32_t kByteEnd = 256;
// The number changes if text ever becomes other ids.
constexpr char kByteLibrary[] = "poniente-bytes 1";
constexpr uint64_t kMaxModelFileBytes = uint64_t{256} << 20;

// nullopt inside: none.
absl::StatusOr<std::optional<uint32_t>> ReadEnd(
    const Arguments& arguments, std::optional<uint32_t> otherwise) {
  const auto text = arguments.Text("eod");
  if (!text) return otherwise;
  if (*text == "none") return std::optional<uint32_t>();
  uint32_t id = 0;
  if (absl::SimpleAtoi(*text, &id)) return std::optional<uint32_t>(id);
  return PackUsageError(
      absl::StrCat("--eod must be an id or none, got '", *text, "'"));
}

absl::Status ReadTokens(const Arguments& arguments, PackRequest* request) {
  if (arguments.Has("tokenizer")) {
    return PackUsageError(
        "--input-format tokens takes ids as they are; leave --tokenizer out");
  }
  if (!arguments.Has("vocab-size") || !arguments.Has("tokenizer-name")) {
    return PackUsageError(
        "--input-format tokens needs to know where the ids come from: "
        "--vocab-size N --tokenizer-name NAME");
  }
  PONIENTE_ASSIGN_OR_RETURN(
      request->vocabulary.size,
      arguments.Number("vocab-size", 0, 1, uint64_t{1} << 32));
  request->vocabulary.tokenizer = *arguments.Text("tokenizer-name");
  request->tokenizer_library = arguments.Text("tokenizer-library").value_or("");
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
    return PackUsageError(absl::StrCat(
        "'", first.path(), "' has ids of the tokenizer '", a->tokenizer,
        "', but '", input.path, "' has ids of '", b->tokenizer,
        "', and a store has one tokenizer: pack them separately"));
  }
  return absl::OkStatus();
}

// Takes over what made the ids, if all inputs agree.
void ReadOrigin(const Arguments& arguments, PackRequest* request,
                std::vector<std::string>* warnings) {
  std::vector<const TokenSource*> sources;
  for (const TextInput& input : request->token_inputs) {
    sources.push_back(input.source.get());
  }
  for (const internal::LibraryDifference& differs :
       internal::LibraryDifferences(sources)) {
    warnings->push_back(differs.text);
  }
  const auto model = internal::ModelOf(*sources.front());
  bool same_library = true;
  bool same_model = model.has_value();
  for (const TokenSource* source : sources) {
    same_library = same_library && source->tokenizer_library() ==
                                       sources.front()->tokenizer_library();
    if (!same_model) continue;
    const auto other = internal::ModelOf(*source);
    same_model = other && other->model.crc32c == model->model.crc32c;
  }
  if (same_library) {
    request->tokenizer_library = sources.front()->tokenizer_library();
  }
  if (const auto stated = arguments.Text("tokenizer-library")) {
    request->tokenizer_library = *stated;
  }
  if (same_model) request->tokenizer_model = model->model;
}

absl::Status ReadTokenFiles(const Arguments& arguments, PackRequest* request,
                            std::vector<std::string>* warnings) {
  if (arguments.Has("tokenizer")) {
    return PackUsageError(
        "the inputs are ids, which are taken as they are; leave "
        "--tokenizer out");
  }
  if (arguments.Has("vocab-size") != arguments.Has("tokenizer-name")) {
    return PackUsageError(
        "--vocab-size and --tokenizer-name must be given together");
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
  request->source_options = options;
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
    return PackUsageError(
        "nothing says which tokenizer the ids come from: state --vocab-size N "
        "and --tokenizer-name NAME");
  }
  ReadOrigin(arguments, request, warnings);
  PONIENTE_ASSIGN_OR_RETURN(request->end_of_document, ReadEnd(arguments, end));
  return absl::OkStatus();
}

absl::Status ReadBytes(const Arguments& arguments, PackRequest* request) {
  if (arguments.Has("tokenizer-name")) {
    return PackUsageError(
        "--tokenizer-name is for a model or for ids; the tokenizer of bytes is "
        "always called 'bytes'");
  }
  PONIENTE_ASSIGN_OR_RETURN(request->end_of_document,
                            ReadEnd(arguments, kByteEnd));
  const uint64_t end = request->end_of_document.value_or(0);
  request->vocabulary = {"bytes", std::max<uint64_t>(256, end + 1)};
  request->tokenizer_library = kByteLibrary;
  return absl::OkStatus();
}

// "llama-1a2b3c4d" for .../llama.model: its name and what is in it.
std::string NameOfModel(const std::string& path, uint32_t checksum) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  if (absl::EndsWith(name, ".model")) name.resize(name.size() - 6);
  return absl::StrCat(name, "-", absl::Hex(checksum, absl::kZeroPad8));
}

std::string AbsolutePath(const std::string& path) {
  return std::filesystem::path(internal::LocationOf(path)).lexically_normal();
}

absl::Status ReadModel(const Arguments& arguments, const std::string& path,
                       PackRequest* request) {
  struct stat facts;
  if (!absl::EndsWith(path, ".model") && ::stat(path.c_str(), &facts) != 0) {
    return PackUsageError(absl::StrCat(
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
  request->tokenizer_library = SentencePiece::Library();
  request->tokenizer_model =
      internal::ModelToRecord(AbsolutePath(path), request->model_checksum);
  return absl::OkStatus();
}

}  // namespace

absl::Status PackUsageError(std::string what) {
  return absl::InvalidArgumentError("pack: " + std::move(what));
}

absl::Status ReadTokenizer(const Arguments& arguments, PackRequest* request,
                           std::vector<std::string>* warnings) {
  if (request->format == InputFormat::kTokens) {
    PONIENTE_RETURN_IF_ERROR(ReadTokens(arguments, request));
  } else if (request->format == InputFormat::kTokenFiles) {
    PONIENTE_RETURN_IF_ERROR(ReadTokenFiles(arguments, request, warnings));
  } else if (arguments.Has("vocab-size")) {
    return PackUsageError(
        "--vocab-size is only for inputs that are ids (--input-format tokens "
        "or token-files); a tokenizer knows its vocabulary size");
  } else if (arguments.Has("tokenizer-library")) {
    return PackUsageError(
        "--tokenizer-library is only for inputs that are ids (--input-format "
        "tokens or token-files); otherwise it is known");
  } else {
    const std::string tokenizer = arguments.Text("tokenizer").value_or("bytes");
    PONIENTE_RETURN_IF_ERROR(tokenizer == "bytes"
                                 ? ReadBytes(arguments, request)
                                 : ReadModel(arguments, tokenizer, request));
  }
  const uint64_t size = request->vocabulary.size;
  if (request->end_of_document.value_or(0) >= size) {
    return PackUsageError(
        absl::StrCat("--eod ", *request->end_of_document,
                     " is outside of the vocabulary, whose ids are "
                     "below ",
                     size));
  }
  return absl::OkStatus();
}

}  // namespace poniente::cli
