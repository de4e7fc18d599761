// SPDX-License-Identifier: Apache-2.0
// What a mixture gets while a run goes on (RunChange::Add()).

#ifndef PONIENTE_EXTEND_OPENED_COMPONENT_H_
#define PONIENTE_EXTEND_OPENED_COMPONENT_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "poniente/extend/infilled_dataset.h"
#include "poniente/mixture_dataset.h"
#include "poniente/token_window.h"

namespace poniente {

// A component that a ComponentOpener (journal.h) has opened.
struct OpenedComponent {
  // Its name is that of the change. Views, if any, are for a change of the root
  // mixture, and begin where stages of the mixture do.
  ComponentWithViews<TokenWindow> part = {};
  // Which of its sources are filled in the middle; the root of the run must
  // then be an InfilledDataset. Paths are from the run's root down.
  std::vector<InfilledSource> infilled = {};
  // Factors for the losses of its sources, as LoaderOptions::loss_weights.
  std::map<std::string, float> loss_weights = {};
  // Called once the change has been made, on the thread that steers; a change
  // that was opened may be refused. May be null.
  std::function<void()> when_made = nullptr;
};

}  // namespace poniente

#endif  // PONIENTE_EXTEND_OPENED_COMPONENT_H_
