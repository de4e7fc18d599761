// SPDX-License-Identifier: Apache-2.0
// The order of documents by length: what it holds, and its file.

#include "store/packing/length_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <thread>

#include "store/packing/length_order_file.h"
#include "store/packing/open_length_order.h"
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

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;

std::vector<uint64_t> RandomLengths(size_t documents, std::mt19937_64& random) {
  std::vector<uint64_t> lengths(documents);
  for (uint64_t& length : lengths) {
    // Some longer than those that are counted in arrays.
    length = random() % 50 == 0 ? random() % 400'000 : random() % 900;
  }
  return lengths;
}

void ExpectOrder(const LengthOrder& order, const std::vector<uint64_t>& lengths,
                 const std::function<bool(uint64_t)>& chosen) {
  std::vector<uint64_t> expected(lengths.size());
  std::iota(expected.begin(), expected.end(), 0);
  std::erase_if(expected,
                [&](uint64_t d) { return lengths[d] == 0 || !chosen(d); });
  std::stable_sort(
      expected.begin(), expected.end(),
      [&](uint64_t a, uint64_t b) { return lengths[a] < lengths[b]; });
  const LengthHistogram& histogram = order.histogram();
  ASSERT_EQ(histogram.num_documents(), expected.size());
  std::vector<uint64_t> found(expected.size());
  ASSERT_THAT(order.numbers().Read(0, found), IsOk());
  ASSERT_EQ(found, expected);
  for (uint64_t o = 0; o < expected.size(); ++o) {
    ASSERT_EQ(histogram.lengths[histogram.IndexOf(o)], lengths[expected[o]]);
    ASSERT_TRUE(order.numbers().HasRead(o));
  }
  for (uint64_t d = 0; d < lengths.size(); d += 1 + d % 7) {
    ASSERT_OK_AND_ASSIGN(const std::optional<uint64_t> ordinal,
                         order.OrdinalOf(d, lengths[d], {0, lengths.size()}));
    ASSERT_EQ(ordinal.has_value(), lengths[d] > 0 && chosen(d)) << d;
    if (ordinal.has_value()) {
      ASSERT_EQ(expected[*ordinal], d);
    }
  }
}

bool All(uint64_t) { return true; }

class LengthOrderTest : public ::testing::Test {
 protected:
  std::string File() const { return folder_.path("order"); }
  absl::StatusOr<LengthOrder> Open(const TokenSource& source) const {
    return OpenLengthOrder(source, nullptr, File());
  }

  TempDir folder_;
  std::mt19937_64 random_{poniente::testing::TestSeed(9)};
};

TEST_F(LengthOrderTest, InMemory) {
  for (const size_t documents : {0, 1, 1000, 300'000}) {
    const std::vector<uint64_t> lengths = RandomLengths(documents, random_);
    const LengthsSource source(lengths);
    ASSERT_OK_AND_ASSIGN(const LengthOrder order,
                         OpenLengthOrder(source, nullptr, ""));
    ExpectOrder(order, lengths, All);
  }
}

TEST_F(LengthOrderTest, InAFileThatIsMadeOnce) {
  for (const size_t documents : {1, 1000, 300'000}) {
    const std::vector<uint64_t> lengths = RandomLengths(documents, random_);
    const LengthsSource source(lengths);
    std::filesystem::remove(File());
    ASSERT_OK_AND_ASSIGN(const LengthOrder made, Open(source));
    ExpectOrder(made, lengths, All);
    const int reads = source.reads;
    ASSERT_OK_AND_ASSIGN(const LengthOrder opened, Open(source));
    ExpectOrder(opened, lengths, All);
    EXPECT_EQ(source.reads, reads);
    EXPECT_LE(opened.numbers().bytes(),
              documents * 41 / 10 + 16 * opened.histogram().lengths.size() +
                  2 * 4096);
    // No temporary file is left.
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()),
                            std::filesystem::directory_iterator()),
              1);
  }
}

TEST_F(LengthOrderTest, OfSelectedDocuments) {
  const std::vector<uint64_t> lengths = RandomLengths(5000, random_);
  const LengthsSource source(lengths);
  ASSERT_OK_AND_ASSIGN(const Selection selection,
                       Selection::ByHash(lengths.size(), 0.3));
  ASSERT_OK_AND_ASSIGN(const LengthOrder order,
                       OpenLengthOrder(source, &selection, File()));
  ExpectOrder(order, lengths,
              [&](uint64_t d) { return selection.Contains(d); });
  // The file is of these documents alone: others make it anew.
  ASSERT_OK_AND_ASSIGN(const LengthOrder all, Open(source));
  ExpectOrder(all, lengths, All);
  EXPECT_NE(LengthOrderKey(source, nullptr),
            LengthOrderKey(source, &selection));
}

TEST_F(LengthOrderTest, ManyThreadsAndProcessesMakeItOnce) {
  const std::vector<uint64_t> lengths = RandomLengths(100'000, random_);
  const LengthsSource source(lengths);
  std::vector<std::jthread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { good += Open(source).ok() ? 1 : 0; });
  }
  threads.clear();
  EXPECT_EQ(good, 4);
  EXPECT_EQ(source.reads, 2 * 2);  // two chunks, twice
}

TEST_F(LengthOrderTest, WhatAKilledWriterLeftIsOverwritten) {
  const std::vector<uint64_t> lengths = RandomLengths(1000, random_);
  const LengthsSource source(lengths);
  WriteFile(File() + ".tmp", std::string(100'000, 'x'));
  ASSERT_OK_AND_ASSIGN(const LengthOrder order, Open(source));
  ExpectOrder(order, lengths, All);
  EXPECT_FALSE(std::filesystem::exists(File() + ".tmp"));
}

TEST_F(LengthOrderTest, ErrorsOfTheSourceAreReturned) {
  LengthsSource source(RandomLengths(300'000, random_));
  source.fails_at = 200'000;
  const auto lost = StatusIs(kDataLoss, HasSubstr("unreadable"));
  EXPECT_THAT(OpenLengthOrder(source, nullptr, ""), lost);
  EXPECT_THAT(Open(source), lost);
  EXPECT_FALSE(std::filesystem::exists(File()));
  EXPECT_FALSE(std::filesystem::exists(File() + ".tmp"));
}

TEST_F(LengthOrderTest, AFileThatCannotBeWrittenIsAnErrorIfItWasNamed) {
  const LengthsSource source(RandomLengths(10, random_));
  EXPECT_THAT(OpenLengthOrder(source, nullptr, folder_.path("no/such/file")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no/such/file")));
  WriteFile(File(),
            "something of the user's, longer than sixty-four bytes, "
            "which is not to be overwritten");
  EXPECT_THAT(Open(source), StatusIs(absl::StatusCode::kInvalidArgument,
                                     AllOf(HasSubstr(File()),
                                           HasSubstr("name another file"))));
}

TEST_F(LengthOrderTest, StoresKeepItInTheirFolder) {
  const std::string path = folder_.path("store");
  ASSERT_THAT(WriteStore(path, ProvenDocuments({4, 1, 3, 0, 2}, 200)), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(path));
  ASSERT_OK_AND_ASSIGN(const LengthOrder made,
                       OpenLengthOrder(*store, nullptr, ""));
  const std::string file = path + "/documents-by-length.bin";
  EXPECT_TRUE(std::filesystem::exists(file));
  ExpectOrder(made, {4, 1, 3, 0, 2}, All);
  // Another store at the same path makes its own.
  ASSERT_THAT(WriteStore(path, ProvenDocuments({1, 2, 3}, 200)), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto next, TokenStore::Open(path));
  ASSERT_OK_AND_ASSIGN(const LengthOrder order,
                       OpenLengthOrder(*next, nullptr, ""));
  ExpectOrder(order, {1, 2, 3}, All);
  EXPECT_THAT(VerifyTokenStore(path), IsOk());
  // Where the folder cannot be written, it is kept in memory.
  std::filesystem::remove(file);
  std::filesystem::create_directory(file + ".tmp");
  ASSERT_OK_AND_ASSIGN(const LengthOrder in_memory,
                       OpenLengthOrder(*next, nullptr, ""));
  ExpectOrder(in_memory, {1, 2, 3}, All);
  EXPECT_FALSE(std::filesystem::exists(file));
}

class DamagedLengthOrderTest : public LengthOrderTest {
 protected:
  DamagedLengthOrderTest()
      : lengths_(RandomLengths(5000, random_)), source_(lengths_) {
    EXPECT_THAT(Open(source_), IsOk());
    std::ifstream in(File(), std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
  }

  absl::Status Damage(size_t at) {
    std::string damaged = bytes_;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    WriteFile(File(), damaged);
    const auto opened =
        OpenLengthOrderFile(File(), LengthOrderKey(source_, nullptr), 5000);
    if (!opened.ok()) return opened.status();
    if (!opened->has_value()) return absl::NotFoundError("of another source");
    std::vector<uint64_t> all((*opened)->histogram().num_documents());
    return (*opened)->numbers().Read(0, all);
  }

  std::vector<uint64_t> lengths_;
  LengthsSource source_;
  std::string bytes_;
};

TEST_F(DamagedLengthOrderTest, EveryByteIsChecked) {
  const size_t table =
      bytes_.size() -
      4 * (5000 - std::count(lengths_.begin(), lengths_.end(), 0));
  const auto lost =
      StatusIs(kDataLoss, AllOf(HasSubstr(File()), HasSubstr("delete it")));
  for (size_t at = 8; at < 64; ++at) EXPECT_THAT(Damage(at), lost) << at;
  for (int i = 0; i < 200; ++i) {
    size_t at = 64 + random_() % (bytes_.size() - 64);
    // Between the checksums and the table, nothing is stored.
    if (at < table && bytes_[at] == 0) continue;
    EXPECT_THAT(Damage(at), lost) << at;
  }
  EXPECT_THAT(Damage(0), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("name another file")));
  for (const size_t size : {size_t{0}, size_t{63}, bytes_.size() - 1}) {
    WriteFile(File(), bytes_.substr(0, size));
    EXPECT_THAT(
        OpenLengthOrderFile(File(), LengthOrderKey(source_, nullptr), 5000),
        lost);
  }
  // Opening makes it again.
  ASSERT_OK_AND_ASSIGN(const LengthOrder again, Open(source_));
  ExpectOrder(again, lengths_, All);
}

TEST_F(DamagedLengthOrderTest, TruncatedWhileItIsOpen) {
  ASSERT_OK_AND_ASSIGN(const LengthOrder order, Open(source_));
  ASSERT_EQ(::truncate(File().c_str(), 4096), 0);
  std::vector<uint64_t> all(order.histogram().num_documents());
  EXPECT_THAT(order.numbers().Read(0, all),
              StatusIs(kDataLoss, HasSubstr(File())));
}

TEST(DocumentNumbersTest, NumbersOfFourAndFiveBytes) {
  EXPECT_EQ(NumberBytes(1), 4);
  EXPECT_EQ(NumberBytes(uint64_t{1} << 32), 4);
  EXPECT_EQ(NumberBytes((uint64_t{1} << 32) + 1), 5);
  std::byte bytes[5];
  for (const uint64_t number :
       {uint64_t{0}, uint64_t{0x12345678}, uint64_t{0xab'0000'0001}}) {
    StoreNumber(number, 5, bytes);
    EXPECT_EQ(LoadNumber(bytes, 5), number);
  }
}

}  // namespace
}  // namespace poniente::internal
