// SPDX-License-Identifier: Apache-2.0
// Plans of random trees against a walk over every sample of the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "dataset/steering/steered_run.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/opened_component.h"
#include "poniente/flat_mixture.h"
#include "poniente/mixture_dataset.h"
#include "poniente/plan.h"
#include "poniente/token_source.h"
#include "poniente/transforms.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Tokens = DatasetPtr<TokenWindow>;

constexpr uint32_t kWindow = 64;

// Trees of all kinds of nodes, small enough to be read several times.
class TreeMaker {
 public:
  explicit TreeMaker(uint64_t seed) : random_(seed) {}

  // A node leaves out items of another that has an order: then shares of what
  // is left are no more than a guess.
  bool has_guesses() const { return has_guesses_; }

  uint64_t Upto(uint64_t most) { return random_() % (most + 1); }

  Tokens Leaf() {
    return DeclaredWindows("leaf", (1 + Upto(900)) * kWindow + Upto(63),
                           kWindow)
        .value();
  }

  Tokens Finite(int depth) {
    switch (depth == 0 ? 0 : Upto(9)) {
      default:
        return Leaf();
      case 2:
      case 3:
        return FlatMixture<TokenWindow>::Create(Several(depth - 1)).value();
      case 4:
        return Concat(Several(depth - 1)).value();
      case 5:
        return Slice(Partial(depth - 1), Upto(3), 4 + Upto(500)).value();
      case 6:
        return Take(Mixture(depth - 1), 200 + Upto(2000)).value();
      case 7:
        return Repeat(Finite(depth - 1), 1 + Upto(2)).value();
      case 8:
        return Upto(1) == 0 ? Shuffle(Finite(depth - 1)).value()
                            : EraShuffle(Finite(depth - 1), 16).value();
      case 9: {
        const Tokens all = Partial(depth - 1);
        return Filter(all,
                      Selection::ByHash(*all->CurrentLength(), 0.7, 1).value())
            .value();
      }
    }
  }

  Tokens Mixture(int depth) {
    std::vector<MixtureComponent<TokenWindow>> components;
    for (const NamedDataset<TokenWindow>& child : Several(depth)) {
      components.push_back(
          {child.name, child.dataset, 0.1 + static_cast<double>(Upto(9))});
    }
    MixtureOptions options;
    options.block_size = 1 + Upto(100);
    return MixtureDataset<TokenWindow>::Create(std::move(components), options)
        .value();
  }

  std::vector<NamedDataset<TokenWindow>> Several(int depth) {
    std::vector<NamedDataset<TokenWindow>> children;
    for (uint64_t i = 0; i < 2 + Upto(2); ++i) {
      children.push_back(
          {std::string(1, static_cast<char>('a' + i)), Finite(depth)});
      if (children.back().dataset->CurrentLength() == 0u) {
        children.back().dataset = Leaf();
      }
    }
    return children;
  }

 private:
  Tokens Partial(int depth) {
    Tokens of = Finite(depth);
    has_guesses_ |= !of->children().empty();
    return of;
  }

  std::mt19937_64 random_;
  bool has_guesses_ = false;
};

struct WalkedTree {
  std::map<std::string, std::vector<double>> samples;  // by path and stage
  std::map<std::string, uint64_t> first_repeat;        // step
};

// The tokens that have been read of each item, a bit for each.
class SeenTokens {
 public:
  // False if some of these have been.
  bool Add(const LeafPosition& item) {
    uint64_t& seen = seen_[{item.leaf, item.position.index}];
    const uint32_t length = std::min(item.position.part_length, kWindow);
    const uint64_t tokens = (UINT64_MAX >> (kWindow - length))
                            << item.position.part_begin;
    const bool is_new = (seen & tokens) == 0;
    seen |= tokens;
    return is_new;
  }

 private:
  static_assert(kWindow == 64);
  std::map<std::pair<uint32_t, Index>, uint64_t> seen_;
};

// Every sample of the run, added to its leaf and to all above it.
WalkedTree WalkRun(const DatasetNode& root, const Schedule& schedule,
                   const PlannedRun& plan) {
  WalkedTree walked;
  const DatasetTree tree(root);
  SeenTokens seen;
  for (uint64_t step = 0; step < plan.steps; ++step) {
    const StepPlan at = schedule.At(step);
    std::vector<Position> positions;
    const uint64_t end =
        std::min(plan.samples, at.first_sample + at.batch_size);
    for (uint64_t sample = at.first_sample; sample < end; ++sample) {
      positions.push_back({.index = sample});
    }
    std::vector<LeafPosition> items(positions.size());
    EXPECT_THAT(tree.Resolve(positions, items), testing::IsOk());
    for (const LeafPosition& item : items) {
      const std::string& path = tree.leaves()[item.leaf].path;
      const bool is_again = !seen.Add(item);
      for (size_t cut = path.find('/');; cut = path.find('/', cut + 1)) {
        std::vector<double>& samples = walked.samples[path.substr(0, cut)];
        samples.resize(plan.stages.size());
        ++samples[at.stage];
        if (is_again)
          walked.first_repeat.try_emplace(path.substr(0, cut), step);
        if (cut == std::string::npos) break;
      }
    }
  }
  return walked;
}

// For messages: the kinds of nodes and their lengths.
std::string Shape(const DatasetNode& node) {
  const std::vector<NamedNode> children = node.children();
  std::string shape = node.name();
  const LengthState length = node.length_now();
  shape += length.is_endless ? "" : " " + std::to_string(length.readable);
  if (children.empty()) return shape;
  shape += " (";
  for (const NamedNode& child : children) {
    if (&child != &children[0]) shape += ", ";
    shape += child.name + (child.name.empty() ? "" : ": ") + Shape(*child.node);
  }
  return shape + ")";
}

class PlanLawTest : public ::testing::TestWithParam<int> {
 protected:
  static void Compare(const DatasetNode& root, const Schedule& schedule,
                      bool has_guesses, double slack = 60) {
    ASSERT_OK_AND_ASSIGN(
        const PlannedRun plan,
        MakePlan(root, schedule, {}, LastBatch::kKeep, std::nullopt));
    SCOPED_TRACE(Shape(root));
    const WalkedTree walked = WalkRun(root, schedule, plan);
    double total = 0;
    for (const PlannedRunSource& source : plan.sources) {
      const auto found = walked.samples.find(source.path);
      const std::vector<double> samples =
          found == walked.samples.end()
              ? std::vector<double>(plan.stages.size())
              : found->second;
      for (size_t stage = 0; stage < samples.size(); ++stage) {
        const double exact = samples[stage];
        if (source.is_exact) {
          EXPECT_EQ(source.samples[stage], exact)
              << source.path << ' ' << stage;
        } else if (!has_guesses) {
          EXPECT_NEAR(source.samples[stage], exact,
                      slack + 8 * std::sqrt(exact))
              << source.path << ' ' << stage;
        }
      }
      if (source.depth == 0) total += source.total_samples();
      if (source.length.has_value()) CompareRepeat(source, walked);
    }
    EXPECT_NEAR(total, static_cast<double>(plan.samples), 1e-6);
  }

  static void CompareRepeat(const PlannedRunSource& source,
                            const WalkedTree& walked) {
    const auto found = walked.first_repeat.find(source.path);
    if (!source.first_repeat.has_value()) {
      EXPECT_EQ(found, walked.first_repeat.end())
          << source.path << ' ' << found->second;
      return;
    }
    if (source.first_repeat->is_exact) {
      ASSERT_NE(found, walked.first_repeat.end()) << source.path;
      EXPECT_EQ(source.first_repeat->step, found->second) << source.path;
    } else if (found != walked.first_repeat.end()) {
      EXPECT_LE(source.first_repeat->step, found->second) << source.path;
    }
  }
};

// Above the size up to which a plan looks every sample up itself.
TEST_P(PlanLawTest, ClosedFormsAgreeWithEverySample) {
  TreeMaker make(testing::TestSeed(7000) + static_cast<uint64_t>(GetParam()));
  const Tokens root = make.Mixture(3);
  ScheduleOptions options;
  options.steps = 1500 + make.Upto(100);
  options.batch_size = 30;
  options.seq_len = kWindow;
  options.stages = {{.start = RunPoint::Step(700), .name = "late"}};
  options.batch_sizes = {{RunPoint::Step(1100), 37}};
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  Compare(*root, schedule, make.has_guesses());
}

TEST_P(PlanLawTest, OfCutItemsAndStages) {
  TreeMaker make(testing::TestSeed(9000) + static_cast<uint64_t>(GetParam()));
  auto children = make.Several(2);
  ScheduleOptions options;
  options.steps = 1700;
  options.batch_size = 32;
  options.seq_len = 16;
  options.max_seq_len = kWindow;
  options.mixture.block_size = 64;
  options.mixture.group_items = make.Upto(1) * 8;
  options.stages = {{.start = RunPoint::Step(500),
                     .name = "longer",
                     .seq_len = 32,
                     .weights = {{"a", 5}},
                     .ramp = RunPoint::Step(100)},
                    {.start = RunPoint::Sample(40001), .seq_len = kWindow}};
  std::vector<MixtureComponent<TokenWindow>> components;
  for (const NamedDataset<TokenWindow>& child : children) {
    options.components.push_back({child.name, 1});
    components.push_back({child.name, child.dataset, 1});
  }
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  ASSERT_OK_AND_ASSIGN(const Tokens root,
                       MixtureDataset<TokenWindow>::Create(
                           std::move(components), schedule.mixture_options()));
  // The parts of a group, a sixteenth of an epoch, are in no known order.
  Compare(*root, schedule, make.has_guesses(), 1500);
}

TEST_P(PlanLawTest, OfARootThatIsNoMixture) {
  TreeMaker make(testing::TestSeed(11000) + static_cast<uint64_t>(GetParam()));
  Tokens root = FlatMixture<TokenWindow>::Create(make.Several(2)).value();
  if (make.Upto(1) == 0) root = Concat(make.Several(2)).value();
  if (root->CurrentLength() == 0u) return;
  root = Repeat(std::move(root)).value();
  ScheduleOptions options;
  options.steps = 1200;
  options.batch_size = 32;
  options.seq_len = kWindow;
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  Compare(*root, schedule, make.has_guesses());
}

// Added leaves are numbered behind all others, wherever they are in the tree.
TEST_P(PlanLawTest, WithComponentsThatWereAddedAndSplit) {
  TreeMaker make(testing::TestSeed(13000) + static_cast<uint64_t>(GetParam()));
  const bool is_short = make.Upto(1) == 0;
  ScheduleOptions options;
  options.steps = is_short ? 300 : 1500;
  options.batch_size = 30;
  options.seq_len = kWindow;
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  ASSERT_OK_AND_ASSIGN(
      const Tokens root,
      MixtureDataset<TokenWindow>::Create(
          {{.name = "a", .dataset = make.Mixture(1)},
           {.name = "b", .dataset = make.Finite(2), .weight = 2}}));
  if (root->children()[1].node->length_now().readable == 0) return;
  RunChange nested = RunChange::Add("0", "{}");
  nested.path = "a";
  const std::vector<JournalEntry> entries = {
      {1, 2048, 9, RunChange::Add("z", "{}")},
      {2, 4096, 9, nested},
      {3, 6144, 9, RunChange::Add("aa", "{}")},
      {4, 8192, 9, RunChange::Split("z", {{"z0", "{}"}, {"z1", "{}"}})}};
  const Tokens z = make.Leaf();
  if (*z->CurrentLength() < 9) return;
  const auto open = [&](const std::string& name) -> absl::StatusOr<Tokens> {
    if (name == "z") return z;
    if (name != "z0" && name != "z1") return make.Leaf();
    Selection half = Selection::ByHash(*z->CurrentLength(), 0.5, 1).value();
    if (name == "z0") return Filter(z, std::move(half));
    return Filter(z, half.Complement().value());
  };
  ASSERT_OK_AND_ASSIGN(
      const SteeredRun run,
      Steered({root, schedule}, entries,
              [&](const std::string&, const ComponentText& text)
                  -> absl::StatusOr<OpenedComponent> {
                OpenedComponent opened;
                opened.part.component.name = text.name;
                PONIENTE_ASSIGN_OR_RETURN(opened.part.component.dataset,
                                          open(text.name));
                return opened;
              }));
  Compare(*run.dataset, run.schedule, make.has_guesses());
}

INSTANTIATE_TEST_SUITE_P(Trees, PlanLawTest, ::testing::Range(0, 40));

}  // namespace
}  // namespace poniente::internal
