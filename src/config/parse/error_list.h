// SPDX-License-Identifier: Apache-2.0
// Collects the errors of a description of a run, so that all are told at once.

#ifndef PONIENTE_CONFIG_PARSE_ERROR_LIST_H_
#define PONIENTE_CONFIG_PARSE_ERROR_LIST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "config/run_nodes.h"

namespace poniente::internal {

// The errors of one file, in the order of their places, without repetitions.
class ErrorList {
 public:
  // Errors beyond this number are only counted.
  static constexpr size_t kMax = 100;

  void Add(const SourceLocation& location, std::string_view message);
  bool empty() const { return errors_.empty(); }
  bool is_full() const { return errors_.size() >= kMax; }
  // Returns one line per error, a few for those that are alike
  // (JoinAlikeLines()).
  absl::Status ToStatus() const;

 private:
  struct Error {
    SourceLocation location;
    std::string message;
  };
  std::vector<Error> errors_;
  uint64_t further_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_ERROR_LIST_H_
