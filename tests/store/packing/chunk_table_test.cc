// SPDX-License-Identifier: Apache-2.0
// The numbers of windows of chunks, and their file.

#include "store/packing/chunk_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "store/packing/live_values.h"
#include "tests/store/packing/lengths_source.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using poniente::testing::IsOk;
using poniente::testing::LengthsSource;
using poniente::testing::ProvenDocuments;
using poniente::testing::StatusIs;
using poniente::testing::TempDir;
using poniente::testing::WriteFile;
using poniente::testing::WriteStore;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ChunkTableTest : public ::testing::Test {
 protected:
  ChunkTableTest() : lengths_(1000) {
    std::mt19937_64 random(poniente::testing::TestSeed(3));
    for (uint64_t& length : lengths_) length = random() % 90;
    options_.chunk_documents = 30;
    options_.index_file = folder_.path("table");
  }

  absl::StatusOr<std::shared_ptr<const ChunkTable>> Open(
      const TokenSource& source) const {
    return OpenChunkTable(source, nullptr, 64, options_);
  }
  const std::string& File() const { return options_.index_file; }
  std::string Bytes() const {
    std::ifstream in(File(), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

  TempDir folder_;
  PackingOptions options_;
  std::vector<uint64_t> lengths_;
};

TEST_F(ChunkTableTest, IsMadeOnce) {
  const LengthsSource source(lengths_);
  ASSERT_OK_AND_ASSIGN(const auto made, Open(source));
  EXPECT_EQ(made->windows.size(), 34);
  EXPECT_EQ(made->summary.chunks, 34);
  const int reads = source.reads;
  EXPECT_EQ(reads, 34);
  ASSERT_OK_AND_ASSIGN(const auto opened, Open(source));
  EXPECT_EQ(source.reads, reads);
  EXPECT_EQ(opened->windows, made->windows);
  EXPECT_EQ(opened->summary, made->summary);
  EXPECT_EQ(std::filesystem::file_size(File()), 32 + 8 * (13 + 34) + 4);
  EXPECT_FALSE(std::filesystem::exists(File() + ".tmp"));
  // Without a file, it is the same.
  options_.index_file.clear();
  ASSERT_OK_AND_ASSIGN(const auto in_memory, Open(source));
  EXPECT_EQ(in_memory->windows, made->windows);
  EXPECT_EQ(in_memory->summary, made->summary);
}

TEST_F(ChunkTableTest, IsMadeAgainForOtherDocumentsAndRules) {
  const LengthsSource source(lengths_);
  ASSERT_OK_AND_ASSIGN(const auto made, Open(source));
  options_.chunk_documents = 40;
  ASSERT_OK_AND_ASSIGN(const auto other, Open(source));
  EXPECT_EQ(other->windows.size(), 25);
  options_.chunk_documents = 30;
  ASSERT_OK_AND_ASSIGN(const Selection selection,
                       Selection::ByHash(lengths_.size(), 0.3));
  ASSERT_OK_AND_ASSIGN(const auto selected,
                       OpenChunkTable(source, &selection, 64, options_));
  EXPECT_LT(selected->summary.documents, made->summary.documents / 2);
  const int reads = source.reads;
  // Neither of these decides how many windows there are.
  options_.shuffle = false;
  options_.shuffle_chunks = 100;
  EXPECT_THAT(OpenChunkTable(source, &selection, 64, options_), IsOk());
  EXPECT_EQ(source.reads, reads);
}

TEST_F(ChunkTableTest, WhatAKilledWriterLeftIsOverwritten) {
  const LengthsSource source(lengths_);
  WriteFile(File() + ".tmp", std::string(100'000, 'x'));
  ASSERT_OK_AND_ASSIGN(const auto made, Open(source));
  EXPECT_EQ(made->windows.size(), 34);
  EXPECT_EQ(Bytes().size(), 32 + 8 * (13 + 34) + 4);
  EXPECT_FALSE(std::filesystem::exists(File() + ".tmp"));
}

TEST_F(ChunkTableTest, ManyThreadsMakeItOnce) {
  const LengthsSource source(lengths_);
  std::vector<std::jthread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { good += Open(source).ok() ? 1 : 0; });
  }
  threads.clear();
  EXPECT_EQ(good, 4);
  EXPECT_EQ(source.reads, 34);
}

TEST_F(ChunkTableTest, EveryByteIsChecked) {
  const LengthsSource source(lengths_);
  ASSERT_OK_AND_ASSIGN(const auto made, Open(source));
  const std::string bytes = Bytes();
  uint64_t key = 0;
  std::memcpy(&key, bytes.data() + 16, 8);
  ASSERT_THAT(ReadChunkTable(File(), key), IsOk());
  const auto lost = StatusIs(absl::StatusCode::kDataLoss,
                             AllOf(HasSubstr(File()), HasSubstr("delete it")));
  for (size_t at = 8; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    WriteFile(File(), damaged);
    ASSERT_THAT(ReadChunkTable(File(), key), lost) << at;
  }
  for (const size_t size :
       {size_t{0}, size_t{31}, bytes.size() - 1, bytes.size() - 8}) {
    WriteFile(File(), bytes.substr(0, size));
    EXPECT_THAT(ReadChunkTable(File(), key), lost);
  }
  // Opening makes it again.
  ASSERT_OK_AND_ASSIGN(const auto again, Open(source));
  EXPECT_EQ(again->windows, made->windows);
  EXPECT_EQ(Bytes(), bytes);
  WriteFile(File(), std::string(1000, 'u'));
  EXPECT_THAT(Open(source), StatusIs(absl::StatusCode::kInvalidArgument,
                                     AllOf(HasSubstr(File()),
                                           HasSubstr("name another file"))));
}

TEST_F(ChunkTableTest, StoresKeepOneForEachRule) {
  const std::string path = folder_.path("store");
  ASSERT_THAT(WriteStore(path, ProvenDocuments({4, 1, 3, 0, 2}, 200)), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(path));
  options_.index_file.clear();
  options_.chunk_documents = 2;
  const auto files = [&] {
    size_t found = 0;
    for (const auto& each : std::filesystem::directory_iterator(path)) {
      found += each.path().filename().string().starts_with("windows-by-chunk-");
    }
    return found;
  };
  ASSERT_OK_AND_ASSIGN(const auto made,
                       OpenChunkTable(*store, nullptr, 4, options_));
  EXPECT_THAT(made->windows, ElementsAre(2, 1, 1));
  EXPECT_EQ(files(), 1);
  EXPECT_THAT(OpenChunkTable(*store, nullptr, 8, options_), IsOk());
  EXPECT_EQ(files(), 2);
  // Another store at the same path replaces them.
  ASSERT_THAT(WriteStore(path, ProvenDocuments({1, 2}, 200)), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto next, TokenStore::Open(path));
  ASSERT_OK_AND_ASSIGN(const auto other,
                       OpenChunkTable(*next, nullptr, 4, options_));
  EXPECT_THAT(other->windows, ElementsAre(1));
  EXPECT_EQ(files(), 2);
  EXPECT_THAT(VerifyTokenStore(path), IsOk());
}

TEST(LiveValuesTest, KeepsThoseUsedLast) {
  const LiveValues<uint64_t> values(2);
  std::vector<uint64_t> made;
  const auto get = [&](uint64_t key) {
    return **values.Get(key, [&](uint64_t k) {
      made.push_back(k);
      return absl::StatusOr<std::shared_ptr<const uint64_t>>(
          std::make_shared<const uint64_t>(k * k));
    });
  };
  EXPECT_EQ(values.Find(3), nullptr);
  EXPECT_EQ(get(3), 9);
  EXPECT_EQ(get(4), 16);
  EXPECT_EQ(get(3), 9);
  EXPECT_EQ(get(5), 25);  // in place of 4
  ASSERT_NE(values.Find(3), nullptr);
  EXPECT_EQ(*values.Find(3), 9);
  EXPECT_EQ(values.Find(4), nullptr);
  EXPECT_THAT(made, ElementsAre(3, 4, 5));
  const auto failed = values.Get(7, [](uint64_t) {
    return absl::StatusOr<std::shared_ptr<const uint64_t>>(
        absl::DataLossError("lost"));
  });
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(get(7), 49);
  values.KeepAtLeast(4);
  values.KeepAtLeast(1);
  for (const uint64_t key : {1, 2, 3, 4, 5}) get(key);
  made.clear();
  for (const uint64_t key : {5, 4, 3, 2, 1}) get(key);
  EXPECT_THAT(made, ElementsAre(1));
}

}  // namespace
}  // namespace poniente::internal
