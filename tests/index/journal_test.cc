// SPDX-License-Identifier: Apache-2.0
// The journal's file: what was written is read, and nothing else is.
#include "poniente/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "index/journal/compact_ranges.h"
#include "index/journal/journal_line.h"
#include "index/keyed_hash.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::StatusIs;

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;

void Add(const RunChange& change, uint64_t sample, uint64_t step,
         Journal* journal) {
  const auto line = journal->LineOf(change, sample, step);
  ASSERT_THAT(line, IsOk());
  ASSERT_THAT(journal->Append(*line), IsOk());
}

RunChange AnyChange(std::mt19937_64& random) {
  const auto text = [&random] {
    std::string made;
    for (uint64_t i = random() % 12; i > 0; --i) {
      constexpr char kLetters[] = "ab \"\\\n\t/'\xc3\xa4\x01\xff";
      made += kLetters[random() % (sizeof(kLetters) - 1)];
    }
    return made;
  };
  const auto number = [&random] {
    return static_cast<double>(random()) * 0x1p-60;
  };
  RunChange change;
  std::vector<NumberRange> ranges;
  for (uint64_t begin = 0, i = random() % 5; i < 6; ++i) {
    begin += 1 + random() % 1000;
    ranges.push_back(
        {begin, begin + 1 + random() % (random() % 2 == 0 ? 1 : 9)});
    begin = ranges.back().end;
  }
  switch (random() % 7) {
    case 0:
      for (uint64_t i = 1 + random() % 5; i > 0; --i) {
        change.weights[text()] = number();
      }
      break;
    case 1:
      change = RunChange::Temperature(
          random() % 4 == 0 ? std::numeric_limits<double>::infinity()
                            : 0.1 + number());
      break;
    case 2:
      change = RunChange::Retire({text(), text()});
      break;
    case 3:
      change = RunChange::DropDocuments("", ranges);
      change.masks = random() % 2 == 0;
      break;
    case 4:
      change = RunChange::DropItems("", ranges);
      break;
    case 5: {
      constexpr const char* kTables[] = {
          "{}", "{weight = 0.2, path = \"for}um\\\"{\"}",
          "{ flat = {a = {path = 'x}\\'}, \"b c\" = {tokens = 5}} }"};
      change = RunChange::Add(text() + "n", kTables[random() % 3]);
      if (random() % 2 == 0) {
        change = RunChange::Split(
            text(), {{text() + "n", kTables[0]}, {text() + "n", kTables[1]}});
      }
      change.added[0].fingerprint = random() % 2 * random();
      break;
    }
    default:
      change = RunChange::Extend(1 + random());
  }
  if (change.kind != RunChange::Kind::kExtend) change.path = text();
  if (change.kind == RunChange::Kind::kDrop) change.path += "a";
  change.why = text();
  return change;
}

Journal Example(uint64_t entries, std::mt19937_64& random) {
  Journal journal;
  uint64_t sample = 0;
  for (uint64_t i = 0; i < entries; ++i) {
    Add(AnyChange(random), sample, sample / 7, &journal);
    sample += random() % 100;
  }
  return journal;
}

TEST(JournalTest, WhatWasWrittenIsRead) {
  std::mt19937_64 random(testing::TestSeed(41));
  for (int round = 0; round < 300; ++round) {
    const Journal journal = Example(random() % 8, random);
    const auto read = Journal::Parse(journal.bytes());
    ASSERT_THAT(read, IsOk());
    EXPECT_EQ(read->entries(), journal.entries());
    EXPECT_EQ(read->bytes(), journal.bytes());
    EXPECT_EQ(read->torn(), 0u);
    EXPECT_EQ(read->Hash(read->size()), journal.Hash(journal.size()));
    EXPECT_TRUE(*read == journal);
  }
}

// States keep it: another hash would refuse the runs of saved states.
TEST(JournalTest, TheHashIsThatOfTheBytesSoFar) {
  std::mt19937_64 random(testing::TestSeed(44));
  const Journal journal = Example(20, random);
  Journal some;
  for (size_t size = 0; size <= journal.size(); ++size) {
    ASSERT_EQ(journal.Hash(size),
              internal::Derive(0, internal::Tag("jour"),
                               std::string_view(some.bytes())));
    EXPECT_EQ(some == journal, size == journal.size());
    if (size == journal.size()) break;
    const JournalEntry entry = journal.entry(size);
    const auto line = some.LineOf(entry.change, entry.sample, entry.step);
    ASSERT_THAT(line, IsOk());
    ASSERT_THAT(some.Append(*line), IsOk());
  }
}

TEST(JournalTest, CutAnywhereItIsTheRunBeforeTheCut) {
  std::mt19937_64 random(testing::TestSeed(42));
  const Journal journal = Example(6, random);
  const std::vector<JournalEntry> all = journal.entries();
  size_t whole = 0;
  for (size_t cut = 0; cut <= journal.bytes().size(); ++cut) {
    const auto read = Journal::Parse(journal.bytes().substr(0, cut));
    ASSERT_THAT(read, IsOk()) << cut;
    ASSERT_EQ(read->bytes().size() + read->torn(), cut);
    ASSERT_TRUE(std::equal(all.begin(),
                           all.begin() + static_cast<ptrdiff_t>(read->size()),
                           read->entries().begin()));
    ASSERT_GE(read->size(), whole);
    whole = read->size();
  }
  EXPECT_EQ(whole, 6u);
}

TEST(JournalTest, ADamagedOneIsRefusedWithItsLine) {
  std::mt19937_64 random(testing::TestSeed(43));
  const Journal journal = Example(5, random);
  const std::string bytes = journal.bytes();
  const size_t last_line = bytes.rfind('\n', bytes.size() - 2) + 1;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const auto read = Journal::Parse(damaged, "run.journal");
      if (read.ok()) {
        // Only the end of the last line could be missing, so that the line
        // looks torn.
        ASSERT_EQ(at, bytes.size() - 1);
        ASSERT_EQ(read->size(), 4u);
      } else {
        ASSERT_THAT(read, StatusIs(kDataLoss, HasSubstr("run.journal:")));
      }
    }
  }
  // Lines that are missing, doubled or in another order.
  const std::string first = bytes.substr(0, bytes.find('\n') + 1);
  EXPECT_THAT(Journal::Parse(first + bytes.substr(last_line)),
              StatusIs(kDataLoss, HasSubstr(":2: ")));
  EXPECT_THAT(Journal::Parse(bytes + bytes.substr(last_line)),
              StatusIs(kDataLoss, HasSubstr(":7: ")));
}

TEST(JournalTest, ALineIsOfOnePlace) {
  Journal journal;
  Add(RunChange::Weights({{"web", 0.1}}), 100, 3, &journal);
  Journal other = journal;
  Add(RunChange::Extend(9), 200, 5, &journal);
  Add(RunChange::Extend(8), 200, 5, &other);
  const std::string third = *journal.LineOf(RunChange::Extend(10), 300, 9);
  EXPECT_THAT(other.Append(third),
              StatusIs(kInvalid, HasSubstr("behind other entries")));
  EXPECT_THAT(Journal().Append(third),
              StatusIs(kInvalid, HasSubstr("the next has number 1")));
  const std::string second =
      *Journal(other).LineOf(RunChange::Extend(9), 200, 5);
  EXPECT_THAT(other.Append(*journal.LineOf(RunChange::Extend(9), 200, 5)),
              StatusIs(kInvalid, HasSubstr("")));
  EXPECT_THAT(journal.LineOf(RunChange::Extend(10), 199, 9),
              StatusIs(kInvalid, AllOf(HasSubstr("sample 199"),
                                       HasSubstr("from sample 200"))));
  ASSERT_THAT(journal.Append(third), IsOk());
  EXPECT_EQ(journal.size(), 3u);
  ASSERT_THAT(journal.Append(third), IsOk());  // again
  EXPECT_EQ(journal.size(), 3u);
  EXPECT_EQ(journal.last_step(), 9u);
  // Of a run that went back to step 4.
  Journal back = journal;
  ASSERT_THAT(back.Append(*back.LineOf(RunChange::Extend(11), 300, 4)), IsOk());
  EXPECT_EQ(back.last_step(), 9u);
  EXPECT_EQ(journal.DecidedUpTo(5), 2u);
  EXPECT_EQ(journal.DecidedUpTo(4), 1u);
  EXPECT_EQ(journal.DecidedUpTo(2), 0u);
}

TEST(JournalTest, WhatSaysNothingIsRefused) {
  const Journal journal;
  const auto refused = [&journal](const RunChange& change) {
    return journal.LineOf(change, 1, 1).status();
  };
  EXPECT_THAT(refused(RunChange::Weights({})),
              StatusIs(kInvalid, HasSubstr("no weights")));
  EXPECT_THAT(refused(RunChange::Weights(
                  {{"a", std::numeric_limits<double>::quiet_NaN()}})),
              StatusIs(kInvalid, HasSubstr("no number")));
  EXPECT_THAT(refused(RunChange::Temperature(0)),
              StatusIs(kInvalid, HasSubstr("not above 0")));
  EXPECT_THAT(refused(RunChange::Retire({})),
              StatusIs(kInvalid, HasSubstr("")));
  EXPECT_THAT(refused(RunChange::Extend(0)), StatusIs(kInvalid, HasSubstr("")));
  EXPECT_THAT(refused(RunChange::DropItems("", {{1, 2}})),
              StatusIs(kInvalid, HasSubstr("names no source")));
  EXPECT_THAT(refused(RunChange::DropItems("a", {})),
              StatusIs(kInvalid, HasSubstr("drops nothing")));
  EXPECT_THAT(refused(RunChange::DropItems("a", {{2, 2}})),
              StatusIs(kInvalid, HasSubstr("no range")));
  EXPECT_THAT(refused(RunChange::DropItems("a", {{0, UINT64_MAX}})),
              StatusIs(kInvalid, HasSubstr("more than 268435456")));
  EXPECT_THAT(refused(RunChange::Add("", "{}")),
              StatusIs(kInvalid, HasSubstr("has a name")));
  for (const char* const table :
       {"", "x", "{", "{}x", "{\n}", "{a = \"}\"", "{a = '\\'}'"}) {
    EXPECT_THAT(refused(RunChange::Add("a", table)),
                StatusIs(kInvalid, HasSubstr("one inline table")))
        << table;
  }
}

TEST(JournalTest, WhatIsAddedIsOneTable) {
  const char* const text =
      "add of \"small\" \"forum\" {path = \"a } b\", take = 3} is "
      "00000000000000ff why \"week three\"";
  const auto change = ParseChange(text);
  ASSERT_THAT(change, IsOk());
  EXPECT_EQ(change->path, "small");
  ASSERT_EQ(change->added.size(), 1u);
  EXPECT_EQ(change->added[0].name, "forum");
  EXPECT_EQ(change->added[0].description, "{path = \"a } b\", take = 3}");
  EXPECT_EQ(change->added[0].fingerprint, 255u);
  EXPECT_EQ(ToText(*change).value(), text);
  for (const char* const wrong :
       {"add {}", "add \"a\"", "add \"a\" {", "add \"a\" {} is 5",
        "add \"a\" {} is 00000000000000fg", "add \"a\" {} is 0000000000000000",
        "add \"a\" \"b\" {}", "add \"a\" {}why \"b\""}) {
    EXPECT_THAT(ParseChange(wrong), StatusIs(kInvalid, HasSubstr(""))) << wrong;
  }
}

TEST(JournalTest, RangesThatAreDroppedAreJoined) {
  const RunChange change =
      RunChange::DropDocuments("web", {{20, 26}, {17, 18}, {22, 23}, {26, 27}});
  EXPECT_EQ(ToText(change).value(), "drop of \"web\" documents 17 20-26");
  EXPECT_EQ(ParseChange("drop of \"web\" documents 17 20-26").value(), change);
  RunChange masked = change;
  masked.masks = true;
  EXPECT_EQ(ToText(masked).value(),
            "drop of \"web\" documents 17 20-26 masked");
  EXPECT_EQ(ParseChange("drop of \"web\" documents 17 20-26 masked").value(),
            masked);
  for (const char* const text :
       {"drop of \"web\" items 5 masked", "drop of \"web\" documents 5 maske",
        "drop of \"web\" documents 5 maskedwhy \"\"",
        "drop of \"web\" documents 5-4", "drop of \"web\" documents",
        "drop documents 5", "drop of \"web\" windows 5",
        "drop of \"web\" documents 5-",
        "drop of \"web\" documents 18446744073709551615"}) {
    EXPECT_THAT(ParseChange(text), StatusIs(kInvalid, HasSubstr(""))) << text;
  }
}

// What people type is read; a line of the file has one form.
TEST(JournalTest, AChangeMayBeTypedInAnyOrder) {
  const std::pair<const char*, const char*> cases[] = {
      {"drop of \"web\" documents 20-26 17",
       "drop of \"web\" documents 17 20-26"},
      {"drop of \"web\" documents 2 1", "drop of \"web\" documents 1-2"},
      {"drop of \"web\" documents 3-3", "drop of \"web\" documents 3"},
      {"drop of \"web\" documents 07 ", "drop of \"web\" documents 7"},
      {"weights \"web\" 0.50 \"code\" .3", "weights \"code\" 0.3 \"web\" 0.5"},
      {"weights  \"web\" 1e-3", "weights \"web\" 0.001"},
      {"temperature 1.50", "temperature 1.5"}};
  for (const auto& [typed, text] : cases) {
    const auto change = ParseChange(typed);
    ASSERT_THAT(change, IsOk()) << typed;
    EXPECT_EQ(ToText(*change).value(), text);
    const std::string line = absl::StrCat("1 sample 8 step 2 ", typed);
    EXPECT_THAT(internal::ParseEntry(line),
                StatusIs(kInvalid, HasSubstr("expected '1 sample")))
        << line;
  }
}

TEST(JournalTest, WhatIsNoChangeSaysWhy) {
  EXPECT_THAT(ParseChange("weight \"web\" 0.5"),
              StatusIs(kInvalid, HasSubstr("did you mean 'weights'")));
  EXPECT_THAT(ParseChange("weights \"web\" 0.3 \"web\" 0.4"),
              StatusIs(kInvalid, HasSubstr("'web' has two weights")));
  EXPECT_THAT(ParseChange("weights web 0.3"),
              StatusIs(kInvalid, HasSubstr("names stand in double quotes")));
}

TEST(JournalTest, PartsOfASplitAreTables) {
  const char* const text =
      "split of \"m\" \"web\" \"good\" {a = 1} is 00000000000000ff \"rest\" "
      "{} why \"as asked\"";
  const auto change = ParseChange(text);
  ASSERT_THAT(change, IsOk());
  RunChange expected = RunChange::Split(
      "web", {{"good", "{a = 1}", 255}, {"rest", "{}"}}, "as asked");
  expected.path = "m";
  EXPECT_EQ(*change, expected);
  EXPECT_EQ(ToText(*change).value(), text);
  for (const char* const wrong :
       {"split {}", "split \"a\"", "split \"a\" {}", "split \"a\" \"b\"",
        "split \"a\" \"b\" {} \"c\"", "split \"a\" \"\" {}"}) {
    EXPECT_THAT(ParseChange(wrong), StatusIs(kInvalid, HasSubstr(""))) << wrong;
  }
}

// docs/journal.md shows a file, and what its entries say.
TEST(JournalTest, TheExampleOfTheDocsIsRead) {
  std::ifstream page(PONIENTE_SOURCE_DIR "/docs/journal.md");
  std::stringstream text;
  text << page.rdbuf();
  const std::string docs = text.str();
  const std::string fence = "```journal\n";
  const size_t begin = docs.find(fence);
  ASSERT_NE(begin, std::string::npos);
  const size_t from = begin + fence.size();
  const std::string bytes = docs.substr(from, docs.find("```", from) - from);
  const auto journal = Journal::Parse(bytes, "docs/journal.md");
  ASSERT_THAT(journal, IsOk());
  const std::vector<JournalEntry> entries = journal->entries();
  ASSERT_EQ(entries.size(), 7u);
  EXPECT_EQ(entries[0],
            (JournalEntry{1, 20480, 312,
                          RunChange::Weights({{"code", 0.4}, {"web", 0.35}},
                                             "losses of step 310")}));
  RunChange nested = RunChange::Weights({{"python", 2}});
  nested.path = "code";
  EXPECT_EQ(entries[1], (JournalEntry{2, 20480, 312, nested}));
  EXPECT_EQ(entries[2],
            (JournalEntry{3, 65536, 1000,
                          RunChange::Retire({"forum"}, "ticket 81")}));
  EXPECT_EQ(entries[3],
            (JournalEntry{4, 67584, 1040, RunChange::Temperature(1.5)}));
  EXPECT_EQ(entries[4],
            (JournalEntry{5, 131072, 2040, RunChange::Extend(120000)}));
  EXPECT_EQ(entries[5],
            (JournalEntry{6, 135168, 2100,
                          RunChange::DropDocuments("web", {{17, 18}, {20, 26}},
                                                   "request 31")}));
  RunChange added = RunChange::Add(
      "forum2", "{ weight = 0.2, path = \"stores/forum2\" }", "week three");
  added.added[0].fingerprint = 0x5d0c9d8ad24f7b11;
  EXPECT_EQ(entries[6], (JournalEntry{7, 167936, 2600, added}));
}

TEST(CompactRangesTest, GivesTheRangesBack) {
  std::mt19937_64 random(testing::TestSeed(77));
  for (int round = 0; round < 300; ++round) {
    std::vector<NumberRange> ranges;
    uint64_t last = 0;
    const uint64_t count = random() % 100;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t begin = last + i % 2 + (random() >> (10 + random() % 54));
      last = begin + 1 + (random() >> (10 + random() % 54));
      ranges.push_back({begin, last});
    }
    const internal::CompactRanges compact(ranges);
    EXPECT_EQ(compact.ranges(), ranges);
  }
}

TEST(CompactRangesTest, TakesTwoBytesForNearbyNumbers) {
  std::vector<NumberRange> ranges;
  for (uint64_t i = 0; i < 1000; ++i) ranges.push_back({90 * i, 90 * i + 1});
  EXPECT_EQ(internal::CompactRanges(ranges).bytes(), 2000u);
  const std::vector<NumberRange> all = {{0, UINT64_MAX}};
  EXPECT_EQ(internal::CompactRanges(all).ranges(), all);
}

}  // namespace
}  // namespace poniente
