// SPDX-License-Identifier: Apache-2.0
// Loaders over a small store of numbers, for the examples of event loops.

#ifndef PONIENTE_EXAMPLES_NUMBER_LOADER_H_
#define PONIENTE_EXAMPLES_NUMBER_LOADER_H_

#include <poniente/poniente.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace examples {

// Writes a store with one document of 10,000 ids.
inline absl::Status WriteStore(const std::string& path) {
  poniente::TokenStoreWriterOptions options;
  options.vocabulary = {.tokenizer = "numbers", .size = 1000};
  auto writer = poniente::TokenStoreWriter::Create(path, options);
  if (!writer.ok()) return writer.status();
  std::vector<uint32_t> ids(10'000);
  for (uint32_t t = 0; t < ids.size(); ++t) ids[t] = t % 1000;
  absl::Status added = (*writer)->AddDocument(ids, "numbers");
  if (!added.ok()) return added;
  return (*writer)->Finish().status();
}

// Opens a run of `steps` steps, at most 312, over the store at `path`.
inline absl::StatusOr<std::unique_ptr<poniente::Loader>> OpenLoader(
    const std::string& path, uint64_t steps) {
  poniente::ScheduleOptions options;
  options.steps = steps;
  options.batch_size = 2;
  options.seq_len = 16;
  auto schedule = poniente::Schedule::Create(options);
  if (!schedule.ok()) return schedule.status();
  auto store = poniente::TokenStore::Open(path);
  if (!store.ok()) return store.status();
  auto windows = (*store)->Windows(options.seq_len);
  if (!windows.ok()) return windows.status();
  return poniente::Loader::Create(*windows, *schedule);
}

// Calls `run` with the path of a store to be, removes the store, and returns
// what main() returns. `name` is the program's.
inline int RunWithStore(const std::string& name,
                        absl::Status (*run)(const std::string& store)) {
  const std::filesystem::path store = std::filesystem::temp_directory_path() /
                                      (name + "." + std::to_string(getpid()));
  const absl::Status status = run(store.string());
  std::filesystem::remove_all(store);
  if (status.ok()) return 0;
  std::cerr << name << ": " << status.message() << '\n';
  return 1;
}

}  // namespace examples

#endif  // PONIENTE_EXAMPLES_NUMBER_LOADER_H_
