// SPDX-License-Identifier: Apache-2.0
// A run without a TOML file: writes three stores, mixes them, stops in the
// middle of the run, and resumes it on other ranks. The tokens are those of a
// run that was not stopped. docs/tree_in_cpp.md explains each part.

#include <poniente/poniente.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using poniente::DatasetPtr;
using poniente::TokenWindow;

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
  if (written.ok()) written = WriteStore(folder + "/letters", 200, 10);
  return written;
}

absl::StatusOr<poniente::Schedule> MakeSchedule() {
  poniente::ScheduleOptions options;
  options.steps = 60;
  options.batch_size = 12;
  options.seq_len = kSeqLen;
  options.components = {{.name = "web", .weight = 0.75},
                        {.name = "small", .weight = 0.25}};
  options.mixture.seed = 42;
  options.mixture.block_size = 24;
  options.stages = {
      {.start = poniente::RunPoint::Step(40),
       .name = "anneal",
       .lr_scale = 0.1,
       .weights = {{"web", 0.5}, {"small", 0.5}}},
  };
  return poniente::Schedule::Create(std::move(options));
}

absl::StatusOr<DatasetPtr<TokenWindow>> Windows(const std::string& path) {
  auto store = poniente::TokenStore::Open(path);
  if (!store.ok()) return store.status();
  return (*store)->Windows(kSeqLen);
}

absl::StatusOr<DatasetPtr<TokenWindow>> MakeTree(
    const std::string& folder, const poniente::Schedule& schedule) {
  auto web = Windows(folder + "/web");
  if (!web.ok()) return web.status();
  auto books = Windows(folder + "/books");
  if (!books.ok()) return books.status();
  auto letters = Windows(folder + "/letters");
  if (!letters.ok()) return letters.status();

  auto small = poniente::FlatMixture<TokenWindow>::Create(
      {{.name = "books", .dataset = *books},
       {.name = "letters", .dataset = *letters}});
  if (!small.ok()) return small.status();
  return poniente::MixtureDataset<TokenWindow>::Create(
      {{.name = "web", .dataset = *web, .weight = 0.75},
       {.name = "small", .dataset = *small, .weight = 0.25}},
      schedule.mixture_options());
}

absl::StatusOr<std::unique_ptr<poniente::Loader>> OpenLoader(
    const std::string& folder, poniente::LoaderOptions options) {
  auto schedule = MakeSchedule();
  if (!schedule.ok()) return schedule.status();
  auto tree = MakeTree(folder, *schedule);
  if (!tree.ok()) return tree.status();
  return poniente::Loader::Create(*tree, *schedule, std::move(options));
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

absl::Status Run(const std::string& folder) {
  absl::Status status = WriteStores(folder);
  if (!status.ok()) return status;

  // The whole run, on one rank.
  auto loader = OpenLoader(folder, {});
  if (!loader.ok()) return loader.status();
  const uint64_t num_steps = (*loader)->schedule().steps();
  Steps whole(num_steps);
  status = Read(**loader, num_steps, &whole);
  if (!status.ok()) return status;

  // The same run again, stopped after 25 steps.
  Steps stopped(num_steps);
  auto first = OpenLoader(folder, {});
  if (!first.ok()) return first.status();
  status = Read(**first, 25, &stopped);
  if (!status.ok()) return status;
  const std::string state = (*first)->State();
  first->reset();

  // The other steps, on three ranks. In training, each is a process.
  for (uint32_t rank = 0; rank < 3; ++rank) {
    auto resumed = OpenLoader(folder, {.rank = rank, .ranks = 3});
    if (!resumed.ok()) return resumed.status();
    status = (*resumed)->Resume(state);
    if (status.ok()) status = Read(**resumed, num_steps, &stopped);
    if (!status.ok()) return status;
  }
  if (stopped != whole) return absl::DataLossError("the tokens differ");
  std::cout << num_steps << " steps: the same tokens with and without a stop\n";
  return absl::OkStatus();
}

}  // namespace

int main() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() /
      ("tree_in_cpp." + std::to_string(getpid()));
  const absl::Status status = Run(folder.string());
  std::filesystem::remove_all(folder);
  if (status.ok()) return 0;
  std::cerr << "tree_in_cpp: " << status.message() << '\n';
  return 1;
}
