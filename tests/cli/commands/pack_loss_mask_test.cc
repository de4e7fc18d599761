// SPDX-License-Identifier: Apache-2.0
// Loss masks that `poniente pack` makes of chats, of masked documents and of
// other stores, and that it keeps after a kill.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cli/packed_store.h"
#include "tests/cli/run_tool.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The tokens of a store of bytes, with '_' for each that has no loss, and '.'
// for an end of a document.
std::string Learned(const std::string& path) {
  const auto store = TokenStore::Open(path);
  EXPECT_THAT(store, IsOk());
  if (!store.ok()) return "";
  EXPECT_THAT(VerifyTokenStore(**store), IsOk());
  const uint64_t tokens = (*store)->num_tokens();
  const auto ids = RunBlocking((*store)->ReadTokens(0, tokens));
  const auto mask = RunBlocking((*store)->ReadLossMask(0, tokens));
  EXPECT_THAT(ids, IsOk());
  EXPECT_THAT(mask, IsOk());
  if (!ids.ok() || !mask.ok()) return "";
  std::string learned;
  for (uint64_t t = 0; t < tokens; ++t) {
    const uint32_t id = (*ids)[t];
    learned += (*mask)[t] == 0 ? '_' : id < 256 ? static_cast<char>(id) : '.';
  }
  return learned;
}

class PackLossMaskTest : public ::testing::Test {
 protected:
  ToolRun Pack(const std::string& input, const std::string& options,
               const std::string& to = "out") const {
    return RunTool("pack " + folder_.path(input) + " --out " +
                   folder_.path(to) + " " + options);
  }
  std::string out() const { return folder_.path("out"); }

  const TempDir folder_;
};

constexpr char kChat[] =
    R"({"messages": [{"role": "user", "content": "1+1"}, )"
    R"({"role": "assistant", "content": "2"}]})"
    "\n"
    R"({"messages": [{"role": "assistant", "content": "A"}, )"
    R"({"role": "tool", "content": "T"}]})"
    "\n"
    R"({"messages": []})"
    "\n";

TEST_F(PackLossMaskTest, AnswersOfChatsHaveLoss) {
  WriteFile(folder_.path("c"), kChat);
  ASSERT_THAT(Pack("c",
                   "--input-format messages --turn-begin '{role}:' "
                   "--turn-end ';\\n'"),
              Prints(HasSubstr("3 documents")));
  // The second chat ends with a turn of a tool, so its end has no loss.
  EXPECT_EQ(Learned(out()),
            "__________"
            "__________"
            "2;\n."
            "__________"
            "A;\n"
            "________"
            "_"
            ".");
  EXPECT_THAT(RunTool("inspect " + out()),
              Prints(AllOf(HasSubstr("poniente-token-store 2\n"),
                           HasSubstr("loss mask       yes\n"))));
  ASSERT_THAT(Pack("c",
                   "--input-format messages --turn-begin '{role}:' "
                   "--turn-end '' --loss-roles tool,user"),
              Prints(HasSubstr("3 documents")));
  EXPECT_EQ(Learned(out()),
            "_____1+1"
            "___________"
            "_"
            "___________"
            "_____T."
            ".");
}

TEST_F(PackLossMaskTest, TheDefaultFramesAreThoseOfTheManual) {
  WriteFile(folder_.path("c"), kChat);
  ASSERT_THAT(Pack("c", "--input-format messages --loss-mask drop"),
              Prints(HasSubstr("3 documents")));
  EXPECT_EQ(Learned(out()),
            "<|im_start|>user\n1+1<|im_end|>\n"
            "<|im_start|>assistant\n2<|im_end|>\n."
            "<|im_start|>assistant\nA<|im_end|>\n"
            "<|im_start|>tool\nT<|im_end|>\n..");
  EXPECT_FALSE(std::filesystem::exists(out() + "/loss_mask-1.bin"));
  EXPECT_THAT(RunTool("inspect --json " + out()),
              Prints(AllOf(HasSubstr("\"loss_mask\": false"),
                           HasSubstr("\"version\": 1"))));
}

TEST_F(PackLossMaskTest, TextsAndIdsSayThemselves) {
  WriteFile(folder_.path("x.jsonl"),
            "{\"text\": \"plain\"}\n"
            "{\"text\": \"Q \\u00e9 A\", \"loss_spans\": [[5, 6], [0, 1]]}\n");
  ASSERT_THAT(Pack("x.jsonl", ""), Prints(HasSubstr("2 documents")));
  EXPECT_EQ(Learned(out()), "plain.Q____A.");
  ASSERT_THAT(Pack("x.jsonl", "--loss-mask drop"),
              Prints(HasSubstr("2 documents")));
  EXPECT_EQ(Learned(out()), "plain.Q \xc3\xa9 A.");
  WriteFile(folder_.path("i"),
            "{\"tokens\": [97, 98, 99], \"loss_mask\": [0, 1, 0]}\n"
            "{\"tokens\": [100, 46]}\n"
            "{\"input_ids\": [101, 102, 46], \"loss_spans\": [[1, 3]]}\n");
  ASSERT_THAT(Pack("i",
                   "--input-format tokens --vocab-size 200 "
                   "--tokenizer-name t --eod 46"),
              Prints(HasSubstr("3 documents, 9 tokens")));
  EXPECT_EQ(Learned(out()), "_b__d._f.");
}

TEST_F(PackLossMaskTest, StoresWithAndWithoutOneAreOneSource) {
  WriteFile(folder_.path("a"), "plain");
  WriteFile(folder_.path("b.jsonl"),
            "{\"text\": \"some\", \"loss_spans\": [[2, 4]]}\n");
  ASSERT_THAT(Pack("a", "", "both/a"), Prints(HasSubstr("1 document")));
  ASSERT_THAT(Pack("b.jsonl", "", "both/b"), Prints(HasSubstr("1 document")));
  ASSERT_EQ(RunTool("catalog " + folder_.path("both")).exit_code, 0);
  EXPECT_THAT(RunTool("inspect " + folder_.path("both")),
              Prints(HasSubstr("loss mask       in 1 of 2 shards; all tokens "
                               "of the others have loss\n")));
  ASSERT_THAT(Pack("both", ""), Prints(HasSubstr("2 documents")));
  EXPECT_EQ(Learned(out()), "plain.__me.");
  FlipBit(folder_.path("both/b/loss_mask-1.bin"), 100);
  EXPECT_THAT(RunTool("verify " + folder_.path("both")),
              ::testing::Field(&ToolRun::exit_code, 1));
}

TEST_F(PackLossMaskTest, ErrorsNameTheLineAndMayBeSkipped) {
  WriteFile(folder_.path("x.jsonl"),
            "{\"text\": \"ok\", \"loss_spans\": [[0, 1]]}\n\n"
            "{\"text\": \"bad\", \"loss_spans\": [[0, 4]]}\n");
  EXPECT_THAT(Pack("x.jsonl", ""),
              FailsWith(1, AllOf(HasSubstr("x.jsonl:3: span 0 of 'loss_spans' "
                                           "is [0,4]"),
                                 HasSubstr("--skip-bad-lines"))));
  EXPECT_THAT(Pack("x.jsonl", "--skip-bad-lines"),
              Prints(HasSubstr("skipped 1 bad line")));
  EXPECT_EQ(Learned(out()), "o__");
  WriteFile(folder_.path("c"), "{\"messages\": [{\"role\": \"user\"}]}\n");
  EXPECT_THAT(Pack("c", "--input-format messages"),
              FailsWith(1, HasSubstr("c:1: message 0 of 'messages' has no "
                                     "'content'")));
}

TEST_F(PackLossMaskTest, TheMaskOfOtherProjectsFilesIsKept) {
  WriteFile(folder_.path("ids.bin"), "Ask!Answer!");
  WriteFile(folder_.path("mask.bin"),
            std::string(4, '\0') + std::string(7, '\1'));
  std::string labels;
  for (const char one : std::string("####Answer!")) {
    labels += one == '#' ? std::string("\x9c\xff") : std::string{one, '\0'};
  }
  WriteFile(folder_.path("labels.bin"), labels);
  const std::string files =
      "--dtype u8 --document-end 33 --vocab-size 256 --tokenizer-name x ";
  const std::string of_flags = "--mask " + folder_.path("mask.bin");
  const std::string of_labels =
      "--no-loss-value -100 --mask " + folder_.path("labels.bin");
  for (const std::string& mask : {of_flags, of_labels}) {
    ASSERT_THAT(Pack("ids.bin", files + mask), Prints(HasSubstr("11 tokens")));
    EXPECT_EQ(Learned(out()), "____Answer!");
  }
  ASSERT_THAT(Pack("ids.bin", files + of_flags + " --loss-mask drop"),
              Prints(HasSubstr("11 tokens")));
  EXPECT_EQ(Learned(out()), "Ask!Answer!");
  const std::string ids = folder_.path("ids.bin") + " --dtype u8 ";
  EXPECT_THAT(RunTool("inspect " + ids + of_flags),
              Prints(HasSubstr("loss mask       u8, 1 has loss\n")));
  EXPECT_THAT(
      RunTool("inspect " + ids + of_labels),
      Prints(HasSubstr("loss mask       i16, all but -100 have loss\n")));
  EXPECT_THAT(RunTool("inspect " + ids + "--loss-value 1"),
              FailsWith(2, HasSubstr("need --mask")));
  EXPECT_THAT(RunTool("inspect " + ids + of_flags + " --loss-value x"),
              FailsWith(2, HasSubstr("--loss-value must be a whole number")));
  // All of it is read, also where no sample is taken.
  WriteFile(folder_.path("ids.bin"), std::string(50000, 'a'));
  std::string flags(50000, '\1');
  flags[20000] = 'x';
  WriteFile(folder_.path("mask.bin"), flags);
  EXPECT_THAT(RunTool("inspect " + ids + of_flags), Prints(HasSubstr("u8")));
  EXPECT_THAT(RunTool("verify " + ids + of_flags),
              FailsWith(1, HasSubstr("the number 120 for token 20000")));
}

TEST_F(PackLossMaskTest, PartsOfAChatAreJoined) {
  WriteFile(
      folder_.path("c"),
      R"({"messages": [{"role": "user", "content": [{"type": "text", )"
      R"("text": "1+"}, {"type": "text", "text": "1"}]}, )"
      R"({"role": "assistant", "content": [{"type": "text", "text": "2"}]}]})"
      "\n"
      R"({"messages": [{"role": "assistant", "content": null, )"
      R"("tool_calls": [{"id": "call_0"}]}]})"
      "\n");
  const std::string options =
      "--input-format messages --turn-begin '{role}:' --turn-end '\\n' ";
  EXPECT_THAT(Pack("c", options),
              FailsWith(1, AllOf(HasSubstr("c:2: message 0 of 'messages' has "
                                           "'tool_calls'"),
                                 HasSubstr("write the calls into 'content'"))));
  ASSERT_THAT(Pack("c", options + "--skip-bad-lines"),
              Prints(HasSubstr("skipped 1 bad line")));
  EXPECT_THAT(Learned(out()), ::testing::EndsWith("2\n."));
  EXPECT_THAT(Learned(out()), Not(HasSubstr("1")));
}

TEST_F(PackLossMaskTest, OptionsForChatsAreRefusedElsewhere) {
  WriteFile(folder_.path("c"), kChat);
  for (const char* option :
       {"--loss-roles user", "--turn-begin x", "--turn-end x"}) {
    EXPECT_THAT(Pack("c", option),
                FailsWith(2, HasSubstr("add --input-format messages")));
  }
  EXPECT_THAT(Pack("c", "--input-format messages --loss-roles a,,b"),
              FailsWith(2, HasSubstr("got 'a,,b'")));
  EXPECT_THAT(Pack("c", "--input-format messages --turn-end 'a\\r'"),
              FailsWith(2, HasSubstr("a backslash begins")));
  EXPECT_THAT(Pack("c", "--input-format messages --loss-mask no"),
              FailsWith(2, HasSubstr("--loss-mask")));
}

// Documents of several units, with and without a mask, that begin and end
// anywhere in a byte of the mask.
class LargeMaskTest : public PackLossMaskTest {
 protected:
  LargeMaskTest() : random_(TestSeed(421)) {
    std::string text;
    for (int line = 0; line < 12000; ++line) {
      const uint64_t size = random_() % 400;
      absl::StrAppend(&text, "{\"text\": \"",
                      std::string(size, static_cast<char>('a' + line % 26)),
                      "\"");
      // The first masks come late.
      if (line > 5000 && random_() % 3 != 0) {
        const uint64_t begin = random_() % (size + 1);
        absl::StrAppend(&text, ", \"loss_spans\": [[", begin, ", ",
                        begin + random_() % (size + 1 - begin), "]]");
      }
      text += "}\n";
    }
    WriteFile(folder_.path("in.jsonl"), text);
    EXPECT_THAT(Pack("in.jsonl", "--threads 1", "whole"),
                Prints(HasSubstr("12,000 documents")));
  }
  std::string whole() const { return folder_.path("whole"); }

  std::mt19937_64 random_;
};

TEST_F(LargeMaskTest, ThreadsAndDirectWritesDoNotMatter) {
  for (const char* options :
       {"--threads 3", "--threads 8 --direct on", "--threads 2 --direct off"}) {
    std::filesystem::remove_all(out());
    ASSERT_THAT(Pack("in.jsonl", options), Prints(HasSubstr("packed")));
    EXPECT_TRUE(FilesIn(out()) == FilesIn(whole())) << options;
  }
}

TEST_F(LargeMaskTest, AStoreOfAStoreKeepsItsMask) {
  for (const char* threads : {"1", "3"}) {
    const std::string copy = absl::StrCat("copy", threads);
    ASSERT_THAT(Pack("whole", absl::StrCat("--threads ", threads), copy),
                Prints(HasSubstr("12,000 documents")));
    EXPECT_TRUE(FilesIn(folder_.path(copy)) == FilesIn(whole()));
  }
  // In parts, and joined again.
  for (const char* part : {"0/3", "1/3", "2/3"}) {
    ASSERT_THAT(Pack("whole", absl::StrCat("--part ", part), "parts"),
                Prints(HasSubstr("packed")));
  }
  ASSERT_EQ(RunTool("catalog " + folder_.path("parts")).exit_code, 0);
  EXPECT_THAT(RunTool("inspect " + folder_.path("parts")),
              Prints(HasSubstr("loss mask       yes\n")));
  EXPECT_THAT(RunTool("verify " + folder_.path("parts")),
              Prints(Not(HasSubstr("mismatch"))));
  ASSERT_THAT(Pack("parts", "", "joined"), Prints(HasSubstr("packed")));
  EXPECT_TRUE(FilesIn(folder_.path("joined")) == FilesIn(whole()));
  ASSERT_THAT(Pack("whole", "--loss-mask drop", "plain"),
              Prints(HasSubstr("packed")));
  EXPECT_EQ(FilesIn(folder_.path("plain")).size(), 4u);
}

TEST_F(LargeMaskTest, KilledItGoesOnToTheSameBytes) {
  const std::string checkpoint = out() + "/scratch-checkpoint";
  const std::string text = ReadFile(folder_.path("in.jsonl"));
  std::filesystem::create_directory(folder_.path("many"));
  for (int copy = 0; copy < 12; ++copy) {
    WriteFile(folder_.path(absl::StrCat("many/", copy, ".jsonl")), text);
  }
  ASSERT_THAT(Pack("many", "", "all"), Prints(HasSubstr("144,000 documents")));
  const auto expected = FilesIn(folder_.path("all"));
  const auto run = [&](const std::string& said) {
    return StartTool("pack " + folder_.path("many") + " --out " + out() +
                     " --checkpoint-bytes 4096 --threads 2 >" + said + " 2>&1");
  };
  int resumed = 0;
  for (int round = 0; round < TestRounds(12); ++round) {
    std::filesystem::remove_all(out());
    const pid_t child = run("/dev/null");
    while (!std::filesystem::exists(checkpoint) &&
           ::waitpid(child, nullptr, WNOHANG) == 0) {
      ::usleep(100);
    }
    ::usleep(static_cast<useconds_t>(random_() % 30000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string said = folder_.path("said");
    int status = 0;
    ::waitpid(run(said), &status, 0);
    ASSERT_EQ(status, 0) << ReadFile(said);
    resumed += ReadFile(said).find("resuming after") != std::string::npos;
    // If the first one had committed, the second one has replaced its store.
    if (std::filesystem::exists(out() + "/tokens-1.bin")) {
      ASSERT_TRUE(FilesIn(out()) == expected) << "round " << round;
    }
  }
  EXPECT_GT(resumed, 2);
}

}  // namespace
}  // namespace poniente::testing
