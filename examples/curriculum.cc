// SPDX-License-Identifier: Apache-2.0
// A curriculum of 14.8 T tokens, worked out before there is any data: what each
// phase draws of each domain, when weights, lengths and learning rate change,
// and whether the run could still be edited at some step.
//
// usage: curriculum [tokens | steps]   (what the phases' shares are shares of)

#include <poniente/poniente.h>

#include <cstdio>
#include <iostream>
#include <map>
#include <string>

using poniente::RunPoint;

namespace {

// In billions of tokens.
const std::map<std::string, double> kSizes = {
    {"web", 12000}, {"code", 600}, {"math", 150}, {"books", 300}, {"wiki", 50}};

poniente::ScheduleOptions Options(bool of_tokens) {
  const auto share = [&](double part) {
    return of_tokens ? RunPoint::ShareOfTokens(part)
                     : RunPoint::ShareOfSteps(part);
  };
  poniente::ScheduleOptions options;
  options.tokens = 14'800'000'000'000;
  options.batch_size = 1024;
  options.seq_len = 4096;
  options.max_seq_len = 32768;
  options.components = {{"web", .80},
                        {"code", .05},
                        {"math", .02},
                        {"books", .10},
                        {"wiki", .03}};
  options.stages = {
      {.start = share(0), .name = "warmup"},
      {.start = share(.05),
       .name = "main",
       .weights = {{"web", .62},
                   {"code", .17},
                   {"math", .06},
                   {"books", .10},
                   {"wiki", .05}}},
      {.start = share(.70),
       .name = "reasoning",
       .seq_len = 8192,
       .weights = {{"web", .40},
                   {"code", .22},
                   {"math", .18},
                   {"books", .12},
                   {"wiki", .08}},
       .numbers = {{"rope_theta", 5e5}}},
      {.start = share(.90),
       .name = "anneal",
       .lr_scale = 1,
       .lr_scale_end = 0.1,
       .seq_len = 32768,
       .weights = {{"web", .20},
                   {"code", .20},
                   {"math", .25},
                   {"books", .20},
                   {"wiki", .15}},
       .numbers = {{"rope_theta", 8e6}}},
  };
  return options;
}

void Print(const poniente::Schedule& schedule) {
  const poniente::MixturePlan& mixture = *schedule.mixture();
  std::map<std::string, double> billions;
  for (const poniente::PlannedStage& stage : schedule.stages()) {
    const poniente::StepPlan first = schedule.At(stage.start_step);
    std::printf("%-10s from step %8ju, seq_len %5u:", stage.name.c_str(),
                static_cast<uintmax_t>(stage.start_step), first.seq_len);
    const uint64_t begin = first.first_sample;
    const uint64_t end = schedule.FirstSample(*stage.end_step);
    for (uint32_t c = 0; c < mixture.names().size(); ++c) {
      const uint64_t samples = mixture.Count(c, end) - mixture.Count(c, begin);
      const double tokens = 1e-9 * static_cast<double>(samples) * first.seq_len;
      billions[mixture.names()[c]] += tokens;
      std::printf("  %s %.1f", mixture.names()[c].c_str(), tokens);
    }
    std::printf("\n");
  }
  for (const auto& [name, tokens] : billions) {
    std::printf("%-10s %8.1f billion tokens, %5.2f epochs\n", name.c_str(),
                tokens, tokens / kSizes.at(name));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool of_tokens = argc < 2 || argv[1] != std::string("steps");
  const auto schedule = poniente::Schedule::Create(Options(of_tokens));
  if (!schedule.ok()) return std::cerr << schedule.status() << '\n', 1;
  Print(*schedule);
  // May the last phase still be changed when half of the run is over?
  poniente::ScheduleOptions edited = Options(of_tokens);
  edited.stages.back().weights = {{"math", 1}, {"web", 1}};
  const auto other = poniente::Schedule::Create(edited);
  if (!other.ok()) return std::cerr << other.status() << '\n', 1;
  const uint64_t half = schedule->steps() / 2;
  std::cout << "edit the anneal at step " << half << ": "
            << other->CheckContinues(*schedule, half) << '\n'
            << "edit it at the last step: "
            << other->CheckContinues(*schedule, schedule->steps()) << '\n';
}
