// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "poniente/shares.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::poniente::testing::IsOk;
using ::poniente::testing::StatusIs;
using ::poniente::testing::TestRounds;
using ::poniente::testing::TestSeed;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Lengths = std::vector<uint32_t>;

constexpr ContextSplit kSplits[] = {ContextSplit::kContiguous,
                                    ContextSplit::kZigZag,
                                    ContextSplit::kZigZagPerDocument};

TEST(ContextSliceTest, CutsContiguousSlices) {
  // Documents [0, 5), [5, 6), [6, 12).
  ASSERT_OK_AND_ASSIGN(
      const ContextSlice slice,
      MakeContextSlice(ContextSplit::kContiguous, 12, Lengths{5, 1, 6}, 1, 3));
  EXPECT_THAT(slice.chunks, ElementsAre(ContextChunk{4, 8}));
  EXPECT_THAT(slice.parts,
              ElementsAre(DocumentPart{0, 4, 4, 1}, DocumentPart{1, 0, 5, 1},
                          DocumentPart{2, 0, 6, 2}));
  EXPECT_THAT(slice.cu_seqlens, ElementsAre(0, 1, 2, 4));
  EXPECT_EQ(slice.max_seqlen, 2);
}

TEST(ContextSliceTest, CutsZigZagSlices) {
  // Chunks of two tokens; documents [0, 5), [5, 12).
  const auto slice = [](uint32_t rank) {
    return MakeContextSlice(ContextSplit::kZigZag, 12, Lengths{5, 7}, rank, 3);
  };
  ASSERT_OK_AND_ASSIGN(const ContextSlice first, slice(0));
  EXPECT_THAT(first.chunks,
              ElementsAre(ContextChunk{0, 2}, ContextChunk{10, 12}));
  EXPECT_THAT(first.parts,
              ElementsAre(DocumentPart{0, 0, 0, 2}, DocumentPart{1, 5, 10, 2}));
  ASSERT_OK_AND_ASSIGN(const ContextSlice last, slice(2));
  // They touch, but remain two chunks.
  EXPECT_THAT(last.chunks, ElementsAre(ContextChunk{4, 6}, ContextChunk{6, 8}));
  EXPECT_THAT(last.parts,
              ElementsAre(DocumentPart{0, 4, 4, 1}, DocumentPart{1, 0, 5, 1},
                          DocumentPart{1, 1, 6, 2}));
  EXPECT_THAT(last.cu_seqlens, ElementsAre(0, 1, 2, 4));
}

TEST(ContextSliceTest, CutsEachDocumentInZigZag) {
  // Documents [0, 4), nothing, [4, 12); padding [12, 16).
  ASSERT_OK_AND_ASSIGN(const ContextSlice slice,
                       MakeContextSlice(ContextSplit::kZigZagPerDocument, 16,
                                        Lengths{4, 0, 8}, 0, 2));
  EXPECT_THAT(slice.chunks,
              ElementsAre(ContextChunk{0, 1}, ContextChunk{3, 4},
                          ContextChunk{4, 6}, ContextChunk{10, 12},
                          ContextChunk{12, 13}, ContextChunk{15, 16}));
  EXPECT_THAT(
      slice.parts,
      ElementsAre(DocumentPart{0, 0, 0, 1}, DocumentPart{0, 3, 3, 1},
                  DocumentPart{2, 0, 4, 2}, DocumentPart{2, 6, 10, 2},
                  DocumentPart{3, 0, 12, 1}, DocumentPart{3, 3, 15, 1}));
  EXPECT_THAT(slice.cu_seqlens, ElementsAre(0, 1, 2, 4, 6, 7, 8));
}

TEST(ContextSliceTest, TakesASampleWithoutLengthsForOneDocument) {
  for (const ContextSplit split : kSplits) {
    ASSERT_OK_AND_ASSIGN(const ContextSlice slice,
                         MakeContextSlice(split, 8, {}, 0, 1));
    size_t tokens = 0;
    for (const DocumentPart& part : slice.parts) {
      EXPECT_EQ(part.document, 0u);
      EXPECT_EQ(part.begin_in_document, tokens);
      tokens += part.tokens;
    }
    EXPECT_EQ(tokens, 8u);
  }
}

TEST(ContextSliceTest, HasNoPartsInAnEmptySample) {
  for (const ContextSplit split : kSplits) {
    ASSERT_OK_AND_ASSIGN(const ContextSlice slice,
                         MakeContextSlice(split, 0, Lengths{0, 0}, 1, 2));
    EXPECT_THAT(slice.parts, IsEmpty());
    EXPECT_THAT(slice.cu_seqlens, ElementsAre(0));
    EXPECT_EQ(slice.max_seqlen, 0);
  }
}

TEST(ContextSliceTest, CutsTheLongestSampleAmongManyRanks) {
  constexpr uint32_t kTokens = 2147483646;
  ASSERT_OK_AND_ASSIGN(const ContextSlice slice,
                       MakeContextSlice(ContextSplit::kZigZag, kTokens,
                                        Lengths{kTokens - 1}, 0, kTokens / 2));
  EXPECT_THAT(slice.parts, ElementsAre(DocumentPart{0, 0, 0, 1},
                                       DocumentPart{1, 0, kTokens - 1, 1}));
}

TEST(ContextSliceTest, RefusesARankThatDoesNotExist) {
  for (const uint32_t ranks : {0, 4}) {
    EXPECT_THAT(
        MakeContextSlice(ContextSplit::kContiguous, 16, {}, ranks, ranks),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr(absl::StrCat("got rank ", ranks, " of ", ranks))));
  }
}

TEST(ContextSliceTest, RefusesALengthThatChunksDoNotDivide) {
  EXPECT_THAT(MakeContextSlice(ContextSplit::kContiguous, 4100, {}, 0, 4),
              IsOk());
  EXPECT_THAT(MakeContextSlice(ContextSplit::kContiguous, 4098, {}, 0, 4),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("contiguous slices for 4 context-parallel "
                                 "ranks cut a sample into 4 equal chunks, but "
                                 "it has 4098 tokens; make the sequence length "
                                 "a multiple of 4, such as 4100")));
  for (const ContextSplit split :
       {ContextSplit::kZigZag, ContextSplit::kZigZagPerDocument}) {
    EXPECT_THAT(MakeContextSlice(split, 4100, {}, 0, 4),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("zig-zag"),
                               HasSubstr("8 equal chunks, but it has 4100"),
                               HasSubstr("multiple of 8, such as 4104"))));
  }
  // 2 * ranks does not fit in 32 bits.
  EXPECT_THAT(MakeContextSlice(ContextSplit::kZigZag, 2, {}, 0, 1u << 31),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("such as 4294967296")));
}

TEST(ContextSliceTest, RefusesDocumentsThatChunksDoNotDivide) {
  const Lengths lengths = {8, 12, 4};
  EXPECT_THAT(
      MakeContextSlice(ContextSplit::kZigZagPerDocument, 32, lengths, 0, 4),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("into 8 equal chunks, but document 1 of a sample has "
                         "12 tokens; pad every document to a multiple of 8 "
                         "(this one to 16)")));
  EXPECT_THAT(MakeContextSlice(ContextSplit::kZigZag, 32, lengths, 0, 4),
              IsOk());
}

TEST(ContextSliceTest, RefusesDocumentsBeyondTheSample) {
  for (const ContextSplit split : kSplits) {
    EXPECT_THAT(
        MakeContextSlice(split, 32, Lengths{16, 4294967280, 16}, 0, 4),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr("documents 0 to 1 of a sample have 4294967296 "
                           "tokens, but the sample has 32")));
  }
  EXPECT_THAT(MakeContextSlice(ContextSplit::kZigZag, 32, Lengths{30, 3}, 0, 4),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("have 33 tokens")));
}

TEST(ContextSliceTest, RefusesSamplesBeyond31Bits) {
  EXPECT_THAT(MakeContextSlice(ContextSplit::kContiguous, 1u << 31, {}, 0, 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("2147483648"), HasSubstr("2^31"))));
}

// Every token of a sample: its document, and the chunk that it lies in.
struct Token {
  uint32_t document = 0;
  uint32_t in_document = 0;
  uint32_t chunk = 0;
  uint32_t rank = 0;
};

std::vector<Token> TokensOf(ContextSplit split, uint32_t seq_len,
                            Lengths documents, uint32_t ranks) {
  uint32_t tokens = 0;
  for (const uint32_t length : documents) tokens += length;
  documents.push_back(seq_len - tokens);
  std::vector<Token> result;
  for (uint32_t document = 0; document < documents.size(); ++document) {
    for (uint32_t i = 0; i < documents[document]; ++i) {
      Token token{document, i};
      const auto at = static_cast<uint32_t>(result.size());
      if (split == ContextSplit::kContiguous) {
        token.chunk = token.rank = at * ranks / seq_len;
      } else {
        token.chunk = split == ContextSplit::kZigZag
                          ? at * 2 * ranks / seq_len
                          : i * 2 * ranks / documents[document];
        token.rank = std::min(token.chunk, 2 * ranks - 1 - token.chunk);
      }
      result.push_back(token);
    }
  }
  return result;
}

// Joins the tokens of a rank, one by one, to chunks and parts.
ContextSlice SlowSlice(const std::vector<Token>& tokens, uint32_t rank,
                       bool chunks_are_of_documents) {
  ContextSlice slice;
  const Token* before = nullptr;
  for (uint32_t at = 0; at < tokens.size(); ++at) {
    const Token& token = tokens[at];
    if (token.rank != rank) continue;
    const bool same_document =
        before != nullptr && before->document == token.document;
    const bool same_chunk = before != nullptr && before->chunk == token.chunk &&
                            (same_document || !chunks_are_of_documents);
    if (!same_chunk) slice.chunks.push_back({at, at});
    slice.chunks.back().end = at + 1;
    if (!same_chunk || !same_document) {
      slice.parts.push_back({token.document, token.in_document, at, 0});
    }
    slice.parts.back().tokens += 1;
    before = &token;
  }
  int32_t end = 0;
  slice.cu_seqlens.push_back(end);
  for (const DocumentPart& part : slice.parts) {
    end += static_cast<int32_t>(part.tokens);
    slice.cu_seqlens.push_back(end);
    slice.max_seqlen =
        std::max(slice.max_seqlen, static_cast<int32_t>(part.tokens));
  }
  return slice;
}

struct RandomSample {
  ContextSplit split;
  uint32_t ranks;
  uint32_t seq_len;
  Lengths documents;

  explicit RandomSample(std::mt19937_64& random)
      : split(kSplits[random() % 3]),
        ranks(static_cast<uint32_t>(1 + random() % 6)) {
    const uint32_t unit =
        split == ContextSplit::kContiguous ? ranks : 2 * ranks;
    seq_len = unit * static_cast<uint32_t>(1 + random() % 20);
    const uint32_t step = split == ContextSplit::kZigZagPerDocument ? unit : 1;
    const auto longest = 1 + random() % 15;
    for (uint32_t left = seq_len; left > 0;) {
      const uint32_t length =
          std::min(left, step * static_cast<uint32_t>(random() % longest));
      if (random() % 20 == 0) break;  // the rest is padding
      documents.push_back(length);
      left -= length;
    }
  }
};

TEST(ContextSliceTest, EqualsTheSlowSliceTokenByToken) {
  std::mt19937_64 random(TestSeed(7));
  for (int round = 0; round < TestRounds(4000); ++round) {
    const RandomSample sample(random);
    const std::vector<Token> tokens =
        TokensOf(sample.split, sample.seq_len, sample.documents, sample.ranks);
    for (uint32_t rank = 0; rank < sample.ranks; ++rank) {
      ASSERT_OK_AND_ASSIGN(
          const ContextSlice slice,
          MakeContextSlice(sample.split, sample.seq_len, sample.documents, rank,
                           sample.ranks));
      const ContextSlice slow = SlowSlice(
          tokens, rank, sample.split == ContextSplit::kZigZagPerDocument);
      ASSERT_TRUE(slice == slow)
          << "round " << round << ", rank " << rank << " of " << sample.ranks
          << ", split " << static_cast<int>(sample.split) << ", "
          << sample.seq_len << " tokens, documents "
          << ::testing::PrintToString(sample.documents) << ": "
          << ::testing::PrintToString(slice.cu_seqlens) << " and not "
          << ::testing::PrintToString(slow.cu_seqlens);
    }
  }
}

TEST(ContextSliceTest, HoldsEveryTokenOnOneRank) {
  std::mt19937_64 random(TestSeed(8));
  for (int round = 0; round < TestRounds(1000); ++round) {
    const RandomSample sample(random);
    std::vector<int> times(sample.seq_len, 0);
    for (uint32_t rank = 0; rank < sample.ranks; ++rank) {
      ASSERT_OK_AND_ASSIGN(
          const ContextSlice slice,
          MakeContextSlice(sample.split, sample.seq_len, sample.documents, rank,
                           sample.ranks));
      // All ranks have the same number of tokens.
      ASSERT_EQ(slice.cu_seqlens.back(), sample.seq_len / sample.ranks);
      for (const ContextChunk& chunk : slice.chunks) {
        for (uint32_t i = chunk.begin; i < chunk.end; ++i) ++times[i];
      }
    }
    ASSERT_EQ(std::count(times.begin(), times.end(), 1), sample.seq_len);
  }
}

// Pairs of a token and one that it sees, under a causal mask in documents.
TEST(ContextSliceTest, GivesAllRanksTheSameWorkInZigZagPerDocument) {
  const Lengths documents = {48, 24, 144, 24};
  constexpr uint32_t kRanks = 4;
  uint64_t of_first = 0;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_OK_AND_ASSIGN(const ContextSlice slice,
                         MakeContextSlice(ContextSplit::kZigZagPerDocument, 240,
                                          documents, rank, kRanks));
    uint64_t pairs = 0;
    for (const DocumentPart& part : slice.parts) {
      for (uint32_t i = 0; i < part.tokens; ++i) {
        pairs += part.begin_in_document + i + 1;
      }
    }
    if (rank == 0) of_first = pairs;
    EXPECT_EQ(pairs, of_first) << "rank " << rank;
  }
  // 48 * 49 / 2 + 2 * 24 * 25 / 2 + 144 * 145 / 2.
  EXPECT_EQ(of_first * kRanks, 12216u);
}

}  // namespace
}  // namespace poniente
