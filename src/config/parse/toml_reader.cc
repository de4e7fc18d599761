// SPDX-License-Identifier: Apache-2.0
#include "config/parse/toml_reader.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/parse/great_integer.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// A longer value is cut off, so that the message fits a line.
std::string CutOff(std::string text) {
  constexpr size_t kMax = 40;
  return text.size() <= kMax ? text : text.substr(0, kMax) + "...";
}

std::string_view TypeName(toml::node_type type) {
  switch (type) {
    case toml::node_type::string:
      return "string";
    case toml::node_type::integer:
      return "integer";
    case toml::node_type::floating_point:
      return "float";
    case toml::node_type::boolean:
      return "boolean";
    case toml::node_type::date:
      return "date";
    case toml::node_type::time:
      return "time";
    default:
      return "date and time";
  }
}

// Returns the digits of an integer that only a Run can state.
std::optional<std::string_view> GreatIntegerOf(const toml::node& node) {
  const auto* const text = node.as_string();
  return text == nullptr ? std::nullopt : GreatInteger(text->get());
}

// Returns the value, with its type unless it is the expected one:
// the string "16".
std::string Got(const toml::node& node, toml::node_type expected) {
  if (const auto digits = GreatIntegerOf(node)) return std::string(*digits);
  if (node.is_table()) return "a table";
  if (node.is_array()) return "an array";
  std::ostringstream out;
  if (const auto* text = node.as_string()) {
    out << '"' << CutOff(text->get()) << '"';
  } else {
    node.visit([&out](const auto& value) { out << value; });
  }
  if (node.type() == expected) return out.str();
  return absl::StrCat("the ", Absl(TypeName(node.type())), " ", out.str());
}

std::string GotArray(const toml::array& array) {
  if (std::none_of(array.begin(), array.end(), [](const toml::node& one) {
        return GreatIntegerOf(one).has_value();
      })) {
    std::ostringstream written;
    written << toml::default_formatter(array);
    return CutOff(written.str());
  }
  std::vector<std::string> shown;
  for (const toml::node& one : array) shown.push_back(Got(one, one.type()));
  return absl::StrCat("[ ", absl::StrJoin(shown, ", "), " ]");
}

// Returns what an integer has to be in the place of `wrong`.
std::string Range(const toml::node& wrong, uint64_t least, uint64_t most) {
  if (most >= kMaxInteger) {
    if (GreatIntegerOf(wrong)) return absl::StrCat("at most ", kMaxInteger);
    return absl::StrCat("an integer of at least ", least);
  }
  return absl::StrCat("an integer from ", least, " to ", most);
}

// Says of a key that was not asked for where it has a meaning.
std::string NoMeaningHere(const ConfigKey& key) {
  const std::string place = PlaceOf(key);
  return absl::StrCat("has no meaning here", place.empty() ? "" : ", only ",
                      place);
}

}  // namespace

SourceLocation LocationOfNode(const toml::node& node,
                              const SourceLocation& parent,
                              std::string_view key) {
  const toml::source_position at = node.source().begin;
  SourceLocation location;
  location.file = parent.file;
  location.line = at.line ? at.line : parent.line;
  location.column = at.line ? at.column : parent.column;
  const bool is_joined = parent.key.empty() || key.starts_with('[');
  location.key = absl::StrCat(parent.key, is_joined ? "" : ".", Absl(key));
  return location;
}

SourceLocation TableReader::LocationOf(std::string_view key) const {
  const auto found = table_.find(key);
  if (found == table_.end()) {
    SourceLocation location = location_;
    location.key = location_.key.empty()
                       ? std::string(key)
                       : absl::StrCat(location_.key, ".", Absl(key));
    return location;
  }
  return LocationOfNode(found->second, location_, key);
}

void TableReader::Error(std::string_view key, std::string_view message) {
  errors_->Add(LocationOf(key), message);
}

TableReader::TableReader(const toml::table& table, SourceLocation location,
                         ErrorList* errors,
                         std::initializer_list<KeyTable> tables)
    : table_(table),
      location_(std::move(location)),
      errors_(errors),
      tables_(tables) {
  if (tables_.empty()) return;
  entries_.reserve(table.size());
  for (const auto& [key, node] : table) {
    entries_.push_back({key.str(), &node, false});
  }
}

const toml::node* TableReader::Find(std::string_view key) {
  if (tables_.empty()) return table_.get(key);
  for (Entry& entry : entries_) {
    if (entry.key != key) continue;
    entry.is_asked = true;
    return entry.node;
  }
  return nullptr;
}

bool TableReader::Has(std::string_view key) { return Find(key) != nullptr; }

bool TableReader::IsTable(std::string_view key) {
  const toml::node* const node = Find(key);
  return node != nullptr && node->is_table();
}

bool TableReader::IsArray(std::string_view key) {
  const toml::node* const node = Find(key);
  return node != nullptr && node->is_array();
}

void TableReader::Wrong(std::string_view key, toml::node_type type,
                        std::string_view expected) {
  Error(key, absl::StrCat("must be ", Absl(expected), ", got ",
                          Got(*table_.get(key), type)));
}

std::optional<uint64_t> TableReader::Unsigned(std::string_view key,
                                              uint64_t least, uint64_t most) {
  const toml::node* node = Find(key);
  if (node == nullptr) return std::nullopt;
  const std::optional<int64_t> value = node->value_exact<int64_t>();
  if (value.has_value() && *value >= 0) {
    const auto number = static_cast<uint64_t>(*value);
    if (least <= number && number <= most) return number;
  }
  Wrong(key, toml::node_type::integer, Range(*node, least, most));
  return std::nullopt;
}

std::optional<int64_t> TableReader::Signed(std::string_view key,
                                           uint64_t most) {
  const toml::node* node = Find(key);
  if (node == nullptr) return std::nullopt;
  const std::optional<int64_t> value = node->value_exact<int64_t>();
  const auto bound = static_cast<int64_t>(most);
  if (value.has_value() && -bound <= *value && *value <= bound) return value;
  Wrong(key, toml::node_type::integer,
        absl::StrCat("an integer from -", most, " to ", most));
  return std::nullopt;
}

std::optional<uint64_t> TableReader::Amount(std::string_view key,
                                            uint64_t least, uint64_t most) {
  const toml::node* node = Find(key);
  if (node == nullptr) return std::nullopt;
  const std::optional<double> value = node->value_exact<double>();
  if (!value.has_value()) return Unsigned(key, least, most);
  constexpr double kExact = 0x1p53;
  if (*value == std::floor(*value) && *value >= 0 && *value <= kExact) {
    const auto number = static_cast<uint64_t>(*value);
    if (least <= number && number <= most) return number;
  }
  Wrong(key, toml::node_type::integer, Range(*node, least, most));
  return std::nullopt;
}

std::optional<std::vector<uint64_t>> TableReader::Integers(std::string_view key,
                                                           size_t count,
                                                           uint64_t most) {
  const toml::node* node = Find(key);
  if (node == nullptr) return std::nullopt;
  std::vector<uint64_t> numbers;
  if (const toml::array* array = node->as_array()) {
    for (const toml::node& one : *array) {
      const std::optional<int64_t> value = one.value_exact<int64_t>();
      if (!value.has_value() || *value < 0) continue;
      const auto number = static_cast<uint64_t>(*value);
      if (number <= most) numbers.push_back(number);
    }
    if (array->size() == count && numbers.size() == count) return numbers;
  }
  const toml::array* const array = node->as_array();
  const std::string got =
      array == nullptr ? Got(*node, toml::node_type::array) : GotArray(*array);
  Error(key, absl::StrCat("must be an array of ", count, " integers from 0 to ",
                          most, ", got ", got));
  return std::nullopt;
}

std::optional<double> TableReader::Number(std::string_view key) {
  const toml::node* node = Find(key);
  if (node == nullptr) return std::nullopt;
  const std::optional<double> value =
      node->is_number() ? node->value<double>() : std::nullopt;
  if (value.has_value() && !std::isnan(*value)) return value;
  Wrong(key, toml::node_type::floating_point, "a number");
  return std::nullopt;
}

std::optional<size_t> TableReader::Choice(
    std::string_view key, std::initializer_list<std::string_view> choices) {
  const std::optional<std::string> text = String(key);
  if (!text.has_value()) return std::nullopt;
  std::string expected;
  for (size_t i = 0; i < choices.size(); ++i) {
    const std::string_view choice = choices.begin()[i];
    if (*text == choice) return i;
    absl::StrAppend(&expected,
                    i == 0                    ? ""
                    : i + 1 == choices.size() ? " or "
                                              : ", ",
                    "\"", Absl(choice), "\"");
  }
  Error(key, absl::StrCat("must be ", expected, ", got \"", *text, "\""));
  return std::nullopt;
}

std::optional<bool> TableReader::Bool(std::string_view key) {
  const toml::node* node = Find(key);
  if (node == nullptr) return std::nullopt;
  if (!node->is_boolean()) {
    Wrong(key, toml::node_type::boolean, "true or false");
  }
  return node->value_exact<bool>();
}

std::optional<std::string> TableReader::String(std::string_view key) {
  const toml::node* node = Find(key);
  if (node == nullptr) return std::nullopt;
  if (!node->is_string()) Wrong(key, toml::node_type::string, "a string");
  return node->value_exact<std::string>();
}

std::vector<std::string> TableReader::Strings(std::string_view key) {
  std::vector<std::string> strings;
  const toml::node* node = Find(key);
  if (node == nullptr) return strings;
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    Wrong(key, toml::node_type::array, "an array of strings");
    return strings;
  }
  for (const toml::node& one : *array) {
    if (one.is_string()) {
      strings.push_back(*one.value_exact<std::string>());
    } else {
      errors_->Add(LocationOfNode(one, location_, key),
                   absl::StrCat("must hold strings, got ",
                                Got(one, toml::node_type::string)));
    }
  }
  return strings;
}

const toml::table* TableReader::Table(std::string_view key) {
  const toml::node* node = Find(key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) Wrong(key, toml::node_type::table, "a table");
  return node->as_table();
}

const toml::array* TableReader::Tables(std::string_view key) {
  const toml::node* node = Find(key);
  if (node == nullptr) return nullptr;
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    Wrong(key, toml::node_type::array, "an array of tables");
    return nullptr;
  }
  for (size_t i = 0; i < array->size(); ++i) {
    const toml::node& one = *array->get(i);
    if (one.is_table()) continue;
    errors_->Add(
        LocationOfNode(one, LocationOf(key), absl::StrCat("[", i, "]")),
        absl::StrCat("must be a table, got ",
                     Got(one, toml::node_type::table)));
    return nullptr;
  }
  return array;
}

std::vector<std::string> TableReader::KeysInOrder() const {
  struct Key {
    toml::source_position at;
    std::string name;
  };
  std::vector<Key> keys;
  for (const auto& [key, node] : table_) {
    keys.push_back({key.source().begin, std::string(key.str())});
  }
  std::stable_sort(keys.begin(), keys.end(),
                   [](const Key& a, const Key& b) { return a.at < b.at; });
  std::vector<std::string> names;
  for (Key& key : keys) names.push_back(std::move(key.name));
  return names;
}

void TableReader::IgnoreBlankTexts() {
  std::erase_if(entries_, [](const Entry& entry) {
    return entry.node->value_exact<std::string>() == "";
  });
}

const ConfigKey* TableReader::Listed(std::string_view name) const {
  for (const KeyTable table : tables_) {
    for (const ConfigKey& key : ConfigKeys(table)) {
      if (key.name == name) return &key;
    }
  }
  return nullptr;
}

std::string TableReader::UnknownHere(std::string_view key) const {
  constexpr std::string_view kWhat = "is not a known key";
  if (errors_->is_full()) return std::string(kWhat);
  if (const std::string_view meant = KeyOfOtherName(key);
      Listed(meant) != nullptr) {
    return absl::StrCat(Absl(kWhat), "; did you mean '", Absl(meant), "'?");
  }
  if (const std::string_view table = TableThatHas(key); !table.empty()) {
    return absl::StrCat(Absl(kWhat), " here, but one of ", Absl(table));
  }
  return absl::StrCat(Absl(kWhat), DidYouMean(key, ListedNames()));
}

std::vector<std::string> TableReader::ListedNames() const {
  std::vector<std::string> names;
  for (const KeyTable table : tables_) {
    for (const ConfigKey& key : ConfigKeys(table)) names.emplace_back(key.name);
  }
  return names;
}

void TableReader::Finish() {
  for (const Entry& entry : entries_) {
    const std::string_view name = entry.key;
    const ConfigKey* const key = Listed(name);
    if (key != nullptr && entry.is_asked) continue;
    SourceLocation location = LocationOf(name);
    const toml::source_position at = table_.find(name)->first.source().begin;
    location.line = at.line;
    location.column = at.column;
    errors_->Add(location,
                 key != nullptr ? NoMeaningHere(*key) : UnknownHere(name));
  }
}

}  // namespace poniente::internal
