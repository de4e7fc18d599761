// SPDX-License-Identifier: Apache-2.0
// Typed access to TOML that remembers where everything stands, and collects
// the errors of a whole file.

#ifndef PONIENTE_CONFIG_TOML_READER_H_
#define PONIENTE_CONFIG_TOML_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "config/spec.h"
#include "config/toml.h"

namespace poniente::internal {

// The errors of one file, in the order of their places.
class ErrorList {
 public:
  void Add(const Place& place, std::string_view message);
  bool empty() const { return errors_.empty(); }
  // One line per error.
  absl::Status ToStatus() const;

 private:
  struct Error {
    Place place;
    std::string message;
  };
  std::vector<Error> errors_;
};

// One table. Each getter gives nullopt where the key is missing or wrong; what
// is wrong goes to the list. A key that no getter has asked for by the time of
// Finish() is unknown.
class TableReader {
 public:
  TableReader(const toml::table& table, Place place, ErrorList* errors)
      : table_(table), place_(std::move(place)), errors_(errors) {}

  std::optional<uint64_t> Unsigned(std::string_view key, uint64_t least,
                                   uint64_t most);
  std::optional<double> Number(std::string_view key);
  std::optional<bool> Bool(std::string_view key);
  std::optional<std::string> String(std::string_view key);
  const toml::table* Table(std::string_view key);
  // An array of strings; empty where the key is missing or wrong.
  std::vector<std::string> Strings(std::string_view key);
  // An array of tables.
  const toml::array* Tables(std::string_view key);

  // The key is known here, whatever it holds.
  bool Has(std::string_view key);
  // All keys, as they stand in the file.
  std::vector<std::string> KeysInOrder() const;

  Place PlaceOf(std::string_view key) const;
  const Place& place() const { return place_; }
  void Error(std::string_view key, std::string_view message);
  void ErrorHere(std::string_view message) { errors_->Add(place_, message); }
  ErrorList* errors() { return errors_; }

  // Reports unknown keys, with the nearest known one.
  void Finish();

 private:
  const toml::node* Find(std::string_view key);
  void WrongType(std::string_view key, std::string_view expected);

  const toml::table& table_;
  const Place place_;
  ErrorList* const errors_;
  std::vector<std::string> known_;
};

// Where `node` stands, as the key `key` below `parent`.
Place PlaceOfNode(const toml::node& node, const Place& parent,
                  std::string_view key);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TOML_READER_H_
