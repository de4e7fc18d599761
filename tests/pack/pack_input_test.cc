// SPDX-License-Identifier: Apache-2.0
// Loss masks of the documents of a unit.
#include "pack/pack_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "util/bits.h"

namespace poniente::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr uint32_t kEnd = 256;

using Loss = std::vector<uint8_t>;

// One byte per token for the first tokens of the unit; nullopt without a mask.
// All other tokens have loss.
std::optional<Loss> LossOf(UnitDocuments* unit) {
  const DocumentEnds ends = unit->TakeEnds();
  if (!ends.loss) return std::nullopt;
  Loss loss(ends.loss->size());
  UnpackBits(std::as_bytes(ends.loss->bytes()).data(), 0, loss);
  return loss;
}

TEST(UnitDocumentsTest, WithoutAMaskThereIsNone) {
  UnitDocuments unit(2, kEnd);
  unit.AppendBytes("abc");
  unit.EndDocument(1);
  EXPECT_EQ(LossOf(&unit), std::nullopt);
}

// The end of an answer is to be learned, that of a question is not.
TEST(UnitDocumentsTest, AnEndThatIsAddedHasLossIfTheIdBeforeHas) {
  UnitDocuments unit(2, kEnd);
  unit.AppendBytes("abc", Loss{0, 1, 0});
  unit.EndDocument(1);
  unit.AppendIds(std::vector<uint32_t>{7, 8}, Loss{0, 1});
  unit.EndDocument(2);
  unit.AppendBytes("xy");  // no mask: loss
  unit.EndDocument(3);
  unit.AppendBytes("z", Loss{0});
  EXPECT_THAT(LossOf(&unit),
              Optional(ElementsAre(0, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0)));
}

TEST(UnitDocumentsTest, TheEndOfAnEmptyDocumentHasLoss) {
  UnitDocuments unit(2, kEnd);
  unit.AppendBytes("a", Loss{0});
  unit.EndDocument(1);
  unit.AppendBytes("", Loss{});
  unit.EndDocument(2);
  unit.AppendBytes("b", Loss{0});
  EXPECT_THAT(LossOf(&unit), Optional(ElementsAre(0, 0, 1, 0)));
}

TEST(UnitDocumentsTest, AnEndOfItsOwnKeepsItsLoss) {
  UnitDocuments unit(2, kEnd);
  unit.KeepOwnEnds();
  unit.AppendIds(std::vector<uint32_t>{7, kEnd}, Loss{0, 1});
  unit.EndDocument(1);
  unit.AppendIds(std::vector<uint32_t>{7, kEnd}, Loss{1, 0});
  unit.EndDocument(2);
  EXPECT_EQ(unit.num_tokens(), 4u);
  EXPECT_THAT(LossOf(&unit), Optional(ElementsAre(0, 1, 1, 0)));
}

TEST(UnitDocumentsTest, AnEmptyMaskIsAMaskAndTheNextUnitBeginsAnew) {
  UnitDocuments unit(2, std::nullopt);
  unit.AppendIds({}, Loss{});
  unit.EndDocument(1);
  EXPECT_THAT(LossOf(&unit), Optional(IsEmpty()));
  unit.Clear();
  unit.AppendBytes("a");
  unit.EndDocument(1);
  EXPECT_EQ(LossOf(&unit), std::nullopt);
}

// Checkpoints hold it, and have a limit.
TEST(UnitDocumentsTest, WhatIsSaidOfABadLineIsCutBetweenTwoCharacters) {
  std::string text = "x";
  for (int i = 0; i < 3000; ++i) text += "\u00e9";
  UnitDocuments unit(1, std::nullopt);
  unit.AddBadLine(1, text);
  unit.AddBadLine(2, "short");
  unit.AddBadLine(3, std::string(5000, '\x80'));  // not UTF-8
  EXPECT_EQ(unit.bad_lines()[0].what, text.substr(0, 1023) + "...");
  EXPECT_EQ(unit.bad_lines()[1].what, "short");
  EXPECT_LE(unit.bad_lines()[2].what.size(), 1027u);
}

}  // namespace
}  // namespace poniente::internal
