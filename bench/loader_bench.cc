// SPDX-License-Identifier: Apache-2.0
// Tokens per second of the loader beside a plain loop over the same windows.
//
//   loader_bench FOLDER [ROUNDS]
//
// Makes a store of 256 MiB of u16 ids in FOLDER (kept for the next run) and
// reads 500 batches of 64 random windows of 4096 tokens, page-cache hot, in
// ROUNDS interleaved rounds (default 5):
//   pread       one pread per window into the batch, one thread: the baseline
//   loader      Loader::NextBlocking() by io_uring, ids as stored (u16)
//   loader u32  the same, widened to u32
//   loader mmap the first, by mmap
// and prints medians with (max - min) / median, and ratios to the baseline of
// the same round.

#include <fcntl.h>
#include <poniente/poniente.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/cpu_seconds.h"
#include "bench/require.h"
#include "bench/statistics.h"

namespace {

using poniente::bench::CpuSeconds;
using poniente::bench::Median;
using poniente::bench::Require;
using poniente::bench::Spread;

constexpr uint64_t kTokens = uint64_t{128} << 20;
constexpr uint32_t kSeqLen = 4096;
constexpr uint64_t kBatch = 64;
constexpr uint64_t kSteps = 500;

void MakeStore(const std::string& path) {
  if (poniente::TokenStore::Open(path).ok()) return;
  poniente::TokenStoreWriterOptions options;
  options.vocabulary = {"bench", 65536};
  auto writer = poniente::TokenStoreWriter::Create(path, options);
  Require(writer.status());
  Require((*writer)->BeginDocument("noise"));
  std::vector<uint32_t> ids(1 << 20);
  uint64_t state = 1;
  for (uint64_t written = 0; written < kTokens; written += ids.size()) {
    for (uint32_t& id : ids) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      id = static_cast<uint32_t>(state >> 48);
    }
    Require((*writer)->Append(ids));
  }
  Require((*writer)->EndDocument());
  Require((*writer)->Finish().status());
}

std::string TokensFile(const std::string& store) {
  for (const auto& entry : std::filesystem::directory_iterator(store)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("tokens-")) return entry.path();
  }
  Require(absl::NotFoundError("no tokens file in " + store));
  return "";
}

// One pread per window, in the loader's order.
void PlainLoop(const std::string& file, std::vector<uint64_t> windows) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const size_t bytes = kSeqLen * sizeof(uint16_t);
  for (uint64_t step = 0; step < kSteps; ++step) {
    const auto batch =
        std::make_unique_for_overwrite<std::byte[]>(kBatch * bytes);
    for (uint64_t i = 0; i < kBatch; ++i) {
      const auto offset =
          static_cast<off_t>(windows[step * kBatch + i] * bytes);
      if (pread(fd, batch.get() + i * bytes, bytes, offset) !=
          static_cast<ssize_t>(bytes)) {
        Require(absl::DataLossError("short read of " + file));
      }
    }
  }
  close(fd);
}

std::vector<uint64_t> RunLoader(const std::string& folder,
                                const std::string& io,
                                poniente::TokenType type) {
  const std::string toml =
      "[data]\nseed = 1\nsteps = 500\nbatch_size = 64\nseq_len = 4096\n"
      "flat = { noise = { path = 'noise' } }\n[runtime]\nio = '" +
      io + "'\n";
  const auto config = poniente::Config::Parse(toml, "bench", folder);
  Require(config.status());
  poniente::LoaderOptions options = config->loader_options();
  options.token_type = type;
  const auto loader = config->OpenLoader(options);
  Require(loader.status());
  std::vector<uint64_t> windows;
  for (uint64_t step = 0; step < kSteps; ++step) {
    const auto batch = (*loader)->NextBlocking();
    Require(batch.status());
    for (size_t i = 0; i < kBatch; ++i) {
      windows.push_back(batch->provenance(i).item);
    }
  }
  return windows;
}

struct Series {
  std::vector<double> mtok, cpu, ratio;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: loader_bench FOLDER [ROUNDS]\n");
    return 2;
  }
  const std::string folder = argv[1];
  const int rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : 5;
  MakeStore(folder + "/noise");
  const std::string file = TokensFile(folder + "/noise");
  using poniente::TokenType;
  const std::vector<uint64_t> windows =
      RunLoader(folder, "auto", TokenType::kU16);  // and warms the page cache
  const std::vector<std::pair<std::string, std::function<void()>>> cases = {
      {"pread", [&] { PlainLoop(file, windows); }},
      {"loader", [&] { RunLoader(folder, "auto", TokenType::kU16); }},
      {"loader u32", [&] { RunLoader(folder, "auto", TokenType::kU32); }},
      {"loader mmap", [&] { RunLoader(folder, "mmap", TokenType::kU16); }}};
  std::map<std::string, Series> series;
  for (int round = 0; round < rounds; ++round) {
    double baseline = 0;
    for (const auto& [name, run] : cases) {
      const double cpu = CpuSeconds();
      const auto start = std::chrono::steady_clock::now();
      run();
      const std::chrono::duration<double> took =
          std::chrono::steady_clock::now() - start;
      const double rate = kSteps * kBatch * kSeqLen / took.count() / 1e6;
      if (name == "pread") baseline = rate;
      series[name].mtok.push_back(rate);
      series[name].cpu.push_back((CpuSeconds() - cpu) / kSteps * 1e6);
      series[name].ratio.push_back(rate / baseline);
    }
  }
  std::printf("%-12s %14s %8s %14s %8s\n", "", "Mtokens/s", "spread",
              "CPU us/batch", "ratio");
  for (const auto& [name, run] : cases) {
    const Series& s = series[name];
    std::printf("%-12s %14.0f %7.0f%% %14.0f %8.2f\n", name.c_str(),
                Median(s.mtok), 100 * Spread(s.mtok), Median(s.cpu),
                Median(s.ratio));
  }
}
