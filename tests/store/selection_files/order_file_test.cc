// SPDX-License-Identifier: Apache-2.0
// Orders in files: written and opened, cut at every byte, forged, and cut or
// overwritten while open.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "poniente/dataset_tree.h"
#include "poniente/score_file.h"
#include "poniente/transforms.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "util/crc32c.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ReadFile;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteFile;

using testing::kDataLoss;
using testing::kInvalid;

std::string BytesOf(const std::vector<uint32_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), 4 * values.size()};
}

class OrderFileTest : public ::testing::Test {
 protected:
  const TempDir folder_;
};

ScoreOrder RandomOrder(uint64_t n) {
  std::mt19937_64 random(n + 1);
  std::vector<float> scores(n);
  for (float& score : scores) score = static_cast<float>(random() % 1000);
  return *ScoreOrder::FromScores(std::span(scores));
}

void ExpectSameOrder(const ScoreOrder& a, const ScoreOrder& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
  std::vector<uint64_t> all(a.size()), of_a(a.size()), of_b(a.size());
  std::iota(all.begin(), all.end(), 0u);
  a.ItemsAt(all, of_a);
  b.ItemsAt(all, of_b);
  EXPECT_EQ(of_a, of_b);
  a.PlacesOf(all, of_a);
  b.PlacesOf(all, of_b);
  EXPECT_EQ(of_a, of_b);
}

TEST_F(OrderFileTest, AnOrderComesBackAsItWas) {
  const std::string path = folder_.path("order");
  for (const uint64_t n : {0u, 1u, 2u, 1000u, 300'000u}) {
    const ScoreOrder order = RandomOrder(n);
    ASSERT_THAT(OrderFile::Write(path, order), IsOk());
    EXPECT_EQ(ReadFile(path).size(), 64 + 8 * n);
    ASSERT_OK_AND_ASSIGN(const ScoreOrder opened, OrderFile::Open(path));
    ExpectSameOrder(opened, order);
    EXPECT_THAT(opened.status(), IsOk());
    // From a mapped one, over itself.
    ASSERT_THAT(OrderFile::Write(path, opened), IsOk());
    ASSERT_OK_AND_ASSIGN(const ScoreOrder again, OrderFile::Open(path));
    ExpectSameOrder(again, order);
  }
}

TEST_F(OrderFileTest, AnOrderThatCannotBeWrittenLeavesNothing) {
  EXPECT_THAT(OrderFile::Write(folder_.path("no/order"), RandomOrder(3)),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no/order")));
  std::filesystem::create_directory(folder_.path("taken"));
  EXPECT_FALSE(OrderFile::Write(folder_.path("taken"), RandomOrder(3)).ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()),
                          std::filesystem::directory_iterator()),
            1);
}

TEST_F(OrderFileTest, AnOrderCutAnywhereOrWithAnyByteChangedIsRefused) {
  const std::string path = folder_.path("order");
  ASSERT_THAT(OrderFile::Write(path, RandomOrder(20)), IsOk());
  const std::string whole = ReadFile(path);
  for (size_t size = 0; size < whole.size(); ++size) {
    WriteFile(path, whole.substr(0, size));
    ASSERT_THAT(OrderFile::Open(path), StatusIs(kDataLoss, HasSubstr(path)));
  }
  WriteFile(path, whole + "x");
  EXPECT_THAT(OrderFile::Open(path), StatusIs(kDataLoss, HasSubstr("225")));
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      WriteFile(path, flipped);
      ASSERT_FALSE(OrderFile::Open(path).ok()) << "byte " << at;
    }
  }
  WriteFile(path,
            "not an order file, but long enough to be one: 0123456789 "
            "0123456789");
  EXPECT_THAT(OrderFile::Open(path),
              StatusIs(kInvalid, HasSubstr("'pntorder'")));
}

// An order file with these tables and right checksums.
std::string Forged(const std::vector<uint32_t>& tables) {
  std::string header = "pntorder";
  const auto add = [&header](auto value) {
    header.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  const auto crc = [](const std::string& text) {
    return internal::Crc32c(std::as_bytes(std::span(text)));
  };
  add(uint32_t{1});
  add(crc(BytesOf(tables)));
  add(uint64_t{tables.size() / 2});
  header.resize(60);
  add(crc(header));
  return header + BytesOf(tables);
}

TEST_F(OrderFileTest, TablesWithRightChecksumsMustStillBeInverse) {
  const std::string path = folder_.path("order");
  const auto open = [&](const std::vector<uint32_t>& tables) {
    WriteFile(path, Forged(tables));
    return OrderFile::Open(path);
  };
  EXPECT_THAT(open({2, 0, 1, 1, 2, 0}), IsOk());
  const auto not_inverse = StatusIs(kDataLoss, HasSubstr("not inverse"));
  EXPECT_THAT(open({2, 0, 1, 2, 0, 1}), not_inverse);
  EXPECT_THAT(open({0, 0, 1, 0, 1, 2}), not_inverse);
  EXPECT_THAT(open({0, 0, 0, 0, 0, 0}), not_inverse);
  EXPECT_THAT(open({3, 0, 1, 1, 2, 0}),
              StatusIs(kDataLoss, HasSubstr("holds 3 at byte 64, expected less "
                                            "than 3")));
  // Good tables, but not those that were written.
  WriteFile(path, Forged({2, 0, 1, 1, 2, 0}).substr(0, 64) +
                      BytesOf({1, 2, 0, 2, 0, 1}));
  EXPECT_THAT(OrderFile::Open(path),
              StatusIs(kDataLoss, HasSubstr("checksum")));
  std::string huge = Forged({});
  huge[22] = 1;
  const uint32_t crc =
      internal::Crc32c(std::as_bytes(std::span(huge).first(60)));
  std::memcpy(huge.data() + 60, &crc, 4);
  WriteFile(path, huge);
  EXPECT_THAT(OrderFile::Open(path), StatusIs(kDataLoss, HasSubstr("items")));
}

TEST_F(OrderFileTest, AnOrderCutShortWhileOpenIsDataLossNotASignal) {
  constexpr uint64_t kItems = 5000;
  const std::string path = folder_.path("order");
  const ScoreOrder order = RandomOrder(kItems);
  std::vector<uint64_t> all(kItems);
  std::iota(all.begin(), all.end(), 0u);
  for (const uint64_t keep :
       {0u, 1u, 63u, 66u, 4096u, 10001u, 20064u, 40063u}) {
    ASSERT_THAT(OrderFile::Write(path, order), IsOk());
    ASSERT_OK_AND_ASSIGN(const ScoreOrder opened, OrderFile::Open(path));
    const auto dataset = *Order(testing::Counting(kItems), opened);
    const DatasetTree tree(*dataset);
    EXPECT_THAT(dataset->GetBlocking(0), IsOk());
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(keep)), 0);
    const auto lost =
        StatusIs(kDataLoss, AllOf(HasSubstr(path), HasSubstr("cut short")));
    std::vector<uint64_t> values(kItems);
    opened.ItemsAt(all, values);
    for (const uint64_t value : values) ASSERT_LT(value, kItems);
    opened.PlacesOf(all, values);
    for (const uint64_t value : values) ASSERT_LT(value, kItems);
    EXPECT_THAT(opened.status(), lost);
    EXPECT_THAT(dataset->GetBlocking(kItems - 1), lost);
    EXPECT_THAT(tree.Find({0, {.index = 7}}), lost);
    EXPECT_THAT(OrderFile::Write(folder_.path("copy"), opened), lost);
  }
}

TEST_F(OrderFileTest, EveryLookUpOfACutOrderThatIsWrongIsMarked) {
  // The cut lies inside the first page: zeros follow it, without a signal.
  constexpr uint64_t kItems = 100;
  const std::string path = folder_.path("order");
  const ScoreOrder order = RandomOrder(kItems);
  ASSERT_THAT(OrderFile::Write(path, order), IsOk());
  const std::string whole = ReadFile(path);
  for (uint64_t place = 0; place < kItems; ++place) {
    WriteFile(path, whole);
    ASSERT_OK_AND_ASSIGN(const ScoreOrder opened, OrderFile::Open(path));
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(64 + 4 * place + 1)),
              0);
    if (opened.ItemAt(place) != order.ItemAt(place)) {
      ASSERT_FALSE(opened.status().ok()) << place;
    }
    (void)opened.PlaceOf(place);
    ASSERT_FALSE(opened.status().ok()) << place;
  }
}

TEST_F(OrderFileTest, AWriterInPlaceCannotMakeAnIndexOutOfRange) {
  const std::string path = folder_.path("order");
  ASSERT_THAT(OrderFile::Write(path, RandomOrder(100)), IsOk());
  ASSERT_OK_AND_ASSIGN(const ScoreOrder opened, OrderFile::Open(path));
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.write(std::string(864, '\xff').data(), 864);
  file.close();
  EXPECT_LT(opened.ItemAt(50), 100u);
  EXPECT_THAT(opened.status(), StatusIs(kDataLoss, HasSubstr("damaged")));
}

TEST_F(OrderFileTest, ThreadsSurviveOneThatTruncates) {
  constexpr uint64_t kItems = 20000;
  const std::string path = folder_.path("order");
  ASSERT_THAT(OrderFile::Write(path, RandomOrder(kItems)), IsOk());
  ASSERT_OK_AND_ASSIGN(const ScoreOrder opened, OrderFile::Open(path));
  std::atomic<int> started = 0;
  std::atomic<bool> out_of_range = false;
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      std::vector<uint64_t> places(kItems), items(kItems);
      std::iota(places.begin(), places.end(), 0u);
      ++started;
      for (int i = 0; i < 20 || (opened.status().ok() && i < 10'000); ++i) {
        opened.ItemsAt(places, items);
        for (const uint64_t item : items) {
          if (item >= kItems) out_of_range = true;
        }
      }
    });
  }
  while (started < 2) std::this_thread::yield();
  ASSERT_EQ(::truncate(path.c_str(), 4096), 0);
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(out_of_range);
  EXPECT_FALSE(opened.status().ok());
}

}  // namespace
}  // namespace poniente
