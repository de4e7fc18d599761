// SPDX-License-Identifier: Apache-2.0
#include "config/parse/by_component.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente::internal {

void ForEachName(
    TableReader& stage, std::string_view key,
    const std::vector<std::string>& known, std::string_view others,
    const std::function<void(TableReader&, const std::string&)>& read) {
  const toml::table* table = stage.Table(key);
  if (table == nullptr) return;
  TableReader reader(*table, stage.LocationOf(key), stage.errors());
  const std::set<std::string_view> names(known.begin(), known.end());
  for (const std::string& name : reader.KeysInOrder()) {
    if (names.contains(name)) {
      read(reader, name);
      continue;
    }
    std::string near;
    if (!stage.errors()->is_full()) near = NearestOrAll(name, known);
    reader.Error(name, absl::StrCat(Absl(others), near));
  }
}

void ForEachComponent(
    TableReader& stage, std::string_view key, const Node& mixture,
    const std::function<void(TableReader&, const std::string&)>& read) {
  std::set<std::string> known;
  for (const Node& child : mixture.children) known.insert(child.name);
  ForEachName(stage, key, {known.begin(), known.end()},
              absl::StrCat("is not a component of ", mixture.location.key),
              read);
}

}  // namespace poniente::internal
