// SPDX-License-Identifier: Apache-2.0
// The model of the example trainers sees the document of a prediction alone.
#include "examples/small_model.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace example {
namespace {

constexpr size_t kVocabulary = 40;

// Some documents end to end, and padding behind them.
class Row {
 public:
  Row& Document(const std::vector<uint32_t>& ids) {
    for (size_t i = 0; i < ids.size(); ++i) {
      Add(ids[i], documents_, i + 1 < ids.size());
    }
    ++documents_;
    return *this;
  }
  Row& Padding(size_t tokens, uint32_t id) {
    for (size_t i = 0; i < tokens; ++i) Add(id, -1, false);
    return *this;
  }
  // The token has no loss, as in a store with a loss mask.
  Row& Unlabelled(size_t token) {
    loss_mask_[token] = 0;
    return *this;
  }
  operator Sample() const { return {tokens_, document_ids_, loss_mask_}; }

 private:
  void Add(uint32_t id, int32_t document, bool has_loss) {
    tokens_.push_back(id);
    document_ids_.push_back(document);
    loss_mask_.push_back(has_loss);
  }

  int32_t documents_ = 0;
  std::vector<uint32_t> tokens_;
  std::vector<int32_t> document_ids_;
  std::vector<uint8_t> loss_mask_;
};

// Ids that differ from those of another `first`.
std::vector<uint32_t> Ids(size_t count, uint32_t first) {
  std::vector<uint32_t> ids(count);
  for (size_t i = 0; i < count; ++i) {
    ids[i] = static_cast<uint32_t>((first + 7 * i) % kVocabulary);
  }
  return ids;
}

struct Result {
  explicit Result(const Sample& sample) : gradient(kVocabulary) {
    Parameters parameters(kVocabulary);
    Initialize(&parameters);
    loss = LossAndGradient(kVocabulary, parameters, sample, gradient);
  }
  std::vector<float> Gradient() {
    return {gradient.all().begin(), gradient.all().end()};
  }

  double loss;
  Parameters gradient;
};

TEST(SmallModelTest, DocumentsBesideDoNotChangeAPrediction) {
  for (const size_t length : {2, 3, 9, 30, 150}) {
    const std::vector<uint32_t> document = Ids(length, 5);
    const double alone = Result(Row().Document(document)).loss;
    for (const uint32_t first : {1, 2, 3}) {
      const std::vector<uint32_t> other = Ids(length % 4 + 5, first);
      const double others = Result(Row().Document(other)).loss;
      EXPECT_NEAR(Result(Row().Document(other).Document(document)).loss,
                  others + alone, 1e-9 * alone);
      EXPECT_NEAR(Result(Row().Document(document).Document(other)).loss,
                  others + alone, 1e-9 * alone);
    }
    // What is of the document does change it.
    std::vector<uint32_t> edited = document;
    edited[0] = (edited[0] + 1) % kVocabulary;
    EXPECT_GT(std::abs(Result(Row().Document(edited)).loss - alone), 1e-6);
  }
}

TEST(SmallModelTest, TheGradientIsTheSumOfThatOfEachDocument) {
  const std::vector<uint32_t> one = Ids(12, 1), two = Ids(9, 3);
  const std::vector<float> both =
      Result(Row().Document(one).Document(two)).Gradient();
  const std::vector<float> first = Result(Row().Document(one)).Gradient();
  const std::vector<float> second = Result(Row().Document(two)).Gradient();
  double size = 0;
  for (size_t i = 0; i < both.size(); ++i) {
    ASSERT_NEAR(both[i], first[i] + second[i], 1e-5) << i;
    size += std::abs(both[i]);
  }
  EXPECT_GT(size, 10);
}

TEST(SmallModelTest, PaddingIsNeitherPredictedNorSeen) {
  const std::vector<uint32_t> document = Ids(20, 5);
  Result without = Result(Row().Document(document));
  for (const uint32_t id : {0, 39}) {
    Result with = Result(Row().Document(document).Padding(11, id));
    EXPECT_EQ(with.loss, without.loss);
    EXPECT_EQ(with.Gradient(), without.Gradient());
    // Behind an aligned document, before the next.
    Result between =
        Result(Row().Document(document).Padding(3, id).Document(document));
    EXPECT_NEAR(between.loss, 2 * without.loss, 1e-9);
  }
  Result nothing = Result(Row().Padding(6, 0));
  EXPECT_EQ(nothing.loss, 0);
  EXPECT_THAT(nothing.Gradient(), testing::Each(0.0f));
}

// Of ids 1 and 2, which follow on the same ones.
TEST(SmallModelTest, TokensWithoutLossAreSeenButNotPredicted) {
  const double both = Result(Row().Document({3, 1, 2})).loss;
  const double first = Result(Row().Document({3, 1})).loss;
  const double second = Result(Row().Document({3, 1, 2}).Unlabelled(0)).loss;
  EXPECT_NEAR(both, first + second, 1e-9);
  EXPECT_GT(std::abs(second - Result(Row().Document({1, 2})).loss), 1e-6);
}

// Beside differences of the loss, for the first document's beginning too.
TEST(SmallModelTest, TheGradientIsTheLossesSlope) {
  Parameters parameters(kVocabulary), gradient(kVocabulary);
  Initialize(&parameters);
  const Row row =
      Row().Document(Ids(140, 1)).Document({4, 8, 15}).Padding(5, 0);
  LossAndGradient(kVocabulary, parameters, row, gradient);
  Parameters ignored(kVocabulary);
  for (size_t i = 3; i < parameters.all().size(); i += 1009) {
    float& value = parameters.all()[i];
    const float was = value;
    value = was + 1e-2f;
    const double above = LossAndGradient(kVocabulary, parameters, row, ignored);
    value = was - 1e-2f;
    const double below = LossAndGradient(kVocabulary, parameters, row, ignored);
    value = was;
    EXPECT_NEAR((above - below) / 2e-2, gradient.all()[i],
                0.02 + 0.02 * std::abs(gradient.all()[i]))
        << i;
  }
}

}  // namespace
}  // namespace example
