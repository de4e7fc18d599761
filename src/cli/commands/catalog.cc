// SPDX-License-Identifier: Apache-2.0
// poniente catalog: one file that says what all stores below a folder hold.

#include "poniente/catalog.h"

#include <iostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands/commands.h"
#include "cli/screen/console.h"
#include "cli/screen/json.h"
#include "store/catalog/tokenizer_origin.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

using Kind = CatalogFinding::Kind;

struct Totals {
  uint64_t stores = 0;
  uint64_t tokens = 0;
  uint64_t documents = 0;
  uint64_t bytes = 0;
  uint64_t masked = 0;  // stores with a loss mask
};

Totals TotalsOf(const StoreCatalog& catalog) {
  Totals totals;
  for (const CatalogEntry& entry : catalog.entries()) {
    ++totals.stores;
    totals.tokens += entry.tokens;
    totals.documents += entry.documents;
    totals.bytes += entry.bytes;
    totals.masked += entry.has_loss_mask ? 1 : 0;
  }
  return totals;
}

std::string TotalsInWords(const Totals& totals) {
  return absl::StrCat(
      Plural(totals.stores, "store"), ", ", Plural(totals.tokens, "token"),
      ", ", Plural(totals.documents, "document"), ", ",
      Bytes(static_cast<double>(totals.bytes)),
      totals.masked == 0
          ? std::string()
          : absl::StrCat(", ", totals.masked, " with a loss mask"));
}

Json InJson(const StoreCatalog& catalog) {
  const Totals totals = TotalsOf(catalog);
  Json json;
  json["catalog"] =
      absl::StrCat(catalog.folder(), "/", StoreCatalog::kFileName);
  json["tokens"] = totals.tokens;
  json["documents"] = totals.documents;
  json["bytes"] = totals.bytes;
  json["stores"] = Json::array();
  for (const CatalogEntry& entry : catalog.entries()) {
    Json row;
    row["path"] = entry.path;
    row["tokenizer"] = entry.vocabulary.tokenizer;
    row["tokenizer_library"] = entry.tokenizer_library.empty()
                                   ? Json()
                                   : Json(entry.tokenizer_library);
    row["vocab_size"] = entry.vocabulary.size;
    row["tokens"] = entry.tokens;
    row["documents"] = entry.documents;
    row["bytes"] = entry.bytes;
    row["loss_mask"] = entry.has_loss_mask;
    row["fingerprint"] = absl::StrFormat("%016x", entry.fingerprint);
    json["stores"].push_back(std::move(row));
  }
  return json;
}

const char* KindName(Kind kind) {
  switch (kind) {
    case Kind::kStale:
      return "stale";
    case Kind::kMissing:
      return "missing";
    case Kind::kNew:
      return "new";
  }
  return "";
}

uint64_t CountOf(const std::vector<CatalogFinding>& findings, Kind kind) {
  uint64_t count = 0;
  for (const CatalogFinding& one : findings) count += one.kind == kind ? 1 : 0;
  return count;
}

// Compares the catalogue with the stores; the exit code.
int Check(const StoreCatalog& catalog, bool is_json) {
  const auto findings = catalog.Compare();
  if (!findings.ok()) return Fail(findings.status());
  if (is_json) {
    Json json = InJson(catalog);
    json["ok"] = findings->empty();
    json["findings"] = Json::array();
    for (const CatalogFinding& one : *findings) {
      Json row;
      row["path"] = one.path;
      row["kind"] = KindName(one.kind);
      row["error"] = std::string(one.status.message());
      json["findings"].push_back(std::move(row));
    }
    PrintJson(json);
  } else {
    for (const CatalogFinding& one : *findings) Fail(one.status);
    std::cout << OneLine(catalog.folder()) << ": "
              << TotalsInWords(TotalsOf(catalog)) << "; ";
    if (findings->empty()) {
      std::cout << "all match the catalogue, and there are no others\n";
    } else {
      std::cout << CountOf(*findings, Kind::kStale) << " stale, "
                << CountOf(*findings, Kind::kMissing) << " missing, "
                << CountOf(*findings, Kind::kNew) << " new\n";
    }
  }
  return findings->empty() ? kExitOk : kExitError;
}

absl::Status WarnOfLibraries(const StoreCatalog& catalog) {
  PONIENTE_ASSIGN_OR_RETURN(const auto stores, catalog.OpenAll());
  std::vector<const TokenSource*> sources;
  for (const auto& store : stores) sources.push_back(store.get());
  for (const internal::LibraryDifference& differs :
       internal::LibraryDifferences(sources)) {
    Warn(differs.text);
  }
  return absl::OkStatus();
}

// Writes the catalogue, and says what it holds; the exit code.
int Write(const std::string& folder, bool is_json) {
  const auto written = StoreCatalog::Write(folder);
  // Stores that cannot be read have a line each.
  if (!written.ok()) return FailConfig(written.status());
  for (const std::string& other : written->others) {
    Warn(absl::StrCat(
        "'", folder, other.empty() ? "" : "/", other,
        "/manifest.json' does not belong to a token store: left out"));
  }
  const auto catalog = StoreCatalog::Open(folder);
  if (!catalog.ok()) return Fail(catalog.status());
  for (const std::string& missing : written->missing_parts) {
    Warn(absl::StrCat("'", folder, "': ", missing));
  }
  const absl::Status compared = WarnOfLibraries(*catalog);
  if (!compared.ok()) return Fail(compared);
  if (is_json) {
    PrintJson(InJson(*catalog));
  } else {
    std::cout << OneLine(catalog->folder()) << "/" << StoreCatalog::kFileName
              << ": " << TotalsInWords(TotalsOf(*catalog)) << '\n';
  }
  return kExitOk;
}

}  // namespace

CommandSpec CatalogSpec() {
  return {.name = "catalog",
          .brief = "list the stores below a folder, for opening them fast",
          .positionals = "DIR",
          .summary =
              "Writes a catalogue of all token stores below DIR: the "
              "file\nDIR/poniente-catalog.tsv. With it, thousands of stores "
              "open without reading\ntheir files first. Run it again whenever "
              "a store was written, added, moved or\nremoved.",
          .options = {{"check", "",
                       "write nothing; compare the catalogue with the stores, "
                       "and name each that is stale, missing or new"},
                      {"json", "", "print JSON"}},
          .example = "poniente catalog data"};
}

int RunCatalog(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(CatalogSpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const Arguments& parsed = std::get<Arguments>(read);
  if (parsed.positionals().size() != 1) {
    return FailUsage("catalog: give one DIR; see `poniente catalog --help`");
  }
  const std::string& folder = parsed.positionals().front();
  if (!parsed.Has("check")) return Write(folder, parsed.Has("json"));
  const auto catalog = StoreCatalog::Open(folder);
  if (!catalog.ok()) return Fail(catalog.status());
  return Check(*catalog, parsed.Has("json"));
}

}  // namespace poniente::cli
