// SPDX-License-Identifier: Apache-2.0
// poniente inspect: what a path holds, in words or as JSON.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands/commands.h"
#include "cli/commands/source_options.h"
#include "cli/commands/source_warnings.h"
#include "cli/commands/token_text.h"
#include "cli/commands/verify_store.h"
#include "cli/screen/console.h"
#include "cli/screen/json.h"
#include "formats/with_documents.h"
#include "poniente/token_store.h"
#include "store/catalog/tokenizer_origin.h"
#include "store/manifest/manifest.h"
#include "store/manifest/store_folder.h"
#include "store/read/token_store_access.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

constexpr uint64_t kTokensShown = 16;
constexpr size_t kTextShown = 160;
// Documents that an id separates are counted where that is quick.
constexpr uint64_t kMaxScanned = uint64_t{256} << 20;

// What is printed.
struct Inspection {
  std::shared_ptr<const TokenSource> source;
  const TokenStore* store = nullptr;  // what it is, or null
  std::vector<uint32_t> first_tokens;
  std::optional<std::string> first_document;
  std::optional<std::string> first_text;
  std::optional<internal::RecordedModel> model;
  std::vector<std::string> warnings;
  bool verified = false;
};

bool IsLeftover(const std::string& name, uint64_t generation) {
  if (name.starts_with(internal::kScratchPrefix) ||
      name == internal::kTemporaryManifest) {
    return true;
  }
  const auto file = internal::StoreFileNamed(name);
  return file && name != internal::StoreFileName(*file, generation);
}

void WarnOfLeftovers(Inspection* inspection) {
  const TokenStore& store = *inspection->store;
  std::vector<std::string> leftovers;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(store.path(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (IsLeftover(name,
                   internal::TokenStoreAccess::Manifest(store).generation)) {
      leftovers.push_back(name);
    }
  }
  if (leftovers.empty()) return;
  std::sort(leftovers.begin(), leftovers.end());
  inspection->warnings.push_back(
      absl::StrCat("files that belong to no finished store (a writer is "
                   "running or was killed; the next writer removes them): ",
                   absl::StrJoin(leftovers, ", ")));
}

absl::StatusOr<std::shared_ptr<const TokenSource>> Open(
    const std::string& path, const TokenSourceOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(auto source, OpenTokenSource(path, options));
  if (source->knows_documents() || !DelimiterOf(*source) ||
      source->num_bytes() > kMaxScanned) {
    return source;
  }
  return internal::WithDocuments(std::move(source), options);
}

// Keeps the ids as text, up to the end of the first document.
absl::Status ReadFirstText(TokenTexts texts, Inspection* inspection) {
  const TokenSource& source = *inspection->source;
  const auto end = std::find(inspection->first_tokens.begin(),
                             inspection->first_tokens.end(),
                             source.end_of_document().value_or(256));
  PONIENTE_ASSIGN_OR_RETURN(const TokenText* const text,
                            texts.For(&source, source.known_vocabulary()));
  if (text != nullptr) {
    inspection->first_text = text->Of({inspection->first_tokens.begin(), end},
                                      /*begins_document=*/true);
  }
  if (texts.is_stated()) {
    for (const std::string& warning : texts.warnings()) {
      inspection->warnings.push_back(warning);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Inspection> Inspect(const std::string& path, bool verify,
                                   uint64_t vocabulary_size,
                                   const TokenSourceOptions& options,
                                   TokenTexts texts) {
  Inspection inspection;
  PONIENTE_ASSIGN_OR_RETURN(inspection.source, Open(path, options));
  const TokenSource& source = *inspection.source;
  inspection.store = dynamic_cast<const TokenStore*>(&source);
  if (verify) {
    PONIENTE_RETURN_IF_ERROR(VerifyWithProgress(source, "verifying"));
    inspection.verified = true;
  }
  inspection.warnings = TokenSourceWarnings(source);
  if (inspection.store != nullptr) WarnOfLeftovers(&inspection);
  auto first = RunBlocking(source.ReadTokens(
      0, std::min<uint64_t>(source.num_tokens(), kTextShown)));
  if (first.ok()) inspection.first_tokens = *std::move(first);
  inspection.model = internal::ModelOf(source);
  PONIENTE_RETURN_IF_ERROR(ReadFirstText(std::move(texts), &inspection));
  const absl::Status ids =
      WarnOfIds(source, vocabulary_size, verify && vocabulary_size > 0,
                &inspection.warnings);
  // Whoever looks at files without checksums wants to know what they are.
  if (absl::IsDataLoss(ids) && inspection.store == nullptr) {
    inspection.warnings.emplace_back(ids.message());
  } else if (!ids.ok()) {
    return ids;
  }
  if (source.num_documents() > 0) {
    PONIENTE_ASSIGN_OR_RETURN(std::string name, source.DocumentName(0));
    if (inspection.store != nullptr || !name.empty()) {
      inspection.first_document = std::move(name);
    }
  }
  return inspection;
}

uint64_t VersionOf(const TokenStore& store) {
  return internal::TokenStoreAccess::Manifest(store).version();
}

std::vector<uint32_t> ShownDocuments(const Inspection& inspection) {
  const auto& tokens = inspection.first_tokens;
  return {tokens.begin(),
          tokens.begin() + static_cast<ptrdiff_t>(
                               std::min<size_t>(tokens.size(), kTokensShown))};
}

void PrintInspectionAsJson(const Inspection& inspection) {
  const TokenSource& source = *inspection.source;
  Json json;
  json["path"] = source.path();
  json["format"] = std::string(source.format());
  if (inspection.store) json["version"] = VersionOf(*inspection.store);
  json["dtype"] = std::string(StoredTypeName(source.stored_type()));
  json["tokens"] = source.num_tokens();
  json["documents"] = nullptr;
  if (source.knows_documents()) json["documents"] = source.num_documents();
  json["shards"] = source.num_shards();
  json["loss_mask"] = source.has_loss_mask();
  json["tokenizer"] = nullptr;
  json["vocab_size"] = nullptr;
  if (const Vocabulary* const vocabulary = source.known_vocabulary()) {
    json["tokenizer"] = vocabulary->tokenizer;
    json["vocab_size"] = vocabulary->size;
  }
  const std::string library = source.tokenizer_library();
  json["tokenizer_library"] = library.empty() ? Json() : Json(library);
  json["tokenizer_model"] = nullptr;
  if (inspection.model) {
    const internal::TokenizerModel& model = inspection.model->model;
    json["tokenizer_model"] = {
        {"path", model.path},
        {"crc32c", absl::StrFormat("%08x", model.crc32c)}};
  }
  json["end_of_document"] = nullptr;
  if (source.end_of_document()) {
    json["end_of_document"] = *source.end_of_document();
  }
  json["fingerprint"] = absl::StrFormat("%016x", source.fingerprint());
  json["bytes"] = source.num_bytes();
  if (inspection.store) {
    json["block_bytes"] =
        internal::TokenStoreAccess::Manifest(*inspection.store).block_bytes;
  } else {
    json["windows"] =
        source.window_rule().across_shards ? "across shards" : "within shards";
  }
  json["backend"] = std::string(IoBackendName(source.reader().backend()));
  json["first_tokens"] = ShownDocuments(inspection);
  if (inspection.first_text) json["first_text"] = *inspection.first_text;
  if (inspection.first_document) {
    json["first_document"] = *inspection.first_document;
  }
  if (inspection.verified) json["verified"] = true;
  json["warnings"] = inspection.warnings;
  PrintJson(json);
}

// "yes", what its numbers mean, or how many shards have one.
std::string MaskWords(const TokenSource& source) {
  const std::span<const LossMaskArray> masks = source.loss_mask_arrays();
  const LossMaskEncoding& encoding = masks.front().encoding;
  const std::string_view type = StoredTypeName(encoding.type);
  switch (encoding.rule) {
    case LossMaskEncoding::Rule::kBits:
      break;
    case LossMaskEncoding::Rule::kZeroOrOne:
      return absl::StrCat(internal::Absl(type), ", 1 has loss");
    case LossMaskEncoding::Rule::kAllBut:
      return absl::StrCat(internal::Absl(type), ", all but ", encoding.value,
                          " have loss");
    case LossMaskEncoding::Rule::kOnly:
      return absl::StrCat(internal::Absl(type), ", only ", encoding.value,
                          " has loss");
  }
  const auto stored = std::count_if(
      masks.begin(), masks.end(),
      [](const LossMaskArray& mask) { return mask.file.has_value(); });
  if (stored == static_cast<ptrdiff_t>(masks.size())) return "yes";
  return absl::StrCat("in ", stored, " of ", masks.size(),
                      " shards; all tokens of the others have loss");
}

std::string VocabularyWords(const Vocabulary& vocabulary,
                            const TokenSource& source) {
  return absl::StrCat(
      Plural(vocabulary.size, "id"),
      source.end_of_document()
          ? absl::StrCat(", end of document ", *source.end_of_document())
          : "");
}

std::string ModelWords(const internal::TokenizerModel& model) {
  return absl::StrFormat("%s (CRC32C %08x)",
                         model.path.empty() ? "path not known" : model.path,
                         model.crc32c);
}

void PrintFact(const char* key, const std::string& value) {
  std::cout << absl::StrFormat("%-16s", key) << OneLine(value) << '\n';
}

void PrintTokenizer(const Inspection& inspection) {
  const TokenSource& source = *inspection.source;
  if (const Vocabulary* const vocabulary = source.known_vocabulary()) {
    PrintFact("tokenizer", vocabulary->tokenizer);
    PrintFact("vocabulary", VocabularyWords(*vocabulary, source));
    if (const std::string library = source.tokenizer_library();
        !library.empty()) {
      PrintFact("made by", library);
    }
    if (inspection.model)
      PrintFact("model", ModelWords(inspection.model->model));
  } else {
    PrintFact("tokenizer", "not known");
    if (source.end_of_document()) {
      PrintFact("delimiter",
                absl::StrCat("id ", *source.end_of_document(),
                             DelimiterOf(source)->begins ? " begins documents"
                                                         : " ends documents"));
    }
  }
}

void PrintText(const Inspection& inspection) {
  const TokenSource& source = *inspection.source;
  PrintFact("path", source.path());
  PrintFact("format", inspection.store
                          ? absl::StrCat(internal::Absl(source.format()), " ",
                                         VersionOf(*inspection.store))
                          : std::string(source.format()));
  PrintTokenizer(inspection);
  PrintFact("dtype", std::string(StoredTypeName(source.stored_type())));
  PrintFact("tokens", Count(source.num_tokens()));
  PrintFact("documents", source.knows_documents()
                             ? Count(source.num_documents())
                             : "not known");
  PrintFact("shards", Count(source.num_shards()));
  if (source.has_loss_mask()) PrintFact("loss mask", MaskWords(source));
  if (source.num_shards() > 1) {
    PrintFact("windows", source.window_rule().across_shards
                             ? "cut across shards"
                             : "cut within shards");
  }
  PrintFact("size", Bytes(static_cast<double>(source.num_bytes())));
  PrintFact("fingerprint", absl::StrFormat("%016x", source.fingerprint()));
  PrintFact("read by", std::string(IoBackendName(source.reader().backend())));
  if (inspection.first_document) {
    PrintFact("first document", *inspection.first_document);
  }
  PrintFact("first tokens", absl::StrJoin(ShownDocuments(inspection), " "));
  if (inspection.first_text) PrintFact("as text", *inspection.first_text);
  if (inspection.verified) {
    PrintFact("verified", HasChecksums(source) ? "all checksums match"
                                               : "all tokens can be read");
  }
  if (inspection.warnings.empty()) PrintFact("warnings", "none");
  for (const std::string& warning : inspection.warnings) {
    PrintFact("warning", warning);
  }
}

}  // namespace

CommandSpec InspectSpec() {
  return {
      .name = "inspect",
      .brief = "say what a token store, or another project's files, hold",
      .positionals = "PATH",
      .summary =
          "Says what PATH is, a token store or token files of another project, "
          "what it\nholds, and what looks wrong.",
      .options = WithSourceOptions(
          {TokenTexts::TokenizerOption(),
           {"vocab-size", "N",
            "warn of ids that are N or more; checks some of the ids, with "
            "--verify all"},
           {"json", "", "print JSON"},
           {"verify", "", "read everything and check all checksums"}}),
      .example = "poniente inspect fortunes --json"};
}

int RunInspect(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(InspectSpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const Arguments* const arguments = &std::get<Arguments>(read);
  if (arguments->positionals().size() != 1) {
    return FailUsage(absl::StrCat("inspect: expected one PATH, got ",
                                  arguments->positionals().size(),
                                  "; see `poniente inspect --help`"));
  }
  const auto options = ReadSourceOptions("inspect", *arguments);
  if (!options.ok()) return FailUsage(std::string(options.status().message()));
  const auto vocab_size =
      arguments->Number("vocab-size", 0, 1, uint64_t{1} << 32);
  if (!vocab_size.ok()) {
    return FailUsage(std::string(vocab_size.status().message()));
  }
  auto texts = TokenTexts::Create(*arguments);
  if (!texts.ok()) return Fail(texts.status());
  const absl::StatusOr<Inspection> inspection =
      Inspect(arguments->positionals()[0], arguments->Has("verify"),
              *vocab_size, *options, *std::move(texts));
  if (!inspection.ok()) return Fail(inspection.status());
  if (arguments->Has("json")) {
    PrintInspectionAsJson(*inspection);
  } else {
    PrintText(*inspection);
  }
  return kExitOk;
}

}  // namespace poniente::cli
