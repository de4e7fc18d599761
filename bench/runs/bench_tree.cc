// SPDX-License-Identifier: Apache-2.0
#include "bench/runs/bench_tree.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/measure/require.h"
#include "bench/readers/windows.h"
#include "poniente/token_store.h"
#include "poniente/token_store_writer.h"

namespace poniente::bench {
namespace {

static_assert(kSeqLen * sizeof(uint16_t) == kWindowBytes);

constexpr uint64_t kVocabulary = 65536;
// Writers wait for the disk now and then.
constexpr int kWriters = 4;

std::string DataTable() {
  return absl::StrCat("[data]\nseed = 1\nbatch_size = ", kBatchWindows,
                      "\nseq_len = ", kSeqLen, "\n");
}

uint64_t WindowsOf(double share, uint64_t mib) {
  const auto all = static_cast<double>((mib << 20) / kWindowBytes);
  return std::max<uint64_t>(1,
                            static_cast<uint64_t>(std::llround(share * all)));
}

constexpr uint64_t kMeanDocument = 1000;

bool IsWhole(const std::string& path, uint64_t tokens) {
  const auto store = TokenStore::Open(path);
  return store.ok() && (*store)->num_tokens() == tokens &&
         (*store)->num_documents() > tokens / (2 * kMeanDocument) &&
         (*store)->token_type() == TokenType::kU16;
}

class Noise {
 public:
  explicit Noise(uint64_t seed) : state_(seed) {}

  uint16_t Next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint16_t>(state_ >> 48);
  }

 private:
  uint64_t state_;
};

void MakeStore(const BenchTree& tree, size_t number) {
  const BenchStore& store = tree.stores[number];
  const std::string path = tree.folder + "/" + store.name;
  if (IsWhole(path, store.windows * kSeqLen)) return;
  TokenStoreWriterOptions options;
  options.vocabulary = {"bench", kVocabulary};
  const auto writer = Require(TokenStoreWriter::Create(path, options));
  Noise noise(number + 1);
  std::vector<uint32_t> ids;
  for (uint64_t left = store.windows * kSeqLen; left > 0;) {
    ids.resize(
        std::min<uint64_t>(left, 1 + noise.Next() % (2 * kMeanDocument)));
    for (uint32_t& id : ids) id = noise.Next();
    Require(writer->BeginDocument("noise"));
    Require(writer->Append(ids));
    Require(writer->EndDocument());
    left -= ids.size();
  }
  Require(writer->Finish().status());
}

}  // namespace

std::vector<double> LognormalShares(size_t components) {
  std::mt19937_64 random(components);
  std::lognormal_distribution<double> size(0, 1.5);
  std::vector<double> shares(components);
  for (double& share : shares) share = size(random);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

BenchTree QuickstartTree(const std::string& folder, uint64_t mib) {
  BenchTree tree{"quickstart",
                 absl::StrCat(folder, "/quickstart-", mib, "MiB"),
                 DataTable(),
                 {{"code", WindowsOf(0.35, mib)},
                  {"dictionary", WindowsOf(0.25, mib)},
                  {"manuals", WindowsOf(0.2, mib)},
                  {"fortunes", WindowsOf(0.06, mib)},
                  {"words", WindowsOf(0.04, mib)},
                  {"policy", WindowsOf(0.06, mib)},
                  {"reference", WindowsOf(0.04, mib)}}};
  tree.data +=
      "[data.mixture]\n"
      "code = { weight = 0.35, path = 'code' }\n"
      "dictionary = { weight = 0.25, path = 'dictionary' }\n"
      "manuals = { weight = 0.2, path = 'manuals' }\n"
      "[data.mixture.small]\n"
      "weight = 0.2\n"
      "[data.mixture.small.flat]\n"
      "fortunes = { path = 'fortunes' }\n"
      "words = { path = 'words' }\n"
      "[data.mixture.small.flat.handbooks.flat]\n"
      "policy = { path = 'policy' }\n"
      "reference = { path = 'reference' }\n";
  return tree;
}

BenchTree LognormalTree(const std::string& folder, uint64_t mib) {
  BenchTree tree{"lognormal",
                 absl::StrCat(folder, "/lognormal-", mib, "MiB"),
                 DataTable() + "[data.mixture]\n",
                 {}};
  for (const double share : LognormalShares(kManyComponents)) {
    // Short: fio takes 4096 bytes of names.
    const std::string name = absl::StrFormat("%03d", tree.stores.size());
    const uint64_t windows = WindowsOf(share, mib);
    tree.stores.push_back({name, windows});
    absl::StrAppend(&tree.data, "c", name, " = { weight = ", windows,
                    ", path = '", name, "' }\n");
  }
  return tree;
}

BenchTree OneStoreTree(const std::string& folder, uint64_t mib) {
  return {"one store",
          absl::StrCat(folder, "/one-", mib, "MiB"),
          DataTable() + "[data.mixture]\nall = { weight = 1, path = 'all' }\n",
          {{"all", WindowsOf(1, mib)}}};
}

void MakeStores(const BenchTree& tree) {
  std::fprintf(stderr, "stores in %s\n", tree.folder.c_str());
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&] {
      for (size_t store; (store = next++) < tree.stores.size();) {
        MakeStore(tree, store);
      }
    });
  }
}

}  // namespace poniente::bench
