// SPDX-License-Identifier: Apache-2.0
#include "formats/levanter/levanter_ledger.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/core/bounded_json.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Json = nlohmann::json;

// The largest accepted count, so that sums do not overflow.
constexpr uint64_t kMaxCount = uint64_t{1} << 60;
// A shard takes 3 values, and 1 for each field: enough for a million shards of
// a few fields. They take about 1.3 GB while the ledger is read.
constexpr uint64_t kMaxLedgerValues = 8'000'000;

absl::Status Wrong(const std::string& path, std::string_view what) {
  return absl::DataLossError(absl::StrCat("'", path, "': ", Absl(what),
                                          "; restore the ledger from a copy"));
}

const Json* FindValue(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

absl::StatusOr<uint64_t> CountIn(const std::string& path, const Json* value,
                                 const std::string& name) {
  if (value != nullptr && value->is_number_unsigned() &&
      value->get<uint64_t>() <= kMaxCount) {
    return value->get<uint64_t>();
  }
  return Wrong(path, absl::StrCat(OneLine(name), value ? " is no" : " has no",
                                  " count of 0 to ", kMaxCount));
}

absl::StatusOr<std::map<std::string, uint64_t>> Counts(
    const std::string& path, const Json* object, const std::string& name) {
  std::map<std::string, uint64_t> counts;
  if (object == nullptr) return counts;
  if (!object->is_object()) {
    return Wrong(path, absl::StrCat(OneLine(name), " is no object"));
  }
  for (const auto& [key, value] : object->items()) {
    PONIENTE_ASSIGN_OR_RETURN(
        counts[key], CountIn(path, &value, absl::StrCat(name, ".", key)));
  }
  return counts;
}

absl::StatusOr<bool> IsSharded(const std::string& path, const Json& json) {
  const Json* layout = FindValue(json, "layout");
  if (layout == nullptr || *layout == "consolidated") return false;
  if (*layout == "sharded") return true;
  return absl::InvalidArgumentError(absl::StrCat(
      "'", path, "': layout is ",
      OneLine(layout->dump(-1, ' ', true, Json::error_handler_t::replace)),
      ", expected \"consolidated\" or \"sharded\""));
}

absl::StatusOr<std::vector<LevanterLedger::Shard>> ParseShards(
    const std::string& path, const Json& json) {
  std::vector<LevanterLedger::Shard> shards;
  const Json* names = FindValue(json, "finished_shards");
  const Json* rows = FindValue(json, "shard_rows");
  const Json* tokens = FindValue(json, "field_counts_by_shard");
  if (names == nullptr || !names->is_array()) {
    return Wrong(path, "finished_shards is no list");
  }
  if (rows == nullptr || !rows->is_object()) {
    return Wrong(path, "shard_rows is no object");
  }
  if (tokens != nullptr && !tokens->is_object()) {
    return Wrong(path, "field_counts_by_shard is no object");
  }
  std::set<std::string_view> seen;
  for (const Json& name : *names) {
    if (!name.is_string()) {
      return Wrong(path, "finished_shards holds something other than names");
    }
    if (!seen.insert(name.get_ref<const std::string&>()).second) {
      return Wrong(path,
                   absl::StrCat("finished_shards names '",
                                OneLine(name.get<std::string>()), "' twice"));
    }
    LevanterLedger::Shard shard;
    shard.name = name.get<std::string>();
    PONIENTE_ASSIGN_OR_RETURN(shard.rows,
                              CountIn(path, FindValue(*rows, shard.name),
                                      absl::StrCat("shard_rows.", shard.name)));
    PONIENTE_ASSIGN_OR_RETURN(
        shard.tokens,
        Counts(path, tokens ? FindValue(*tokens, shard.name) : nullptr,
               absl::StrCat("field_counts_by_shard.", shard.name)));
    shards.push_back(std::move(shard));
  }
  return shards;
}

absl::Status CheckSums(const std::string& path, const LevanterLedger& ledger) {
  uint64_t rows = 0;
  for (const LevanterLedger::Shard& shard : ledger.shards) {
    rows += shard.rows;
    if (rows > ledger.rows) break;
  }
  if (rows == ledger.rows) return absl::OkStatus();
  return Wrong(path, absl::StrCat("total_num_rows is ", ledger.rows,
                                  ", its shards have ", rows));
}

std::string TokenizerOf(const Json& json) {
  const Json* value = FindValue(json, "metadata");
  for (const char* key : {"preprocessor_metadata", "tokenizer"}) {
    if (value == nullptr || !value->is_object()) return "";
    value = FindValue(*value, key);
  }
  return value != nullptr && value->is_string() ? value->get<std::string>()
                                                : "";
}

}  // namespace

absl::StatusOr<LevanterLedger> ParseLevanterLedger(const std::string& path,
                                                   std::string_view text) {
  PONIENTE_ASSIGN_OR_RETURN(const Json json,
                            ParseBoundedJson(path, text, kMaxLedgerValues));
  const Json* is_finished = FindValue(json, "is_finished");
  if (is_finished == nullptr || *is_finished != true) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", path,
        "': is_finished is not true: the cache was not written to its end; "
        "let Levanter finish it"));
  }
  LevanterLedger ledger;
  PONIENTE_ASSIGN_OR_RETURN(
      ledger.rows,
      CountIn(path, FindValue(json, "total_num_rows"), "total_num_rows"));
  PONIENTE_ASSIGN_OR_RETURN(
      ledger.tokens,
      Counts(path, FindValue(json, "field_counts"), "field_counts"));
  PONIENTE_ASSIGN_OR_RETURN(ledger.is_sharded, IsSharded(path, json));
  if (ledger.is_sharded) {
    PONIENTE_ASSIGN_OR_RETURN(ledger.shards, ParseShards(path, json));
    PONIENTE_RETURN_IF_ERROR(CheckSums(path, ledger));
  }
  ledger.tokenizer = TokenizerOf(json);
  return ledger;
}

}  // namespace poniente::internal
