// SPDX-License-Identifier: Apache-2.0
// Thousands of small token stores, open at once and read at random.
//
//   many_stores_bench FOLDER [STORES [WINDOWS [ROUNDS]]]
//
// Makes STORES (default 10000) stores of 1 MiB of u16 ids in FOLDER, kept for
// the next run. Each case opens all of them in a process of its own, and reads
// WINDOWS (default 20000) random windows of 4096 tokens in batches of 64:
//   plain         open() of each tokens file, one pread per window, one thread:
//                 the baseline
//   auto ...      TokenStore::Open() and ReadBatch() through each backend;
//                 blocks of 64 KiB are verified at their first touch
//   auto, off     the same without verification
// The page cache of the stores is dropped before the first pass (cold: each
// verified window brings a whole block); the second pass reads the same windows
// again. The first window of each batch is compared with what was written.
// Prints medians of ROUNDS (default 3) interleaved rounds, and ratios to the
// baseline of the same round; descriptors and memory after the second pass.

#include <fcntl.h>
#include <poniente/poniente.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/measure/many_files.h"
#include "bench/measure/require.h"
#include "bench/measure/statistics.h"

namespace {

using poniente::bench::CountArgument;
using poniente::bench::InProcessOfItsOwn;
using poniente::bench::Median;
using poniente::bench::Require;
using poniente::bench::SecondsSince;
using Clock = std::chrono::steady_clock;
using StorePtr = std::shared_ptr<const poniente::TokenStore>;

constexpr uint64_t kTokens = uint64_t{1} << 19;
constexpr uint64_t kWindow = 4096;
constexpr uint64_t kWindowBytes = kWindow * sizeof(uint16_t);
constexpr size_t kBatch = 64;

uint16_t TokenOf(uint64_t store, uint64_t token) {
  uint64_t z = store * 0x9e3779b97f4a7c15u + token * 0xd1b54a32d192ed03u;
  z = (z ^ (z >> 32)) * 0xbf58476d1ce4e5b9u;
  return static_cast<uint16_t>(z >> 48);
}

// ---- The stores.

std::string StorePath(const std::string& folder, size_t store) {
  return folder + "/" + std::to_string(store);
}
std::string TokensPath(const std::string& folder, size_t store) {
  return StorePath(folder, store) + "/tokens-1.bin";
}

void MakeStore(const std::string& folder, size_t store) {
  const std::string path = StorePath(folder, store);
  if (std::filesystem::exists(path + "/manifest.json")) return;
  poniente::TokenStoreWriterOptions options;
  options.vocabulary = {"bench", 65536};
  const auto writer = poniente::TokenStoreWriter::Create(path, options);
  Require(writer.status());
  std::vector<uint32_t> ids(kTokens);
  for (uint64_t t = 0; t < kTokens; ++t) ids[t] = TokenOf(store, t);
  Require((*writer)->AddDocument(ids, "noise"));
  Require((*writer)->Finish().status());
}

// Writers wait for the disk most of the time: several at once.
void MakeStores(const std::string& folder, size_t stores) {
  std::filesystem::create_directories(folder);
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> writers;
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([&] {
      for (size_t store; (store = next++) < stores;) MakeStore(folder, store);
    });
  }
}

void DropPageCache(const std::string& folder, size_t stores) {
  for (size_t store = 0; store < stores; ++store) {
    const std::string path = TokensPath(folder, store);
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    Require(fd >= 0, "cannot open " + path);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
  }
}

// ---- One case, in a process of its own.

struct Window {
  size_t store = 0;
  uint64_t number = 0;  // in its store
};

std::vector<Window> RandomWindows(size_t stores, size_t windows) {
  std::mt19937_64 random(7);
  std::vector<Window> chosen(windows);
  for (Window& window : chosen) {
    window = {random() % stores, random() % (kTokens / kWindow)};
  }
  return chosen;
}

struct Result {
  double open_seconds = 0;
  double pass_seconds[2] = {0, 0};
  size_t descriptors = 0;
  double memory_mib = 0;
  char served_by[16] = "";
};

// Reads the windows of one batch into consecutive parts of `into`.
using ReadWindows =
    std::function<void(std::span<const Window>, std::span<std::byte> into)>;

double MeasurePass(std::span<const Window> windows, const ReadWindows& read) {
  auto buffer = poniente::ReadBuffer::Allocate(kBatch * kWindowBytes);
  Require(buffer.status());
  double seconds = 0;
  while (!windows.empty()) {
    const auto batch = windows.first(std::min(kBatch, windows.size()));
    windows = windows.subspan(batch.size());
    const auto start = Clock::now();
    read(batch, buffer->bytes());
    seconds += SecondsSince(start);
    for (uint64_t t = 0; t < kWindow; ++t) {
      uint16_t token;
      std::memcpy(&token, buffer->bytes().data() + 2 * t, 2);
      Require(token == TokenOf(batch[0].store, batch[0].number * kWindow + t),
              "other tokens than written in store " +
                  std::to_string(batch[0].store));
    }
  }
  return seconds;
}

size_t OpenDescriptors() {
  const std::filesystem::directory_iterator names("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(names), end(names))) - 1;
}

// Resident, but for pages of mapped files.
double MemoryMib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::atof(&line[8]) / 1024;
  }
  return 0;
}

void MeasurePasses(const std::string& folder, size_t stores,
                   std::span<const Window> windows, const ReadWindows& read,
                   Result* result) {
  DropPageCache(folder, stores);
  for (double& seconds : result->pass_seconds) {
    seconds = MeasurePass(windows, read);
  }
  result->descriptors = OpenDescriptors();
  result->memory_mib = MemoryMib();
}

void MeasurePlain(const std::string& folder, size_t stores,
                  std::span<const Window> windows, Result* result) {
  rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const auto start = Clock::now();
  std::vector<int> files(stores);
  for (size_t store = 0; store < stores; ++store) {
    const std::string path = TokensPath(folder, store);
    files[store] = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    Require(files[store] >= 0, "cannot open " + path);
  }
  result->open_seconds = SecondsSince(start);
  const auto read = [&files](std::span<const Window> batch,
                             std::span<std::byte> into) {
    for (const Window& window : batch) {
      const auto offset = static_cast<off_t>(window.number * kWindowBytes);
      Require(pread(files[window.store], into.data(), kWindowBytes, offset) ==
                  static_cast<ssize_t>(kWindowBytes),
              "short read");
      into = into.subspan(kWindowBytes);
    }
  };
  MeasurePasses(folder, stores, windows, read, result);
}

void MeasureStores(const std::string& folder, size_t stores,
                   std::span<const Window> windows,
                   const poniente::TokenStoreOptions& options, Result* result) {
  const auto start = Clock::now();
  std::vector<StorePtr> opened(stores);
  for (size_t store = 0; store < stores; ++store) {
    auto one = poniente::TokenStore::Open(StorePath(folder, store), options);
    Require(one.status());
    opened[store] = *std::move(one);
  }
  result->open_seconds = SecondsSince(start);
  const auto read = [&opened](std::span<const Window> batch,
                              std::span<std::byte> into) {
    std::vector<poniente::ReadRequest> requests;
    for (const Window& window : batch) {
      requests.push_back({&opened[window.store]->reader(), 0,
                          window.number * kWindowBytes,
                          into.first(kWindowBytes)});
      into = into.subspan(kWindowBytes);
    }
    Require(poniente::RunBlocking(poniente::ReadBatch(requests)));
  };
  MeasurePasses(folder, stores, windows, read, result);
  const std::string served_by(
      poniente::IoBackendName(opened[windows[0].store]->reader().backend()));
  served_by.copy(result->served_by, sizeof(result->served_by) - 1);
}

// ---- All cases.

struct Case {
  std::string name;
  std::function<void(Result*)> measure;
  std::vector<double> open_us = {}, iops[2] = {}, ratio[2] = {};
  Result last = {};
};

void Add(const Result& result, const Result& plain, size_t stores,
         size_t windows, Case* to) {
  to->open_us.push_back(result.open_seconds * 1e6 /
                        static_cast<double>(stores));
  for (int pass = 0; pass < 2; ++pass) {
    const double seconds = result.pass_seconds[pass];
    to->iops[pass].push_back(static_cast<double>(windows) / seconds);
    to->ratio[pass].push_back(plain.pass_seconds[pass] / seconds);
  }
  to->last = result;
}

void Print(const std::vector<Case>& cases) {
  std::printf("%-12s %9s %10s %10s %6s %11s %6s %6s %7s  %s\n", "", "us/open",
              "opens/s", "cold IOPS", "ratio", "again IOPS", "ratio", "fds",
              "MiB", "served by");
  for (const Case& one : cases) {
    if (one.open_us.empty()) {
      std::printf("%-12s failed\n", one.name.c_str());
      continue;
    }
    const double open_us = Median(one.open_us);
    std::printf("%-12s %9.1f %10.0f %10.0f %6.2f %11.0f %6.2f %6zu %7.0f  %s\n",
                one.name.c_str(), open_us, 1e6 / open_us, Median(one.iops[0]),
                Median(one.ratio[0]), Median(one.iops[1]), Median(one.ratio[1]),
                one.last.descriptors, one.last.memory_mib, one.last.served_by);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(
        stderr,
        "usage: many_stores_bench FOLDER [STORES [WINDOWS [ROUNDS]]]\n");
    return 2;
  }
  const std::string folder = argv[1];
  const size_t stores = CountArgument(argc, argv, 2, 10000);
  const std::vector<Window> windows =
      RandomWindows(stores, CountArgument(argc, argv, 3, 20000));
  const size_t rounds = CountArgument(argc, argv, 4, 3);
  MakeStores(folder, stores);

  std::vector<Case> cases;
  cases.push_back({"plain", [&](Result* result) {
                     MeasurePlain(folder, stores, windows, result);
                   }});
  const auto add = [&](const std::string& name, poniente::IoBackend backend,
                       poniente::VerifyChecksums verify) {
    poniente::TokenStoreOptions options;
    options.io.backend = backend;
    options.io.verify = verify;
    cases.push_back({name, [&, options](Result* result) {
                       MeasureStores(folder, stores, windows, options, result);
                     }});
  };
  using poniente::IoBackend;
  for (const IoBackend backend :
       {IoBackend::kAuto, IoBackend::kBuffered, IoBackend::kDirect,
        IoBackend::kMmap, IoBackend::kPread}) {
    add(std::string(poniente::IoBackendName(backend)), backend,
        poniente::VerifyChecksums::kFirstTouch);
  }
  add("auto, off", IoBackend::kAuto, poniente::VerifyChecksums::kOff);
  for (size_t round = 0; round < rounds; ++round) {
    Result plain;
    for (Case& one : cases) {
      const std::optional<Result> result =
          InProcessOfItsOwn<Result>(one.measure);
      if (&one == &cases[0]) plain = result.value();
      if (result.has_value()) {
        Add(*result, plain, stores, windows.size(), &one);
      }
    }
  }
  Print(cases);
}
