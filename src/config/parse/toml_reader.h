// SPDX-License-Identifier: Apache-2.0
// Gives typed access to TOML. Errors name the place in the file.

#ifndef PONIENTE_CONFIG_PARSE_TOML_READER_H_
#define PONIENTE_CONFIG_PARSE_TOML_READER_H_

#include <toml++/toml.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/parse/config_keys.h"
#include "config/parse/error_list.h"
#include "config/run_nodes.h"

namespace poniente::internal {

// The greatest integer of TOML.
inline constexpr uint64_t kMaxInteger = INT64_MAX;

// Reads one table. Each getter returns nullopt if the key is missing or wrong;
// errors go to the list.
class TableReader {
 public:
  // `tables`: the kinds of tables whose keys are allowed here; empty if the
  // keys are names chosen by the user.
  TableReader(const toml::table& table, SourceLocation location,
              ErrorList* errors, std::initializer_list<KeyTable> tables = {});

  std::optional<uint64_t> Unsigned(std::string_view key, uint64_t least,
                                   uint64_t most);
  // Returns an integer from -most to most.
  std::optional<int64_t> Signed(std::string_view key, uint64_t most);
  // Returns an integer, or a float that is a whole number.
  std::optional<uint64_t> Amount(std::string_view key, uint64_t least,
                                 uint64_t most);
  // Returns exactly `count` integers, each at least 0.
  std::optional<std::vector<uint64_t>> Integers(std::string_view key,
                                                size_t count, uint64_t most);
  // Returns a number; NaN is wrong.
  std::optional<double> Number(std::string_view key);
  // Returns the index of the text in `choices`.
  std::optional<size_t> Choice(std::string_view key,
                               std::initializer_list<std::string_view> choices);
  std::optional<bool> Bool(std::string_view key);
  std::optional<std::string> String(std::string_view key);
  const toml::table* Table(std::string_view key);
  // Returns an array of strings; empty if the key is missing or wrong.
  std::vector<std::string> Strings(std::string_view key);
  // Returns an array of tables.
  const toml::array* Tables(std::string_view key);

  // Returns whether the key is stated, with any value. Like the getters, marks
  // the key as asked for; see Finish().
  bool Has(std::string_view key);
  bool IsTable(std::string_view key);
  bool IsArray(std::string_view key);
  // Returns all keys in the order of the file.
  std::vector<std::string> KeysInOrder() const;

  SourceLocation LocationOf(std::string_view key) const;
  const SourceLocation& location() const { return location_; }
  void Error(std::string_view key, std::string_view message);
  void ErrorHere(std::string_view message) { errors_->Add(location_, message); }
  ErrorList* errors() { return errors_; }

  // Ignores keys whose value is the text "", for a form in which "" means "not
  // stated".
  void IgnoreBlankTexts();
  // Makes Finish() report nothing. Call it if the rest of the table is not
  // read.
  void Abandon() { entries_.clear(); }

  // Reports each key that is not in the list of keys, with the table that has
  // it or else the nearest listed name, and each listed key that was never
  // asked for: it has no meaning where this table stands.
  void Finish();

 private:
  const toml::node* Find(std::string_view key);
  // Returns the key of this name that the table may have; null if it has none.
  const ConfigKey* Listed(std::string_view name) const;
  std::vector<std::string> ListedNames() const;
  // Returns what is wrong with a key that is not listed.
  std::string UnknownHere(std::string_view key) const;
  // Reports a value that is not as expected. `type`: the type that is expected.
  void Wrong(std::string_view key, toml::node_type type,
             std::string_view expected);

  const toml::table& table_;
  const SourceLocation location_;
  ErrorList* const errors_;
  // A key of this table. Most keys that are asked for are not stated, so
  // searching a short list is faster than searching the table.
  struct Entry {
    std::string_view key;
    const toml::node* node;
    bool is_asked;
  };
  const std::vector<KeyTable> tables_;
  std::vector<Entry> entries_;  // empty if the keys are names
};

// Returns where `node` stands, as the key `key` below `parent`. A key like
// "[3]" is appended without a dot.
SourceLocation LocationOfNode(const toml::node& node,
                              const SourceLocation& parent,
                              std::string_view key);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_TOML_READER_H_
