// SPDX-License-Identifier: Apache-2.0
// The slow twin of quota tree and stage plan: counters in a tree of pointers,
// moved sample by sample. Written from the definition, sharing no code with
// what it checks.

#ifndef PONIENTE_TESTS_INDEX_SLOW_DEALER_H_
#define PONIENTE_TESTS_INDEX_SLOW_DEALER_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "index/mixture/quota_tree.h"

namespace poniente::testing {

__extension__ typedef __int128 Wide;

struct SlowNode {
  uint64_t weight = 0;
  uint32_t component = 0;
  Wide debt = 0;
  std::unique_ptr<SlowNode> left, right;
  Wide share = 0;        // 2^-63
  Wide accumulated = 0;  // 2^-63
  int64_t seen = 0;
  int64_t sent_left = 0;
};

// Hands out the samples of one stage.
class SlowDealer {
 public:
  SlowDealer(const std::vector<uint64_t>& quanta,
             const std::vector<int64_t>& debts) {
    std::list<std::unique_ptr<SlowNode>> open;
    for (uint32_t i = 0; i < quanta.size(); ++i) {
      if (quanta[i] == 0) continue;
      open.push_back(std::make_unique<SlowNode>());
      open.back()->weight = quanta[i];
      open.back()->component = i;
      if (!debts.empty()) open.back()->debt = debts[i];
    }
    while (open.size() > 1) {
      auto left = TakeFirstLightest(open);
      auto right = TakeFirstLightest(open);
      open.push_back(Join(std::move(left), std::move(right)));
    }
    root_ = std::move(open.front());
  }

  // The component of the next sample.
  uint32_t Deal() {
    SlowNode* node = root_.get();
    while (node->left) {
      ++node->seen;
      node->accumulated += node->share;
      Wide left = node->accumulated >> 63;
      if (left < 0) left = 0;
      if (left > node->seen) left = node->seen;
      if (left > node->sent_left) {
        ++node->sent_left;
        node = node->left.get();
      } else {
        node = node->right.get();
      }
    }
    return node->component;
  }

  const SlowNode& root() const { return *root_; }

  std::vector<uint32_t> Leaves() const {
    std::vector<uint32_t> leaves;
    Collect(*root_, &leaves);
    return leaves;
  }

 private:
  using Open = std::list<std::unique_ptr<SlowNode>>;

  static std::unique_ptr<SlowNode> TakeFirstLightest(Open& open) {
    auto lightest = open.begin();
    for (auto it = open.begin(); it != open.end(); ++it) {
      if ((*it)->weight < (*lightest)->weight) lightest = it;
    }
    auto taken = std::move(*lightest);
    open.erase(lightest);
    return taken;
  }

  static std::unique_ptr<SlowNode> Join(std::unique_ptr<SlowNode> left,
                                        std::unique_ptr<SlowNode> right) {
    auto node = std::make_unique<SlowNode>();
    node->weight = left->weight + right->weight;
    node->debt = left->debt + right->debt;
    // W_left / W_v in 2^-63 units, to nearest, by long division.
    Wide rest = left->weight;
    for (int bit = 0; bit < 64; ++bit) {
      rest *= 2;
      node->share *= 2;
      if (rest >= node->weight) {
        rest -= node->weight;
        node->share += 1;
      }
    }
    node->share = (node->share + 1) / 2;
    const Wide phase =
        (Wide{1} << 47) + left->debt - ((node->share * node->debt) >> 63);
    node->accumulated = phase * 32768;
    node->left = std::move(left);
    node->right = std::move(right);
    return node;
  }

  static void Collect(const SlowNode& node, std::vector<uint32_t>* leaves) {
    if (!node.left) {
      leaves->push_back(node.component);
      return;
    }
    Collect(*node.left, leaves);
    Collect(*node.right, leaves);
  }

  std::unique_ptr<SlowNode> root_;
};

struct SlowStage {
  uint64_t start;
  std::vector<uint64_t> quanta;
};

struct SlowRun {
  // Draws of samples 0, 1, ... with ordinals, blocks not shuffled.
  std::vector<Draw> draws;
  // The components of each stage from left to right.
  std::vector<std::vector<uint32_t>> leaves;
};

// Deals the first `samples` samples of a run of several stages.
inline SlowRun DealRun(const std::vector<SlowStage>& stages, uint64_t samples) {
  SlowRun run;
  const size_t components = stages[0].quanta.size();
  std::vector<uint64_t> counts(components);
  std::vector<Wide> owed(components);  // 2^-62 samples: ideal minus actual.
  for (size_t s = 0; s < stages.size(); ++s) {
    std::vector<int64_t> debts(components);
    for (size_t i = 0; i < components; ++i) {
      debts[i] = static_cast<int64_t>(owed[i] >> 14);
    }
    SlowDealer dealer(stages[s].quanta, debts);
    run.leaves.push_back(dealer.Leaves());
    const uint64_t end = s + 1 < stages.size() ? stages[s + 1].start : samples;
    for (uint64_t k = stages[s].start; k < end && k < samples; ++k) {
      const uint32_t component = dealer.Deal();
      run.draws.push_back({component, counts[component]++});
      for (size_t i = 0; i < components; ++i) owed[i] += stages[s].quanta[i];
      owed[component] -= Wide{1} << 62;
    }
  }
  return run;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_INDEX_SLOW_DEALER_H_
