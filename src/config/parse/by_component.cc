// SPDX-License-Identifier: Apache-2.0
#include "config/parse/by_component.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "util/nearest_name.h"

namespace poniente::internal {

void ForEachComponent(
    TableReader& stage, std::string_view key, const Node& mixture,
    const std::function<void(TableReader&, const std::string&)>& read) {
  const toml::table* table = stage.Table(key);
  if (table == nullptr) return;
  TableReader reader(*table, stage.LocationOf(key), stage.errors());
  std::set<std::string_view> known;
  for (const Node& child : mixture.children) known.insert(child.name);
  for (const std::string& name : reader.KeysInOrder()) {
    if (!known.contains(name)) {
      std::string near;
      if (!stage.errors()->is_full()) {
        near = NearestOrAll(name, {known.begin(), known.end()});
      }
      reader.Error(name, absl::StrCat("is not a component of ",
                                      mixture.location.key, near));
      continue;
    }
    read(reader, name);
  }
}

}  // namespace poniente::internal
