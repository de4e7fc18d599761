// SPDX-License-Identifier: Apache-2.0
// What loaders of tokens and of items say alike.

#ifndef PONIENTE_LOADER_LOADER_ERRORS_H_
#define PONIENTE_LOADER_LOADER_ERRORS_H_

#include <boost/system/system_error.hpp>
#include <cstdint>
#include <exception>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "poniente/task.h"
#include "util/status_macros.h"

namespace poniente::internal {

inline absl::Status CheckRank(uint32_t rank, uint32_t ranks) {
  if (rank < ranks) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("rank must be below the number of ranks, got rank ", rank,
                   " of ", ranks));
}

inline absl::Status LoaderClosed() {
  return absl::FailedPreconditionError("the loader is closed");
}

inline absl::Status LoaderBroken() {
  return absl::ResourceExhaustedError(
      "the loader's event loop ran out of memory, and does not go on; open the "
      "loader again at the step that is next, with fewer prefetch_batches or "
      "more memory");
}

inline absl::Status NextIsAwaited() {
  return absl::FailedPreconditionError(
      "another Next() of this loader is still awaited");
}

inline absl::Status RunHasEnded(uint64_t step) {
  return absl::OutOfRangeError(
      absl::StrCat("the run has ended: there is no step ", step));
}

// The error of a batch, with its step.
inline absl::Status AtStep(const absl::Status& error, uint64_t step,
                           uint32_t rank) {
  absl::Status at_step =
      Prepend(error, absl::StrCat("step ", step, ", rank ", rank));
  // A source's own; of a loader it would say that the run has ended.
  if (!absl::IsOutOfRange(at_step)) return at_step;
  return absl::InternalError(at_step.message());
}

inline absl::Status CannotStart(const char* why) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "cannot start the loader's thread and event loop: ", why,
      "; raise the limits of processes and open files (ulimit -u, -n)"));
}

// Returns the error of starting a loader: of the system, or of a dataset's
// functions.
inline absl::Status StartError(std::exception_ptr exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::system_error& error) {
    return CannotStart(error.what());
  } catch (const boost::system::system_error& error) {
    return CannotStart(error.what());
  } catch (...) {
    return StatusFromException(exception);
  }
}

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_LOADER_ERRORS_H_
