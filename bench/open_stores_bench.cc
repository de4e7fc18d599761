// SPDX-License-Identifier: Apache-2.0
// How long it takes to open ten thousand token stores.
//
//   open_stores_bench FOLDER [STORES [ROUNDS]]
//
// Makes STORES (default 10000) stores of 2048 tokens, and their catalogue, in
// FOLDER, kept for the next run. In each of ROUNDS (default 7) rounds, in one
// process, with everything in the page cache:
//   manifests      open(), read() and close() of each manifest, one thread: the
//                  baseline
//   one by one     TokenStore::Open() of each, one thread: files too
//   OpenStores     all manifests at once, on all cores
//   catalogue      StoreCatalog::Open() and OpenAll(): one file
// and after each but the first, one token of every store, one ReadBatch() for
// 64 of them: where files have not been opened yet, they are now.
// Prints medians, and medians of the ratios to the baseline of the same round.

#include <fcntl.h>
#include <poniente/poniente.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/measure/many_files.h"
#include "bench/measure/require.h"
#include "bench/measure/statistics.h"

namespace {

using poniente::bench::CountArgument;
using poniente::bench::Median;
using poniente::bench::Require;
using poniente::bench::SecondsSince;
using Clock = std::chrono::steady_clock;
using Stores = std::vector<std::shared_ptr<const poniente::TokenStore>>;

constexpr uint64_t kTokens = 2048;
constexpr size_t kBatch = 64;

uint16_t TokenOf(uint64_t store, uint64_t token) {
  return static_cast<uint16_t>(store * 31 + token);
}

std::vector<std::string> StorePaths(const std::string& folder, size_t stores) {
  std::vector<std::string> paths;
  for (size_t i = 0; i < stores; ++i) {
    paths.push_back(folder + "/" + std::to_string(i));
  }
  return paths;
}

void MakeStore(const std::string& path, size_t store) {
  if (std::filesystem::exists(path + "/manifest.json")) return;
  poniente::TokenStoreWriterOptions options;
  options.vocabulary = {"bench", 65536};
  const auto writer =
      Require(poniente::TokenStoreWriter::Create(path, options));
  std::vector<uint32_t> ids(kTokens);
  for (uint64_t t = 0; t < kTokens; ++t) ids[t] = TokenOf(store, t);
  Require(writer->AddDocument(ids, "noise"));
  Require(writer->Finish().status());
}

// Writers wait for the disk most of the time: several at once.
void MakeStores(const std::vector<std::string>& paths) {
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> writers;
  for (int i = 0; i < 16; ++i) {
    writers.emplace_back([&] {
      for (size_t store; (store = next++) < paths.size();) {
        MakeStore(paths[store], store);
      }
    });
  }
}

// The baseline.
size_t ReadManifests(const std::vector<std::string>& paths) {
  char text[65536];
  size_t bytes = 0;
  for (const std::string& path : paths) {
    const int file =
        ::open((path + "/manifest.json").c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t got = file < 0 ? -1 : ::read(file, text, sizeof text);
    if (got <= 0) Require(absl::UnknownError("cannot read " + path));
    ::close(file);
    bytes += static_cast<size_t>(got);
  }
  return bytes;
}

Stores OpenOneByOne(const std::vector<std::string>& paths) {
  Stores stores;
  for (const std::string& path : paths) {
    stores.push_back(Require(poniente::TokenStore::Open(path)));
  }
  return stores;
}

// Compares the last token of each.
void ReadAll(const Stores& stores) {
  std::vector<uint16_t> tokens(kBatch);
  for (size_t first = 0; first < stores.size(); first += kBatch) {
    const size_t count = std::min(kBatch, stores.size() - first);
    std::vector<poniente::ReadRequest> requests;
    for (size_t i = 0; i < count; ++i) {
      requests.push_back({&stores[first + i]->reader(), 0, 2 * (kTokens - 1),
                          std::as_writable_bytes(std::span(&tokens[i], 1))});
    }
    Require(poniente::RunBlocking(poniente::ReadBatch(requests)));
  }
}

struct Case {
  std::string name;
  std::function<Stores()> open;
  std::vector<double> open_seconds = {}, ratios = {}, read_seconds = {};
};

void Measure(double baseline, Case* measured) {
  const auto start = Clock::now();
  const Stores stores = measured->open();
  const double seconds = SecondsSince(start);
  measured->open_seconds.push_back(seconds);
  measured->ratios.push_back(seconds / baseline);
  const auto first_read = Clock::now();
  ReadAll(stores);
  measured->read_seconds.push_back(SecondsSince(first_read));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: open_stores_bench FOLDER [STORES [ROUNDS]]\n");
    return 2;
  }
  const std::string folder = argv[1];
  const size_t stores = CountArgument(argc, argv, 2, 10000);
  const size_t rounds = CountArgument(argc, argv, 3, 7);
  const std::vector<std::string> paths = StorePaths(folder, stores);
  MakeStores(paths);
  const auto written = Require(poniente::StoreCatalog::Write(folder));
  if (written.stores != stores) {
    Require(absl::UnknownError("FOLDER holds other stores; name an empty one"));
  }

  std::vector<double> baseline;
  std::vector<Case> cases = {
      {"one by one", [&] { return OpenOneByOne(paths); }},
      {"OpenStores", [&] { return Require(poniente::OpenStores(paths)); }},
      {"catalogue",
       [&] {
         const auto catalog = Require(poniente::StoreCatalog::Open(folder));
         return Require(catalog.OpenAll());
       }},
  };
  for (size_t round = 0; round < rounds; ++round) {
    for (Case& one : cases) {
      const auto start = Clock::now();
      ReadManifests(paths);
      baseline.push_back(SecondsSince(start));
      Measure(baseline.back(), &one);
    }
  }

  const double per_store = 1e6 / static_cast<double>(stores);
  std::printf("%zu stores, %zu rounds, %u cores\n", stores, rounds,
              std::thread::hardware_concurrency());
  std::printf("%-12s %8s %9s %7s %14s\n", "", "open s", "us each", "ratio",
              "first read s");
  std::printf("%-12s %8.4f %9.2f %7.2f\n", "manifests", Median(baseline),
              Median(baseline) * per_store, 1.0);
  for (const Case& one : cases) {
    const double seconds = Median(one.open_seconds);
    std::printf("%-12s %8.4f %9.2f %7.2f %14.4f\n", one.name.c_str(), seconds,
                seconds * per_store, Median(one.ratios),
                Median(one.read_seconds));
  }
}
