// SPDX-License-Identifier: Apache-2.0
#include "index/packing/window_packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "index/keyed_hash.h"
#include "index/packing/bin_squares.h"
#include "poniente/permutation.h"
#include "tests/index/doc_vectors.h"
#include "tests/index/packing/length_lists.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::ByLength;
using ::poniente::testing::DocVector;
using ::poniente::testing::HistogramOf;
using ::poniente::testing::IsOk;
using ::poniente::testing::ReadVectors;
using ::poniente::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The vectors of docs/packing.md, as text.
class PackingDocTest : public ::testing::Test {
 protected:
  PackingDocTest() : vectors_(ReadVectors("packing.md")) {
    for (const std::string& word : Only("lengths").expected) {
      lengths_.push_back(std::stoull(word));
    }
    by_length_ = ByLength(lengths_);
  }

  const DocVector& Only(const std::string& keyword) const {
    return vectors_.find(keyword)->second;
  }
  // Arguments: window, align, parts, max_documents, policy.
  WindowPacking PackingOf(const DocVector& vector) const {
    PackingOptions options;
    const uint32_t window = std::stoul(vector.arguments[0]);
    options.align = std::stoul(vector.arguments[1]);
    options.parts = std::stoul(vector.arguments[2]);
    options.max_documents = std::stoul(vector.arguments[3]);
    options.long_documents = *ParseLongDocuments(vector.arguments[4]);
    return *WindowPacking::Create(HistogramOf(lengths_), window, options);
  }
  // Calls visit(packing, vector) for each vector of this keyword.
  template <class Visit>
  void ForEach(const std::string& keyword, size_t vectors, Visit visit) const {
    const auto [begin, end] = vectors_.equal_range(keyword);
    EXPECT_EQ(std::distance(begin, end), vectors) << keyword;
    for (auto at = begin; at != end; ++at) {
      SCOPED_TRACE(at->second.line);
      EXPECT_EQ(visit(PackingOf(at->second), at->second), at->second.expected);
    }
  }

  std::multimap<std::string, DocVector> vectors_;
  std::vector<uint64_t> lengths_;
  std::vector<uint64_t> by_length_;
};

using Words = std::vector<std::string>;

TEST_F(PackingDocTest, OrderByLength) {
  Words words;
  for (const uint64_t document : by_length_) {
    words.push_back(absl::StrCat(document));
  }
  EXPECT_EQ(words, Only("by_length").expected);
}

TEST_F(PackingDocTest, Keys) {
  const PackingOrder order(42, 0);
  EXPECT_EQ(
      Only("keys").expected,
      (Words{absl::StrFormat("%016x", order.key),
             absl::StrFormat("%016x", Derive(order.key, Tag("bins"))),
             absl::StrFormat("%016x", Derive(order.key, Tag("clas"), 5u)),
             absl::StrFormat("%016x", Derive(order.key, Tag("plac"), 4u))}));
}

TEST_F(PackingDocTest, Sizes) {
  ForEach("size", 5, [](const WindowPacking& packing, const DocVector&) {
    return Words{
        absl::StrCat(packing.num_windows()),
        absl::StrCat(packing.num_windows() - packing.plan().num_bins())};
  });
}

TEST_F(PackingDocTest, Classes) {
  ForEach("classes", 5, [](const WindowPacking& packing, const DocVector&) {
    Words words;
    for (const SizeClass& each : packing.plan().classes()) {
      words.push_back(absl::StrCat(each.units, "x", each.count));
    }
    return words;
  });
}

TEST_F(PackingDocTest, Nodes) {
  ForEach("nodes", 3, [](const WindowPacking& packing, const DocVector&) {
    Words words;
    for (const BinNode& node : packing.plan().nodes()) {
      words.push_back(absl::StrFormat("u%d,s%d,b%d,m%d,k%d,p%d", node.units,
                                      node.first_slot, node.first_bin,
                                      node.per_bin, node.before, node.parent));
    }
    return words;
  });
}

TEST_F(PackingDocTest, Groups) {
  ForEach("groups", 3, [](const WindowPacking& packing, const DocVector&) {
    Words words;
    for (const BinGroup& group : packing.plan().groups()) {
      words.push_back(absl::StrFormat("b%d,n%d,left%d,k%d", group.first_bin,
                                      group.last_node, group.left,
                                      group.pieces));
    }
    return words;
  });
}

TEST_F(PackingDocTest, Windows) {
  ForEach(
      "windows", 6, [&](const WindowPacking& packing, const DocVector& vector) {
        const PackingOrder order(42, std::stoull(vector.arguments[5]));
        Words words;
        for (uint64_t x = 0; x < packing.num_windows(); ++x) {
          std::vector<PackedPiece> pieces;
          packing.AppendPieces(x, order, &pieces);
          // The vectors also name the bin.
          const uint64_t bin =
              Permutation(packing.num_windows(), Derive(order.key, Tag("bins")))
                  .Forward(x);
          Words each;
          for (const PackedPiece& piece : pieces) {
            each.push_back(
                absl::StrCat(by_length_[piece.ordinal], ":", piece.begin, "-",
                             piece.begin + piece.length, "@", piece.offset));
          }
          words.push_back(
              absl::StrCat(bin, "(", absl::StrJoin(each, "+"), ")"));
        }
        return words;
      });
}

// Lists of what a random packing must hold.
class PackingLawsTest : public ::testing::Test {
 protected:
  std::mt19937_64 random_{poniente::testing::TestSeed(16)};

  uint64_t RandomLength(uint32_t window) {
    const uint64_t edges[] = {0,
                              1,
                              window - 1,
                              window,
                              window + 1,
                              uint64_t{2} * window,
                              2 * window - 1,
                              2 * window + 1,
                              10 * window};
    if (random_() % 4 == 0) return edges[random_() % std::size(edges)];
    return random_() % (random_() % 5 == 0 ? 4 * window : window + 1);
  }

  PackingOptions RandomOptions(uint32_t window) {
    constexpr uint32_t kParts[] = {1, 2, 16, 64, 256};
    PackingOptions options;
    const std::vector<uint32_t> divisors = [&] {
      std::vector<uint32_t> found;
      for (uint32_t d = 1; d <= std::min(window, 4u); ++d) {
        if (window % d == 0) found.push_back(d);
      }
      return found;
    }();
    options.align = divisors[random_() % divisors.size()];
    options.long_documents = static_cast<LongDocuments>(random_() % 4);
    options.max_documents = random_() % 3 == 0 ? 1 + random_() % 5 : 0;
    options.overlap = window > 1 && random_() % 2 == 0 ? 1 : 0;
    options.parts = kParts[random_() % std::size(kParts)];
    options.shuffle = random_() % 8 != 0;
    return options;
  }

  // What the policy keeps of a document, as [begin, end); all pieces, by a
  // definition of its own: from the front, windows of `window` tokens each of
  // which begins `overlap` tokens before the last one's end, until one reaches
  // the end.
  static std::vector<std::pair<uint64_t, uint64_t>> PiecesOf(
      uint64_t length, uint32_t window, const PackingOptions& options) {
    if (length == 0) return {};
    if (length <= window) return {{0, length}};
    switch (options.long_documents) {
      case LongDocuments::kTruncate:
        return {{0, window}};
      case LongDocuments::kTruncateLeft:
        return {{length - window, length}};
      case LongDocuments::kDrop:
      case LongDocuments::kRefuse:
        return {};
      case LongDocuments::kSplit:
        break;
    }
    std::vector<std::pair<uint64_t, uint64_t>> pieces;
    for (uint64_t begin = 0;;) {
      const uint64_t end = std::min(length, begin + window);
      pieces.push_back({begin, end});
      if (end == length) return pieces;
      begin = end - options.overlap;
    }
  }

  void Check(const std::vector<uint64_t>& lengths, uint32_t window,
             const PackingOptions& options);
};

void PackingLawsTest::Check(const std::vector<uint64_t>& lengths,
                            uint32_t window, const PackingOptions& options) {
  const std::vector<uint64_t> by_length = ByLength(lengths);
  ASSERT_OK_AND_ASSIGN(
      const WindowPacking packing,
      WindowPacking::Create(HistogramOf(lengths), window, options));
  using Piece = std::tuple<uint64_t, uint64_t, uint64_t>;  // document, range
  std::vector<Piece> expected;
  uint64_t expected_tokens = 0;
  for (uint64_t d = 0; d < lengths.size(); ++d) {
    for (const auto& [begin, end] : PiecesOf(lengths[d], window, options)) {
      expected.push_back({d, begin, end});
      expected_tokens += end - begin;
    }
  }
  const PackingSummary& summary = packing.summary();
  EXPECT_EQ(summary.placed_tokens, expected_tokens);
  EXPECT_EQ(summary.pieces, expected.size());
  EXPECT_EQ(summary.windows * window,
            summary.placed_tokens + summary.padding_tokens());
  if (options.overlap == 0) {
    EXPECT_EQ(summary.tokens, summary.placed_tokens + summary.truncated_tokens +
                                  summary.dropped_tokens);
  }
  for (const uint64_t epoch : {0, 1}) {
    const PackingOrder order =
        options.shuffle ? PackingOrder(random_(), epoch) : PackingOrder();
    std::vector<Piece> found;
    std::vector<std::vector<PackedPlace>> places_of(lengths.size());
    for (uint64_t o = 0; o < by_length.size(); ++o) {
      packing.AppendPlaces(o, order, &places_of[by_length[o]]);
    }
    uint32_t most = 0;
    const BinSquares squares_of(packing);
    std::vector<uint64_t> bins;
    std::vector<uint64_t> windows;
    for (uint64_t x = 0; x < packing.num_windows(); ++x) {
      const uint64_t bin = packing.BinAt(x, order);
      windows.push_back(x);
      bins.push_back(bin);
      std::vector<PackedPiece> pieces;
      packing.AppendPieces(x, order, &pieces);
      ASSERT_FALSE(pieces.empty());
      most = std::max<uint32_t>(most, pieces.size());
      if (options.max_documents > 0) {
        ASSERT_LE(pieces.size(), options.max_documents);
      }
      uint64_t squares = 0;
      uint32_t end = 0;
      for (const PackedPiece& piece : pieces) {
        ASSERT_EQ(piece.offset,
                  (end + options.align - 1) / options.align * options.align);
        end = piece.offset + piece.length;
        const uint64_t aligned =
            (piece.length + options.align - 1) / options.align * options.align;
        squares += aligned * aligned;
        const uint64_t d = by_length[piece.ordinal];
        found.push_back({d, piece.begin, piece.begin + piece.length});
        ASSERT_THAT(places_of[d],
                    ::testing::Contains(PackedPlace{
                        x, piece.begin, piece.length, piece.offset}));
      }
      ASSERT_LE(end, window);
      ASSERT_EQ(packing.SquaredLengthsOfBin(bin), squares);
      ASSERT_EQ(squares_of.Of(bin), squares);
    }
    EXPECT_EQ(most, summary.max_pieces);
    packing.ToBins(windows, order);
    EXPECT_EQ(windows, bins);
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(found, expected);
    size_t places = 0;
    for (const auto& each : places_of) {
      places += each.size();
      for (size_t i = 1; i < each.size(); ++i) {
        ASSERT_LT(each[i - 1].begin, each[i].begin);
      }
    }
    ASSERT_EQ(places, expected.size());
  }
}

TEST_F(PackingLawsTest, EveryTokenIsInOneWindowAndFoundThere) {
  const int rounds = poniente::testing::TestRounds(3000);
  for (int i = 0; i < rounds && !HasFailure(); ++i) {
    const uint32_t window = 1 + random_() % (random_() % 4 == 0 ? 200 : 24);
    std::vector<uint64_t> lengths(random_() % 60);
    for (uint64_t& length : lengths) length = RandomLength(window);
    const PackingOptions options = RandomOptions(window);
    SCOPED_TRACE(absl::StrFormat(
        "window %d align %d policy %d cap %d overlap %d parts %d lengths %s",
        window, options.align, static_cast<int>(options.long_documents),
        options.max_documents, options.overlap, options.parts,
        absl::StrJoin(lengths, " ")));
    Check(lengths, window, options);
  }
}

TEST_F(PackingLawsTest, NoDocuments) {
  Check({}, 16, {});
  Check({0, 0}, 16, {});
}

// Documents of many lengths, and what is said of 10^9 of them: from their
// histogram, as no test can hold them.
LengthHistogram LogNormal(double documents) {
  constexpr double kMedian = 600;
  const auto below = [](double n) {  // share of lengths below n
    return 0.5 * std::erfc(-std::log(n / kMedian) / std::sqrt(2.0));
  };
  LengthHistogram histogram;
  double given = 0;
  for (uint64_t length = 1; length < 200'000; ++length) {
    const double all = documents * below(static_cast<double>(length) + 1);
    const auto count = static_cast<uint64_t>(all - given);
    if (count == 0) continue;
    given += static_cast<double>(count);
    histogram.lengths.push_back(length);
    histogram.starts.push_back(histogram.starts.back() + count);
  }
  return histogram;
}

TEST(WindowPackingTest, PaddingOfManyDocuments) {
  for (const uint32_t window : {2048u, 4096u, 8192u}) {
    ASSERT_OK_AND_ASSIGN(const WindowPacking packing,
                         WindowPacking::Create(LogNormal(1e8), window, {}));
    EXPECT_LE(packing.summary().padding(), 0.0001) << window;
  }
}

TEST(WindowPackingTest, ThePlanOfABillionDocumentsIsSmall) {
  ASSERT_OK_AND_ASSIGN(const WindowPacking packing,
                       WindowPacking::Create(LogNormal(1e9), 4096, {}));
  EXPECT_LE(packing.summary().plan_bytes, 1 << 20);
}

TEST(WindowPackingTest, DocumentsOfOneLengthAreSpread) {
  ASSERT_OK_AND_ASSIGN(const WindowPacking packing,
                       WindowPacking::Create(LogNormal(1e8), 4096, {}));
  const PackingOrder order(42, 0);
  std::mt19937_64 random(1);
  uint64_t pairs = 0;
  uint64_t equal = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<PackedPiece> pieces;
    packing.AppendPieces(random() % packing.num_windows(), order, &pieces);
    for (size_t a = 0; a < pieces.size(); ++a) {
      for (size_t b = 0; b < a; ++b) {
        ++pairs;
        equal += pieces[a].length == pieces[b].length;
      }
    }
  }
  EXPECT_LE(static_cast<double>(equal), 0.1 * static_cast<double>(pairs));
}

TEST(WindowPackingTest, RefusesOptionsWithValuesAndRemedy) {
  const LengthHistogram documents = HistogramOf({5, 7, 100});
  const auto refused = [&](uint32_t window, PackingOptions options) {
    return WindowPacking::Create(documents, window, options).status();
  };
  const auto invalid = [](auto... parts) {
    return StatusIs(absl::StatusCode::kInvalidArgument,
                    AllOf(HasSubstr(parts)...));
  };
  EXPECT_THAT(refused(0, {}), invalid("1 to 2^32 - 2", "got 0"));
  EXPECT_THAT(refused(16, {.align = 3}), invalid("got 3", "16 tokens"));
  EXPECT_THAT(refused(16, {.align = 0}), invalid("got 0"));
  EXPECT_THAT(refused(16, {.parts = 0}), invalid("1 to 256", "got 0"));
  EXPECT_THAT(refused(16, {.parts = 257}), invalid("got 257"));
  EXPECT_THAT(refused(16, {.overlap = 2}), invalid("0 or 1", "got 2"));
  EXPECT_THAT(refused(1, {.overlap = 1}), invalid("windows of 1 tokens"));
  EXPECT_THAT(refused(1u << 31, {}), invalid("make it at least 512"));
  EXPECT_THAT(refused(1u << 31, {.align = 512}), IsOk());
  EXPECT_THAT(refused(16, {.long_documents = LongDocuments::kRefuse}),
              invalid("1 of 3", "16 tokens", "the longest has 100",
                      "split, truncate, truncate_left or drop"));
  EXPECT_THAT(refused(100, {.long_documents = LongDocuments::kRefuse}), IsOk());
  EXPECT_THAT(ParseLongDocuments("cut").status(), invalid("'cut'", "split"));
}

TEST(WindowPackingTest, RefusesMoreTokensThanItCanCount) {
  LengthHistogram documents;
  documents.lengths = {uint64_t{1} << 40};
  documents.starts = {0, (uint64_t{1} << 20) + 1};
  EXPECT_THAT(WindowPacking::Create(documents, 4096, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2^60")));
}

}  // namespace
}  // namespace poniente::internal
