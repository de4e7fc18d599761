// SPDX-License-Identifier: Apache-2.0
// Opens what changes of a run add, each of them once.

#ifndef PONIENTE_LOADER_OPENED_ONCE_H_
#define PONIENTE_LOADER_OPENED_ONCE_H_

#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "dataset/steering/steered_run.h"
#include "poniente/extend/opened_component.h"
#include "poniente/journal.h"
#include "util/mutex.h"
#include "util/status_macros.h"

namespace poniente::internal {

// Keeps what was opened last: a change is first checked, then proposed, then
// made.
//
// Thread safety: any number of threads.
class OpenedOnce {
 public:
  explicit OpenedOnce(ComponentOpener open) : open_(std::move(open)) {}

  // As ComponentOpener.
  absl::StatusOr<OpenedComponent> Open(const RunChange& change) const {
    RunChange key = change;
    key.why.clear();
    key.fingerprint = 0;
    {
      MutexLock lock(&mu_);
      if (last_ && last_->first == key) return last_->second;
    }
    PONIENTE_ASSIGN_OR_RETURN(OpenedComponent opened, OpenAdded(key, open_));
    MutexLock lock(&mu_);
    last_.emplace(std::move(key), opened);
    return opened;
  }

  // Call it once a change has been made: the run keeps what it has.
  void Forget() {
    MutexLock lock(&mu_);
    last_.reset();
  }

 private:
  const ComponentOpener open_;
  mutable Mutex mu_;
  mutable std::optional<std::pair<RunChange, OpenedComponent>> last_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_OPENED_ONCE_H_
