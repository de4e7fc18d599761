// SPDX-License-Identifier: Apache-2.0
// Loss masks in other projects' files that do not fit their tokens.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "formats/loss_mask_files.h"
#include "poniente/catalog.h"
#include "poniente/open_token_source.h"
#include "poniente/token_store_writer.h"
#include "tests/formats/expect_source.h"
#include "tests/formats/masked_files.h"
#include "tests/formats/megatron_files.h"
#include "tests/formats/npy_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::LittleBytes;
using testing::MegatronIndex;
using testing::NpyOf;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteFile;

using testing::AllBut;
using testing::ExpectMasked;
using testing::MadeMasked;
using testing::Mask;
using testing::Masked;
using testing::Numbers;
using testing::WithMask;
using testing::WriteMegatron;

using LossMaskErrorsTest = testing::MaskedFilesTest;

TEST_F(LossMaskErrorsTest, LengthsAreThoseOfTheTokens) {
  WriteMegatron(path("x"), made_.Ids(), made_.lengths);
  Numbers flags = made_.Flags();
  flags.pop_back();
  WriteFile(path("short.npy"), NpyOf("|b1", flags).Bytes());
  const std::string tokens = std::to_string(made_.ids.size());
  EXPECT_THAT(
      Error("x", {path("short.npy")}),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("the loss mask '" + path("short.npy") + "'"),
                     HasSubstr("has " + std::to_string(flags.size()) +
                               " numbers, '" + path("x.idx") + "' has " +
                               tokens + " tokens"))));
  // A file without a header, of a number of bytes that no width has.
  WriteFile(path("short.bin"), LittleBytes(flags, 1));
  EXPECT_THAT(Error("x", {path("short.bin")}),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("has " + std::to_string(flags.size()) +
                                       " bytes"),
                             HasSubstr("there are " + tokens + " tokens"))));
  // As many in all, but other documents.
  std::vector<int64_t> lengths = made_.lengths;
  const auto long_one = static_cast<size_t>(
      std::max_element(lengths.begin(), lengths.end()) - lengths.begin());
  --lengths[long_one];
  ++lengths[(long_one + 1) % lengths.size()];
  WriteMegatron(path("other"), made_.Flags(), lengths);
  const size_t first = std::min(long_one, (long_one + 1) % lengths.size());
  EXPECT_THAT(
      Error("x", {path("other")}),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr("has " + std::to_string(lengths[first]) +
                         " numbers in document " + std::to_string(first) +
                         ", '" + path("x.idx") + "' has " +
                         std::to_string(made_.lengths[first]) + " tokens")));
}

TEST_F(LossMaskErrorsTest, FilesOfAFolderBelongToEachOther) {
  WriteFile(path("ids_0.bin"), LittleBytes({1, 2, 3}, 2));
  WriteFile(path("ids_1.bin"), LittleBytes({4, 5}, 2));
  TokenSourceOptions options;
  options.dtype = StoredType::kU16;
  options.glob = "ids_*.bin";
  options.loss_mask.emplace().glob = "mask_*.bin";
  WriteFile(path("mask_0.bin"), LittleBytes({1, 0}, 1));
  WriteFile(path("mask_1.bin"), LittleBytes({1, 0, 1}, 1));
  EXPECT_THAT(OpenTokenSource(dir_.path(), options),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("has 2 numbers in file 0")));
  WriteFile(path("mask_1.bin"), LittleBytes({1}, 1));
  WriteFile(path("mask_2.bin"), LittleBytes({1, 1}, 1));
  EXPECT_THAT(OpenTokenSource(dir_.path(), options),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("has 3 files, '" + dir_.path() + "' has 2")));
  options.loss_mask = LossMaskFiles{path("whole.npy")};
  WriteFile(path("whole.npy"), NpyOf("|b1", {1, 0, 0, 0, 1}).Bytes());
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenTokenSource(dir_.path(), options));
  ASSERT_OK_AND_ASSIGN(const Mask mask,
                       RunBlocking(source->ReadLossMask(1, 4)));
  EXPECT_THAT(mask, ElementsAre(0, 0, 0, 1));
}

TEST_F(LossMaskErrorsTest, OtherNumbersThanZeroAndOneAreNoMask) {
  WriteMegatron(path("x"), made_.Ids(), made_.lengths);
  WriteMegatron(path("labels"), made_.Labels(), made_.lengths);
  EXPECT_THAT(Error("x", {path("labels")}),
              StatusIs(StatusCode::kDataLoss,
                       AllOf(HasSubstr("expected 0 or 1"),
                             HasSubstr("no_loss, mostly -100"))));
  // In a large file, where no sample is taken: at its reading.
  const size_t tokens = 60000;
  const size_t bad = 20000;
  Numbers flags(tokens, 1);
  flags[bad] = 3;
  WriteFile(path("ids.npy"), NpyOf("<u2", Numbers(tokens, 9)).Bytes());
  WriteFile(path("mask.npy"), NpyOf("|u1", flags).Bytes());
  ASSERT_OK_AND_ASSIGN(
      const auto source,
      OpenTokenSource(path("ids.npy"), WithMask({path("mask.npy")})));
  EXPECT_THAT(RunBlocking(source->ReadLossMask(0, bad)), IsOk());
  EXPECT_THAT(RunBlocking(source->ReadLossMask(bad - 5, 10)),
              StatusIs(StatusCode::kDataLoss,
                       AllOf(HasSubstr("the number 3 for token 20000"),
                             HasSubstr(path("ids.npy")))));
}

TEST_F(LossMaskErrorsTest, OptionsThatSayNothingOrTooMuchAreRefused) {
  WriteMegatron(path("x"), made_.Ids(), made_.lengths, {8, 2, "u16"});
  WriteMegatron(path("labels"), made_.Labels(), made_.lengths, {8, 2, "u16"});
  const auto refused = [](const std::string& text) {
    return StatusIs(StatusCode::kInvalidArgument, HasSubstr(text));
  };
  EXPECT_THAT(Error("x", {}), refused("is not stated"));
  EXPECT_THAT(Error("x", {"", "", "labels"}), refused("state the path"));
  EXPECT_THAT(Error("x", {path("x")}), refused("is the tokens themselves"));
  EXPECT_THAT(Error("x", AllBut(path("labels"), -100)),
              refused("holds u16, of which none is -100"));
  EXPECT_THAT(Error("x", AllBut(path("labels"), 65536)), refused("none is"));
  EXPECT_THAT(Error("x", AllBut(path("labels"), 65436)), IsOk());
  LossMaskFiles both = AllBut(path("labels"), 0);
  both.loss = 1;
  EXPECT_THAT(Error("x", both), refused("state one of them"));
  EXPECT_THAT(Error("x", {path("nothing")}),
              StatusIs(StatusCode::kNotFound, HasSubstr("the loss mask '")));
  ASSERT_OK_AND_ASSIGN(
      auto writer, TokenStoreWriter::Create(path("store"), {{"bytes", 256}}));
  ASSERT_THAT(writer->AddDocument(std::vector<uint32_t>{1, 2}, ""), IsOk());
  ASSERT_THAT(writer->Finish(), IsOk());
  EXPECT_THAT(Error("x", {path("store")}), refused("is a token store"));
  EXPECT_THAT(Error("store", {path("labels")}),
              refused("which has a loss mask of its own"));
  ASSERT_THAT(StoreCatalog::Write(dir_.path()), IsOk());
  EXPECT_THAT(OpenTokenSource(dir_.path(), WithMask({path("labels")})),
              refused("catalogue of token stores"));
}

TEST_F(LossMaskErrorsTest, TheFingerprintCoversWhatTheMaskSays) {
  WriteMegatron(path("x"), made_.Ids(), made_.lengths);
  WriteMegatron(path("flags"), made_.Flags(), made_.lengths, {1, 1, "u8"});
  WriteMegatron(path("labels"), made_.Labels(), made_.lengths);
  Numbers flags = made_.Flags();
  flags[5] ^= 1;
  WriteMegatron(path("changed"), flags, made_.lengths);
  const auto fingerprint = [&](const std::optional<LossMaskFiles>& mask) {
    TokenSourceOptions options;
    options.loss_mask = mask;
    const auto source = OpenTokenSource(path("x"), options);
    EXPECT_THAT(source, IsOk());
    return (*source)->fingerprint();
  };
  const uint64_t of_flags = fingerprint(LossMaskFiles{path("flags")});
  EXPECT_EQ(fingerprint(AllBut(path("labels"), -100)), of_flags);
  EXPECT_NE(fingerprint(LossMaskFiles{path("changed")}), of_flags);
  EXPECT_NE(fingerprint(std::nullopt), of_flags);
}

// Megatron-Bridge: tables and a bit of loss among the ids.
TEST_F(LossMaskErrorsTest, PackedRowsOfMegatronBridgeAreRefused) {
  WriteMegatron(path("train.sft"), {0x53465442, 1, 1, 0, 7, 0x80000008}, {6});
  EXPECT_THAT(
      OpenTokenSource(path("train.sft")),
      StatusIs(StatusCode::kUnimplemented, AllOf(HasSubstr("Megatron-Bridge"),
                                                 HasSubstr("poniente pack"))));
  WriteMegatron(path("train"), {0x53465442, 2, 1, 0, 7, 8}, {6});
  EXPECT_THAT(OpenTokenSource(path("train")), IsOk());
}

}  // namespace
}  // namespace poniente
