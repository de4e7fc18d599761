// SPDX-License-Identifier: Apache-2.0
// The vectors of docs/index-math.md, read from it: what a second implementation
// is checked against is what this one does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "index/keyed_hash.h"
#include "index/mixture/item_draws.h"
#include "index/mixture/powers.h"
#include "index/mixture/quota_tree.h"
#include "index/mixture/stage_plan.h"
#include "index/mixture/weights.h"
#include "index/permutation/item_order.h"
#include "poniente/permutation.h"
#include "tests/index/doc_vectors.h"

namespace poniente::internal {
namespace {

using poniente::testing::ReadVectors;
using Vector = poniente::testing::DocVector;
using Words = poniente::testing::Words;

template <class Number = uint64_t>
Number To(const std::string& text) {
  Number number = 0;
  EXPECT_TRUE(absl::SimpleAtoi(text, &number)) << text;
  return number;
}

double ToDouble(const std::string& text) {
  double number = 0;
  EXPECT_TRUE(absl::SimpleAtod(text, &number)) << text;
  return number;
}

std::vector<double> Doubles(const Words& words, size_t begin, size_t end) {
  std::vector<double> numbers;
  for (size_t i = begin; i < end; ++i) numbers.push_back(ToDouble(words[i]));
  return numbers;
}

std::string Hex(uint64_t value) { return absl::StrFormat("%016x", value); }

template <class Numbers>
Words Texts(const Numbers& numbers) {
  Words texts;
  for (const auto number : numbers) texts.push_back(absl::StrCat(number));
  return texts;
}

// The tags that vectors use.
Tag TagOf(const std::string& text) {
  if (text == "name") return kNameTag;
  if (text == "bloc") return kBlockTag;
  if (text == "epoc") return kEpochTag;
  EXPECT_EQ(text, "flat");
  return kFlatTag;
}

class IndexMathDocTest : public ::testing::Test {
 protected:
  // Calls `of` with the arguments of each line that has the keyword, and
  // compares what it gives with the rest of the line.
  template <class Function>
  void Check(const std::string& keyword, size_t lines, const Function& of) {
    EXPECT_EQ(vectors_.count(keyword), lines) << keyword;
    const auto [begin, end] = vectors_.equal_range(keyword);
    for (auto it = begin; it != end; ++it) {
      EXPECT_EQ(of(it->second.arguments), it->second.expected)
          << it->second.line;
    }
  }

  const std::multimap<std::string, Vector> vectors_ =
      ReadVectors("index-math.md");
};

TEST_F(IndexMathDocTest, HasNoVectorThatNothingChecks) {
  for (const auto& [keyword, vector] : vectors_) {
    EXPECT_THAT((Words{"stream", "derive", "permutation", "quanta", "powers",
                       "scores", "lg", "ex", "deal", "example", "ramp", "books",
                       "draws", "eras", "windows", "views", "drops"}),
                ::testing::Contains(keyword))
        << vector.line;
  }
}

TEST_F(IndexMathDocTest, Keys) {
  Check("stream", 1, [](const Words& key) {
    KeyStream stream(To(key[0]));
    Words words;
    for (int i = 0; i < 3; ++i) words.push_back(Hex(stream.Next()));
    return words;
  });
  Check("derive", 7, [](const Words& words) {
    KeyHash hash(To(words[0]));
    for (size_t i = 1; i < words.size(); ++i) {
      const std::string inner = words[i].substr(1, words[i].size() - 2);
      if (words[i].front() == '\'') {
        hash.Add(TagOf(inner));
      } else if (words[i].front() == '"') {
        hash.Add(std::string_view(inner));
      } else {
        hash.Add(To(words[i]));
      }
    }
    return Words{Hex(hash.key())};
  });
}

TEST_F(IndexMathDocTest, Permutations) {
  Check("permutation", 12, [](const Words& arguments) {
    const uint64_t size = To(arguments[0]);
    const Permutation order(size, 42);
    Words words;
    for (uint64_t i = 0; i < 6; ++i) {
      words.push_back(absl::StrCat(order.Forward(i)));
    }
    words.push_back("|");
    words.push_back(absl::StrCat(order.Forward(size - 1)));
    words.push_back("|");
    words.push_back(absl::StrCat(order.Inverse(0)));
    return words;
  });
}

TEST_F(IndexMathDocTest, Weights) {
  Check("quanta", 4, [](const Words& weights) {
    return Texts(*QuantaFromWeights(Doubles(weights, 0, weights.size())));
  });
  Check("powers", 1, [](const Words& words) {
    return Texts(
        *QuantaFromPowers(Doubles(words, 2, words.size()), ToDouble(words[0])));
  });
  Check("scores", 1, [](const Words& words) {
    return Texts(
        *QuantaFromScores(Doubles(words, 2, words.size()), ToDouble(words[0])));
  });
  Check("lg", 2, [](const Words& words) {
    return Words{absl::StrCat(FixedLog2(ToDouble(words[0])))};
  });
  Check("ex", 2, [](const Words& words) {
    return Words{absl::StrCat(FixedExp2(To<int64_t>(words[0])))};
  });
  // STEP of STEPS from FOUR to FOUR
  Check("ramp", 1, [](const Words& words) {
    return Texts(QuantaOnRamp(*QuantaFromWeights(Doubles(words, 4, 8)),
                              *QuantaFromWeights(Doubles(words, 9, 13)),
                              To(words[0]), To(words[2])));
  });
}

TEST_F(IndexMathDocTest, QuotaTrees) {
  Check("deal", 1, [](const Words& weights) {
    const auto plan = StagePlan::Create(
        8, {{0, *QuantaFromWeights(Doubles(weights, 0, weights.size()))}});
    Words components;
    for (uint64_t k = 0; k < 20; ++k) {
      components.push_back(absl::StrCat((*plan)->Locate(k).component));
    }
    return components;
  });
}

// "b3" is ordinal 3 of books.
std::string DrawText(const Draw& draw) {
  return absl::StrCat(std::string(1, "bcw"[draw.component]), draw.ordinal);
}

TEST_F(IndexMathDocTest, TheWorkedExample) {
  constexpr uint64_t kSeed = 42;
  const std::vector<std::string> names = {"books", "code", "web"};
  const auto made = StagePlan::Create(
      8, {{0, *QuantaFromWeights(std::vector<double>{0.2, 0.3, 0.5})},
          {13, *QuantaFromWeights(std::vector<double>{0.75, 0, 0.25})}});
  ASSERT_TRUE(made.ok()) << made.status();
  const StagePlan& plan = **made;
  Check("example", 24, [&](const Words& words) {
    const std::string& what = words[0];
    if (what == "quanta") return Texts(plan.quanta(To(words[1])));
    if (what == "find") {
      const std::string name = words[1].substr(0, 1);
      const auto component =
          static_cast<uint32_t>(std::string("bcw").find(name));
      const auto sample =
          plan.FindSample(component, To(words[1].substr(1)), kSeed);
      return Words{sample ? absl::StrCat(*sample) : "none"};
    }
    if (what == "prefix") {
      return Words{Hex(plan.PrefixHash(kSeed, names, To(words[1])))};
    }
    Words found;
    if (what == "locate" || what == "at") {
      for (uint64_t k = 0; k < 24; ++k) {
        found.push_back(
            DrawText(what == "at" ? plan.At(k, kSeed) : plan.Locate(k)));
      }
      return found;
    }
    const Block block = plan.BlockOf(To(words[1]));
    EXPECT_EQ(block.first, To(words[1]));
    if (what == "block") {
      return Words{absl::StrCat(block.size),
                   Hex(Derive(kSeed, kBlockTag, block.first))};
    }
    if (what == "sigma") {
      const BlockOrder order = plan.OrderOf(block, kSeed);
      for (uint64_t i = 0; i < block.size; ++i) {
        found.push_back(absl::StrCat(order.sigma().Forward(i)));
      }
      return found;
    }
    EXPECT_EQ(what, "slots");
    std::vector<DrawRun> runs;
    plan.Expand(block, &runs);
    for (const DrawRun& run : runs) {
      for (uint64_t i = 0; i < run.count; ++i) {
        found.push_back(DrawText({run.component, run.first_ordinal + i}));
      }
    }
    return found;
  });
}

// Of 10 items; from a draw on, so many parts each.
TEST_F(IndexMathDocTest, EpochsAndParts) {
  Check("books", 1, [](const Words& items) {
    const ItemDraws draws(42, "books", {To(items[0]), 0});
    Words words;
    for (uint64_t n = 0; n < 10; ++n) {
      if (n == 5) words.push_back("|");
      const ItemDraws::Item item = draws.At(n);
      EXPECT_EQ(item.epoch, n / 5);
      words.push_back(absl::StrCat(
          Permutation(5, draws.EpochKey(item.epoch)).Forward(item.place)));
    }
    return words;
  });
  ItemDraws draws(42, "books", {10, 0}, {4, 100}, 4);
  draws.Continue(13, {10, 0}, {2, 200});
  draws.Continue(26, {10, 0}, {1, 400});
  const std::map<uint64_t, uint64_t> end = {{0, 13}, {13, 26}, {26, 40}};
  Check("draws", 3, [&](const Words& first) {
    Words words;
    for (uint64_t n = To(first[0]); n < end.at(To(first[0])); ++n) {
      const ItemDraws::Item item = draws.At(n);
      const uint64_t there =
          Permutation(10, draws.EpochKey(item.epoch)).Forward(item.place);
      words.push_back(absl::StrCat(item.epoch, ".", there, ".", item.part));
    }
    return words;
  });
}

TEST_F(IndexMathDocTest, DroppedItems) {
  Check("drops", 3, [](const Words& words) {
    const ItemParts parts = {.count = To<uint32_t>(words[1])};
    const uint64_t length = To(words[0]);
    const uint64_t before = To(words[3]);
    ItemDraws draws(42, "books", {.length = length}, parts, To(words[2]));
    const auto places = [&](uint32_t, uint64_t,
                            const std::shared_ptr<const Omissions>&)
        -> absl::StatusOr<std::shared_ptr<const Omissions>> {
      std::vector<uint64_t> dropped;
      for (const auto place : absl::StrSplit(words[4], ',')) {
        dropped.push_back(To(std::string(place)));
      }
      return std::make_shared<const Omissions>(std::move(dropped), length);
    };
    EXPECT_EQ(draws.Drop(before, {.length = To(words[5]), .number = 1}, parts,
                         places),
              absl::OkStatus());
    Words entries;
    for (uint64_t n = 0; n < before + To(words[6]); ++n) {
      const ItemDraws::Item item = draws.At(n);
      entries.push_back(absl::StrCat(item.view, ":", item.epoch, ".",
                                     item.place, ".", item.part));
    }
    return entries;
  });
}

TEST_F(IndexMathDocTest, OrdersOfADataset) {
  const auto first = [](uint64_t length, const OrderSpec& spec) {
    const ItemOrder order(length, 42, spec);
    Words words;
    for (uint64_t x = 0; x < (length == 10 ? 10 : 6); ++x) {
      words.push_back(absl::StrCat(order.Forward(x)));
    }
    return words;
  };
  Check("eras", 1, [&](const Words& words) {
    return first(To(words[2]),
                 {.kind = ShuffleKind::kEras, .era_items = To(words[0])});
  });
  Check("windows", 2, [&](const Words& words) {
    return first(To(words[3]), {.kind = ShuffleKind::kBlocks,
                                .chunk_items = To(words[0]),
                                .window_chunks = To(words[1])});
  });
}

}  // namespace
}  // namespace poniente::internal
