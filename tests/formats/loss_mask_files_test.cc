// SPDX-License-Identifier: Apache-2.0
// Loss masks in other projects' files, as their own writers lay them out.

#include "formats/loss_mask_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "poniente/open_token_source.h"
#include "poniente/token_store_writer.h"
#include "tests/formats/expect_source.h"
#include "tests/formats/masked_files.h"
#include "tests/formats/mds_files.h"
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

using LossMaskFilesTest = testing::MaskedFilesTest;

// FlagScale: x_text_document and x_loss_mask_document.
TEST_F(LossMaskFilesTest, MegatronsMaskIsASecondDatasetOfZerosAndOnes) {
  WriteMegatron(path("x_text_document"), made_.Ids(), made_.lengths);
  for (const testing::CodedType& type : testing::kCodedTypes) {
    SCOPED_TRACE(type.name);
    WriteMegatron(path("x_loss_mask_document"), made_.Flags(), made_.lengths,
                  type);
    ASSERT_OK_AND_ASSIGN(
        const auto source,
        OpenTokenSource(path("x_text_document"),
                        WithMask({path("x_loss_mask_document")})));
    ExpectMasked(*source, made_);
    testing::ExpectDocuments(*source, testing::EndsOf(made_.lengths));
    EXPECT_THAT(TokenSourceWarnings(*source), IsEmpty());
    ASSERT_OK_AND_ASSIGN(const auto windows, source->Windows(32));
    EXPECT_NE(windows->loss_mask(), nullptr);
  }
}

// GPT-NeoX: labels of i32, -100 where there is no loss.
TEST_F(LossMaskFilesTest, LabelsHaveLossUnlessTheyAreIgnored) {
  WriteMegatron(path("chat_document"), made_.Ids(), made_.lengths);
  for (const testing::CodedType& type :
       {testing::CodedType{3, 2, "i16"}, {4, 4, "i32"}, {5, 8, "i64"}}) {
    SCOPED_TRACE(type.name);
    WriteMegatron(path("chat_label_document"), made_.Labels(), made_.lengths,
                  type);
    ASSERT_OK_AND_ASSIGN(
        const auto source,
        OpenTokenSource(path("chat_document"),
                        WithMask(AllBut(path("chat_label_document"), -100))));
    ExpectMasked(*source, made_);
  }
}

// MindSpeed-LLM and ModelLink: three datasets of one prefix.
TEST_F(LossMaskFilesTest, ThePrefixOfPackedLabelsHasAMaskByItself) {
  WriteMegatron(path("alpaca_packed_input_ids_document"), made_.Ids(),
                made_.lengths);
  EXPECT_FALSE(IsTokenSource(path("alpaca")));
  WriteMegatron(path("alpaca_packed_labels_document"), made_.Labels(),
                made_.lengths);
  WriteMegatron(path("alpaca_packed_attention_mask_document"),
                Numbers(made_.ids.size(), 1), made_.lengths);
  EXPECT_TRUE(IsTokenSource(path("alpaca")));
  ASSERT_OK_AND_ASSIGN(const auto source, OpenTokenSource(path("alpaca")));
  ExpectMasked(*source, made_);
  EXPECT_EQ(source->path(), path("alpaca"));
  EXPECT_THAT(TokenSourceWarnings(*source), IsEmpty());
}

// epfLLM's Megatron-LLM: a role per token, of which 2 is the assistant.
TEST_F(LossMaskFilesTest, RolesHaveLossIfTheyAreTheStatedOne) {
  Numbers roles;
  for (size_t t = 0; t < made_.ids.size(); ++t) {
    roles.push_back(made_.has_loss[t] != 0 ? 2 : t % 2 == 0 ? 1 : 1000);
  }
  WriteMegatron(path("oasst-text"), made_.Ids(), made_.lengths);
  WriteMegatron(path("oasst-role"), roles, made_.lengths, {3, 2, "i16"});
  ASSERT_OK_AND_ASSIGN(const auto source, OpenTokenSource(path("oasst")));
  ExpectMasked(*source, made_);
  LossMaskFiles prompts;
  prompts.path = path("oasst-role");
  prompts.loss = 1;
  ASSERT_OK_AND_ASSIGN(const auto other,
                       OpenTokenSource(path("oasst"), WithMask(prompts)));
  ASSERT_OK_AND_ASSIGN(const Mask mask,
                       RunBlocking(other->ReadLossMask(0, roles.size())));
  for (size_t t = 0; t < roles.size(); ++t) {
    ASSERT_EQ(mask[t], roles[t] == 1) << t;
  }
}

// OLMo and open-instruct: np.memmap of bools, which has no header, for each
// file of ids.
TEST_F(LossMaskFilesTest, FilesWithoutAHeaderAreOfTheWidthThatFits) {
  const Masked other = MadeMasked(12);
  Masked both = made_;
  both.ids.insert(both.ids.end(), other.ids.begin(), other.ids.end());
  both.has_loss.insert(both.has_loss.end(), other.has_loss.begin(),
                       other.has_loss.end());
  WriteFile(path("token_ids_part_0000.npy"), LittleBytes(made_.Ids(), 4));
  WriteFile(path("token_ids_part_0001.npy"), LittleBytes(other.Ids(), 4));
  TokenSourceOptions options;
  options.dtype = StoredType::kU32;
  options.glob = "token_ids_part_*.npy";
  options.loss_mask.emplace().glob = "labels_mask_part_*.npy";
  for (const size_t width : {1, 2, 4, 8}) {
    WriteFile(path("labels_mask_part_0000.npy"),
              LittleBytes(made_.Flags(), width));
    WriteFile(path("labels_mask_part_0001.npy"),
              LittleBytes(other.Flags(), width));
    ASSERT_OK_AND_ASSIGN(const auto source,
                         OpenTokenSource(dir_.path(), options));
    ExpectMasked(*source, both);
    EXPECT_EQ(source->num_shards(), 2u);
    EXPECT_EQ(source->num_bytes(), both.ids.size() * (4 + width));
  }
  options.loss_mask->no_loss = -100;
  for (const size_t width : {2, 4, 8}) {
    WriteFile(path("labels_mask_part_0000.npy"),
              LittleBytes(made_.Labels(), width));
    WriteFile(path("labels_mask_part_0001.npy"),
              LittleBytes(other.Labels(), width));
    ASSERT_OK_AND_ASSIGN(const auto source,
                         OpenTokenSource(dir_.path(), options));
    ExpectMasked(*source, both);
  }
}

TEST_F(LossMaskFilesTest, NumPysBoolsAreAMask) {
  WriteFile(path("ids.npy"), NpyOf("<u2", made_.Ids()).Bytes());
  for (const char* const type : {"|b1", "|u1", "<i8"}) {
    WriteFile(path("mask.npy"), NpyOf(type, made_.Flags()).Bytes());
    ASSERT_OK_AND_ASSIGN(
        const auto source,
        OpenTokenSource(path("ids.npy"), WithMask({path("mask.npy")})));
    ExpectMasked(*source, made_);
  }
  // But they are no ids.
  WriteFile(path("mask.npy"), NpyOf("|b1", made_.Flags()).Bytes());
  EXPECT_THAT(OpenTokenSource(path("mask.npy")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("bools")));
}

// MDS: a column beside the ids; the numbers lie row by row.
TEST_F(LossMaskFilesTest, AColumnBesideTheIdsIsAMask) {
  const std::vector<testing::MdsColumn> columns = {
      {"loss_mask", "ndarray:uint8", std::nullopt},
      {"tokens", "ndarray:int32", std::nullopt}};
  std::vector<std::string> rows;
  size_t at = 0;
  for (const int64_t signed_length : made_.lengths) {
    const auto length = static_cast<size_t>(signed_length);
    const auto begin = static_cast<ptrdiff_t>(at);
    const auto end = static_cast<ptrdiff_t>(at += length);
    const Numbers ids = made_.Ids();
    const Numbers flags = made_.Flags();
    const std::string head = testing::MdsHead(0, {length});
    rows.push_back(testing::MdsRow(
        columns,
        {head + LittleBytes({flags.begin() + begin, flags.begin() + end}, 1),
         head + LittleBytes({ids.begin() + begin, ids.begin() + end}, 4)}));
  }
  const std::string shard = testing::MdsShardBytes(rows);
  WriteFile(path("shard.mds"), shard);
  WriteFile(path("index.json"),
            testing::MdsIndexJson({testing::MdsIndexShardJson(
                columns, {"shard.mds", shard.size(), rows.size()})}));
  TokenSourceOptions options;
  options.loss_mask.emplace().column = "loss_mask";
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenTokenSource(dir_.path(), options));
  ExpectMasked(*source, made_);
  ASSERT_OK_AND_ASSIGN(const auto bare, OpenTokenSource(dir_.path()));
  EXPECT_EQ(source->num_bytes(), bare->num_bytes());
  EXPECT_FALSE(bare->has_loss_mask());
  options.loss_mask->column = "tokens";
  EXPECT_THAT(OpenTokenSource(dir_.path(), options),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("is the tokens themselves")));
}

TEST_F(LossMaskFilesTest, AMaskThatIsNotReadIsAWarning) {
  WriteMegatron(path("x_text_document"), made_.Ids(), made_.lengths);
  WriteMegatron(path("y-text"), made_.Ids(), made_.lengths);
  WriteFile(path("input_ids.npy"), NpyOf("<u2", made_.Ids()).Bytes());
  const auto warnings = [&](const std::string& name) {
    const auto source = OpenTokenSource(path(name));
    EXPECT_THAT(source, IsOk());
    return TokenSourceWarnings(**source);
  };
  EXPECT_THAT(warnings("x_text_document"), IsEmpty());
  WriteMegatron(path("x_text_label_document"), made_.Labels(), made_.lengths);
  EXPECT_THAT(warnings("x_text_document"),
              ElementsAre(AllOf(HasSubstr(path("x_text_label_document")),
                                HasSubstr("loss_mask and no_loss = -100"))));
  WriteMegatron(path("y-role"), made_.Flags(), made_.lengths);
  EXPECT_THAT(warnings("y-text"), ElementsAre(HasSubstr("loss = 2")));
  EXPECT_THAT(warnings("input_ids.npy"), IsEmpty());
  WriteFile(path("label_mask.npy"), LittleBytes(made_.Flags(), 1));
  EXPECT_THAT(warnings("input_ids.npy"),
              ElementsAre(HasSubstr(path("label_mask.npy"))));
}

}  // namespace
}  // namespace poniente
