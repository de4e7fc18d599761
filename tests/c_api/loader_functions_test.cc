// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "poniente/config.h"
#include "poniente/poniente_c.h"
#include "poniente/version.h"
#include "tests/c_api/c_api_fixture.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Returns a copy of a text of the library, and frees the text.
std::string TakeText(char* text) {
  const std::string copy = text;
  poniente_text_free(text);
  return copy;
}

TEST_F(CApiTest, GivesTheBatchesOfTheLoader) {
  const auto config = Config::Parse(kRun, "run.toml", dir_.path());
  ASSERT_THAT(config, IsOk());
  ASSERT_OK_AND_ASSIGN(const auto expected, config->OpenLoader());
  const LoaderPtr loader = Open();
  for (int i = 0; i < 30; ++i) {
    ASSERT_OK_AND_ASSIGN(const Batch want, expected->NextBlocking());
    const BatchPtr batch = Next(loader);
    const poniente_step step = StepOf(batch.get());
    EXPECT_EQ(step.step, want.step());
    EXPECT_EQ(step.first_sample, want.plan().first_sample);
    EXPECT_EQ(step.num_samples, 6u);
    EXPECT_EQ(step.seq_len, 20u);
    EXPECT_EQ(step.lr_scale, want.plan().lr_scale);
    EXPECT_EQ(step.stage_name, want.plan().stage_name);
    EXPECT_EQ(step.is_boundary, i == 20 ? 1 : 0);
    std::vector<poniente_sample> samples(6);
    ASSERT_DONE(poniente_batch_samples(batch.get(), 0, 6, samples.data()));
    for (size_t at = 0; at < 6; ++at) {
      const SampleProvenance& from = want.provenance(at);
      EXPECT_EQ(samples[at].sample, from.sample);
      EXPECT_EQ(samples[at].source, from.source);
      EXPECT_EQ(samples[at].item, from.item);
      EXPECT_EQ(samples[at].epoch, from.epoch);
      EXPECT_EQ(samples[at].token_begin, from.token_begin);
    }
    const poniente_tensor tensor = Tokens(batch.get());
    ASSERT_EQ(tensor.ndim, 2);
    ASSERT_EQ(tensor.shape[0], 6);
    ASSERT_EQ(tensor.shape[1], 20);
    EXPECT_EQ(std::memcmp(tensor.host, want.bytes().data(), 6 * 20 * 4), 0);
    EXPECT_EQ(tensor.device, nullptr);
  }
}

TEST_F(CApiTest, TellsWarningsOfTheDescription) {
  const std::string text =
      std::string(kRun) + "[data.eval.seen]\npath = \"a\"\n";
  ::testing::internal::CaptureStderr();
  const LoaderPtr loader = Open(text);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("poniente: warning: "),
                    HasSubstr("data.eval.seen: reads")));
}

TEST_F(CApiTest, TheEndIsOutOfRangeAgainAndAgain) {
  poniente_options options = Options();
  options.start_step = 29;
  const LoaderPtr loader = Open(kRun, &options);
  EXPECT_EQ(StepOf(Next(loader).get()).step, 29u);
  for (int i = 0; i < 2; ++i) {
    poniente_batch* batch = reinterpret_cast<poniente_batch*>(&options);
    EXPECT_ERROR(poniente_loader_next(loader.get(), &batch), OUT_OF_RANGE,
                 HasSubstr("the run has ended"));
    EXPECT_EQ(batch, nullptr);
  }
  ASSERT_DONE(poniente_loader_seek(loader.get(), UINT64_MAX));
  poniente_batch* batch;
  EXPECT_ERROR(poniente_loader_next(loader.get(), &batch), OUT_OF_RANGE,
               HasSubstr("the run has ended"));
}

TEST_F(CApiTest, AnEventLoopTakesEachBatchWhenTheDescriptorIsReadable) {
  const LoaderPtr expected = Open();
  const LoaderPtr loader = Open();
  int32_t fd = -1;
  ASSERT_DONE(poniente_loader_ready_fd(loader.get(), &fd));
  pollfd watched = {fd, POLLIN, 0};
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(::poll(&watched, 1, 60'000), 1);
    poniente_batch* taken = nullptr;
    ASSERT_DONE(poniente_loader_try_next(loader.get(), &taken));
    ASSERT_NE(taken, nullptr);
    const BatchPtr batch(taken);
    EXPECT_EQ(IdsOf(batch.get()), IdsOf(Next(expected).get()));
  }
  ASSERT_EQ(::poll(&watched, 1, 60'000), 1);
  poniente_batch* none = nullptr;
  EXPECT_ERROR(poniente_loader_try_next(loader.get(), &none), OUT_OF_RANGE,
               HasSubstr("the run has ended"));
  EXPECT_EQ(none, nullptr);
  fd = 7;
  EXPECT_EQ(poniente_loader_ready_fd(nullptr, &fd), PONIENTE_INVALID_ARGUMENT);
  EXPECT_EQ(fd, -1);
  EXPECT_EQ(poniente_loader_ready_fd(loader.get(), nullptr),
            PONIENTE_INVALID_ARGUMENT);
  EXPECT_EQ(poniente_loader_try_next(loader.get(), nullptr),
            PONIENTE_INVALID_ARGUMENT);
}

TEST_F(CApiTest, SeekGoesToAStepAndBack) {
  const LoaderPtr loader = Open();
  const std::vector<uint32_t> first = IdsOf(Next(loader).get());
  ASSERT_DONE(poniente_loader_seek(loader.get(), 25));
  uint64_t step = 0;
  ASSERT_DONE(poniente_loader_next_step(loader.get(), &step));
  EXPECT_EQ(step, 25u);
  EXPECT_EQ(StepOf(Next(loader).get()).step, 25u);
  ASSERT_DONE(poniente_loader_seek(loader.get(), 0));
  EXPECT_EQ(IdsOf(Next(loader).get()), first);
}

TEST_F(CApiTest, AStateResumesElsewhereAndIsRefusedByOtherData) {
  const LoaderPtr loader = Open();
  for (int i = 0; i < 7; ++i) Next(loader);
  char* state = nullptr;
  ASSERT_DONE(poniente_loader_state(loader.get(), &state));
  const LoaderPtr other = Open();
  ASSERT_DONE(poniente_loader_resume(other.get(), state));
  EXPECT_EQ(IdsOf(Next(other).get()), IdsOf(Next(loader).get()));

  std::string changed = kRun;
  changed.replace(changed.find("42"), 2, "43");
  const LoaderPtr foreign = Open(changed);
  EXPECT_ERROR(poniente_loader_resume(foreign.get(), state),
               FAILED_PRECONDITION, HasSubstr("seed 42"));
  EXPECT_ERROR(poniente_loader_resume(foreign.get(), "step 3"),
               INVALID_ARGUMENT, HasSubstr("line 1"));
  EXPECT_EQ(StepOf(Next(foreign).get()).step, 0u);
  poniente_text_free(state);
}

TEST_F(CApiTest, AStateCanBeThatOfAnyStep) {
  const LoaderPtr loader = Open();
  std::vector<std::string> states;
  std::vector<std::vector<uint32_t>> ids;
  for (int step = 0; step < 30; ++step) {
    char* state = nullptr;
    ASSERT_DONE(poniente_loader_state(loader.get(), &state));
    states.push_back(TakeText(state));
    ids.push_back(IdsOf(Next(loader).get()));
  }
  const LoaderPtr fresh = Open();
  for (uint64_t step = 0; step < 30; ++step) {
    char* state = nullptr;
    ASSERT_DONE(poniente_loader_state_at(loader.get(), step, &state));
    EXPECT_EQ(TakeText(state), states[step]) << "handed out before";
    ASSERT_DONE(poniente_loader_state_at(fresh.get(), step, &state));
    EXPECT_EQ(TakeText(state), states[step]) << "never handed out";
  }
  char* state = nullptr;
  ASSERT_DONE(poniente_loader_state_at(loader.get(), 4, &state));
  ASSERT_DONE(poniente_loader_resume(fresh.get(), state));
  poniente_text_free(state);
  EXPECT_EQ(IdsOf(Next(fresh).get()), ids[4]);

  ASSERT_DONE(poniente_loader_state_at(loader.get(), 30, &state));
  poniente_text_free(state);
  EXPECT_ERROR(poniente_loader_state_at(loader.get(), 31, &state), OUT_OF_RANGE,
               HasSubstr("after 30 steps"));
  EXPECT_EQ(state, nullptr);
  EXPECT_ERROR(poniente_loader_state_at(loader.get(), UINT64_MAX, &state),
               OUT_OF_RANGE, HasSubstr("there is no state at step"));
}

TEST_F(CApiTest, ARunIsChangedByALineForAllRanks) {
  std::string steered = kRun;
  steered.insert(steered.find("[data.mixture]"), "block_size = 6\n");
  const LoaderPtr one = Open(steered);
  const LoaderPtr two = Open(steered);
  for (int i = 0; i < 3; ++i) Next(one);
  int64_t decided = 0;
  ASSERT_DONE(poniente_loader_last_decision(one.get(), &decided));
  EXPECT_EQ(decided, -1);
  char* line = nullptr;
  ASSERT_DONE(poniente_loader_propose(
      one.get(), "weights \"a\" 0.9 \"b\" 0.1 why \"test\"", &line));
  EXPECT_THAT(std::string(line), HasSubstr("1 sample 18 step 3 weights"));
  uint64_t step = 0;
  ASSERT_DONE(poniente_loader_steer(one.get(), line, &step));
  EXPECT_EQ(step, 3u);
  ASSERT_DONE(poniente_loader_last_decision(one.get(), &decided));
  EXPECT_EQ(decided, 3);
  ASSERT_DONE(poniente_loader_steer(two.get(), line, &step));
  for (int i = 0; i < 3; ++i) Next(two);
  EXPECT_EQ(IdsOf(Next(one).get()), IdsOf(Next(two).get()));
  const LoaderPtr late = Open(steered);
  for (int i = 0; i < 5; ++i) Next(late);
  EXPECT_ERROR(poniente_loader_steer(late.get(), line, &step),
               FAILED_PRECONDITION, HasSubstr("is in step 3"));
  poniente_text_free(line);
  EXPECT_ERROR(poniente_loader_propose(one.get(), "wieghts \"a\" 1", &line),
               INVALID_ARGUMENT, HasSubstr("'wieghts' is no kind of change"));
  EXPECT_EQ(line, nullptr);
}

TEST_F(CApiTest, TellsOfTheRunAndOfEveryStep) {
  poniente_options options = Options();
  options.rank = 3;
  options.ranks = 4;
  const LoaderPtr loader = Open(kRun, &options);
  poniente_run run = {};
  run.struct_size = sizeof run;
  ASSERT_DONE(poniente_loader_run(loader.get(), &run));
  EXPECT_EQ(run.steps, 30u);
  EXPECT_EQ(run.samples, 180u);
  EXPECT_EQ(run.tokens, 3600u);
  EXPECT_EQ(run.vocabulary_size, 250u);
  EXPECT_STREQ(run.tokenizer, "proof");
  EXPECT_EQ(run.num_sources, 2u);
  EXPECT_EQ(run.max_seq_len, 20u);
  EXPECT_EQ(run.rank, 3u);
  EXPECT_EQ(run.ranks, 4u);
  EXPECT_EQ(run.order_version, kOrderVersion);
  EXPECT_NE(run.fingerprint, 0u);

  poniente_step step = {};
  step.struct_size = sizeof step;
  ASSERT_DONE(poniente_loader_step(loader.get(), 20, &step));
  EXPECT_EQ(step.first_sample, 120u);
  EXPECT_EQ(step.batch_size, 6u);
  EXPECT_EQ(step.num_samples, 2u) << "4 and 5 of 0 to 5";
  EXPECT_STREQ(step.stage_name, "end");
  EXPECT_EQ(step.is_boundary, 1);
  EXPECT_EQ(StepOf(Next(loader).get()).num_samples, 2u);
  EXPECT_ERROR(poniente_loader_step(loader.get(), 30, &step), OUT_OF_RANGE,
               HasSubstr("no step 30"));
  EXPECT_EQ(step.step, 20u) << "structs are left as they were";
}

TEST_F(CApiTest, SaysWhatChangesWithAStep) {
  const LoaderPtr loader = Open();
  poniente_step step = {};
  step.struct_size = sizeof step;
  ASSERT_DONE(poniente_loader_step(loader.get(), 19, &step));
  EXPECT_EQ(step.num_changes, 0);
  ASSERT_DONE(poniente_loader_step(loader.get(), 20, &step));
  const auto config = Config::Parse(kRun, "run.toml", dir_.path());
  ASSERT_THAT(config, IsOk());
  const std::vector<StepChange> expected = config->schedule().At(20).changes;
  ASSERT_GE(expected.size(), 1u);
  ASSERT_EQ(step.num_changes, static_cast<int32_t>(expected.size()));
  std::vector<poniente_change> changes(expected.size());
  ASSERT_DONE(poniente_loader_changes(loader.get(), 20, 0, changes.size(),
                                      changes.data()));
  EXPECT_EQ(changes[0].kind, PONIENTE_CHANGE_STAGE);
  EXPECT_STREQ(changes[0].stage, "end");
  EXPECT_STREQ(changes[0].mixture, "");
  EXPECT_STREQ(changes[0].text, "stage 'end' begins");
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(changes[i].kind, static_cast<int32_t>(expected[i].kind) + 1);
    EXPECT_EQ(changes[i].text, ToString(expected[i]));
  }
  EXPECT_ERROR(poniente_loader_changes(loader.get(), 20, changes.size(), 1,
                                       changes.data()),
               OUT_OF_RANGE, HasSubstr("there are no 1 changes from number"));
  EXPECT_ERROR(poniente_loader_changes(loader.get(), 30, 0, 1, changes.data()),
               OUT_OF_RANGE, HasSubstr("no step 30"));
  EXPECT_ERROR(poniente_loader_changes(loader.get(), 20, 0, 1, nullptr),
               INVALID_ARGUMENT, HasSubstr("changes"));
}

TEST_F(CApiTest, SaysTheWeightsOfAStep) {
  std::string steered = kRun;
  steered.insert(steered.find("[data.mixture]"), "block_size = 6\n");
  const LoaderPtr loader = Open(steered);
  const BatchPtr batch = Next(loader);
  EXPECT_EQ(StepOf(batch.get()).num_weights, 2u);
  char* line = nullptr;
  ASSERT_DONE(poniente_loader_propose(loader.get(),
                                      "weights \"a\" 0.9 \"b\" 0.1", &line));
  uint64_t from = 0;
  ASSERT_DONE(poniente_loader_steer(loader.get(), line, &from));
  poniente_text_free(line);
  EXPECT_EQ(from, 1u);
  poniente_weight weights[2];
  ASSERT_DONE(poniente_loader_weights(loader.get(), 0, 0, 2, weights));
  EXPECT_STREQ(weights[0].name, "a");
  EXPECT_EQ(weights[0].weight, 0.5);
  EXPECT_STREQ(weights[1].name, "b");
  EXPECT_EQ(weights[1].weight, 0.5);
  ASSERT_DONE(poniente_loader_weights(loader.get(), 29, 1, 1, weights));
  EXPECT_STREQ(weights[0].name, "b");
  EXPECT_NEAR(weights[0].weight, 0.1, 1e-12);
  ASSERT_DONE(poniente_loader_weights(loader.get(), 29, 2, 0, nullptr));
  for (const auto& [first, count] :
       {std::pair<size_t, size_t>{0, 3}, {2, 1}, {3, 0}, {1, SIZE_MAX}}) {
    EXPECT_ERROR(
        poniente_loader_weights(loader.get(), 3, first, count, weights),
        OUT_OF_RANGE, HasSubstr("step 3 has 2"));
  }
  EXPECT_ERROR(poniente_loader_weights(loader.get(), 30, 0, 1, weights),
               OUT_OF_RANGE, HasSubstr("no step 30"));
}

TEST_F(CApiTest, ARunOfOneSourceHasNoWeights) {
  const LoaderPtr loader =
      Open("[data]\nsteps = 3\nbatch_size = 6\nseq_len = 20\npath = 'a'\n");
  EXPECT_EQ(StepOf(Next(loader).get()).num_weights, 0u);
  ASSERT_DONE(poniente_loader_weights(loader.get(), 0, 0, 0, nullptr));
  poniente_weight weight;
  EXPECT_ERROR(poniente_loader_weights(loader.get(), 0, 0, 1, &weight),
               OUT_OF_RANGE, HasSubstr("step 0 has 0"));
}

TEST_F(CApiTest, SourcesHaveNamesThatLiveAsLongAsTheLoader) {
  const LoaderPtr loader = Open();
  poniente_source sources[2];
  ASSERT_DONE(poniente_loader_sources(loader.get(), 0, 2, sources));
  EXPECT_STREQ(sources[0].path, "a");
  EXPECT_THAT(sources[1].dataset, HasSubstr(dir_.path("b")));
  EXPECT_STREQ(sources[1].path, "b");
  EXPECT_STRNE(sources[1].backend, "");
  poniente_source second;
  ASSERT_DONE(poniente_loader_sources(loader.get(), 1, 1, &second));
  EXPECT_EQ(second.path, sources[1].path) << "the same string";
  ASSERT_DONE(poniente_loader_sources(loader.get(), 2, 0, nullptr));
  for (const auto& [first, count] :
       {std::pair<size_t, size_t>{0, 3}, {2, 1}, {3, 0}, {1, SIZE_MAX}}) {
    EXPECT_ERROR(poniente_loader_sources(loader.get(), first, count, sources),
                 OUT_OF_RANGE, HasSubstr("the run has 2"));
  }
}

TEST_F(CApiTest, MetricsAreTextForPrometheus) {
  const LoaderPtr loader = Open();
  Next(loader);
  char* text = nullptr;
  const char* const labels[] = {"rank", "3", "job", "a", nullptr};
  ASSERT_DONE(poniente_loader_metrics(loader.get(), labels, &text));
  EXPECT_THAT(text, AllOf(HasSubstr("# TYPE poniente_"),
                          HasSubstr("rank=\"3\""), HasSubstr("job=\"a\"")));
  poniente_text_free(text);
  ASSERT_DONE(poniente_loader_metrics(loader.get(), nullptr, &text));
  EXPECT_THAT(text, HasSubstr("# TYPE poniente_"));
  poniente_text_free(text);
  const char* const odd[] = {"rank", nullptr};
  EXPECT_ERROR(poniente_loader_metrics(loader.get(), odd, &text),
               INVALID_ARGUMENT, HasSubstr("'rank' has no value"));
  EXPECT_EQ(text, nullptr);
}

TEST_F(CApiTest, ErrorsOfAConfigurationNameTheirLines) {
  LoaderPtr loader;
  const std::string bad = "[data]\nbatch_size = 0\nseq_len = 20\npaht = 'a'\n";
  EXPECT_ERROR(OpenText(bad, nullptr, &loader), INVALID_ARGUMENT,
               AllOf(HasSubstr("run.toml:2:"), HasSubstr("run.toml:4:")));
  EXPECT_ERROR(OpenText("[data", nullptr, &loader), INVALID_ARGUMENT,
               HasSubstr("run.toml:1:"));
  poniente_loader* opened;
  EXPECT_ERROR(poniente_loader_open("/nowhere/run.toml", nullptr, &opened),
               NOT_FOUND, HasSubstr("/nowhere/run.toml"));
  EXPECT_ERROR(
      poniente_loader_open_text("[dat", nullptr, nullptr, nullptr, &opened),
      INVALID_ARGUMENT, HasSubstr("config:1:"));
}

TEST_F(CApiTest, OpensAFile) {
  WriteFile(dir_.path("run.toml"), kRun);
  poniente_loader* opened = nullptr;
  ASSERT_DONE(
      poniente_loader_open(dir_.path("run.toml").c_str(), nullptr, &opened));
  const LoaderPtr loader(opened);
  EXPECT_EQ(IdsOf(Next(loader).get()), IdsOf(Next(Open()).get()));
}

TEST_F(CApiTest, OpensAnEvaluationOnce) {
  const std::string text = std::string(kRun) +
                           "[data.eval.e]\npath = 'b'\nshuffle = false\n"
                           "batch_size = 5\nseq_len = 10\n";
  WriteFile(dir_.path("run.toml"), text);
  poniente_loader* opened = nullptr;
  ASSERT_DONE(poniente_loader_open_eval(dir_.path("run.toml").c_str(), "e",
                                        nullptr, &opened));
  const LoaderPtr loader(opened);
  std::vector<uint32_t> ids;
  poniente_batch* batch = nullptr;
  int32_t code;
  while ((code = poniente_loader_next(loader.get(), &batch)) == PONIENTE_OK) {
    const BatchPtr held(batch);
    for (const uint32_t id : IdsOf(held.get())) ids.push_back(id);
  }
  EXPECT_EQ(code, PONIENTE_OUT_OF_RANGE);
  ASSERT_EQ(ids.size(), 770u) << "77 windows of 777 tokens";
  for (size_t t = 0; t < ids.size(); ++t) EXPECT_EQ(ids[t], StoreToken(1, t));
  ASSERT_DONE(poniente_loader_open_eval_text(
      text.c_str(), nullptr, dir_.path().c_str(), "e", nullptr, &opened));
  EXPECT_EQ(IdsOf(Next(LoaderPtr(opened)).get()),
            std::vector<uint32_t>(ids.begin(), ids.begin() + 50));
  EXPECT_ERROR(poniente_loader_open_eval(dir_.path("run.toml").c_str(), "f",
                                         nullptr, &opened),
               NOT_FOUND, HasSubstr("there is no evaluation 'f'"));
  EXPECT_EQ(opened, nullptr);
}

TEST_F(CApiTest, MoreBatchesThanMaxHeldAreResourceExhausted) {
  poniente_options options = Options();
  options.max_held = 1;
  const LoaderPtr loader = Open(kRun, &options);
  BatchPtr first = Next(loader);
  const BatchPtr second = Next(loader);
  poniente_batch* third;
  EXPECT_ERROR(poniente_loader_next(loader.get(), &third), RESOURCE_EXHAUSTED,
               HasSubstr("max_held is 1"));
  DLManagedTensor* tensor;
  ASSERT_DONE(
      poniente_batch_dlpack(first.get(), "tokens", 0, nullptr, &tensor));
  first.reset();
  EXPECT_ERROR(poniente_loader_next(loader.get(), &third), RESOURCE_EXHAUSTED,
               HasSubstr("tensors"));
  std::thread([tensor] { poniente_dlpack_release(tensor); }).join();
  EXPECT_EQ(StepOf(Next(loader).get()).step, 2u);
}

TEST_F(CApiTest, StopEndsANextThatOthersWaitFor) {
  const LoaderPtr loader = Open();
  int32_t code = PONIENTE_OK;
  std::string text;
  std::thread reader([&] {
    poniente_batch* batch;
    while ((code = poniente_loader_next(loader.get(), &batch)) == PONIENTE_OK) {
      poniente_batch_release(batch);
      poniente_loader_seek(loader.get(), 0);
    }
    text = poniente_last_error();
  });
  ASSERT_DONE(poniente_loader_stop(loader.get()));
  reader.join();
  EXPECT_EQ(code, PONIENTE_FAILED_PRECONDITION);
  EXPECT_THAT(text, HasSubstr("closed"));
}

}  // namespace
}  // namespace poniente::testing
