// SPDX-License-Identifier: Apache-2.0
// Ten thousand stores open at once, one descriptor each, as one dataset. A few
// real ones are linked into as many folders.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/dataset_tree.h"
#include "poniente/flat_mixture.h"
#include "poniente/token_store.h"
#include "tests/store/small_stores.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using testing::IsOk;
using testing::OpenDescriptors;
using testing::ProvenId;
using testing::TempDir;

constexpr uint32_t kStores = 10'000;
constexpr uint32_t kContents = 7;
constexpr uint64_t kStoreTokens = uint64_t{1} << 19;  // 1 MiB of u16
constexpr uint64_t kStoreWindow = 1024;
// With what a process has open beside them.
constexpr rlim_t kDescriptorsNeeded = 12'000;

void WriteContent(const std::string& path, uint32_t content) {
  TokenStoreWriterOptions options;
  options.vocabulary = {"any", 65536};
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       TokenStoreWriter::Create(path, options));
  std::vector<uint32_t> ids(kStoreTokens);
  for (uint64_t t = 0; t < kStoreTokens; ++t)
    ids[t] = ProvenId(content, t, 65536);
  ASSERT_THAT(writer->AddDocument(ids, "all"), IsOk());
  ASSERT_THAT(writer->Finish(), IsOk());
}

void LinkStore(const std::string& from, const std::string& to) {
  std::filesystem::create_directory(to);
  for (const char* file : {"/manifest.json", "/tokens-1.bin",
                           "/documents-1.bin", "/checksums-1.bin"}) {
    ASSERT_EQ(::link((from + file).c_str(), (to + file).c_str()), 0)
        << to << file << ": " << std::strerror(errno);
  }
}

class ManyStoresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit_), 0);
    if (limit_.rlim_max < kDescriptorsNeeded) {
      GTEST_SKIP() << "needs " << kDescriptorsNeeded << " descriptors, "
                   << "the hard limit (ulimit -Hn) is " << limit_.rlim_max;
    }
    // As a shell gives it: the library raises it.
    const rlimit low = {1024, limit_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    for (uint32_t c = 0; c < kContents; ++c) {
      ASSERT_NO_FATAL_FAILURE(
          WriteContent(folder_.path(absl::StrCat("content", c)), c));
    }
    for (uint32_t s = 0; s < kStores; ++s) {
      ASSERT_NO_FATAL_FAILURE(
          LinkStore(folder_.path(absl::StrCat("content", s % kContents)),
                    folder_.path(absl::StrCat(s))));
    }
  }
  void TearDown() override { ::setrlimit(RLIMIT_NOFILE, &limit_); }

  // One child per store, in the order of their numbers.
  absl::StatusOr<DatasetPtr<TokenWindow>> OpenAll(IoBackend backend) const {
    TokenStoreOptions options;
    options.io.backend = backend;
    std::vector<NamedDataset<TokenWindow>> children;
    for (uint32_t s = 0; s < kStores; ++s) {
      const auto store =
          TokenStore::Open(folder_.path(absl::StrCat(s)), options);
      if (!store.ok()) return store.status();
      children.push_back(
          {absl::StrCat("s", s), *(*store)->Windows(kStoreWindow)});
    }
    return FlatMixture<TokenWindow>::Create(std::move(children), {});
  }

  const TempDir folder_;
  rlimit limit_ = {};
};

// Reads `count` items of all stores, and compares each with what was written.
void ExpectItemsOfTheirStores(const AsyncDataset<TokenWindow>& all,
                              const DatasetTree& tree, size_t count,
                              std::mt19937_64* random) {
  std::vector<Position> positions(count);
  std::vector<Index> indices(count);
  for (size_t i = 0; i < count; ++i) {
    positions[i].index = indices[i] = (*random)() % *all.CurrentLength();
  }
  std::vector<LeafPosition> places(count);
  ASSERT_THAT(tree.Resolve(positions, places), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto windows, all.GetBatchBlocking(indices));
  for (size_t i = 0; i < count; ++i) {
    const uint32_t content = places[i].leaf % kContents;
    const uint64_t begin = places[i].position.index * kStoreWindow;
    ASSERT_EQ(windows[i].tokens.size(), kStoreWindow);
    for (uint64_t t = 0; t < kStoreWindow; ++t) {
      ASSERT_EQ(windows[i].tokens[t], ProvenId(content, begin + t, 65536))
          << "store " << places[i].leaf << " token " << begin + t;
    }
  }
}

TEST_F(ManyStoresTest, AreOneDatasetWithADescriptorEachThroughAnyBackend) {
  std::mt19937_64 random(testing::TestSeed(7));
  absl::Status unavailable;
  for (const IoBackend backend :
       {IoBackend::kAuto, IoBackend::kBuffered, IoBackend::kDirect,
        IoBackend::kMmap, IoBackend::kPread}) {
    SCOPED_TRACE(IoBackendName(backend));
    const size_t before = OpenDescriptors();
    const auto opened = OpenAll(backend);
    if (absl::IsUnavailable(opened.status())) {
      unavailable = opened.status();
      continue;
    }
    ASSERT_OK_AND_ASSIGN(const DatasetPtr<TokenWindow> all, opened);
    EXPECT_LE(OpenDescriptors(), before + kStores);
    const DatasetTree tree(*all);
    for (int batch = 0; batch < 32; ++batch) {
      ASSERT_NO_FATAL_FAILURE(
          ExpectItemsOfTheirStores(*all, tree, 64, &random));
    }
  }
  if (!unavailable.ok()) GTEST_SKIP() << "in part: " << unavailable;
}

}  // namespace
}  // namespace poniente
