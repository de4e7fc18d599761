// SPDX-License-Identifier: Apache-2.0
#include "small_model.h"

#include <algorithm>
#include <cmath>

namespace example {
namespace {

// For processors with wider vectors, too. Which one this is, is found out
// before a sanitizer is ready for that.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define EXAMPLE_WIDE_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define EXAMPLE_WIDE_VECTORS
#endif

// c[m, n] += a[m, k] * b[k, n]. All are row-major, but a's element (i, p) is
// a[i * row + p * column], so that a may lie transposed. Each number of c is
// the same sum in the same order whatever the processor: its vectors' width
// decides only how many are made at a time (and CMakeLists.txt forbids fused
// additions).
EXAMPLE_WIDE_VECTORS void AddProduct(size_t m, size_t k, size_t n,
                                     std::span<const float> a, size_t row,
                                     size_t column, std::span<const float> b,
                                     std::span<float> c) {
  const auto plainly = [=](size_t i, size_t i_end, size_t j, size_t j_end) {
    for (; i < i_end; ++i) {
      for (size_t p = 0; p < k; ++p) {
        const float x = a[i * row + p * column];
        for (size_t q = j; q < j_end; ++q) c[i * n + q] += x * b[p * n + q];
      }
    }
  };
  // Tiles of 4 rows and 16 columns stay in registers; the rest is plain.
  typedef float Lanes __attribute__((vector_size(32), aligned(4), may_alias));
  const size_t tiled_m = m / 4 * 4, tiled_n = n / 16 * 16;
  for (size_t j = 0; j < tiled_n; j += 16) {
    for (size_t i = 0; i < tiled_m; i += 4) {
      Lanes sum[4][2] = {};
      for (size_t p = 0; p < k; ++p) {
        const float* x = &a[i * row + p * column];
        const Lanes* y = reinterpret_cast<const Lanes*>(&b[p * n + j]);
        for (size_t r = 0; r < 4; ++r) {
          sum[r][0] += x[r * row] * y[0];
          sum[r][1] += x[r * row] * y[1];
        }
      }
      for (size_t r = 0; r < 4; ++r) {
        Lanes* z = reinterpret_cast<Lanes*>(&c[(i + r) * n + j]);
        z[0] += sum[r][0];
        z[1] += sum[r][1];
      }
    }
  }
  plainly(tiled_m, m, 0, tiled_n);
  plainly(0, m, tiled_n, n);
}

// What a sample gives to predict: `targets`, and for each of them a row of
// `context`, the ids before it, the nearest first. `none` stands for ids that
// would be of another document or before the sample.
struct Predictions {
  Predictions(const Sample& sample, uint32_t none) {
    for (size_t i = 0; i + 1 < sample.tokens.size(); ++i) {
      if (sample.loss_mask[i] == 0) continue;
      targets.push_back(sample.tokens[i + 1]);
      size_t back = 0;
      for (; back < kContext && back <= i; ++back) {
        if (sample.document_ids[i - back] != sample.document_ids[i]) break;
        context.push_back(sample.tokens[i - back]);
      }
      context.insert(context.end(), kContext - back, none);
    }
  }

  std::vector<uint32_t> targets;
  std::vector<uint32_t> context;
};

// a[m, n] as [n, m].
std::vector<float> Transposed(std::span<const float> a, size_t m, size_t n) {
  std::vector<float> result(m * n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) result[j * m + i] = a[i * n + j];
  }
  return result;
}

// Makes rows of scores to the loss's gradient by them; gives the summed loss.
double Softmax(std::span<const uint32_t> targets, std::span<float> scores) {
  const size_t v = targets.empty() ? 0 : scores.size() / targets.size();
  double loss = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    const std::span<float> row = scores.subspan(i * v, v);
    const float greatest = *std::ranges::max_element(row);
    const float target = row[targets[i]] - greatest;
    float sum = 0;
    for (float& value : row) sum += value = std::exp(value - greatest);
    loss += std::log(sum) - target;
    for (float& value : row) value /= sum;
    row[targets[i]] -= 1;
  }
  return loss;
}

// LossAndGradient() of some predictions.
double AddBlock(size_t v, Parameters& parameters,
                std::span<const uint32_t> targets,
                std::span<const uint32_t> context, Parameters& gradient) {
  using P = Parameters;
  const size_t n = targets.size();
  const std::span<float> embeddings = parameters[P::kEmbeddings];
  const std::span<float> by_embeddings = gradient[P::kEmbeddings];
  // Forward.
  std::vector<float> input(n * kInputs), hidden(n * kHidden), output(n * v);
  for (size_t i = 0; i < n; ++i) {
    std::ranges::copy(parameters[P::kHiddenBias], &hidden[i * kHidden]);
    std::ranges::copy(parameters[P::kOutputBias], &output[i * v]);
  }
  for (size_t i = 0; i < input.size(); ++i) {
    input[i] =
        embeddings[context[i / kEmbedding] * kEmbedding + i % kEmbedding];
  }
  AddProduct(n, kInputs, kHidden, input, kInputs, 1,
             parameters[P::kHiddenWeights], hidden);
  for (float& value : hidden) value = std::max(value, 0.0f);
  AddProduct(n, kHidden, v, hidden, kHidden, 1, parameters[P::kOutputs],
             output);

  const double loss = Softmax(targets, output);  // `output`: by the output

  // Backward, layer by layer.
  std::vector<float> by_hidden(n * kHidden), by_input(n * kInputs);
  AddProduct(kHidden, n, v, hidden, 1, kHidden, output, gradient[P::kOutputs]);
  AddProduct(n, v, kHidden, output, v, 1,
             Transposed(parameters[P::kOutputs], kHidden, v), by_hidden);
  for (size_t i = 0; i < hidden.size(); ++i) {
    if (hidden[i] <= 0) by_hidden[i] = 0;
  }
  AddProduct(kInputs, n, kHidden, input, 1, kInputs, by_hidden,
             gradient[P::kHiddenWeights]);
  AddProduct(n, kHidden, kInputs, by_hidden, kHidden, 1,
             Transposed(parameters[P::kHiddenWeights], kInputs, kHidden),
             by_input);
  const std::vector<float> ones(n, 1);  // sums the rows
  AddProduct(1, n, v, ones, 0, 1, output, gradient[P::kOutputBias]);
  AddProduct(1, n, kHidden, ones, 0, 1, by_hidden, gradient[P::kHiddenBias]);
  for (size_t i = 0; i < by_input.size(); ++i) {
    by_embeddings[context[i / kEmbedding] * kEmbedding + i % kEmbedding] +=
        by_input[i];
  }
  return loss;
}

}  // namespace

void Initialize(Parameters* parameters) {
  uint64_t state = 1;
  const auto fill = [&state](std::span<float> part, double scale) {
    for (float& value : part) {
      state = state * 6364136223846793005 + 1442695040888963407;
      value = static_cast<float>(
          scale * (static_cast<double>(state >> 33) / (1u << 30) - 1));
    }
  };
  fill((*parameters)[Parameters::kEmbeddings], 1);
  fill((*parameters)[Parameters::kHiddenWeights], std::sqrt(3.0 / kInputs));
  fill((*parameters)[Parameters::kOutputs], std::sqrt(0.03 / kHidden));
}

double LossAndGradient(size_t vocabulary, Parameters& parameters,
                       const Sample& sample, Parameters& gradient) {
  // As many at a time as keep what is computed of them in a processor's cache.
  constexpr size_t kBlock = 128;
  const Predictions all(sample, static_cast<uint32_t>(vocabulary));
  const std::span<const uint32_t> targets = all.targets, context = all.context;
  double loss = 0;
  for (size_t i = 0; i < targets.size(); i += kBlock) {
    const size_t n = std::min(kBlock, targets.size() - i);
    loss += AddBlock(vocabulary, parameters, targets.subspan(i, n),
                     context.subspan(i * kContext, n * kContext), gradient);
  }
  return loss;
}

}  // namespace example
