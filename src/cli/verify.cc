// SPDX-License-Identifier: Apache-2.0
// poniente verify: whether stores still hold what was written.

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
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json.h"
#include "cli/load_config.h"
#include "cli/verify_store.h"
#include "poniente/config.h"
#include "poniente/token_store.h"

namespace poniente::cli {
namespace {

// The folders that the command line means, each once.
struct Stores {
  std::vector<std::string> paths;
  // Sources of configurations that are only numbers of tokens.
  uint64_t without_store = 0;
};

class StoreList {
 public:
  void Add(const std::string& path) {
    std::error_code failed;
    std::filesystem::path real = std::filesystem::canonical(path, failed);
    if (failed) real = path;
    if (seen_.insert(real).second) stores_.paths.push_back(path);
  }

  absl::Status AddConfig(const std::string& path) {
    const auto config = LoadConfig(path);
    if (!config.ok()) return config.status();
    for (const ConfigSource& source : config->sources()) {
      if (source.data == nullptr) {
        ++stores_.without_store;
      } else {
        Add(source.data->path());
      }
    }
    return absl::OkStatus();
  }

  Stores Take() && { return std::move(stores_); }

 private:
  std::set<std::filesystem::path> seen_;
  Stores stores_;
};

// What came out of one store.
struct Verified {
  std::string path;
  std::shared_ptr<const TokenStore> store;  // null if it does not open
  absl::Status status;
};

Verified Verify(const std::string& path, size_t number, size_t count) {
  Verified verified = {path, nullptr, {}};
  auto store = OpenUnchecked(path);
  verified.status = store.status();
  if (!store.ok()) return verified;
  verified.store = *std::move(store);
  verified.status = VerifyWithProgress(
      *verified.store,
      absl::StrCat("verifying '", OneLine(path), "'",
                   count > 1 ? absl::StrCat(" (", number, " of ", count, ")")
                             : std::string()));
  return verified;
}

void Print(const Verified& verified) {
  if (!verified.status.ok()) {
    Fail(verified.status);
    return;
  }
  const TokenStore& store = *verified.store;
  std::cout << OneLine(verified.path) << ": ok, " << Count(store.num_tokens())
            << " tokens, " << Bytes(static_cast<double>(store.num_bytes()))
            << ", fingerprint " << absl::StrFormat("%016x", store.fingerprint())
            << std::endl;
}

void AddJson(const Verified& verified, Json* json) {
  Json row;
  row["path"] = verified.path;
  row["ok"] = verified.status.ok();
  if (const TokenStore* const store = verified.store.get()) {
    row["tokens"] = store->num_tokens();
    row["bytes"] = store->num_bytes();
    row["fingerprint"] = absl::StrFormat("%016x", store->fingerprint());
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
  for (size_t i = 0; i < stores.paths.size(); ++i) {
    const Verified verified =
        Verify(stores.paths[i], i + 1, stores.paths.size());
    if (!verified.status.ok()) ++damaged;
    if (is_json) {
      AddJson(verified, &json);
    } else {
      Print(verified);
    }
  }
  json["ok"] = damaged == 0;
  if (is_json) {
    PrintJson(json);
  } else if (stores.paths.size() > 1) {
    std::cout << Plural(stores.paths.size(), "store") << ", "
              << (damaged == 0
                      ? "all as they were written"
                      : absl::StrCat(damaged, " damaged or unreadable"))
              << '\n';
  }
  return damaged == 0 ? kExitOk : kExitError;
}

}  // namespace

CommandSpec VerifySpec() {
  return {.name = "verify",
          .brief = "check all checksums of stores",
          .positionals = "PATH|CONFIG...",
          .summary =
              "Reads token stores (folders), or all those of configurations "
              "(TOML files), each once, and checks every checksum, every id "
              "and the fingerprint.",
          .options = {{"json", "", "print JSON"}},
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
  StoreList list;
  for (const std::string& path : parsed.positionals()) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) {
      const absl::Status added = list.AddConfig(path);
      if (!added.ok()) return FailConfig(added);
    } else {
      list.Add(path);
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
