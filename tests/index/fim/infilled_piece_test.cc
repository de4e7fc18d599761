// SPDX-License-Identifier: Apache-2.0
#include "poniente/extend/infilled_piece.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "index/fim/infilling_draw.h"
#include "tests/index/doc_vectors.h"
#include "tests/index/fim/slow_infilling.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::DocVector;
using ::poniente::testing::Ids;
using ::poniente::testing::IsOk;
using ::poniente::testing::kInvalid;
using ::poniente::testing::PieceToFill;
using ::poniente::testing::ReadVectors;
using ::poniente::testing::SlowInfilled;
using ::poniente::testing::SlowServed;
using ::poniente::testing::StatusIs;
using ::testing::HasSubstr;

constexpr uint32_t kPrefix = 1'000'001;
constexpr uint32_t kMiddle = 1'000'002;
constexpr uint32_t kSuffix = 1'000'003;

InfillingOptions OptionsOf(double rate, double spm_rate) {
  InfillingOptions options;
  options.rate = rate;
  options.spm_rate = spm_rate;
  options.prefix = kPrefix;
  options.middle = kMiddle;
  options.suffix = kSuffix;
  options.min_tokens = kMinInfilledTokens;
  return options;
}

Ids Numbers(uint32_t count) {
  Ids numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

std::optional<InfilledPiece> Fill(const PieceToFill& piece, uint32_t tokens,
                                  const InfillingOptions& options) {
  InfillingDraw draw(InfillingKey(piece.seed, piece.path), piece.epoch,
                     piece.document, piece.begin);
  if (!draw.IsChosen(InfillingBound(options.rate))) return std::nullopt;
  return draw.Make(options, tokens, piece.keeps_first, piece.keeps_last);
}

// What is served of a piece whose tokens are their numbers.
Ids ServedOf(const std::optional<InfilledPiece>& piece, uint32_t tokens) {
  if (!piece.has_value()) return Numbers(tokens);
  Ids served;
  for (const InfilledPiece::Run& run : piece->runs()) {
    EXPECT_EQ(run.begin, served.size());
    for (uint32_t i = 0; i < run.length; ++i) {
      served.push_back(run.id.value_or(run.from + i));
    }
  }
  return served;
}

TEST(InfillingDocTest, Keys) {
  const auto vectors = ReadVectors("fim.md");
  const auto [begin, end] = vectors.equal_range("key");
  EXPECT_EQ(std::distance(begin, end), 3);
  for (auto at = begin; at != end; ++at) {
    const auto& words = at->second.arguments;
    const uint64_t key =
        InfillingKey(std::stoull(words[0]), words[1] == "-" ? "" : words[1]);
    EXPECT_EQ(absl::StrFormat("%016x", key), at->second.expected[0]);
  }
}

TEST(InfillingDocTest, Pieces) {
  const auto vectors = ReadVectors("fim.md");
  const auto [begin, end] = vectors.equal_range("piece");
  EXPECT_EQ(std::distance(begin, end), 13);
  for (auto at = begin; at != end; ++at) {
    SCOPED_TRACE(at->second.line);
    const auto& words = at->second.arguments;
    PieceToFill piece;
    piece.seed = std::stoull(words[0]);
    if (words[1] != "-") piece.path = words[1];
    piece.epoch = std::stoull(words[2]);
    piece.document = std::stoull(words[3]);
    piece.begin = std::stoull(words[4]);
    const auto tokens = static_cast<uint32_t>(std::stoul(words[5]));
    piece.keeps_first = words[6] == "1";
    piece.keeps_last = words[7] == "1";
    const auto filled = Fill(
        piece, tokens, OptionsOf(std::stod(words[8]), std::stod(words[9])));
    std::vector<std::string> served;
    for (const uint32_t id : ServedOf(filled, tokens)) {
      served.push_back(id == kPrefix   ? "pre"
                       : id == kMiddle ? "mid"
                       : id == kSuffix ? "suf"
                                       : absl::StrCat(id));
    }
    EXPECT_EQ(served, at->second.expected);
  }
}

TEST(InfilledPieceTest, AsListsAtRandom) {
  std::mt19937_64 random(poniente::testing::TestSeed(3));
  const int rounds = poniente::testing::TestRounds(100'000);
  for (int i = 0; i < rounds; ++i) {
    PieceToFill piece;
    piece.seed = random();
    piece.path = i % 2 == 0 ? "code" : "";
    piece.epoch = random() % 3;
    piece.document = random() % 1000;
    piece.begin = random() % 100'000;
    piece.keeps_first = random() % 2 == 0;
    piece.keeps_last = random() % 2 == 0;
    const auto tokens = static_cast<uint32_t>(8 + random() % 40);
    const InfillingOptions options = OptionsOf(0.7, 0.4);
    const auto filled = Fill(piece, tokens, options);
    const SlowServed slow = SlowInfilled(piece, Numbers(tokens), options);
    ASSERT_EQ(ServedOf(filled, tokens), slow.ids);
    ASSERT_EQ(filled ? InfillingOrderName(filled->shape().order) : "",
              slow.order);
  }
}

// Each token but three is at one place, and each place has one token or mark.
TEST(InfilledPieceTest, PlacesAndTokensAreInverse) {
  std::mt19937_64 random(poniente::testing::TestSeed(4));
  for (int i = 0; i < 20'000; ++i) {
    const auto tokens = static_cast<uint32_t>(8 + random() % 30);
    PieceToFill piece;
    piece.seed = random();
    piece.keeps_first = random() % 2 == 0;
    piece.keeps_last = random() % 2 == 0;
    const auto filled = Fill(piece, tokens, OptionsOf(1, 0.5));
    ASSERT_TRUE(filled.has_value());
    const Ids served = ServedOf(filled, tokens);
    ASSERT_EQ(served.size(), tokens);
    uint32_t marks = 0;
    for (uint32_t place = 0; place < tokens; ++place) {
      const std::optional<uint32_t> token = filled->TokenAt(place);
      const std::optional<uint32_t> mark = filled->MarkAt(place);
      ASSERT_NE(token.has_value(), mark.has_value());
      ASSERT_EQ(served[place], token.has_value() ? *token : *mark);
      marks += mark.has_value() ? 1 : 0;
      if (token.has_value()) {
        ASSERT_EQ(filled->PlaceOf(*token), place);
      }
    }
    ASSERT_EQ(marks, 3u);
    Ids left_out;
    for (uint32_t token = 0; token < tokens; ++token) {
      const std::optional<uint32_t> place = filled->PlaceOf(token);
      if (!place.has_value()) {
        left_out.push_back(token);
      } else {
        ASSERT_EQ(filled->TokenAt(*place), token);
      }
    }
    const uint32_t first = piece.keeps_first ? 1 : 0;
    ASSERT_EQ(left_out, (Ids{first, first + 1, first + 2}));
    if (piece.keeps_first) {
      ASSERT_EQ(served.front(), 0u);
    }
    if (piece.keeps_last) {
      ASSERT_EQ(served.back(), tokens - 1);
    }
  }
}

// Sums of 0 and 1 that lie further away would be a miracle.
void ExpectShare(uint64_t count, uint64_t of, double share) {
  const double sigma = std::sqrt(static_cast<double>(of) * share * (1 - share));
  EXPECT_NEAR(static_cast<double>(count), static_cast<double>(of) * share,
              5 * sigma + 1);
}

TEST(InfillingDrawTest, SharesAreTheRates) {
  constexpr uint64_t kPieces = 200'000;
  for (const double rate : {0.0, 0.1, 0.5, 0.9, 1.0}) {
    for (const double spm_rate : {0.0, 0.3, 1.0}) {
      const InfillingOptions options = OptionsOf(rate, spm_rate);
      uint64_t filled = 0, spm = 0;
      for (uint64_t d = 0; d < kPieces; ++d) {
        const auto piece =
            Fill({.seed = 5, .path = "c", .document = d, .begin = 40 * d}, 40,
                 options);
        filled += piece ? 1 : 0;
        spm += piece && piece->shape().order == InfillingOrder::kSpm ? 1 : 0;
      }
      ExpectShare(filled, kPieces, rate);
      ExpectShare(spm, filled, spm_rate);
    }
  }
}

// Two places, each uniform: (x, y) and (y, x) are the same split.
TEST(InfillingDrawTest, SplitsAreUniform) {
  constexpr uint64_t kPieces = 400'000;
  constexpr uint32_t kBody = 7;
  std::vector<std::vector<uint64_t>> counts(kBody + 1,
                                            std::vector<uint64_t>(kBody + 1));
  for (uint64_t d = 0; d < kPieces; ++d) {
    const auto piece = Fill({.seed = 6, .document = d, .begin = 10 * d},
                            kBody + 3, OptionsOf(1, 0.5));
    const InfilledPiece::Shape& shape = piece->shape();
    ++counts[shape.prefix_tokens][shape.prefix_tokens + shape.middle_tokens];
  }
  for (uint32_t x = 0; x <= kBody; ++x) {
    for (uint32_t y = x; y <= kBody; ++y) {
      const double share = (x == y ? 1.0 : 2.0) / ((kBody + 1) * (kBody + 1));
      ExpectShare(counts[x][y], kPieces, share);
    }
  }
}

TEST(InfillingDrawTest, AHigherRateKeepsWhatALowerOneChooses) {
  uint64_t more = 0;
  for (uint64_t d = 0; d < 5000; ++d) {
    const PieceToFill piece = {.seed = 8, .document = d, .begin = 30 * d};
    const auto low = Fill(piece, 30, OptionsOf(0.3, 0.5));
    const auto high = Fill(piece, 30, OptionsOf(0.8, 0.5));
    if (low.has_value()) {
      ASSERT_EQ(low, high);
    }
    more += high.has_value() && !low.has_value() ? 1 : 0;
  }
  ExpectShare(more, 5000, 0.5);
}

// Epoch, document, place and source each make another draw.
TEST(InfillingDrawTest, AnotherKeyIsAnotherSplit) {
  const PieceToFill usual = {.seed = 1, .path = "a", .begin = 7};
  std::vector<PieceToFill> others(5, usual);
  others[0].seed = 2;
  others[1].path = "b";
  others[2].epoch = 1;
  others[3].document = 1;
  others[4].begin = 8;
  const auto filled = Fill(usual, 5000, OptionsOf(1, 0.5));
  for (const PieceToFill& other : others) {
    EXPECT_NE(Fill(other, 5000, OptionsOf(1, 0.5)), filled);
  }
}

TEST(InfillingOptionsTest, Refused) {
  EXPECT_THAT(CheckInfillingOptions(OptionsOf(0, 1)), IsOk());
  EXPECT_THAT(CheckInfillingOptions(OptionsOf(1.01, 0)),
              StatusIs(kInvalid, HasSubstr("rate of fill_in_the_middle must be "
                                           "from 0 to 1, got 1.01")));
  EXPECT_THAT(CheckInfillingOptions(OptionsOf(NAN, 0)),
              StatusIs(kInvalid, HasSubstr("nan")));
  EXPECT_THAT(CheckInfillingOptions(OptionsOf(0, -0.1)),
              StatusIs(kInvalid, HasSubstr("spm_rate")));
  InfillingOptions options = OptionsOf(0.5, 0.5);
  options.middle = options.prefix;
  EXPECT_THAT(CheckInfillingOptions(options),
              StatusIs(kInvalid, HasSubstr("three different ids")));
  options = OptionsOf(0.5, 0.5);
  options.min_tokens = 7;
  EXPECT_THAT(CheckInfillingOptions(options),
              StatusIs(kInvalid, HasSubstr("at least 8, got 7")));
}

}  // namespace
}  // namespace poniente::internal
