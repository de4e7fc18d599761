// SPDX-License-Identifier: Apache-2.0
// What it takes to make the order of documents by length.
//
//   length_order_bench FOLDER [--documents N] [--rounds N] [--only LENGTHS]
//
// Makes two stores of N documents (default 1e8) in FOLDER, kept for the next
// run: log-normal lengths (median 600, sigma 1), and a power law (P(n > x) =
// (100 / x)^1.2). Their tokens are a hole in a file; their index of documents,
// which is what is measured, takes 16 bytes per document. In N interleaved
// rounds (default 5), each case in a process of its own, with the index of
// documents in the page cache:
//   order   TokenStore::Open() and PackedWindows(4096) without a file of the
//           order: all lengths are read and verified, counted, read again, and
//           the file is written and made durable
//   plain   a counting sort as one would write it for this purpose alone, on
//           one thread: reads the ends twice, unverified, writes the file
//           through a mapping, without checksums, and makes it durable
//   again   the same call as "order" when the file is there
// Printed: millions of documents per second of processor time (all threads,
// user and system), the elapsed seconds, the ratio of the processor time to
// that of "plain", the bytes of the file per document, and, from one more
// process, the most anonymous and the most resident memory (which includes the
// mapped pages of the file).

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/measure/cpu_seconds.h"
#include "bench/measure/many_files.h"
#include "bench/measure/require.h"
#include "bench/measure/sparse_store.h"
#include "bench/measure/statistics.h"
#include "bench/readers/page_cache.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/token_store.h"
#include "store/posix_file.h"

namespace poniente::bench {
namespace {

using Clock = std::chrono::steady_clock;
using internal::OwnedFd;

constexpr uint64_t kLongest = kLongestDocument;
constexpr uint64_t kRead = 65536;  // ends read at a time by "plain"

std::string OrderFile(const std::string& store) {
  return store + "/documents-by-length.bin";
}

struct Cost {
  double cpu = 0;
  double elapsed = 0;
  double file_bytes = 0;
  double anonymous_mb = 0;
  double resident_mb = 0;
};

// Calls visit(document, length) for all documents of the store.
template <class Visit>
void ForEachPlainLength(int fd, const std::string& path, uint64_t documents,
                        const Visit& visit) {
  std::vector<uint64_t> ends(kRead);
  uint64_t begin = 0;
  for (uint64_t first = 0; first < documents; first += kRead) {
    const uint64_t count = std::min(kRead, documents - first);
    Require(internal::ReadAll(
        fd, path, 8 * first,
        std::as_writable_bytes(std::span(ends).first(count))));
    for (uint64_t i = 0; i < count; ++i) {
      visit(first + i, ends[i] - begin);
      begin = ends[i];
    }
  }
}

void SortPlainly(const std::string& store, uint64_t documents, Cost* cost) {
  const std::string ends = store + "/documents-1.bin";
  const std::string target = store + "/plain.bin";
  std::filesystem::remove(target);
  const double cpu = CpuSeconds();
  const Clock::time_point start = Clock::now();
  {
    const OwnedFd from = Require(internal::OpenFd(ends, O_RDONLY));
    const OwnedFd to = Require(internal::OpenFd(target, O_RDWR | O_CREAT));
    const uint64_t bytes = 4 * documents;
    Require(::posix_fallocate(to.get(), 0, static_cast<off_t>(bytes)) == 0,
            "no space for " + target);
    void* const mapped =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, to.get(), 0);
    Require(mapped != MAP_FAILED, "cannot map " + target);
    auto* const table = static_cast<uint32_t*>(mapped);
    std::vector<uint64_t> next(kLongest + 2);
    ForEachPlainLength(from.get(), ends, documents,
                       [&](uint64_t, uint64_t length) { ++next[length + 1]; });
    for (size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
    ForEachPlainLength(
        from.get(), ends, documents, [&](uint64_t document, uint64_t length) {
          table[next[length]++] = static_cast<uint32_t>(document);
        });
    Require(internal::SyncFd(to.get(), target));
    munmap(mapped, bytes);
  }
  *cost = {CpuSeconds() - cpu, SecondsSince(start),
           static_cast<double>(std::filesystem::file_size(target))};
  std::filesystem::remove(target);
}

void Order(const std::string& path, Cost* cost) {
  const double cpu = CpuSeconds();
  const Clock::time_point start = Clock::now();
  const auto store = Require(TokenStore::Open(path));
  const auto windows = Require(store->PackedWindows(4096));
  *cost = {CpuSeconds() - cpu, SecondsSince(start),
           static_cast<double>(std::filesystem::file_size(OrderFile(path)))};
}

// Megabytes of a line of /proc/self/status.
double StatusMb(const std::string& wanted) {
  std::ifstream status("/proc/self/status");
  std::string name;
  double kib = 0;
  while (status >> name) {
    if (name == wanted && status >> kib) return kib / 1e3 * 1.024;
    status.ignore(200, '\n');
  }
  Require(false, "no " + wanted);
  return 0;
}

// Looks at the memory of "order" every millisecond.
void OrderWatched(const std::string& path, Cost* cost) {
  const double before = StatusMb("RssAnon:");
  std::atomic<bool> done = false;
  double most = 0;
  std::jthread watch([&] {
    while (!done) {
      most = std::max(most, StatusMb("RssAnon:") - before);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  Order(path, cost);
  done = true;
  watch.join();
  cost->anonymous_mb = most;
  cost->resident_mb = StatusMb("VmHWM:");
}

Cost InProcess(const std::function<void(Cost*)>& measure) {
  const auto cost = InProcessOfItsOwn<Cost>(measure);
  Require(cost.has_value(), "a case failed");
  return *cost;
}

struct Case {
  std::string name;
  std::function<Cost()> measure;
  std::vector<double> cpu = {};
  std::vector<double> elapsed = {};
  std::vector<double> ratios = {};
  Cost last = {};
};

void Measure(const std::string& name, const std::string& path,
             uint64_t documents, int rounds) {
  std::printf("%s, %.3g documents\n", name.c_str(),
              static_cast<double>(documents));
  // The index of documents, twice as long as its ends.
  Load(path + "/documents-1.bin", 16 * documents);
  std::vector<Case> cases;
  cases.push_back({"plain", [&] {
                     return InProcess([&](Cost* cost) {
                       SortPlainly(path, documents, cost);
                     });
                   }});
  cases.push_back({"order", [&] {
                     std::filesystem::remove(OrderFile(path));
                     return InProcess([&](Cost* cost) { Order(path, cost); });
                   }});
  cases.push_back({"again", [&] {
                     return InProcess([&](Cost* cost) { Order(path, cost); });
                   }});
  for (int round = 0; round < rounds; ++round) {
    double plain = 0;
    for (Case& one : cases) {
      one.last = one.measure();
      if (one.name == "plain") plain = one.last.cpu;
      one.cpu.push_back(one.last.cpu);
      one.elapsed.push_back(one.last.elapsed);
      one.ratios.push_back(one.last.cpu / plain);
    }
  }
  std::filesystem::remove(OrderFile(path));
  const Cost watched = InProcess([&](Cost* cost) { OrderWatched(path, cost); });
  std::printf("%-8s %9s %7s %9s %7s %9s %7s %9s\n", "", "M/s/core", "spread",
              "seconds", "spread", "CPU ratio", "noise", "bytes/doc");
  for (const Case& one : cases) {
    const double count = static_cast<double>(documents);
    std::printf("%-8s %9.1f %6.0f%% %9.2f %6.0f%% %9.2f %7.2f %9.3f\n",
                one.name.c_str(), count / Median(one.cpu) / 1e6,
                100 * Spread(one.cpu), Median(one.elapsed),
                100 * Spread(one.elapsed), Median(one.ratios),
                Noise(one.ratios), one.last.file_bytes / count);
  }
  std::printf("order: at most %.1f MB anonymous, %.1f MB resident\n\n",
              watched.anonymous_mb, watched.resident_mb);
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  return RunOnSparseStores(argc, argv, "length_order_bench", 1, Measure);
}

}  // namespace
}  // namespace poniente::bench

int main(int argc, char** argv) { return poniente::bench::Main(argc, argv); }
