// SPDX-License-Identifier: Apache-2.0
// A run without a TOML file: writes two stores, mixes them with a dataset of
// the program's own, stops in the middle of the run, and resumes it on other
// ranks. The tokens are those of a run that was not stopped. Then asks of runs
// what the tool answers about files.
// docs/tree_in_cpp.md explains each part.

#include <poniente/diff.h>
#include <poniente/plan.h>
#include <poniente/poniente.h>
#include <poniente/trace.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr uint32_t kSeqLen = 16;

// Writes a store of `documents` documents; token t of document d is
// first + (d + t) % 50.
absl::Status WriteStore(const std::string& path, uint32_t first,
                        uint32_t documents) {
  poniente::TokenStoreWriterOptions options;
  options.vocabulary = {.tokenizer = "numbers", .size = 1000};
  auto writer = poniente::TokenStoreWriter::Create(path, options);
  if (!writer.ok()) return writer.status();
  for (uint32_t d = 0; d < documents; ++d) {
    std::vector<uint32_t> ids(40);
    for (uint32_t t = 0; t < ids.size(); ++t) ids[t] = first + (d + t) % 50;
    const std::string name = "document " + std::to_string(d);
    absl::Status added = (*writer)->AddDocument(ids, name);
    if (!added.ok()) return added;
  }
  return (*writer)->Finish().status();
}

absl::Status WriteStores(const std::string& folder) {
  absl::Status written = WriteStore(folder + "/web", 0, 300);
  if (written.ok()) written = WriteStore(folder + "/books", 100, 20);
  return written;
}

// 25 windows that no file holds; window w is 200, 201, ..., each plus w.
poniente::DatasetPtr<poniente::TokenWindow> Letters() {
  std::vector<poniente::TokenWindow> windows;
  for (uint32_t w = 0; w < 25; ++w) {
    std::vector<uint32_t> ids(kSeqLen);
    for (uint32_t t = 0; t < kSeqLen; ++t) ids[t] = 200 + w + t;
    windows.emplace_back(std::move(ids));
  }
  return poniente::InMemoryDataset<poniente::TokenWindow>::Create(
      std::move(windows),
      {.name = "letters", .vocabulary = poniente::Vocabulary{"numbers", 1000}});
}

poniente::Run DescribeRun(const std::string& folder) {
  using namespace poniente;
  Run run = {.seed = 42, .batch_size = 12, .seq_len = kSeqLen, .steps = 60};
  run.data = Mixture({{"web", 0.75, Source("web")},
                      {"small", 0.25,
                       Flat({{"books", Source("books").Filter(!Fraction(0.1))},
                             {"letters", Letters()}})}})
                 .Settings({.block_size = 24});
  run.stages = {{.name = "anneal",
                 .start = Steps(40),
                 .weights = {{"web", 0.5}, {"small", 0.5}},
                 .lr_scale = 0.1}};
  run.folder = folder;  // of "web" and "books"
  return run;
}

// The ids of each step, with those of all ranks in order.
using Steps = std::vector<std::vector<uint32_t>>;

// Reads the steps before `end_step`, and appends their ids to `steps`.
absl::Status Read(poniente::Loader& loader, uint64_t end_step, Steps* steps) {
  while (loader.next_step() < end_step) {
    auto batch = loader.NextBlocking();
    if (!batch.ok()) return batch.status();
    const std::span<const uint32_t> ids = batch->tokens<uint32_t>();
    std::vector<uint32_t>& step = (*steps)[batch->step()];
    step.insert(step.end(), ids.begin(), ids.end());
  }
  return absl::OkStatus();
}

// Asks of two runs what the tool answers about two files.
absl::Status Ask(const poniente::Run& run, const poniente::Run& other) {
  auto config = poniente::Config::Create(run);
  if (!config.ok()) return config.status();
  auto other_config = poniente::Config::Create(other);
  if (!other_config.ok()) return other_config.status();
  const poniente::TracedRun traced(*config), other_traced(*other_config);

  auto plan = poniente::MakePlan(*config);  // poniente plan
  if (!plan.ok()) return plan.status();
  auto step = traced.Show(30);  // poniente show
  if (!step.ok()) return step.status();
  auto readings = traced.FindDocument("web", 17, std::nullopt);  // find
  if (!readings.ok()) return readings.status();
  auto diff = poniente::DiffRuns(traced, other_traced, 1'000'000);  // diff
  if (!diff.ok()) return diff.status();

  std::cout << plan->tokens << " tokens; step 30 begins with "
            << step->samples[0].source << "; document 17 of web is read "
            << readings->size() << " times\n";
  if (diff->compared.first.has_value()) {
    std::cout << "the other run differs from step "
              << diff->compared.first->step << " on\n";
  }
  return absl::OkStatus();
}

// Changes a description that is a file, and makes it a file again.
absl::Status ChangeFile(const std::string& from, const std::string& to) {
  auto run = poniente::LoadRun(from);
  if (!run.ok()) return run.status();
  run->stages.push_back({.start = poniente::Steps(-20), .lr_scale_end = 0.0});
  auto text = poniente::ToToml(*run);
  if (!text.ok()) return text.status();
  std::ofstream(to) << *text;
  return absl::OkStatus();
}

absl::Status StopAndResume(const poniente::Run& run) {
  absl::Status status;

  // The whole run, on one rank.
  auto loader = poniente::OpenLoader(run);
  if (!loader.ok()) return loader.status();
  const uint64_t num_steps = (*loader)->schedule().steps();
  Steps whole(num_steps);
  status = Read(**loader, num_steps, &whole);
  if (!status.ok()) return status;

  // The same run again, stopped after 25 steps.
  Steps stopped(num_steps);
  auto first = poniente::OpenLoader(run);
  if (!first.ok()) return first.status();
  status = Read(**first, 25, &stopped);
  if (!status.ok()) return status;
  const std::string state = (*first)->State();
  first->reset();

  // The other steps, on three ranks. In training, each is a process.
  for (uint32_t rank = 0; rank < 3; ++rank) {
    auto resumed = poniente::OpenLoader(run, {.rank = rank, .ranks = 3});
    if (!resumed.ok()) return resumed.status();
    status = (*resumed)->Resume(state);
    if (status.ok()) status = Read(**resumed, num_steps, &stopped);
    if (!status.ok()) return status;
  }
  if (stopped != whole) return absl::DataLossError("the tokens differ");
  std::cout << num_steps << " steps: the same tokens with and without a stop\n";
  return absl::OkStatus();
}

absl::Status RunAll(const std::string& folder) {
  absl::Status status = WriteStores(folder);
  if (!status.ok()) return status;
  const poniente::Run run = DescribeRun(folder);
  status = StopAndResume(run);
  if (!status.ok()) return status;
  poniente::Run other = run;  // begins its last stage later
  other.stages[0].start = poniente::Steps(50);
  status = Ask(run, other);
  if (!status.ok()) return status;
  std::ofstream(folder + "/run.toml") << "[data]\nbatch_size = 4\n"
                                         "seq_len = 16\nsteps = 100\n"
                                         "path = \"web\"\n";
  status = ChangeFile(folder + "/run.toml", folder + "/changed.toml");
  if (!status.ok()) return status;
  auto changed = poniente::LoadRun(folder + "/changed.toml");
  if (!changed.ok()) return changed.status();
  return poniente::OpenLoader(*changed).status();
}

}  // namespace

int main() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() /
      ("tree_in_cpp." + std::to_string(getpid()));
  const absl::Status status = RunAll(folder.string());
  std::filesystem::remove_all(folder);
  if (status.ok()) return 0;
  std::cerr << "tree_in_cpp: " << status.message() << '\n';
  return 1;
}
