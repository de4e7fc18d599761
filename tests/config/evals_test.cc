// SPDX-License-Identifier: Apache-2.0
// Evaluations, and the law of hold-outs: what training reads in an epoch and
// what is held out are disjoint, and together they are the source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/catalog.h"
#include "poniente/config.h"
#include "poniente/journal.h"
#include "poniente/loader.h"
#include "poniente/token_store_writer.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::kInvalid;
using testing::StatusIs;

constexpr uint32_t kEnd = 1 << 20;
constexpr uint64_t kDocuments = 400;

uint64_t LengthOf(uint64_t document) { return 3 + document * 7919 % 40; }

// The tokens of each document that were read, ends of documents left out.
using Read = std::map<uint32_t, uint64_t>;

std::set<uint32_t> DocumentsIn(const Read& read) {
  std::set<uint32_t> documents;
  for (const auto& [document, tokens] : read) documents.insert(document);
  return documents;
}

uint64_t TokensIn(const Read& read) {
  uint64_t tokens = 0;
  for (const auto& [document, count] : read) tokens += count;
  return tokens;
}

// Stores whose tokens are the number of their document: "s" has documents 0 to
// 399, "other" has 1000 to 1099, and "parts" is a catalogue of three stores.
class EvalsTest : public ::testing::Test {
 protected:
  EvalsTest() {
    Write("s", 0, kDocuments);
    Write("other", 1000, 100);
    Write("parts/a", 2000, 150);
    Write("parts/b", 3000, 400);
    Write("parts/c", 4000, 90);
    EXPECT_THAT(StoreCatalog::Write(dir_.path("parts")), IsOk());
  }

  void Write(const std::string& name, uint32_t first, uint64_t documents) {
    std::filesystem::create_directories(
        std::filesystem::path(dir_.path(name)).parent_path());
    TokenStoreWriterOptions options;
    options.vocabulary = {"numbers", kEnd + 1};
    options.token_type = TokenType::kU32;
    options.end_of_document = kEnd;
    auto writer = TokenStoreWriter::Create(dir_.path(name), options);
    ASSERT_THAT(writer, IsOk());
    for (uint64_t d = 0; d < documents; ++d) {
      const std::vector<uint32_t> ids(LengthOf(d),
                                      first + static_cast<uint32_t>(d));
      ASSERT_THAT((*writer)->AddDocument(ids, absl::StrCat("d", d)), IsOk());
    }
    ASSERT_THAT((*writer)->Finish(), IsOk());
  }

  absl::StatusOr<Config> TryParse(const std::string& text) {
    return Config::Parse(text, "t.toml", dir_.path());
  }
  Config Parse(const std::string& text) {
    auto config = TryParse(text);
    EXPECT_THAT(config, IsOk()) << text;
    return *std::move(config);
  }
  // A run that reads its root once, or for `steps` steps.
  std::string Data(const std::string& rest, const std::string& more = "") {
    return absl::StrCat("[data]\nbatch_size = 8\nseq_len = 32\n", more, rest);
  }

  // Adds what one rank reads until the end.
  static void Drain(Loader* loader, Read* read,
                    std::vector<size_t>* samples = nullptr) {
    while (true) {
      const auto batch = loader->NextBlocking();
      if (absl::IsOutOfRange(batch.status())) return;
      ASSERT_THAT(batch, IsOk());
      if (samples != nullptr) samples->push_back(batch->num_samples());
      for (size_t i = 0; i < batch->num_samples(); ++i) {
        for (const uint32_t id : batch->tokens<uint32_t>(i)) {
          if (id != kEnd) ++(*read)[id];
        }
      }
    }
  }
  static Read ReadAll(const Config& config) {
    Read read;
    auto loader = config.OpenLoader();
    EXPECT_THAT(loader, IsOk());
    if (loader.ok()) Drain(loader->get(), &read);
    return read;
  }
  static Read ReadEval(const Config& config, const std::string& name,
                       uint32_t ranks = 1) {
    Read read;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      LoaderOptions options = config.loader_options();
      options.rank = rank;
      options.ranks = ranks;
      auto loader = config.OpenEval(name, options);
      EXPECT_THAT(loader, IsOk());
      if (loader.ok()) Drain(loader->get(), &read);
    }
    return read;
  }

  testing::TempDir dir_;
};

// What a kind of source reads, and how much of it may be lost in tails.
struct HoldOutCase {
  std::string name;
  std::string keys;
  uint64_t most_lost;  // tokens and ends that fill no window
  // Documents of "s" that the node reads at all.
  uint64_t end = kDocuments;
};

class HoldOutLaws : public EvalsTest,
                    public ::testing::WithParamInterface<HoldOutCase> {};

TEST_P(HoldOutLaws, TrainingAndHoldOutAreDisjointAndTogetherTheSource) {
  const HoldOutCase& one = GetParam();
  std::string bitmap(8 * ((kDocuments + 63) / 64), '\0');
  for (uint64_t d = 0; d < one.end; ++d) {
    bitmap[d / 8] = static_cast<char>(bitmap[d / 8] | 1 << d % 8);
  }
  testing::WriteFile(dir_.path("first.bitmap"), bitmap);
  const std::string eval = "[data.eval.e]\nheld_out = true\n";
  const Config config = Parse(Data(one.keys, "") + eval);
  const Read trained = ReadAll(config);
  const Read held = ReadEval(config, "e");
  std::vector<uint32_t> both;
  const std::set<uint32_t> in_training = DocumentsIn(trained);
  const std::set<uint32_t> held_out = DocumentsIn(held);
  std::set_intersection(in_training.begin(), in_training.end(),
                        held_out.begin(), held_out.end(),
                        std::back_inserter(both));
  EXPECT_THAT(both, IsEmpty());
  EXPECT_GT(held_out.size(), 5u);

  // No token twice, and all but the tails.
  uint64_t all = 0;
  const bool is_joined = one.keys.find("parts") != std::string::npos;
  if (!is_joined) {
    for (uint64_t d = 0; d < one.end; ++d) {
      all += LengthOf(d);
      const auto id = static_cast<uint32_t>(d);
      const Read& where = held_out.contains(id) ? held : trained;
      const auto found = where.find(id);
      EXPECT_LE(found == where.end() ? 0 : found->second, LengthOf(d)) << d;
    }
    for (const uint32_t document : in_training) EXPECT_LT(document, one.end);
    for (const uint32_t document : held_out) EXPECT_LT(document, one.end);
  } else {
    for (const uint64_t count : {150, 400, 90}) {
      for (uint64_t d = 0; d < count; ++d) all += LengthOf(d);
    }
  }
  const uint64_t read = TokensIn(trained) + TokensIn(held);
  EXPECT_LE(read, all);
  EXPECT_GE(read + one.most_lost, all);
  if (one.most_lost == 0) {
    EXPECT_EQ(in_training.size() + held_out.size(), is_joined ? 640 : one.end);
  }

  // In later epochs, too, under any seed.
  const Config longer =
      Parse(Data(one.keys, "seed = 77\nsteps = 300\n") + eval);
  const std::set<uint32_t> later = DocumentsIn(ReadAll(longer));
  EXPECT_TRUE(std::includes(in_training.begin(), in_training.end(),
                            later.begin(), later.end()) ||
              one.most_lost > 0);
  for (const uint32_t document : held_out) {
    EXPECT_FALSE(later.contains(document)) << document;
  }
  EXPECT_EQ(ReadEval(longer, "e"), held);
}

INSTANTIATE_TEST_SUITE_P(
    Sources, HoldOutLaws,
    ::testing::Values(
        HoldOutCase{"plain", "path = 's'\nhold_out = { documents = 0.1 }\n",
                    64},
        HoldOutCase{"packed",
                    "path = 's'\npack_documents = true\n"
                    "hold_out = { documents = 0.1 }\n",
                    0},
        HoldOutCase{"chunks",
                    "path = 's'\nhold_out = { documents = 0.1 }\n"
                    "pack_documents = { chunk_documents = 50 }\n",
                    0},
        HoldOutCase{"selected",
                    "path = 's'\nhold_out = { documents = 0.1 }\n"
                    "documents = { bitmap = 'first.bitmap' }\n",
                    64, 240},
        HoldOutCase{"packed_selected",
                    "path = 's'\nhold_out = { documents = 0.1 }\n"
                    "pack_documents = true\n"
                    "documents = { bitmap = 'first.bitmap' }\n",
                    0, 240},
        HoldOutCase{"joined",
                    "path = 'parts'\nhold_out = { documents = 0.1 }\n", 64},
        HoldOutCase{"joined_packed",
                    "path = 'parts'\npack_documents = true\n"
                    "hold_out = { documents = 0.1 }\n",
                    0},
        HoldOutCase{"from_the_node_above",
                    "hold_out = { documents = 0.1 }\npack_documents = true\n"
                    "flat = { x = { path = 's' } }\n",
                    0}),
    [](const auto& info) { return info.param.name; });

TEST_F(EvalsTest, FilteredWindowsNeverHoldAHeldOutDocument) {
  const Config config =
      Parse(Data("path = 's'\nhold_out = { documents = 0.1 }\n"
                 "filter = { fraction = 0.5 }\n",
                 "steps = 100\n") +
            "[data.eval.e]\nheld_out = true\n");
  const std::set<uint32_t> trained = DocumentsIn(ReadAll(config));
  const std::set<uint32_t> held = DocumentsIn(ReadEval(config, "e"));
  EXPECT_GT(held.size(), 5u);
  for (const uint32_t document : held) {
    EXPECT_FALSE(trained.contains(document)) << document;
  }
}

// Windows of 32 tokens: the first tokens of each say where it lies.
TEST_F(EvalsTest, HeldOutWindowsAreTheOthersOfTheSource) {
  const std::string node = "path = 's'\nhold_out = { windows = 0.2 }\n";
  const Config config = Parse(Data(node) + "[data.eval.e]\nheld_out = true\n");
  const auto whole = TryParse(Data("path = 's'\n"));
  ASSERT_THAT(whole, IsOk());
  Read both = ReadAll(config);
  const Read held = ReadEval(config, "e");
  EXPECT_GT(TokensIn(held), 32u);
  for (const auto& [document, tokens] : held) both[document] += tokens;
  EXPECT_EQ(both, ReadAll(*whole));
  const auto other_length =
      TryParse(Data(node) + "[data.eval.e]\nheld_out = true\nseq_len = 16\n");
  EXPECT_THAT(other_length,
              StatusIs(kInvalid, HasSubstr("state seq_len = 32")));
}

TEST_F(EvalsTest, TheSameDocumentsAreHeldOutWhateverTheRunIs) {
  const std::string eval = "[data.eval.e]\nheld_out = true\n";
  const std::string held = "hold_out = { documents = 0.1 }";
  // Packed evaluations read all of each document.
  const auto held_out = [&](const std::string& text) {
    return DocumentsIn(ReadEval(Parse(text + eval), "e"));
  };
  const std::set<uint32_t> first =
      held_out(Data("path = 's'\npack_documents = true\n" + held + "\n"));
  EXPECT_EQ(
      held_out(Data(absl::StrCat("[data.mixture]\nrenamed = { weight = 1, "
                                 "path = 's', pack_documents = true, ",
                                 held, " }\n"),
                    "steps = 5\nmax_seq_len = 64\nseed = 9\n")),
      first);
  const std::set<uint32_t> other =
      held_out(Data("path = 's'\npack_documents = true\n"
                    "hold_out = { documents = 0.1, seed = 1 }\n"));
  EXPECT_NE(other, first);
  // Larger shares hold out more, and none of the fewer is left.
  const std::set<uint32_t> more =
      held_out(Data("path = 's'\npack_documents = true\n"
                    "hold_out = { documents = 0.2 }\n"));
  EXPECT_TRUE(
      std::includes(more.begin(), more.end(), first.begin(), first.end()));
}

TEST_F(EvalsTest, AStoreHoldsOutTheSameAloneAndInACatalogue) {
  const std::string keys =
      "pack_documents = true\nhold_out = { documents = 0.1 }\n";
  const std::string eval = "[data.eval.e]\nheld_out = true\n";
  const std::set<uint32_t> joined =
      DocumentsIn(ReadEval(Parse(Data("path = 'parts'\n" + keys) + eval), "e"));
  std::set<uint32_t> single;
  for (const char* const name : {"parts/a", "parts/b", "parts/c"}) {
    single.merge(DocumentsIn(ReadEval(
        Parse(Data(absl::StrCat("path = '", name, "'\n", keys)) + eval), "e")));
  }
  EXPECT_EQ(joined, single);
}

TEST_F(EvalsTest, RanksReadAnEvaluationOnceTogetherTheLastBatchIncluded) {
  const Config config =
      Parse(Data("path = 's'\n", "steps = 10\n") +
            "[data.eval.e]\npath = 'other'\npack_documents = true\n"
            "batch_size = 6\nseq_len = 48\n");
  std::vector<size_t> samples;
  Read alone;
  ASSERT_OK_AND_ASSIGN(const auto loader, config.OpenEval("e"));
  Drain(loader.get(), &alone, &samples);
  ASSERT_OK_AND_ASSIGN(const Config eval, config.Eval("e"));
  const uint64_t length = *eval.dataset()->CurrentLength();
  ASSERT_NE(length % 6, 0u);
  EXPECT_EQ(samples.size(), length / 6 + 1);
  EXPECT_EQ(samples.back(), length % 6);
  EXPECT_EQ(alone.size(), 100u);
  for (uint64_t d = 0; d < 100; ++d) EXPECT_EQ(alone[1000 + d], LengthOf(d));
  for (const uint32_t ranks : {2, 3, 7}) {
    EXPECT_EQ(ReadEval(config, "e", ranks), alone) << ranks;
  }
  // All ranks have equally many steps, so that they can meet in each.
  LoaderOptions options = config.loader_options();
  options.rank = 6;
  options.ranks = 7;
  options.start_step = 5;
  options.last_batch = LastBatch::kDrop;
  ASSERT_OK_AND_ASSIGN(const auto last, config.OpenEval("e", options));
  std::vector<size_t> of_last;
  Drain(last.get(), &alone, &of_last);
  EXPECT_EQ(of_last.size(), samples.size());
}

TEST_F(EvalsTest, LimitsTakeFromAllSourcesAndLargerOnesContainSmaller) {
  const auto text = [&](const std::string& limit) {
    return Data(
               "[data.mixture]\n"
               "a = { weight = 1, path = 's' }\n"
               "b = { weight = 1, path = 'other' }\n",
               "steps = 5\nhold_out = { documents = 0.3 }\n"
               "pack_documents = true\n") +
           "[data.eval.e]\nheld_out = true\n" + limit;
  };
  const Read small = ReadEval(Parse(text("max_samples = 24\n")), "e");
  const Read same = ReadEval(Parse(text("max_tokens = 799\n")), "e");
  const Read large = ReadEval(Parse(text("max_samples = 40\n")), "e");
  EXPECT_EQ(ReadEval(Parse(text("max_tokens = 768\n")), "e"), small);
  EXPECT_EQ(same, small) << "24 samples and a part";
  EXPECT_LT(small.begin()->first, 400u);
  EXPECT_GE(small.rbegin()->first, 1000u);
  for (const auto& [document, tokens] : small) {
    EXPECT_GE(large.at(document), tokens);
  }
  EXPECT_NE(ReadEval(Parse(text("max_samples = 24\nseed = 1\n")), "e"), small);
}

TEST_F(EvalsTest, InStoredOrderIfItIsNotShuffled) {
  const Config config =
      Parse(Data("path = 's'\n", "steps = 10\n") +
            "[data.eval.e]\npath = 'other'\nshuffle = false\n");
  ASSERT_OK_AND_ASSIGN(const auto loader, config.OpenEval("e"));
  uint32_t last = 0;
  for (const auto& batch : Batches(*loader)) {
    ASSERT_THAT(batch, IsOk());
    for (size_t i = 0; i < batch->num_samples(); ++i) {
      for (const uint32_t id : batch->tokens<uint32_t>(i)) {
        if (id == kEnd) continue;
        EXPECT_GE(id, last);
        last = id;
      }
    }
  }
  EXPECT_GE(last, 1098u);
}

TEST_F(EvalsTest, AnEvaluationOfOtherStoresChangesNothingOfTheRun) {
  const std::string text = Data("path = 's'\n", "steps = 40\n");
  const Config without = Parse(text);
  const Config with =
      Parse(text + "[data.eval.e]\npath = 'other'\nevery_steps = 10\n");
  EXPECT_THAT(with.warnings(), IsEmpty());
  EXPECT_EQ(with.dataset()->fingerprint(), without.dataset()->fingerprint());
  ASSERT_OK_AND_ASSIGN(const auto before, without.OpenLoader());
  for (int i = 0; i < 5; ++i) ASSERT_THAT(before->NextBlocking(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto after, with.OpenLoader());
  EXPECT_EQ(after->fingerprint(), before->fingerprint());
  ASSERT_THAT(after->Resume(before->State()), IsOk());
  // A hold-out is other data.
  const Config held = Parse(text + "hold_out = { documents = 0.1 }\n");
  EXPECT_NE(held.dataset()->fingerprint(), without.dataset()->fingerprint());
  ASSERT_OK_AND_ASSIGN(const auto changed, held.OpenLoader());
  EXPECT_FALSE(changed->Resume(before->State()).ok());
}

// The first example of docs/evaluation.md, over stores of its names.
TEST_F(EvalsTest, TheExampleOfThePageOpens) {
  const std::string page =
      testing::ReadFile(PONIENTE_SOURCE_DIR "/docs/evaluation.md");
  const size_t begin = page.find("```\n") + 4;
  const std::string example =
      page.substr(begin, page.find("```", begin) - begin);
  Write("stores/web", 0, 6000);
  Write("stores/code", 10000, 6000);
  Write("stores/validation", 20000, 1000);
  const Config config = Parse(example);
  EXPECT_THAT(config.warnings(), IsEmpty());
  ASSERT_EQ(config.run().evals.size(), 3u);
  const Read held = ReadEval(config, "held");
  EXPECT_LT(held.begin()->first, 6000u);
  EXPECT_GE(held.rbegin()->first, 10000u);
  EXPECT_GE(ReadEval(config, "code").begin()->first, 10000u);
  EXPECT_GE(ReadEval(config, "validation").begin()->first, 20000u);
}

TEST_F(EvalsTest, EveryStepsSaysWhenItIsDue) {
  RunEval eval = {.every_steps = 10};
  EXPECT_FALSE(eval.IsDue(0));
  EXPECT_FALSE(eval.IsDue(9));
  EXPECT_TRUE(eval.IsDue(10));
  EXPECT_TRUE(eval.IsDue(40));
  eval.every_steps = 0;
  EXPECT_FALSE(eval.IsDue(10));
}

TEST_F(EvalsTest, ASourceOfWeightZeroIsForEvaluationAlone) {
  const std::string nodes = "[data.nodes]\nshared = { path = 'other' }\n";
  const std::string mixture =
      "[data.mixture]\ns = { weight = 1, path = 's' }\n"
      "later = { weight = 0, use = 'shared' }\n";
  const std::string eval = "[data.eval.e]\nuse = 'shared'\n";
  const Config config = Parse(Data(mixture + nodes + eval, "steps = 20\n"));
  EXPECT_THAT(config.warnings(), IsEmpty());
  EXPECT_LT(ReadAll(config).rbegin()->first, 400u);
  EXPECT_GE(ReadEval(config, "e").begin()->first, 1000u);
  // A later stage that draws it trains on the evaluation.
  const Config drawn = Parse(
      Data(mixture + nodes + eval +
               "[[data.stages]]\nstart_step = 10\nweights = { later = 1 }\n",
           "steps = 20\n"));
  EXPECT_THAT(drawn.warnings(),
              ElementsAre(AllOf(
                  HasSubstr("t.toml:10:1: data.eval.e: reads 100 documents"),
                  HasSubstr("training source 'later' reads, too"))));
  // So does a change of the run's journal.
  Journal journal;
  const auto line = journal.LineOf(RunChange::Weights({{"later", 1}}), 8, 2);
  ASSERT_THAT(line, IsOk());
  ASSERT_THAT(journal.Append(*line), IsOk());
  std::ofstream(dir_.path("e.journal")) << journal.bytes();
  const Config steered = Parse(
      Data(mixture + nodes + eval, "steps = 20\njournal = 'e.journal'\n"));
  EXPECT_THAT(steered.warnings(), ElementsAre(HasSubstr("data.eval.e: reads")));
}

// An evaluation has no steps of the run, wherever else the node is used.
TEST_F(EvalsTest, StagesThatFollowTheRunAreRefused) {
  const std::string text =
      Data("mixture = { a = { weight = 1, use = 'm' } }\n", "steps = 5\n") +
      "[data.nodes.m]\nmixture = { u = { weight = 1, path = 's' }, v = { "
      "weight = 1, tokens = 900 } }\nstages = [{ start_step = 2, weights = { "
      "u = 3 } }]\n";
  EXPECT_THAT(Config::Parse(text, "t.toml", dir_.path()), IsOk());
  EXPECT_THAT(
      Config::Parse(text + "[data.eval.e]\nuse = 'm'\ntake = 9\n", "t.toml",
                    dir_.path()),
      StatusIs(kInvalid,
               HasSubstr("data.nodes.m.stages[0] cannot start at a step or "
                         "token of the run: only endless mixtures may lie "
                         "above it, and data.eval.e is not one")));
}

// So that `poniente config` refuses it before the run, not its first
// evaluation.
TEST_F(EvalsTest, CheckLoaderRefusesAnEvaluationThatCannotBeOpened) {
  TokenStoreWriterOptions options;
  options.vocabulary = {"few", 200};
  options.token_type = TokenType::kU16;
  auto writer = TokenStoreWriter::Create(dir_.path("few"), options);
  ASSERT_THAT(writer, IsOk());
  const std::vector<uint32_t> ids(4000, 7);
  ASSERT_THAT((*writer)->AddDocument(ids, "d"), IsOk());
  ASSERT_THAT((*writer)->Finish(), IsOk());
  const Config config = Parse(Data("path = 'few'\n", "steps = 5\n") +
                              "[data.eval.late]\npath = 's'\n"
                              "[data.eval.later]\npath = 's'\n"
                              "[runtime]\ntoken_type = 'u8'\n");
  EXPECT_THAT(config.OpenLoader(), IsOk());
  EXPECT_THAT(config.OpenEval("late"),
              StatusIs(kInvalid, HasSubstr("token_type u8")));
  EXPECT_THAT(
      config.CheckLoader(),
      StatusIs(kInvalid,
               AllOf(HasSubstr("t.toml:6:1: data.eval.late: t.toml:10:1: "
                               "runtime: token_type u8"),
                     HasSubstr("t.toml:8:1: data.eval.later: "))));
}

TEST_F(EvalsTest, ASourceOfWhichNothingIsLeftIsNamedWithTheReason) {
  const std::string run = "[data]\nbatch_size = 4\nseq_len = 2\nsteps = 9\n";
  const std::string packs = "pack_documents = { long_documents = 'drop' }\n";
  const auto reason =
      AllOf(HasSubstr("nothing to draw"),
            HasSubstr("no window of seq_len 2 tokens (long_documents = "
                      "\"drop\" leaves out documents that are longer)"));
  EXPECT_THAT(TryParse(run + packs + "path = 's'\n"),
              StatusIs(kInvalid, AllOf(HasSubstr("t.toml:1:"), reason)));
  EXPECT_THAT(TryParse(run + packs + "[data.mixture]\n" +
                       "a = { weight = 1, path = 's' }\n"),
              StatusIs(kInvalid, AllOf(HasSubstr("data.mixture.a has a weight"),
                                       reason)));
  EXPECT_THAT(
      TryParse(run + "[data.mixture]\n"
                     "a = { weight = 1, path = 's', slice = [9000, 9001] }\n"),
      StatusIs(kInvalid, HasSubstr("data.mixture.a has a weight but nothing to "
                                   "draw: its store of 9000 tokens holds no "
                                   "window of seq_len 2 tokens that its slice "
                                   "leaves")));
}

// It holds nothing out: the windows hold other documents in each epoch.
TEST_F(EvalsTest, ChoosingAmongPackedWindowsIsWarnedOf) {
  for (const std::string chosen :
       {"take = 5", "slice = [0, 5]", "filter = { fraction = 0.5 }"}) {
    const auto warnings = [&](const std::string& packs) {
      return Parse(Data("[data.mixture]\na = { weight = 1, path = 's', " +
                            packs + chosen + " }\n",
                        "steps = 20\n"))
          .warnings();
    };
    EXPECT_THAT(warnings(""), IsEmpty()) << chosen;
    EXPECT_THAT(warnings("pack_documents = true, "),
                ElementsAre(AllOf(HasSubstr("data.mixture.a: " +
                                            chosen.substr(0, chosen.find(' '))),
                                  HasSubstr("windows of packed documents"),
                                  HasSubstr("use documents, hold_out or"))))
        << chosen;
  }
}

TEST_F(EvalsTest, SourcesOverOneStoreMustHoldTheSameOut) {
  const auto parse = [&](const std::string& second) {
    return TryParse(Data("[data.mixture]\na = { weight = 1, path = 's', "
                         "hold_out = { documents = 0.1 } }\n"
                         "b = { weight = 1, " +
                             second + " }\n",
                         "steps = 5\n"))
        .status();
  };
  EXPECT_THAT(parse("path = 's', hold_out = { documents = 0.1 }"), IsOk());
  EXPECT_THAT(
      parse("path = 's'"),
      StatusIs(kInvalid, AllOf(HasSubstr("'a' and 'b' read the same store"),
                               HasSubstr("'b' holds nothing out"))));
  EXPECT_THAT(parse("path = 's', hold_out = { documents = 0.2 }"),
              StatusIs(kInvalid, HasSubstr("documents = 0.2")));
  // A copy is the same store.
  std::filesystem::copy(dir_.path("s"), dir_.path("copy"),
                        std::filesystem::copy_options::recursive);
  EXPECT_THAT(parse("path = 'copy'"),
              StatusIs(kInvalid, HasSubstr("read the same store")));
  // And so is a part of a catalogue.
  const auto joined =
      TryParse(Data("[data.mixture]\na = { weight = 1, path = 'parts', "
                    "hold_out = { documents = 0.1 } }\n"
                    "b = { weight = 1, path = 'parts/b' }\n",
                    "steps = 5\n"));
  EXPECT_THAT(joined, StatusIs(kInvalid, HasSubstr("read the same store")));
}

TEST_F(EvalsTest, WhatIsHeldOutTwiceIsReadOnce) {
  const std::string held =
      "hold_out = { documents = 0.1 }, "
      "pack_documents = true";
  const Config config =
      Parse(Data(absl::StrCat("[data.mixture]\na = { weight = 1, path = 's', ",
                              held, " }\nb = { weight = 1, path = 's', ", held,
                              " }\n[data.eval.e]\nheld_out = true\n"),
                 "steps = 5\n"));
  for (const auto& [document, tokens] : ReadEval(config, "e")) {
    EXPECT_EQ(tokens, LengthOf(document));
  }
}

TEST_F(EvalsTest, MistakesSayWhereTheyAreAndWhatToDo) {
  const auto error = [&](const std::string& rest) {
    return std::string(TryParse(Data("path = 's'\n", "steps = 5\n") + rest)
                           .status()
                           .message());
  };
  EXPECT_THAT(error("[data.eval.e]\nheld_out = true\n"),
              AllOf(HasSubstr("t.toml:6:1: data.eval.e"),
                    HasSubstr("no source states hold_out")));
  EXPECT_THAT(error("[data.eval.e]\nheld_out = ['x']\n"),
              HasSubstr("names 'x' in held_out, which is no source"));
  EXPECT_THAT(error("[data.eval.e]\nheld_out = false\n"),
              HasSubstr("must be true"));
  EXPECT_THAT(error("[data.eval.e]\nheld_out = []\n"),
              HasSubstr("names no source"));
  EXPECT_THAT(error("[data.eval.e]\nmax_samples = 3\n"),
              HasSubstr("needs one of path"));
  EXPECT_THAT(error("[data.eval.e]\npath = 'nowhere'\n"),
              HasSubstr("t.toml:6:1: data.eval.e"));
  EXPECT_THAT(
      error("[data.eval.e]\npath = 'other'\nmax_samples = 3\nmax_tokens = 9\n"),
      HasSubstr("cannot be combined with max_samples"));
  EXPECT_THAT(error("[data.eval.e]\npath = 'other'\nera_shuffle = 4\n"),
              HasSubstr("shuffle = false"));
  EXPECT_THAT(error("[data.eval.e]\npath = 'other'\nseq_len = 100000\n"),
              HasSubstr("seq_len = 100000 is longer than every source"));
  EXPECT_THAT(
      error("[data.eval.e]\nflat = { x = { path = 'other' }, "
            "y = { path = 'other' } }\n"),
      HasSubstr("reads 100 documents twice: they are in 'e/x' and in 'e/y'"));
  EXPECT_THAT(error("[data.eval.e]\nmixture = { x = { weight = 1, path = "
                    "'other' } }\n"),
              HasSubstr("data.eval.e"));
  const auto held = [&](const std::string& keys) {
    return std::string(TryParse(Data(keys, "steps = 5\n")).status().message());
  };
  EXPECT_THAT(held("path = 's'\nhold_out = { documents = 1.5 }\n"),
              HasSubstr("must be above 0 and below 1"));
  EXPECT_THAT(held("path = 's'\nhold_out = {}\n"),
              HasSubstr("needs one of documents or windows"));
  EXPECT_THAT(
      held("path = 's'\npack_documents = true\nhold_out = { windows = 0.1 }\n"),
      HasSubstr("hold out documents"));
  EXPECT_THAT(held("tokens = 5000\nhold_out = { documents = 0.1 }\n"),
              HasSubstr("windows"));
  EXPECT_THAT(held("path = 's'\noverlap = 1\nhold_out = { documents = 0.1 }\n"),
              HasSubstr("cannot be combined with hold_out"));
  const Config config = Parse(Data("path = 's'\n", "steps = 5\n") +
                              "[data.eval.wiki]\npath = 'other'\n");
  EXPECT_THAT(config.Eval("wikj").status().message(), HasSubstr("wiki"));
}

TEST_F(EvalsTest, DescribedInCppIsTheSameAsInToml) {
  const std::string text = Data(
      "[data.mixture]\na = { weight = 1, path = 's', "
      "hold_out = { documents = 0.1, seed = 4 } }\n"
      "[data.eval.held]\nheld_out = [\"a\"]\nmax_samples = 9\n"
      "every_steps = 2\nseed = 5\n"
      "[data.eval.other]\nbatch_size = 3\nseq_len = 16\npath = 'other'\n",
      "steps = 5\n");
  poniente::Run run = {.batch_size = 8, .seq_len = 32, .steps = 5};
  run.folder = dir_.path();
  run.data =
      Mixture({{"a", 1, Source("s").HoldOut({.documents = 0.1, .seed = 4})}});
  run.evals = {{.name = "held",
                .held_out = {{"a"}},
                .max_samples = 9,
                .every_steps = 2,
                .seed = 5},
               {.name = "other",
                .data = Source("other"),
                .batch_size = 3,
                .seq_len = 16}};
  ASSERT_OK_AND_ASSIGN(const Config described, Config::Create(run));
  const Config stated = Parse(text);
  EXPECT_EQ(described.ToToml(), stated.ToToml());
  EXPECT_EQ(ReadEval(described, "held"), ReadEval(stated, "held"));
  ASSERT_OK_AND_ASSIGN(const std::string written, ToToml(run));
  ASSERT_OK_AND_ASSIGN(const poniente::Run again,
                       ParseRun(written, "u.toml", dir_.path()));
  EXPECT_TRUE(again == *ParseRun(text, "t.toml", dir_.path()));
  // Everything stated, it is the same run; so is each evaluation by itself.
  const Config reread = Parse(stated.ToToml());
  EXPECT_EQ(reread.ToToml(), stated.ToToml());
  for (const char* const name : {"held", "other"}) {
    EXPECT_EQ(ReadEval(reread, name), ReadEval(stated, name));
    ASSERT_OK_AND_ASSIGN(const Config eval, stated.Eval(name));
    EXPECT_EQ(ReadAll(Parse(eval.ToToml())), ReadEval(stated, name));
  }
  run.evals.push_back(run.evals.front());
  EXPECT_THAT(Config::Create(run),
              StatusIs(kInvalid, HasSubstr("the name of")));
}

// A program that has no Config is told of its warnings, once for all ranks.
TEST_F(EvalsTest, OpeningALoaderPassesOnTheWarnings) {
  poniente::Run run = {.batch_size = 8, .seq_len = 32, .steps = 5};
  run.folder = dir_.path();
  run.data = Source("s");
  run.evals = {{.name = "seen", .data = Source("s")}};
  std::vector<std::string> warnings;
  run.loader.warning_sink = [&warnings](std::string_view line) {
    warnings.emplace_back(line);
  };
  ASSERT_THAT(OpenLoader(run, {.rank = 1, .ranks = 2}), IsOk());
  EXPECT_THAT(warnings, IsEmpty());
  ASSERT_THAT(OpenLoader(run, {.rank = 0, .ranks = 2}), IsOk());
  ASSERT_OK_AND_ASSIGN(const Config config, Config::Create(run));
  EXPECT_THAT(warnings, ::testing::ElementsAreArray(config.warnings()));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("seen")));
}

}  // namespace
}  // namespace poniente
