// SPDX-License-Identifier: Apache-2.0
// Values, keys and tables as TOML writes them.

#ifndef PONIENTE_CONFIG_WRITE_TOML_TEXT_H_
#define PONIENTE_CONFIG_WRITE_TOML_TEXT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "poniente/run.h"

namespace poniente::internal {

std::string Quoted(std::string_view text);

// Bare where it can be.
std::string TomlKey(std::string_view name);

// The shortest that reads back as the same number, as a float of TOML.
std::string Float(double number);

// TOML's integers end at 2^63 - 1. A greater number becomes a text that parsers
// refuse; GreatInteger() reads it for their messages.
std::string Integer(uint64_t value);
// Returns false if Integer() has made no such text in this TOML.
bool MayHaveGreatInteger(std::string_view toml);

inline std::string Boolean(bool value) { return value ? "true" : "false"; }

// "key = value" pairs of one table, in lines or as an inline table.
class Keys {
 public:
  void Add(std::string_view key, std::string value) {
    pairs_.emplace_back(TomlKey(key), std::move(value));
  }
  void Add(std::string_view key, uint64_t value) { Add(key, Integer(value)); }
  void AddText(std::string_view key, std::string_view value) {
    Add(key, Quoted(value));
  }
  template <class T>
  void AddIf(std::string_view key, const std::optional<T>& value) {
    if (value.has_value()) Add(key, *value);
  }
  bool empty() const { return pairs_.empty(); }
  const std::vector<std::pair<std::string, std::string>>& pairs() const {
    return pairs_;
  }
  std::string Lines() const;
  std::string Inline() const;

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

// A number, or an inline table of `quantile` or `sigmas`.
std::string Threshold(const ScoreThreshold& threshold);

// An inline table.
std::string Thresholds(const std::map<std::string, ScoreThreshold>& thresholds);
std::string Numbers(const std::map<std::string, double>& numbers);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_WRITE_TOML_TEXT_H_
