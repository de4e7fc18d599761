// SPDX-License-Identifier: Apache-2.0
// poniente inspect: what a token store holds, in words or as JSON.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json.h"
#include "cli/verify_store.h"
#include "poniente/token_store.h"
#include "store/manifest.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

constexpr uint64_t kTokensShown = 16;
constexpr uint64_t kTokensLookedAt = 65536;
constexpr size_t kTextShown = 160;

// What is printed.
struct Inspection {
  std::shared_ptr<const TokenStore> store;
  std::vector<uint32_t> first_tokens;
  std::optional<std::string> first_document;
  std::vector<std::string> warnings;
  bool verified = false;
};

bool IsLeftover(const std::string& name, uint64_t generation) {
  if (absl::StartsWith(name, "scratch-") || name == "manifest.json.tmp") {
    return true;
  }
  for (const internal::StoreFile file : internal::kStoreFiles) {
    const std::string kind(internal::StoreFileKind(file));
    if (absl::StartsWith(name, kind + "-") && absl::EndsWith(name, ".bin")) {
      return name != internal::StoreFileName(file, generation);
    }
  }
  return false;
}

void WarnOfLeftovers(Inspection* inspection) {
  const TokenStore& store = *inspection->store;
  std::vector<std::string> leftovers;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(store.path(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (IsLeftover(name, store.manifest().generation)) {
      leftovers.push_back(name);
    }
  }
  if (leftovers.empty()) return;
  std::sort(leftovers.begin(), leftovers.end());
  inspection->warnings.push_back(absl::StrCat(
      "files that belong to no finished store (a writer is at work, or died; "
      "the next one removes them): ",
      absl::StrJoin(leftovers, ", ")));
}

void WarnOfContent(const std::vector<uint32_t>& begin,
                   const std::vector<uint32_t>& end, Inspection* inspection) {
  const TokenStore& store = *inspection->store;
  if (store.num_tokens() == 0) {
    inspection->warnings.push_back("the store holds no tokens");
    return;
  }
  const uint32_t greatest = *std::max_element(begin.begin(), begin.end());
  if (greatest >= store.vocabulary().size) {
    inspection->warnings.push_back(
        absl::StrCat("id ", greatest, " is not below the vocabulary size ",
                     store.vocabulary().size));
  }
  if (store.end_of_document() && end.back() != *store.end_of_document()) {
    inspection->warnings.push_back(absl::StrCat(
        "the last token is ", end.back(), ", not the end-of-document id ",
        *store.end_of_document()));
  }
}

absl::StatusOr<Inspection> Inspect(const std::string& path, bool verify) {
  Inspection inspection;
  PONIENTE_ASSIGN_OR_RETURN(inspection.store, OpenUnchecked(path));
  const TokenStore& store = *inspection.store;
  if (verify) {
    PONIENTE_RETURN_IF_ERROR(VerifyWithProgress(store, "verifying"));
    inspection.verified = true;
  }
  PONIENTE_ASSIGN_OR_RETURN(
      std::vector<uint32_t> begin,
      RunBlocking(
          store.ReadTokens(0, std::min(store.num_tokens(), kTokensLookedAt))));
  const uint64_t last = std::min<uint64_t>(store.num_tokens(), 1);
  PONIENTE_ASSIGN_OR_RETURN(
      const std::vector<uint32_t> end,
      RunBlocking(store.ReadTokens(store.num_tokens() - last, last)));
  WarnOfLeftovers(&inspection);
  WarnOfContent(begin, end, &inspection);
  if (store.num_documents() > 0) {
    PONIENTE_ASSIGN_OR_RETURN(inspection.first_document, store.DocumentName(0));
  }
  begin.resize(std::min<size_t>(begin.size(), kTextShown));
  inspection.first_tokens = std::move(begin);
  return inspection;
}

// The ids as text, up to the end of the first document; none unless they are
// bytes.
std::optional<std::string> AsText(const Inspection& inspection) {
  if (inspection.store->vocabulary().tokenizer != "bytes") return std::nullopt;
  std::string text;
  for (const uint32_t id : inspection.first_tokens) {
    if (id > 255) break;
    text += static_cast<char>(id);
  }
  return text;
}

std::vector<uint32_t> Shown(const Inspection& inspection) {
  const auto& tokens = inspection.first_tokens;
  return {tokens.begin(),
          tokens.begin() + static_cast<ptrdiff_t>(
                               std::min<size_t>(tokens.size(), kTokensShown))};
}

void PrintAsJson(const Inspection& inspection) {
  const TokenStore& store = *inspection.store;
  Json json;
  json["path"] = store.path();
  json["format"] = std::string(internal::kStoreFormat);
  json["version"] = internal::kStoreVersion;
  json["dtype"] = std::string(TokenTypeName(store.token_type()));
  json["tokens"] = store.num_tokens();
  json["documents"] = store.num_documents();
  json["shards"] = 1;
  json["tokenizer"] = store.vocabulary().tokenizer;
  json["vocab_size"] = store.vocabulary().size;
  json["end_of_document"] = nullptr;
  if (store.end_of_document()) {
    json["end_of_document"] = *store.end_of_document();
  }
  json["fingerprint"] = absl::StrFormat("%016x", store.fingerprint());
  json["bytes"] = store.num_bytes();
  json["block_bytes"] = store.manifest().block_bytes;
  json["backend"] = std::string(IoBackendName(store.reader().backend()));
  json["first_tokens"] = Shown(inspection);
  if (const auto text = AsText(inspection)) json["first_text"] = *text;
  if (inspection.first_document) {
    json["first_document"] = *inspection.first_document;
  }
  if (inspection.verified) json["verified"] = true;
  json["warnings"] = inspection.warnings;
  PrintJson(json);
}

void PrintText(const Inspection& inspection) {
  const TokenStore& store = *inspection.store;
  const auto line = [](const char* key, const std::string& value) {
    std::cout << absl::StrFormat("%-16s", key) << OneLine(value) << '\n';
  };
  line("path", store.path());
  line("format", absl::StrCat(std::string(internal::kStoreFormat), " ",
                              internal::kStoreVersion));
  line("tokenizer", store.vocabulary().tokenizer);
  line("vocabulary", absl::StrCat(Plural(store.vocabulary().size, "id"),
                                  store.end_of_document()
                                      ? absl::StrCat(", end of document ",
                                                     *store.end_of_document())
                                      : ""));
  line("dtype", std::string(TokenTypeName(store.token_type())));
  line("tokens", Count(store.num_tokens()));
  line("documents", Count(store.num_documents()));
  line("shards", "1");
  line("size", Bytes(static_cast<double>(store.num_bytes())));
  line("fingerprint", absl::StrFormat("%016x", store.fingerprint()));
  line("read by", std::string(IoBackendName(store.reader().backend())));
  if (inspection.first_document) {
    line("first document", *inspection.first_document);
  }
  line("first tokens", absl::StrJoin(Shown(inspection), " "));
  if (const auto text = AsText(inspection)) line("as text", *text);
  if (inspection.verified) line("verified", "all checksums match");
  if (inspection.warnings.empty()) line("warnings", "none");
  for (const std::string& warning : inspection.warnings) {
    line("warning", warning);
  }
}

}  // namespace

CommandSpec InspectSpec() {
  return {
      .name = "inspect",
      .brief = "say what a token store holds",
      .positionals = "PATH",
      .summary =
          "Says what the token store at PATH holds, and what looks "
          "wrong.",
      .options = {{"json", "", "print JSON"},
                  {"verify", "", "read everything and check all checksums"}},
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
  const absl::StatusOr<Inspection> inspection =
      Inspect(arguments->positionals()[0], arguments->Has("verify"));
  if (!inspection.ok()) return Fail(inspection.status());
  if (arguments->Has("json")) {
    PrintAsJson(*inspection);
  } else {
    PrintText(*inspection);
  }
  return kExitOk;
}

}  // namespace poniente::cli
