// SPDX-License-Identifier: Apache-2.0
// A small language model for the examples: it predicts each token from the
// eight before it, as far as they are of the same document. Embeddings, one
// hidden layer, a softmax over the vocabulary. It computes on the caller's
// thread in a fixed order, so a run repeats to the last bit.

#ifndef PONIENTE_EXAMPLES_SMALL_MODEL_H_
#define PONIENTE_EXAMPLES_SMALL_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace example {

constexpr size_t kContext = 8;     // tokens that a prediction sees
constexpr size_t kEmbedding = 32;  // numbers for each of them
constexpr size_t kHidden = 128;    // units of the hidden layer
constexpr size_t kInputs = kContext * kEmbedding;

// The model's parameters, or one number for each of them, end to end.
class Parameters {
 public:
  explicit Parameters(size_t vocabulary)
      : vocabulary_(vocabulary), values_(End(kOutputBias)) {}

  enum Part { kEmbeddings, kHiddenWeights, kHiddenBias, kOutputs, kOutputBias };
  std::span<float> operator[](Part part) {
    return std::span(values_).subspan(End(part) - Size(part), Size(part));
  }
  std::span<float> all() { return values_; }

 private:
  size_t Size(int part) const {
    const size_t sizes[] = {
        (vocabulary_ + 1) * kEmbedding,  // the last: "before the document"
        kInputs * kHidden, kHidden, kHidden * vocabulary_, vocabulary_};
    return sizes[part];
  }
  size_t End(int part) const {
    return part < 0 ? 0 : End(part - 1) + Size(part);
  }

  size_t vocabulary_;
  std::vector<float> values_;
};

// The same random numbers for every run.
void Initialize(Parameters* parameters);

// One row of a batch and of two of its tensors (docs/batches.md), of one
// length.
struct Sample {
  std::span<const uint32_t> tokens;       // ids below the vocabulary
  std::span<const int32_t> document_ids;  // what ends the context
  std::span<const uint8_t> loss_mask;     // 1: the token after it is predicted
};

// Predicts each token before which the loss mask is 1, from up to kContext
// tokens of the document of the last of them. Gives the summed loss in nats,
// and adds its gradient to `gradient`. Nothing depends on tokens of other
// documents or on padding, which has no loss.
double LossAndGradient(size_t vocabulary, Parameters& parameters,
                       const Sample& sample, Parameters& gradient);

}  // namespace example

#endif  // PONIENTE_EXAMPLES_SMALL_MODEL_H_
