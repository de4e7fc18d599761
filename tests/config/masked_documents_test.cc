// SPDX-License-Identifier: Apache-2.0
// Runs some of whose documents are masked while they go on, beside the same
// runs as they would have been.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/config.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/journal.h"
#include "poniente/loader.h"
#include "poniente/token_store.h"
#include "tests/config/small_stores.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::StatusIs;

constexpr uint64_t kMaskedSteps = 200;
constexpr uint64_t kMasksAt = 40;

// Documents 3, 10 to 40, and every fifth from 100 on.
std::vector<NumberRange> MaskedNumbers() {
  std::vector<NumberRange> ranges = {{3, 4}, {10, 41}};
  for (uint64_t document = 100; document < 200; document += 5) {
    ranges.push_back({document, document + 1});
  }
  return ranges;
}

bool IsMaskedNumber(uint64_t document) {
  const std::vector<NumberRange> ranges = MaskedNumbers();
  return std::any_of(ranges.begin(), ranges.end(),
                     [document](const NumberRange& range) {
                       return range.begin <= document && document < range.end;
                     });
}

class MaskedDocumentsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::WriteDocuments(dir_.path("a"), 0, 10000);
    testing::WriteDocuments(dir_.path("c"), 2, 5000);
  }

  // `a`: what else the source says.
  Config Open(const std::string& a, const std::string& more = "") const {
    std::ofstream(dir_.path("run.toml"))
        << "[data]\nseed = 7\nsteps = 200\nbatch_size = 8\nseq_len = 32\n"
        << "journal = \"run.journal\"\nblock_size = 32\n"
        << more << "\n[data.mixture]\n"
        << "a = { path = \"a\", weight = 0.5" << a << " }\n"
        << "c = { path = \"c\", weight = 0.5 }\n";
    auto config = Config::Load(dir_.path("run.toml"));
    EXPECT_THAT(config, IsOk());
    return *std::move(config);
  }

  static std::unique_ptr<Loader> LoaderOf(const Config& config) {
    LoaderOptions options = config.loader_options();
    options.token_type = TokenType::kI32;
    options.tensors = {BatchTensor::kLabels, BatchTensor::kLossMask,
                       BatchTensor::kDocumentIds, BatchTensor::kPositions,
                       BatchTensor::kCuSeqlens};
    auto loader = config.OpenLoader(options);
    EXPECT_THAT(loader, IsOk());
    return *std::move(loader);
  }

  // Compares a sample of the masked run, token by token.
  static void ExpectMasked(const std::vector<ItemPiece>& pieces,
                           const Batch& plain, const Batch& masked, size_t i) {
    const size_t length = plain.seq_len();
    const size_t row = i * length;
    size_t at = row;
    int32_t number = 0;
    for (size_t p = 0; p < pieces.size(); ++p) {
      const bool is_padding = pieces[p].is_padding();
      const bool is_masked = !is_padding && IsMaskedNumber(pieces[p].document);
      const size_t end = at + (pieces[p].end - pieces[p].begin);
      for (; at < end; ++at) {
        SCOPED_TRACE(absl::StrCat("token ", at - row, " of document ",
                                  pieces[p].document));
        ASSERT_EQ(masked.document_ids()[at],
                  is_padding || is_masked ? -1 : number);
        if (is_masked) {
          ASSERT_EQ(masked.tokens<int32_t>()[at], 0);
          ASSERT_EQ(masked.labels<int32_t>()[at], kIgnoredLabel);
          ASSERT_EQ(masked.loss_mask()[at], 0);
          ASSERT_EQ(masked.positions()[at], 0);
          continue;
        }
        ASSERT_EQ(masked.tokens<int32_t>()[at], plain.tokens<int32_t>()[at]);
        ASSERT_EQ(masked.labels<int32_t>()[at], plain.labels<int32_t>()[at]);
        ASSERT_EQ(masked.loss_mask()[at], plain.loss_mask()[at]);
        ASSERT_EQ(masked.positions()[at], plain.positions()[at]);
      }
      if (!is_padding && !is_masked) ++number;
    }
    ASSERT_EQ(at, row + length);
  }

  // The run is the one without the change, apart from the documents.
  void ExpectOnlyThese(const std::string& a, const std::string& more = "") {
    const Config config = Open(a, more);
    const auto masked = LoaderOf(config);
    std::string before;
    for (uint64_t step = 0; step < kMasksAt; ++step) {
      ASSERT_THAT(masked->NextBlocking(), IsOk());
    }
    before = masked->State();
    const auto from = masked->Steer(
        RunChange::MaskDocuments("a", MaskedNumbers(), "request 31"));
    ASSERT_THAT(from, IsOk());
    EXPECT_LE(*from, kMasksAt + 4);
    const uint64_t sample = masked->journal().sample(0);

    std::filesystem::rename(dir_.path("run.journal"), dir_.path("kept"));
    const Config without = Open(a, more);
    std::filesystem::rename(dir_.path("kept"), dir_.path("run.journal"));
    auto plain_loader =
        Loader::Create(without.dataset(), without.schedule(), [&] {
          LoaderOptions options = without.loader_options();
          options.token_type = TokenType::kI32;
          options.tensors = {BatchTensor::kLabels, BatchTensor::kLossMask,
                             BatchTensor::kDocumentIds, BatchTensor::kPositions,
                             BatchTensor::kCuSeqlens};
          options.start_step = kMasksAt;
          return options;
        }());
    ASSERT_THAT(plain_loader, IsOk());
    const Config again = Open(a, more);
    EXPECT_EQ(again.dataset()->fingerprint(), without.dataset()->fingerprint());
    const auto resumed = LoaderOf(again);
    ASSERT_THAT(resumed->Resume(before), IsOk());
    const DatasetTree tree(*without.dataset());
    uint64_t tokens_masked = 0;
    for (uint64_t step = kMasksAt; step < kMaskedSteps; ++step) {
      auto expected = (*plain_loader)->NextBlocking();
      auto got = masked->NextBlocking();
      auto opened = resumed->NextBlocking();
      ASSERT_THAT(expected, IsOk());
      ASSERT_THAT(got, IsOk());
      ASSERT_THAT(opened, IsOk());
      for (size_t i = 0; i < got->num_samples(); ++i) {
        SCOPED_TRACE(absl::StrCat("step ", step, " sample ", i));
        const Position at = {.index = got->provenance(i).sample};
        LeafPosition item;
        ASSERT_THAT(tree.Resolve(std::span(&at, 1), std::span(&item, 1)),
                    IsOk());
        ASSERT_EQ(got->source(i), expected->source(i));
        const auto* const leaf = PiecesOf(*tree.leaves()[item.leaf].node);
        ASSERT_NE(leaf, nullptr);
        auto pieces = leaf->Pieces(item.position);
        ASSERT_THAT(pieces, IsOk());
        if (item.leaf > 0 || at.index < sample) {
          for (ItemPiece& piece : *pieces) {
            if (!piece.is_padding()) piece.document += 1000000;
          }
        }
        ASSERT_NO_FATAL_FAILURE(ExpectMasked(*pieces, *expected, *got, i));
        ASSERT_NO_FATAL_FAILURE(ExpectMasked(*pieces, *expected, *opened, i));
        for (const ItemPiece& piece : *pieces) {
          if (!IsMaskedNumber(piece.document)) continue;
          tokens_masked += piece.end - piece.begin;
        }
      }
      // Masked documents are sequences of their own, as they were.
      ASSERT_TRUE(
          std::ranges::equal(got->cu_seqlens(), expected->cu_seqlens()));
    }
    EXPECT_GT(tokens_masked, 1000u);
    EXPECT_EQ(masked->State(), resumed->State());
    std::filesystem::remove(dir_.path("run.journal"));
  }

  testing::TempDir dir_;
};

TEST_F(MaskedDocumentsTest, OnlyTheirTokensAreOthers) {
  SCOPED_TRACE("windows of documents end to end, from files");
  ExpectOnlyThese("");
  SCOPED_TRACE("shorter samples");
  ExpectOnlyThese("", "max_seq_len = 64");
}

TEST_F(MaskedDocumentsTest, AlsoThoseThatArePacked) {
  ExpectOnlyThese(", pack_documents = true");
}

TEST_F(MaskedDocumentsTest, AlsoOfDatasetsThatAreNotReadInPlace) {
  // All documents are chosen, so that windows are those of all.
  ExpectOnlyThese(", documents = { fraction = 0.99 }");
}

TEST_F(MaskedDocumentsTest, AlsoOfDocumentsInAnOrder) {
  const uint64_t documents =
      (*TokenStore::Open(dir_.path("a")))->num_documents();
  std::vector<float> scores;
  for (uint64_t d = 0; d < documents; ++d) {
    scores.push_back(static_cast<float>(d * 37 % 101));
  }
  std::ofstream(dir_.path("a.f32"), std::ios::binary)
      .write(reinterpret_cast<const char*>(scores.data()),
             static_cast<std::streamsize>(4 * documents));
  ExpectOnlyThese(", order_documents = { scores = \"a.f32\", buckets = 4 }");
}

TEST_F(MaskedDocumentsTest, TheyComeWithOtherChanges) {
  const Config config = Open("");
  const auto loader = LoaderOf(config);
  for (int i = 0; i < 9; ++i) ASSERT_THAT(loader->NextBlocking(), IsOk());
  ASSERT_THAT(loader->Steer(RunChange::MaskDocuments("a", {{7, 9}})), IsOk());
  ASSERT_THAT(loader->Steer(RunChange::MaskDocuments("c", {{0, 1}})), IsOk());
  ASSERT_THAT(loader->Steer(RunChange::Weights({{"a", 0.9}})), IsOk());
  ASSERT_THAT(loader->Steer(RunChange::DropDocuments("a", {{20, 21}})), IsOk());
  ASSERT_THAT(
      loader->Steer(RunChange::Add("new", "{path = \"a\", weight = 0.3}")),
      IsOk());
  ASSERT_THAT(loader->Steer(RunChange::MaskDocuments("new", {{5, 6}})), IsOk());
  std::vector<std::vector<int32_t>> served;
  while (loader->next_step() < kMaskedSteps) {
    auto batch = loader->NextBlocking();
    ASSERT_THAT(batch, IsOk());
    const auto tokens = batch->tokens<int32_t>();
    served.emplace_back(tokens.begin(), tokens.end());
  }
  const Config again = Open("");
  EXPECT_EQ(again.journal().size(), 6u);
  const auto resumed = LoaderOf(again);
  ASSERT_THAT(resumed->Seek(9), IsOk());
  for (const std::vector<int32_t>& expected : served) {
    auto batch = resumed->NextBlocking();
    ASSERT_THAT(batch, IsOk());
    ASSERT_TRUE(std::ranges::equal(batch->tokens<int32_t>(), expected));
  }
}

TEST_F(MaskedDocumentsTest, WhatCannotBeMaskedIsSaid) {
  const auto loader = LoaderOf(Open(""));
  const auto error = [&](const RunChange& change) {
    const absl::Status status = loader->Steer(change).status();
    EXPECT_EQ(loader->journal().size(), 0u);
    return status;
  };
  EXPECT_THAT(error(RunChange::MaskDocuments("aa", {{1, 2}})),
              StatusIs(kInvalid, AllOf(HasSubstr("change 1"),
                                       HasSubstr("no source has the path "
                                                 "'aa'"))));
  EXPECT_THAT(error(RunChange::MaskDocuments("a", {{1, 1000000}})),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("document")));
  RunChange items = RunChange::DropItems("a", {{1, 2}});
  items.masks = true;
  EXPECT_THAT(error(items), StatusIs(kInvalid, HasSubstr("masks items")));
  EXPECT_THAT(error(RunChange::MaskDocuments("", {{1, 2}})),
              StatusIs(kInvalid, HasSubstr("names no source")));
}

}  // namespace
}  // namespace poniente
