// SPDX-License-Identifier: Apache-2.0
// Ends a benchmark that cannot go on.

#ifndef PONIENTE_BENCH_MEASURE_REQUIRE_H_
#define PONIENTE_BENCH_MEASURE_REQUIRE_H_

#include <errno.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace poniente::bench {

// Exits with the message of a status that is not OK.
inline void Require(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name,
               std::string(status.message()).c_str());
  std::exit(1);
}

// Does the same, with that message, if `good` is false.
inline void Require(bool good, const std::string& message) {
  Require(good ? absl::OkStatus() : absl::UnknownError(message));
}

template <class T>
T Require(absl::StatusOr<T> value) {
  Require(value.status());
  return *std::move(value);
}

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_MEASURE_REQUIRE_H_
