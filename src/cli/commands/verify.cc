// SPDX-License-Identifier: Apache-2.0
// poniente verify: whether stores still hold what was written.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/trace/drop_proof.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands/commands.h"
#include "cli/commands/load_config.h"
#include "cli/commands/source_options.h"
#include "cli/commands/steps_option.h"
#include "cli/commands/verify_store.h"
#include "cli/screen/console.h"
#include "cli/screen/json.h"
#include "poniente/catalog.h"
#include "poniente/config.h"
#include "poniente/token_source.h"
#include "store/catalog/catalog_text.h"
#include "store/manifest/manifest.h"
#include "store/posix_file.h"

namespace poniente::cli {
namespace {

// A folder that the command line means.
struct Wanted {
  std::string path;
  // Where it was found, if it was; `entry` is its path there.
  std::shared_ptr<const StoreCatalog> catalog;
  std::string entry;
  // Of a catalogue that cannot be read.
  absl::Status status;
  // Of a configuration, which says how files are to be read; null: open it.
  std::shared_ptr<const TokenSource> source;
};

// Each once.
struct Stores {
  std::vector<Wanted> wanted;
  // Of files that no configuration names.
  TokenSourceOptions options;
  // Sources of configurations that are only numbers of tokens.
  uint64_t without_store = 0;
};

// A file that is read as it is, not a configuration: not text, or a format's,
// or without a data table and something is stated of it.
bool IsTokenFile(const std::string& path, const Arguments& arguments) {
  if (absl::EndsWith(path, ".toml")) return false;
  if (IsTokenSource(path)) return true;
  struct stat facts;
  const auto file = internal::OpenRegularFile(path, &facts);
  if (!file.ok()) return false;  // opening it as a configuration says why
  std::string head(4096, '\0');
  const ssize_t got = ::pread(file->get(), head.data(), head.size(), 0);
  head.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  const bool is_text =
      std::none_of(head.begin(), head.end(), [](char character) {
        const auto byte = static_cast<unsigned char>(character);
        return byte < 0x20 ? byte != '\t' && byte != '\n' && byte != '\r'
                           : byte == 0x7f || byte >= 0xf8 || byte == 0xc0;
      });
  return !is_text ||
         (HasSourceOption(arguments) && !absl::StrContains(head, "[data"));
}

class StoreList {
 public:
  explicit StoreList(const TokenSourceOptions& options) {
    stores_.options = options;
  }

  void Add(const std::string& path) {
    Add(Wanted{path, nullptr, "", {}, nullptr});
  }

  // A store, or a catalogue of stores.
  void AddFolder(const std::string& path) {
    std::error_code ignored;
    if (!StoreCatalog::IsIn(path) ||
        std::filesystem::exists(path + "/manifest.json", ignored)) {
      Add(path);
      return;
    }
    auto catalog = StoreCatalog::Open(path);
    if (!catalog.ok()) {
      Add(Wanted{path, nullptr, "", catalog.status(), nullptr});
      return;
    }
    const auto shared =
        std::make_shared<const StoreCatalog>(*std::move(catalog));
    for (const CatalogEntry& entry : shared->entries()) {
      Add(Wanted{absl::StrCat(shared->folder(), "/", entry.path),
                 shared,
                 entry.path,
                 {},
                 nullptr});
    }
  }

  absl::Status AddConfig(const std::string& path) {
    const auto config = LoadConfig(path);
    if (!config.ok()) return config.status();
    for (const ConfigSource& source : config->sources()) {
      if (source.data == nullptr) {
        ++stores_.without_store;
      } else {
        AddSource(source.data);
      }
    }
    return absl::OkStatus();
  }

  void AddSource(const std::shared_ptr<const TokenSource>& source) {
    if (source->format() == internal::kCatalogFormat) {
      AddFolder(source->path());
    } else {
      // As the run has it, so that what a catalogue says of it is checked, too.
      Add(Wanted{source->path(), nullptr, "", {}, source});
    }
  }

  Stores Take() && { return std::move(stores_); }

 private:
  void Add(Wanted wanted) {
    std::error_code failed;
    std::filesystem::path real =
        std::filesystem::canonical(wanted.path, failed);
    if (failed) real = wanted.path;
    // Other files of one path may be several sources: by column, type, pattern.
    const bool is_store = wanted.source == nullptr ||
                          wanted.source->format() == internal::kStoreFormat;
    if (seen_.emplace(real, is_store ? nullptr : wanted.source.get()).second) {
      stores_.wanted.push_back(std::move(wanted));
    }
  }

  std::set<std::pair<std::filesystem::path, const TokenSource*>> seen_;
  Stores stores_;
};

// What came out of one store.
struct Verified {
  std::string path;
  std::shared_ptr<const TokenSource> source;  // null if it does not open
  absl::Status status;
};

Verified Verify(const Wanted& wanted, const TokenSourceOptions& options,
                size_t number, size_t count) {
  const std::string& path = wanted.path;
  Verified verified = {path, nullptr, wanted.status};
  if (verified.status.ok() && wanted.catalog != nullptr) {
    verified.status = wanted.catalog->CheckStore(wanted.entry);
  }
  if (!verified.status.ok()) return verified;
  if (wanted.source) {
    verified.source = wanted.source;
  } else {
    auto source = OpenTokenSource(
        path, wanted.catalog == nullptr ? options : TokenSourceOptions());
    verified.status = source.status();
    if (!source.ok()) return verified;
    verified.source = *std::move(source);
  }
  verified.status = VerifyWithProgress(
      *verified.source,
      absl::StrCat("verifying '", OneLine(path), "'",
                   count > 1 ? absl::StrCat(" (", number, " of ", count, ")")
                             : std::string()));
  return verified;
}

void PrintVerified(const Verified& verified) {
  if (!verified.status.ok()) {
    Fail(verified.status);
    return;
  }
  const TokenSource& source = *verified.source;
  std::cout << OneLine(verified.path)
            << (IsGrowing(source)      ? ": ok so far, still being written, "
                : HasChecksums(source) ? ": ok, "
                                       : ": can be read, no checksums, ")
            << Count(source.num_tokens()) << " tokens, "
            << Bytes(static_cast<double>(source.num_bytes()))
            << ", fingerprint "
            << absl::StrFormat("%016x", source.fingerprint()) << std::endl;
}

void AddJson(const Verified& verified, Json* json) {
  Json row;
  row["path"] = verified.path;
  row["ok"] = verified.status.ok();
  if (const TokenSource* const source = verified.source.get()) {
    row["tokens"] = source->num_tokens();
    row["bytes"] = source->num_bytes();
    row["fingerprint"] = absl::StrFormat("%016x", source->fingerprint());
  }
  if (!verified.status.ok()) {
    row["error"] = std::string(verified.status.message());
  }
  (*json)["stores"].push_back(std::move(row));
}

int VerifyAll(const Stores& stores, bool is_json) {
  Json json;
  json["ok"] = true;
  json["stores"] = Json::array();
  uint64_t damaged = 0;
  uint64_t without_checksums = 0;
  const size_t count = stores.wanted.size();
  for (size_t i = 0; i < count; ++i) {
    const Verified verified =
        Verify(stores.wanted[i], stores.options, i + 1, count);
    if (!verified.status.ok()) ++damaged;
    if (verified.status.ok() && !HasChecksums(*verified.source)) {
      ++without_checksums;
    }
    if (is_json) {
      AddJson(verified, &json);
    } else {
      PrintVerified(verified);
    }
  }
  json["ok"] = damaged == 0;
  if (is_json) {
    PrintJson(json);
  } else if (count != 1) {
    std::cout << Plural(count, "store") << ", "
              << (damaged == 0
                      ? without_checksums == 0
                            ? "all as they were written"
                            : absl::StrCat("all can be read, ",
                                           without_checksums,
                                           " without checksums")
                      : absl::StrCat(damaged, " damaged, unreadable or stale"))
              << '\n';
  }
  return damaged == 0 ? kExitOk : kExitError;
}

// Proves that steps of a run read nothing that its journal has dropped.
int VerifyDropped(const Arguments& arguments) {
  const auto steps = ParseSteps(*arguments.Text("steps"));
  if (!steps.ok()) {
    return FailUsage(absl::StrCat("verify: ", steps.status().message(),
                                  "; see `poniente verify --help`"));
  }
  if (arguments.positionals().size() != 1) {
    return FailUsage(
        "verify: --steps is about one run: give one CONFIG; see `poniente "
        "verify --help`");
  }
  const auto config = LoadConfig(arguments.positionals()[0], arguments);
  if (!config.ok()) return FailConfig(config.status());
  const auto proof =
      internal::ProveDropped(config->journal(), TracedRun(*config), *steps);
  if (!proof.ok()) return Fail(proof.status());
  const bool holds = proof->readings.empty();
  if (arguments.Has("json")) {
    Json json;
    json["ok"] = holds;
    json["steps"] = {proof->steps.begin, proof->steps.end};
    json["samples"] = proof->samples;
    json["changes"] = proof->changes;
    json["items"] = proof->items;
    json["masked_documents"] = proof->masked;
    json["readings"] = Json::array();
    for (const internal::DroppedReading& reading : proof->readings) {
      Json row;
      row["change"] = reading.change;
      row["in_force"] = reading.is_in_force;
      row["sample"] = reading.origin.sample;
      row["source"] = reading.origin.path;
      row["item"] = reading.origin.item;
      json["readings"].push_back(std::move(row));
    }
    PrintJson(json);
    return holds ? kExitOk : kExitError;
  }
  for (const internal::DroppedReading& reading : proof->readings) {
    std::cout << "sample " << Count(reading.origin.sample) << " reads item "
              << Count(reading.origin.item) << " of '"
              << OneLine(reading.origin.path) << "', which change "
              << reading.change
              << (reading.is_in_force
                      ? " has dropped\n"
                      : " drops, but only from the next block of its mixture "
                        "on (`poniente plan` says from which step)\n");
  }
  std::cout << "steps " << Count(proof->steps.begin) << " to "
            << Count(proof->steps.end - 1) << " ("
            << Plural(proof->samples, "sample")
            << "): " << (holds ? "none reads" : "some read") << " any of the "
            << Plural(proof->items, "item")
            << (proof->masked == 0
                    ? std::string()
                    : absl::StrCat(", or tokens of the ",
                                   Plural(proof->masked, "document"), ","))
            << " that " << Plural(proof->changes, "change")
            << " dropped before\n";
  return holds ? kExitOk : kExitError;
}

}  // namespace

CommandSpec VerifySpec() {
  return {
      .name = "verify",
      .brief = "check all checksums of stores",
      .positionals = "PATH|CONFIG...",
      .summary =
          "Reads token stores and checks every checksum, every id and the "
          "fingerprint. A\nPATH is a store, or a folder with a catalogue "
          "(written by `poniente catalog`),\nwhich stands for all stores that "
          "it lists; these are also compared with the\ncatalogue. A CONFIG is "
          "a TOML file, which stands for all stores that it names.\nEach store "
          "is read once. Token files of other projects have no checksums and "
          "are\nonly read to their ends. The options say how to read them, but "
          "do not apply to\nfiles that a CONFIG names.",
      .options = WithSourceOptions(
          {{"steps", "a..b",
            "prove instead that steps a to b - 1 of the run of a CONFIG read "
            "nothing that its journal has dropped before them"},
           JournalOption(),
           {"json", "", "print JSON"}}),
      .example = "poniente verify fortunes train.toml"};
}

int RunVerify(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(VerifySpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const Arguments& parsed = std::get<Arguments>(read);
  if (parsed.positionals().empty()) {
    return FailUsage(
        "verify: give a PATH or a CONFIG; see `poniente verify --help`");
  }
  if (parsed.Has("steps")) return VerifyDropped(parsed);
  if (parsed.Has("journal")) {
    return FailUsage(
        "verify: --journal goes with --steps; see `poniente verify --help`");
  }
  const auto options = ReadSourceOptions("verify", parsed);
  if (!options.ok()) return FailUsage(std::string(options.status().message()));
  StoreList list(*options);
  for (const std::string& path : parsed.positionals()) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored) &&
        !IsTokenFile(path, parsed)) {
      const absl::Status added = list.AddConfig(path);
      if (!added.ok()) return FailConfig(added);
    } else {
      list.AddFolder(path);
    }
  }
  const Stores stores = std::move(list).Take();
  if (stores.without_store > 0) {
    Warn(absl::StrCat(Plural(stores.without_store, "source"),
                      " without a store, only a number of tokens: nothing to "
                      "verify there"));
  }
  return VerifyAll(stores, parsed.Has("json"));
}

}  // namespace poniente::cli
