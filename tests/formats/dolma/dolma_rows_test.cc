// SPDX-License-Identifier: Apache-2.0
// dolma's tables: quoting, compression, and rows that contradict each other.

#include "formats/dolma/dolma_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/formats/dolma_files.h"
#include "tests/support/status_matchers.h"

namespace poniente::internal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::Gzip;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::StatusIs;

using testing::kDataLoss;
constexpr uint64_t kMemory = uint64_t{1} << 20;

MemoryBytes InMemory(const std::string& bytes) {
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  return MemoryBytes("a.csv.gz", {begin, begin + bytes.size()});
}

absl::StatusOr<DolmaTable> Table(const std::string& bytes,
                                 uint64_t most_tokens = 1000) {
  return ReadDolmaTable(InMemory(bytes), most_tokens, kMemory);
}

// "start-end name" of each row, then the error.
std::vector<std::string> RowsIn(const std::string& bytes) {
  const MemoryBytes input = InMemory(bytes);
  DolmaRows rows(input, /*keeps_names=*/true);
  std::vector<std::string> all;
  DolmaRow row;
  while (true) {
    const absl::StatusOr<bool> is_row = rows.Next(&row);
    if (!is_row.ok()) all.emplace_back(is_row.status().message());
    if (!is_row.ok() || !*is_row) return all;
    all.push_back(
        absl::StrCat(row.line, ": ", row.start, "-", row.end, " ", row.name));
  }
}

TEST(DolmaRowsTest, ReadsRowsAsPythonWritesThem) {
  const std::string text =
      testing::DolmaRowsOf({3, 0, 10}, {{"plain", "a/b.jsonl.gz", 1},
                                        {"", "", 0},
                                        {"x,\"y\"\r\nz", "q\n\n", 9}});
  for (const std::string& bytes : {text, Gzip(text), Gzip(text, 0)}) {
    EXPECT_THAT(RowsIn(bytes),
                ElementsAre("1: 0-3 id=plain src=a/b.jsonl.gz loc=1",
                            "2: 3-3 id= src= loc=0",
                            "3: 3-13 id=x,\"y\"\r\nz src=q\n\n loc=9"));
  }
  EXPECT_THAT(RowsIn("0,3\n3,5\n\n\r\n5,6"),
              ElementsAre("1: 0-3 ", "2: 3-5 ", "5: 5-6 "));
  EXPECT_THAT(RowsIn("\"0\",\"3\",a\"b,\"c\"d\r3,4,,\r"),
              ElementsAre("1: 0-3 id=a\"b src=cd", "1: 3-4 id= src="));
  EXPECT_THAT(RowsIn(""), ElementsAre());
  EXPECT_THAT(RowsIn("\n\r\n"), ElementsAre());
  EXPECT_THAT(RowsIn("0,3,"), ElementsAre("1: 0-3 id="));
}

TEST(DolmaRowsTest, GzipMembersFollowEachOther) {
  EXPECT_THAT(RowsIn(Gzip("0,3\n3,") + Gzip("") + Gzip("5\n")),
              ElementsAre("1: 0-3 ", "2: 3-5 "));
  EXPECT_THAT(RowsIn(Gzip("0,3\n") + std::string(100000, '\0')),
              ElementsAre("1: 0-3 "));
  EXPECT_THAT(RowsIn(Gzip("0,3\n") + "more"),
              ElementsAre("1: 0-3 ", HasSubstr("incorrect header")));
}

TEST(DolmaRowsTest, RowsOfAnythingElseAreRefused) {
  for (const auto& [text, message] :
       std::vector<std::pair<std::string, std::string>>{
           {"start,end\n", "line 1: start is 'start', expected a number"},
           {"0,1\n1,2x\n", "line 2: end is '2x'"},
           {"0,1\n\n1\n", "line 3: 1 field, expected start,end"},
           {"0,-1\n", "end is '-1'"},
           {"0,18446744073709551616\n", "end is '18446744073709551616'"},
           {"0,111111111111111111111\n", "end is '11111111111111111111...'"},
           {"0,\n", "end is ''"},
           {" 0,1\n", "start is ' 0'"},
           {"0,1,a,b,c,d\n", "line 1: more than 5 fields"},
           {"2,1\n", "begins at token 2 and ends at 1"},
           {"0,1,\"a\nb", "line 1: it ends within quotes"}}) {
    for (const std::string& bytes : {text, Gzip(text)}) {
      EXPECT_THAT(Table(bytes),
                  StatusIs(kDataLoss,
                           AllOf(HasSubstr("'a.csv.gz'"), HasSubstr(message))))
          << text;
    }
  }
  const std::string long_name = "0,1," + std::string((1 << 20) + 1, 'x');
  EXPECT_THAT(RowsIn(long_name),
              ElementsAre(HasSubstr("id has more than 1048576 bytes")));
  EXPECT_THAT(Table(long_name), IsOk());
}

TEST(DolmaRowsTest, DocumentsLieEndToEndWithinTheFile) {
  ASSERT_OK_AND_ASSIGN(const DolmaTable table, Table("0,3\n3,3\n3,10\n", 10));
  EXPECT_EQ(table.lengths.size(), 3u);
  EXPECT_EQ(table.lengths.total(), 10u);
  EXPECT_EQ(table.line, 3u);
  EXPECT_FALSE(table.has_names);
  EXPECT_TRUE(Table("0,3,x,y,1\n")->has_names);
  EXPECT_THAT(Table("1,3\n"),
              StatusIs(kDataLoss, HasSubstr("line 1: the document begins at "
                                            "token 1, expected where the one "
                                            "before ends, 0")));
  EXPECT_THAT(Table("0,3\n4,5\n"),
              StatusIs(kDataLoss, HasSubstr("line 2: the document begins at "
                                            "token 4")));
  EXPECT_THAT(Table("0,3\n9,12\n"),
              StatusIs(kDataLoss,
                       AllOf(HasSubstr("ends, 3; 6 tokens between them are in "
                                       "no document"),
                             HasSubstr("a gap of zeros; make both files anew"),
                             Not(HasSubstr("copy")))));
  EXPECT_THAT(Table("0,3\n2,5\n"), StatusIs(kDataLoss, HasSubstr("ends, 3")));
  EXPECT_THAT(
      Table("0,3\n3,11\n", 10),
      StatusIs(kDataLoss, HasSubstr("line 2: the document ends at token 11, "
                                    "expected at most 10")));
}

TEST(DolmaRowsTest, ATableCutAnywhereIsAnErrorOrEndsAtARow) {
  const std::string text = testing::DolmaRowsOf(
      {3, 1, 10}, {{"a", "b,c", 1}, {"", "", 0}, {"x\ny", "q", 9}});
  const std::string whole = Gzip(text);
  for (size_t bytes = 3; bytes < whole.size(); ++bytes) {
    EXPECT_THAT(Table(whole.substr(0, bytes)),
                StatusIs(kDataLoss, HasSubstr("ends early")))
        << bytes;
  }
}

TEST(DolmaRowsTest, AnyChangedByteGivesAnErrorOrATableWithinBounds) {
  const std::string text =
      testing::DolmaRowsOf({3, 1}, {{"a", "b,c", 1}, {"x\ny", "q", 9}});
  for (const std::string& whole : {text, Gzip(text)}) {
    for (size_t at = 0; at < whole.size(); ++at) {
      for (int value = 0; value < 256; ++value) {
        std::string changed = whole;
        changed[at] = static_cast<char>(value);
        const auto table = Table(changed, 100);
        if (!table.ok()) continue;
        ASSERT_LE(table->lengths.total(), 100u);
      }
    }
  }
}

// 10 million rows from 40 KB.
TEST(DolmaRowsTest, RowsWithoutTokensDoNotFillTheMemory) {
  std::string rows;
  for (int i = 0; i < 10'000'000; ++i) rows += "0,0\n";
  const std::string bomb = Gzip(rows, 9);
  rows = {};
  EXPECT_LT(bomb.size(), 100'000u);
  EXPECT_THAT(Table(bomb), StatusIs(absl::StatusCode::kResourceExhausted,
                                    HasSubstr("too many to keep")));
}

}  // namespace
}  // namespace poniente::internal
