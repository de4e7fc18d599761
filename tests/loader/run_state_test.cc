// SPDX-License-Identifier: Apache-2.0
// The text of a loader's state: what it looks like, how long it gets, and that
// nothing else is taken for one.
#include "loader/state/run_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::CountingWindows;
using ::poniente::testing::IsOk;
using ::poniente::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint32_t kSeqLen = 16;

RunState Example() {
  RunState state;
  state.step = 1200;
  state.sample = 89600;
  state.order_version = 1;
  state.max_seq_len = 4096;
  state.batches = {{0, 64, 2048}, {1000, 128, 4096}};
  state.tree.seed = 42;
  state.tree.structure = 0x0123456789abcdef;
  state.tree.weights = PastWeights{90112, 2, 0xfedcba9876543210};
  state.tree.nested = 7;
  state.tree.sources = {{"prose/a \"b\"\n", 0x1111}, {"web", std::nullopt}};
  return state;
}

constexpr char kExample[] = R"(poniente run state 1
step 1200
sample 89600
order_version 1
seed 42
structure 0123456789abcdef
weights 90112 2 fedcba9876543210
nested 0000000000000007
max_seq_len 4096
batches 0 64 2048
batches 1000 128 4096
source 0000000000001111 "prose/a \"b\"\n"
source - "web"
)";

// `lines` with their checksum, as somebody would forge it.
std::string Signed(std::string_view lines) {
  return absl::StrFormat("%scrc32c %08x\n", Absl(lines),
                         Crc32c(std::as_bytes(std::span(lines))));
}

std::string Edited(absl::string_view from, absl::string_view to) {
  return Signed(absl::StrReplaceAll(kExample, {{from, to}}));
}

TEST(RunStateTest, IsLinesForPeopleAndAChecksum) {
  EXPECT_EQ(PrintRunState(Example()), Signed(kExample));
  // The checksum of RFC 3720, by another implementation.
  EXPECT_THAT(PrintRunState(Example()),
              ::testing::EndsWith("\ncrc32c cbb4c2d6\n"));
}

TEST(RunStateTest, IsWhatTheDocumentShows) {
  const std::string text = ::poniente::testing::ReadFile(
      PONIENTE_SOURCE_DIR "/docs/compatibility.md");
  const std::vector<std::string> parts = absl::StrSplit(text, "```\n");
  ASSERT_GE(parts.size(), 2u);
  ASSERT_OK_AND_ASSIGN(const RunState read, ParseRunState(parts[1]));
  EXPECT_EQ(read.step, 1200u);
  EXPECT_EQ(read.sample, 1000u * 64 + 200 * 128);
  EXPECT_EQ(read.tree.sources[0].path, "prose/fortunes");
}

TEST(RunStateTest, IsReadAsItWasPrinted) {
  RunState example = Example();
  ASSERT_OK_AND_ASSIGN(const RunState read,
                       ParseRunState(PrintRunState(example)));
  EXPECT_EQ(read, example);
  example.shares = {{"a \"b\"\n", 5}, {"web", uint64_t{1} << 61}};
  ASSERT_OK_AND_ASSIGN(const RunState with_shares,
                       ParseRunState(PrintRunState(example)));
  EXPECT_EQ(with_shares, example);
  example.tree.sources[1].begin = 0x2222;
  const std::string growing = PrintRunState(example);
  EXPECT_THAT(growing, HasSubstr("poniente run state 4\n"));
  EXPECT_THAT(growing, HasSubstr("\ngrowing 0000000000002222 \"web\"\n"));
  ASSERT_OK_AND_ASSIGN(const RunState with_begin, ParseRunState(growing));
  EXPECT_EQ(with_begin, example);
  // Too many to be listed.
  for (int i = 0; i < 20'000; ++i) {
    example.tree.sources.push_back({absl::StrCat("x", i), std::nullopt});
  }
  EXPECT_THAT(ParseRunState(PrintRunState(example)), IsOk());
  RunState least;
  least.is_trimmed = true;
  ASSERT_OK_AND_ASSIGN(const RunState again,
                       ParseRunState(PrintRunState(least)));
  EXPECT_EQ(again, least);
}

TEST(RunStateTest, AnyBytesMayStandInAName) {
  RunState state = Example();
  std::string name;
  for (int byte = 0; byte < 256; ++byte) name += static_cast<char>(byte);
  for (const std::string& part :
       {name.substr(0, 60), name.substr(60, 120), name.substr(180),
        std::string("\x01"
                    "f")}) {
    state.tree.sources = {{part, 1}};
    ASSERT_OK_AND_ASSIGN(const RunState read,
                         ParseRunState(PrintRunState(state)));
    EXPECT_EQ(read, state);
  }
}

TEST(RunStateTest, MayLoseTheEndOfItsLastLine) {
  std::string text = PrintRunState(Example());
  text.pop_back();
  ASSERT_OK_AND_ASSIGN(const RunState read, ParseRunState(text));
  EXPECT_EQ(read, Example());
}

TEST(RunStateTest, EveryOtherTruncationIsRefused) {
  const std::string text = PrintRunState(Example());
  for (size_t size = 0; size + 1 < text.size(); ++size) {
    ASSERT_THAT(
        ParseRunState(text.substr(0, size)),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line ")))
        << size;
  }
}

TEST(RunStateTest, EveryChangedByteIsRefused) {
  const std::string text = PrintRunState(Example());
  for (size_t at = 0; at < text.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[at] = static_cast<char>(byte);
      if (changed == text) continue;
      ASSERT_THAT(
          ParseRunState(changed),
          StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line ")))
          << at << ": " << byte;
    }
  }
}

TEST(RunStateTest, EveryLineLeftOutTwiceOrMovedIsRefused) {
  const std::vector<std::string> lines =
      absl::StrSplit(absl::string_view(kExample, sizeof(kExample) - 2), '\n');
  // Nested mixtures, sources and changes of batches there may be or not.
  const auto is_optional = [](const std::string& line) {
    return line.starts_with("nested") || line.starts_with("weights") ||
           line.starts_with("batches") || line.starts_with("source");
  };
  const auto refused = [](const std::vector<std::string>& changed) {
    return !ParseRunState(Signed(absl::StrJoin(changed, "\n") + "\n")).ok();
  };
  for (size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> changed = lines;
    changed.erase(changed.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_EQ(refused(changed), !is_optional(lines[i])) << lines[i];
    if (lines[i].starts_with("batches") || lines[i].starts_with("source")) {
      continue;  // lists
    }
    changed = lines;
    changed.insert(changed.begin() + static_cast<ptrdiff_t>(i), lines[i]);
    EXPECT_TRUE(refused(changed)) << lines[i];
    changed = lines;
    std::swap(changed[i], changed[i + 1]);
    EXPECT_TRUE(refused(changed)) << lines[i];
  }
}

TEST(RunStateTest, SaysWhichLineIsNotAStates) {
  struct Case {
    std::string text;
    const char* words;
  };
  const std::string good = Signed(kExample);
  const Case cases[] = {
      {"", "line 1 is not that of a loader's state"},
      {"\n", "line 1 is not"},
      {"PTRAIN1\nstep 3\n", "line 1 is not that of a loader's state: \"PTRAIN"},
      {Edited("state 1", "state 5"), "reads 1 to 4): \"poniente run state 5\""},
      {Edited("state 1", "state 2"), "line 1 is not where or as"},
      {Edited("state 1", "state 18446744073709551616"), "line 1 is not"},
      {good + "step 3\n", "line 15 follows the checksum"},
      {good + good, "line 15 follows the checksum: \"poniente run state 1\""},
      {kExample, "line 13 is followed by no checksum"},
      {absl::StrCat(kExample, "crc32c 00000000\n"), "line 14 is not the check"},
      {absl::StrReplaceAll(good, {{"step 1200", "step 1300"}}),
       "line 14 is not the checksum"},
      {Edited("step 1200", "step -1"), "line 2 is not a line of a saved state"},
      {Edited("step 1200", "step 1e3"), "line 2 is not"},
      {Edited("step 1200", "step 01200"), "line 2 is not where or as"},
      {Edited("step 1200", "step  1200"), "line 2 is not where or as"},
      {Edited("step 1200", "step 99999999999999999999"), "line 2 is not"},
      {Edited("order_version 1", "order_version"), "line 4 is not"},
      {Edited("seed 42", "seed forty"), "line 5 is not"},
      {Edited("0123456789abcdef", "0123456789ABCDEF"), "line 6 is not where"},
      {Edited("0123456789abcdef", "123456789abcdef"), "line 6 is not"},
      {Edited("0123456789abcdef", "0x23456789abcdef"), "line 6 is not where"},
      {Edited("90112 2 ", "90112 "), "line 7 is not"},
      {Edited("max_seq_len 4096", "max_seq_len 4096 trim"), "line 9 is not"},
      {Edited("max_seq_len 4096", "max_seq_len 4294967296"), "line 9 is not"},
      {Edited("0 64 2048", "0 64"), "line 10 is not"},
      {Edited("\"web\"", "web"), "line 13 is not"},
      {Edited("\"web\"", "\"\\x\""), "line 13 is not"},
      {Edited("\"web\"", "\"\\167eb\""), "line 13 is not where or as"},
      {Edited("source - \"web\"", "sources 0 1"), "line 13 is not"},
      {absl::StrReplaceAll(good, {{"\n", "\r\n"}}), "line 6 is not"},
      {std::string(1 << 20, '\n'), "line 1 is not that"},
      {std::string((1 << 20) + 1, 'x'), "1048577 bytes"},
  };
  EXPECT_FALSE(ParseRunState(std::string_view()).ok());
  for (const Case& bad : cases) {
    EXPECT_THAT(ParseRunState(bad.text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(bad.words), HasSubstr("run state: "))))
        << bad.text.substr(0, 400);
  }
}

DatasetPtr<TokenWindow> WideMixture(int leaves) {
  std::vector<MixtureComponent<TokenWindow>> components;
  for (int i = 0; i < leaves; ++i) {
    components.push_back({absl::StrCat("a_source_with_a_name_", i),
                          CountingWindows(30, kSeqLen)});
  }
  return *MixtureDataset<TokenWindow>::Create(components, {.block_size = 512});
}

TEST(RunStateTest, IsAFewHundredBytesWhateverTheRun) {
  ScheduleOptions options;
  options.seq_len = kSeqLen;
  for (int64_t step = 1; step < 500; ++step) {
    options.batch_sizes.push_back(
        {RunPoint::Step(step), 100 + static_cast<uint64_t>(step)});
  }
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  const auto wide = WideMixture(200);
  const RunState state = RunStateAt(*wide, schedule, 1000);
  EXPECT_EQ(state.tree.sources.size(), 200u);
  EXPECT_EQ(state.earlier_batches, 492u);
  const std::string text = PrintRunState(state);
  EXPECT_LT(text.size(), 700u) << text;
  ASSERT_OK_AND_ASSIGN(const RunState read, ParseRunState(text));
  EXPECT_EQ(PrintRunState(read), text);
  EXPECT_THAT(CheckGoesOn(read, *wide, schedule), IsOk());
}

TEST(RunStateTest, TheGroupOfAChangedSourceIsNamed) {
  ScheduleOptions options;
  options.seq_len = kSeqLen;
  options.batch_size = 64;
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  ASSERT_OK_AND_ASSIGN(const RunState saved,
                       ParseRunState(PrintRunState(
                           RunStateAt(*WideMixture(200), schedule, 20))));
  EXPECT_EQ(saved.grouped_sources, 200u);
  EXPECT_TRUE(saved.tree.sources.empty());
  RunState changed = saved;
  const size_t group = GroupOf("a_source_with_a_name_7");
  changed.groups[group] ^= 1;
  EXPECT_THAT(CheckGoesOn(changed, *WideMixture(200), schedule),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(absl::StrCat("in group ", group)),
                             HasSubstr("'a_source_with_a_name_7'"),
                             ::testing::Not(HasSubstr("(2)")))));
  EXPECT_THAT(CheckGoesOn(saved, *WideMixture(199), schedule),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("200 sources in the state, 199 here")));
}

// Every number a text may hold, against a loader that it does not fit.
TEST(RunStateTest, ForgedNumbersAreRefusedAndNotObeyed) {
  const auto root = WideMixture(2);
  for (const uint64_t steps : {0, 10}) {
    ScheduleOptions options;
    options.seq_len = kSeqLen;
    options.steps = steps;
    ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
    for (const uint64_t number :
         {uint64_t{1}, uint64_t{1} << 62, (uint64_t{1} << 62) - 1,
          UINT64_MAX - 1, UINT64_MAX}) {
      RunState state = Example();
      state.step = number;
      EXPECT_FALSE(CheckGoesOn(state, *root, schedule).ok()) << number;
      state.tree.weights->end = number;
      state.sample = number;
      EXPECT_FALSE(CheckGoesOn(state, *root, schedule).ok()) << number;
    }
  }
}

}  // namespace
}  // namespace poniente::internal
