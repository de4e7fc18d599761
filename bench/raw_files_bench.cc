// SPDX-License-Identifier: Apache-2.0
// A mixture of thousands of raw files: from nothing to the first batch, and the
// rate from memory, with and without a limit on descriptors.
//
//   raw_files_bench FOLDER [FILES [ROUNDS]]
//
// Makes FILES (default 10000) files of 256 KiB of u16 ids in FOLDER, kept for
// the next run. Each case is a process of its own, in ROUNDS (default 5)
// interleaved rounds:
//   plain         64 threads that open() each file, fstat() it, read its first
//                 and last 4096 bytes, and close it: the baseline of opening
//   run           Config::Load(), OpenLoader(), one batch of 64 windows of 1024
//   run, 256      the same with a hard limit of 256 descriptors
// Before each the page cache is dropped, inodes with it (needs root; otherwise
// files are evicted one by one, inodes stay, and it says so). Afterwards a run
// reads all files into the cache and goes on for a second: windows/s. Both runs
// must read the same bytes.

#include <fcntl.h>
#include <poniente/poniente.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/measure/many_files.h"
#include "bench/measure/require.h"
#include "bench/measure/statistics.h"

namespace {

using poniente::bench::CountArgument;
using poniente::bench::InProcessOfItsOwn;
using poniente::bench::Median;
using poniente::bench::Require;
using poniente::bench::SecondsSince;
using poniente::bench::Spread;
using Clock = std::chrono::steady_clock;

constexpr size_t kFileBytes = 256 << 10;
constexpr off_t kPage = 4096;
constexpr int kThreads = 64;
constexpr uint64_t kBatchWindows = 64;
constexpr uint64_t kHashedBatches = 200;
constexpr double kSeconds = 1;
constexpr rlim_t kFewDescriptors = 256;
constexpr double kMostSeconds = 1.5;
constexpr double kLeastRatio = 0.5;

std::string FilePath(const std::string& folder, size_t file) {
  return absl::StrCat(folder, "/", absl::Dec(file, absl::kZeroPad6), ".bin");
}

void MakeFiles(const std::string& folder, size_t files) {
  std::filesystem::create_directories(folder);
  std::ofstream run(folder + "/run.toml");
  run << "[data]\nseed = 1\nsteps = 1000000\nseq_len = 1024\nbatch_size = "
      << kBatchWindows << "\n[data.mixture]\n";
  std::mt19937_64 random(1);
  std::vector<uint64_t> words(kFileBytes / 8);
  for (size_t i = 0; i < files; ++i) {
    run << absl::StrFormat(
        "s%d = { weight = 1, path = '%06d.bin', dtype = 'u16', "
        "tokenizer = 'bench', vocab_size = 65536 }\n",
        i, i);
    const std::string path = FilePath(folder, i);
    std::error_code none;
    if (std::filesystem::file_size(path, none) == kFileBytes) continue;
    for (uint64_t& word : words) word = random();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(words.data()), kFileBytes);
  }
  sync();
}

// Calls each(path) for all files on many threads.
void ForEachFile(const std::string& folder, size_t files,
                 const std::function<void(const std::string&)>& each) {
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (size_t file; (file = next++) < files;) each(FilePath(folder, file));
    });
  }
}

int Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  Require(fd >= 0, "cannot open " + path);
  return fd;
}

// Returns whether inodes are dropped, too.
bool DropCache(const std::string& folder, size_t files) {
  std::ofstream drop("/proc/sys/vm/drop_caches");
  drop << "3" << std::endl;
  if (drop.good()) return true;
  ForEachFile(folder, files, [](const std::string& path) {
    const int fd = Open(path);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
  });
  return false;
}

struct Result {
  double open_seconds = 0;  // first batch included
  double windows_per_second = 0;
  uint64_t hash = 0;
};

void MeasurePlain(const std::string& folder, size_t files, Result* result) {
  const auto start = Clock::now();
  ForEachFile(folder, files, [](const std::string& path) {
    const int fd = Open(path);
    struct stat facts;
    Require(fstat(fd, &facts) == 0, "fstat");
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    char page[kPage];
    for (const off_t at : {off_t{0}, facts.st_size - kPage}) {
      Require(pread(fd, page, kPage, at) == kPage, "short read");
    }
    close(fd);
  });
  result->open_seconds = SecondsSince(start);
}

void MeasureRun(const std::string& folder, size_t files, rlim_t descriptors,
                Result* result) {
  if (descriptors > 0) {
    const rlimit limit = {descriptors, descriptors};
    Require(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
  }
  const auto start = Clock::now();
  const auto config = Require(poniente::Config::Load(folder + "/run.toml"));
  const auto loader = Require(config.OpenLoader());
  for (uint64_t batch = 0; batch < kHashedBatches; ++batch) {
    const poniente::Batch one = Require(loader->NextBlocking());
    if (batch == 0) result->open_seconds = SecondsSince(start);
    for (const std::byte byte : one.bytes()) {
      result->hash = result->hash * 31 + std::to_integer<uint64_t>(byte);
    }
  }
  ForEachFile(folder, files, [](const std::string& path) {
    const int fd = Open(path);
    std::vector<char> bytes(kFileBytes);
    Require(pread(fd, bytes.data(), kFileBytes, 0) == kFileBytes, "read");
    close(fd);
  });
  uint64_t windows = 0;
  auto begin = Clock::now();
  for (bool is_warm = false; !is_warm || SecondsSince(begin) < kSeconds;) {
    Require(loader->NextBlocking().status());
    windows += kBatchWindows;
    if (!is_warm && SecondsSince(begin) >= kSeconds) {
      is_warm = true;
      windows = 0;
      begin = Clock::now();
    }
  }
  result->windows_per_second =
      static_cast<double>(windows) / SecondsSince(begin);
}

struct Series {
  std::vector<double> open_seconds;
  std::vector<double> windows_per_second;

  void Add(const Result& result) {
    open_seconds.push_back(result.open_seconds);
    windows_per_second.push_back(result.windows_per_second);
  }
  void Print(const char* name) const {
    std::printf("%-10s %10.2f %6.0f%% %14.0f %6.0f%%\n", name,
                Median(open_seconds), 100 * Spread(open_seconds),
                Median(windows_per_second), 100 * Spread(windows_per_second));
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: raw_files_bench FOLDER [FILES [ROUNDS]]\n");
    return 2;
  }
  const std::string folder = argv[1];
  const size_t files = CountArgument(argc, argv, 2, 10000);
  const size_t rounds = CountArgument(argc, argv, 3, 5);
  MakeFiles(folder, files);
  const auto measured = [](const std::function<void(Result*)>& measure) {
    const std::optional<Result> result = InProcessOfItsOwn<Result>(measure);
    Require(result.has_value(), "a case has failed");
    return *result;
  };
  Series plain;
  Series run;
  Series few;
  bool drops_inodes = true;
  std::vector<double> ratios;
  for (size_t round = 0; round < rounds; ++round) {
    drops_inodes = DropCache(folder, files);
    plain.Add(
        measured([&](Result* result) { MeasurePlain(folder, files, result); }));
    DropCache(folder, files);
    const Result free =
        measured([&](Result* result) { MeasureRun(folder, files, 0, result); });
    run.Add(free);
    DropCache(folder, files);
    const Result limited = measured([&](Result* result) {
      MeasureRun(folder, files, kFewDescriptors, result);
    });
    few.Add(limited);
    Require(free.hash == limited.hash, "the runs read different bytes");
    ratios.push_back(limited.windows_per_second / free.windows_per_second);
  }
  std::printf("%zu files, %zu rounds; inodes are %s\n", files, rounds,
              drops_inodes ? "dropped" : "NOT dropped: run it as root");
  std::printf("%-10s %10s %7s %14s %7s\n", "", "open s", "spread", "windows/s",
              "spread");
  plain.Print("plain");
  run.Print("run");
  few.Print("run, 256");
  std::printf("run opens in %.2f s, at most %.1f: %s\n",
              Median(run.open_seconds), kMostSeconds,
              Median(run.open_seconds) <= kMostSeconds ? "held" : "MISSED");
  std::printf("run, 256 / run, windows/s: %.2f, at least %.1f: %s\n",
              Median(ratios), kLeastRatio,
              Median(ratios) >= kLeastRatio ? "held" : "MISSED");
}
