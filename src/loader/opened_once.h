// SPDX-License-Identifier: Apache-2.0
// Opens what changes of a run add, each of them once.

#ifndef PONIENTE_LOADER_OPENED_ONCE_H_
#define PONIENTE_LOADER_OPENED_ONCE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "dataset/steering/opened_component.h"
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

  // As ComponentOpener. The fingerprint is not compared.
  absl::StatusOr<OpenedComponent> Open(const std::string& mixture,
                                       const ComponentText& text) const {
    const ComponentText plain = {text.name, text.description};
    {
      MutexLock lock(&mu_);
      for (const Kept& kept : kept_) {
        if (kept.mixture == mixture && kept.text == plain) return kept.opened;
      }
    }
    PONIENTE_ASSIGN_OR_RETURN(OpenedComponent opened,
                              OpenAdded(mixture, plain, open_));
    MutexLock lock(&mu_);
    kept_.push_back({mixture, plain, opened});
    return opened;
  }

  // Returns what opens components with this object, which must outlive it.
  ComponentOpener opener() const {
    return [this](const std::string& mixture, const ComponentText& text) {
      return Open(mixture, text);
    };
  }

  // Forgets what was opened: a change has been made, or another begins.
  void Forget() const {
    MutexLock lock(&mu_);
    kept_.clear();
  }

 private:
  struct Kept {
    std::string mixture;
    ComponentText text;
    OpenedComponent opened;
  };

  const ComponentOpener open_;
  mutable Mutex mu_;
  mutable std::vector<Kept> kept_ ABSL_GUARDED_BY(mu_);
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_OPENED_ONCE_H_
