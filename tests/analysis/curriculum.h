// SPDX-License-Identifier: Apache-2.0
// The worked curriculum (examples/curriculum.cc) as a tree of declared sizes:
// 14.8 T tokens, five domains, four phases.

#ifndef PONIENTE_TESTS_ANALYSIS_CURRICULUM_H_
#define PONIENTE_TESTS_ANALYSIS_CURRICULUM_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "poniente/mixture_dataset.h"
#include "poniente/plan.h"
#include "poniente/token_source.h"

namespace poniente::testing {

class Curriculum {
 public:
  static constexpr double kBillion = 1e9;

  static std::map<std::string, double> Weights(double web, double code,
                                               double math, double books,
                                               double wiki) {
    return {{"web", web},
            {"code", code},
            {"math", math},
            {"books", books},
            {"wiki", wiki}};
  }

  // Phases of .05, .65, .20 and .10 of the run, in shares of tokens or steps.
  static ScheduleOptions Options(RunPoint (*share)(double)) {
    ScheduleOptions options;
    options.tokens = 14'800'000'000'000;
    options.batch_size = 1024;
    options.seq_len = 4096;
    options.max_seq_len = 32768;
    options.stages = {{.start = share(0), .name = "warmup"},
                      {.start = share(.05),
                       .name = "main",
                       .weights = Weights(.62, .17, .06, .10, .05)},
                      {.start = share(.70),
                       .name = "reasoning",
                       .seq_len = 8192,
                       .weights = Weights(.40, .22, .18, .12, .08)},
                      {.start = share(.90),
                       .name = "anneal",
                       .lr_scale_end = 0.1,
                       .seq_len = 32768,
                       .weights = Weights(.20, .20, .25, .20, .15)}};
    for (const auto& [name, weight] : Weights(.80, .05, .02, .10, .03)) {
      options.components.push_back({name, weight});
    }
    return options;
  }

  explicit Curriculum(ScheduleOptions options)
      : schedule_(Schedule::Create(std::move(options)).value()) {
    std::vector<MixtureComponent<TokenWindow>> components;
    for (const auto& [name, billions] : Weights(12000, 600, 150, 300, 50)) {
      const auto tokens = static_cast<uint64_t>(billions * kBillion);
      components.push_back({name, DeclaredWindows(name, tokens, 32768).value(),
                            Weights(.80, .05, .02, .10, .03).at(name)});
      sources_.push_back({name, "", tokens, nullptr});
    }
    root_ = MixtureDataset<TokenWindow>::Create(std::move(components),
                                                schedule_.mixture_options())
                .value();
  }

  absl::StatusOr<PlannedRun> Plan() const {
    return MakePlan(*root_, schedule_, sources_, LastBatch::kKeep,
                    std::nullopt);
  }
  const Schedule& schedule() const { return schedule_; }

 private:
  Schedule schedule_;
  std::vector<ConfigSource> sources_;
  DatasetPtr<TokenWindow> root_;
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_ANALYSIS_CURRICULUM_H_
