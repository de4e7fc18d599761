// SPDX-License-Identifier: Apache-2.0
// A training process that is killed at random moments, 200 times, and goes on
// each time from the last state it wrote.
//
// Each life is a fork. It cuts the log back to the state's step, as a trainer
// does, and then for every step appends a line and at some steps replaces the
// state. It tells the parent of each step by a byte in a pipe; the parent waits
// for some of them, and a little longer, and kills it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "index/keyed_hash.h"
#include "poniente/flat_mixture.h"
#include "poniente/loader.h"
#include "poniente/mixture_dataset.h"
#include "poniente/token_store.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using testing::IsOk;
using testing::ReadFile;
using testing::TempDir;
using testing::WriteFile;

constexpr int kLives = 200;
constexpr uint32_t kKilledSeqLen = 32;

// Weights, batch sizes and lengths all change while the run is killed.
absl::StatusOr<Schedule> MakeSchedule() {
  ScheduleOptions options;
  options.batch_size = 7;
  options.seq_len = kKilledSeqLen;
  options.stages = {{.start = RunPoint::Sample(900),
                     .name = "late",
                     .weights = {{"big", 1}, {"small", 2}},
                     .ramp = RunPoint::Sample(500)}};
  options.batch_sizes = {{RunPoint::Step(150), 12}, {RunPoint::Step(400), 9}};
  options.seq_lens = {{RunPoint::Step(250), kKilledSeqLen / 2}};
  return Schedule::Create(options);
}

absl::StatusOr<std::unique_ptr<Loader>> OpenLoader(const TempDir& folder,
                                                   uint32_t prefetch) {
  const auto big = TokenStore::Open(folder.path("big"));
  if (!big.ok()) return big.status();
  const auto small = TokenStore::Open(folder.path("small"));
  if (!small.ok()) return small.status();
  const auto schedule = MakeSchedule();
  if (!schedule.ok()) return schedule.status();
  const auto flat = FlatMixture<TokenWindow>::Create(
      {{"a", *(*small)->Windows(kKilledSeqLen)},
       {"b", *(*big)->Windows(kKilledSeqLen)}});
  if (!flat.ok()) return flat.status();
  MixtureOptions mixture;
  mixture.block_size = 40;
  mixture.seed = 3;
  const auto root = MixtureDataset<TokenWindow>::Create(
      {{"big", *(*big)->Windows(kKilledSeqLen), 3}, {"small", *flat, 1}},
      schedule->MixtureOptionsFrom(mixture));
  if (!root.ok()) return root.status();
  LoaderOptions options;
  options.prefetch_batches = prefetch;
  return Loader::Create(*root, *schedule, options);
}

// "step first_sample samples hash", of ids and of where they come from.
std::string LineOf(const Batch& batch) {
  internal::KeyHash hash(0);
  for (uint64_t i = 0; i < batch.num_samples(); ++i) {
    const SampleProvenance& from = batch.provenance(i);
    hash.Add(from.source).Add(from.item).Add(from.epoch).Add(from.token_begin);
    for (const uint32_t id : batch.tokens<uint32_t>(i)) hash.Add(id);
  }
  char line[100];
  std::snprintf(line, sizeof(line),
                "%" PRIu64 " %" PRIu64 " %zu %016" PRIx64 "\n", batch.step(),
                batch.provenance(0).sample, batch.num_samples(), hash.key());
  return line;
}

// The log's whole lines.
std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line) && !in.eof();) {
    lines.push_back(line + "\n");
  }
  return lines;
}

class KillTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto write = [this](const char* name, uint64_t tokens) {
      return testing::WriteStore(folder_.path(name),
                                 testing::ProvenDocuments({tokens, 70}, 256));
    };
    ASSERT_THAT(write("big", 20000), IsOk());
    ASSERT_THAT(write("small", 3000), IsOk());
  }

  // One life of the process: trains up to step `end`.
  absl::Status Live(uint32_t prefetch, uint64_t end, int told) const {
    auto loader = OpenLoader(folder_, prefetch);
    if (!loader.ok()) return loader.status();
    if (const std::string state = ReadFile(state_); !state.empty()) {
      absl::Status resumed = (*loader)->Resume(state);
      if (!resumed.ok()) return resumed;
    }
    std::vector<std::string> lines = Lines(ReadFile(log_));
    const uint64_t step = (*loader)->next_step();
    if (lines.size() < step) {
      return absl::DataLossError("the log is behind the state");
    }
    uint64_t kept = 0;
    for (uint64_t i = 0; i < step; ++i) kept += lines[i].size();
    const int log = open(log_.c_str(), O_WRONLY | O_CREAT, 0600);
    if (log < 0 || ftruncate(log, static_cast<off_t>(kept)) != 0 ||
        lseek(log, 0, SEEK_END) < 0) {
      return absl::ErrnoToStatus(errno, log_);
    }
    while ((*loader)->next_step() < end) {
      const auto batch = (*loader)->NextBlocking();
      if (!batch.ok()) return batch.status();
      const std::string line = LineOf(*batch);
      if (write(log, line.data(), line.size()) !=
          static_cast<ssize_t>(line.size())) {
        return absl::ErrnoToStatus(errno, log_);
      }
      if (batch->step() % 3 == 0) {
        WriteFile(state_ + ".new", (*loader)->State());
        std::filesystem::rename(state_ + ".new", state_);
      }
      if (write(told, "+", 1) != 1) return absl::ErrnoToStatus(errno, "pipe");
    }
    close(log);
    return absl::OkStatus();
  }

  // Forks a life; `watch` gets the reading end of its pipe. How it ended, as
  // waitpid() says.
  int Fork(uint32_t prefetch, uint64_t end,
           const std::function<void(int, pid_t)>& watch) const {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      const absl::Status status = Live(prefetch, end, ends[1]);
      if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
      _exit(status.ok() ? 0 : 1);
    }
    EXPECT_GT(child, 0);
    close(ends[1]);
    watch(ends[0], child);
    int how = 0;
    EXPECT_EQ(waitpid(child, &how, 0), child);
    close(ends[0]);
    return how;
  }

  const TempDir folder_;
  const std::string log_ = folder_.path("log");
  const std::string state_ = folder_.path("state");
};

TEST_F(KillTest, NoSampleIsRepeatedOrSkipped) {
  std::mt19937_64 random(testing::TestSeed(9));
  int cut_back = 0;
  for (int life = 0; life < kLives; ++life) {
    const uint64_t steps = random() % 12;
    const auto more = static_cast<useconds_t>(random() % 1000);
    const int how = Fork(1 + life % 5, UINT64_MAX, [&](int told, pid_t child) {
      char byte;
      for (uint64_t i = 0; i < steps; ++i) {
        ASSERT_EQ(read(told, &byte, 1), 1) << "life " << life << " has ended";
      }
      usleep(more);
      ASSERT_EQ(kill(child, SIGKILL), 0);
    });
    ASSERT_TRUE(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL) << how;
    unsigned long long saved = 0;
    std::sscanf(ReadFile(state_).c_str(), "poniente run state 1\nstep %llu",
                &saved);
    if (Lines(ReadFile(log_)).size() > saved) ++cut_back;
  }
  // The kills fell between a line and the next state, too.
  EXPECT_GT(cut_back, kLives / 10);
  const uint64_t end = Lines(ReadFile(log_)).size() + 20;
  EXPECT_EQ(Fork(2, end, [](int, pid_t) {}), 0);

  const std::vector<std::string> served = Lines(ReadFile(log_));
  ASSERT_EQ(served.size(), end);
  EXPECT_GT(end, 400u) << "the last stretch has not been reached";
  ASSERT_OK_AND_ASSIGN(const auto straight, OpenLoader(folder_, 4));
  uint64_t samples = 0;
  for (uint64_t step = 0; step < end; ++step) {
    unsigned long long number, first, count;
    ASSERT_EQ(std::sscanf(served[step].c_str(), "%llu %llu %llu", &number,
                          &first, &count),
              3);
    ASSERT_EQ(number, step);
    ASSERT_EQ(first, samples);
    samples += count;
    ASSERT_OK_AND_ASSIGN(const Batch batch, straight->NextBlocking());
    ASSERT_EQ(LineOf(batch), served[step]);
  }
  EXPECT_EQ(straight->schedule().FirstSample(end), samples);
}

}  // namespace
}  // namespace poniente
