// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "poniente/token_store.h"
#include "tests/cli/run_tool.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

using NamedText = std::pair<std::string, std::string>;

// Names and texts of a store's documents; each must end with id 256, which is
// taken off.
std::vector<NamedText> Texts(const std::string& path) {
  std::vector<NamedText> texts;
  const auto store = TokenStore::Open(path);
  EXPECT_THAT(store, IsOk());
  if (!store.ok()) return texts;
  EXPECT_THAT(VerifyTokenStore(**store), IsOk());
  EXPECT_EQ((*store)->vocabulary(), (Vocabulary{"bytes", 257}));
  EXPECT_EQ((*store)->token_type(), TokenType::kU16);
  EXPECT_EQ((*store)->end_of_document(), 256u);
  for (uint64_t d = 0; d < (*store)->num_documents(); ++d) {
    const auto ids = (*store)->Documents()->GetBlocking(d);
    EXPECT_THAT(ids, IsOk());
    std::string text;
    for (const uint32_t id : ids->tokens) text += static_cast<char>(id);
    EXPECT_EQ(ids->tokens.back(), 256u);
    text.pop_back();
    texts.emplace_back(*(*store)->DocumentName(d), text);
  }
  return texts;
}

class PackTest : public ::testing::Test {
 protected:
  PackTest() { std::filesystem::create_directories(folder_.path("in/a/b")); }

  void Write(const std::string& name, const std::string& text) {
    WriteFile(folder_.path("in/" + name), text);
  }
  // {in} and {out} stand for the input folder and the store.
  ToolRun Pack(std::string arguments, const std::string& before = "") {
    for (const auto& [key, value] : std::vector<NamedText>{
             {"{in}", folder_.path("in")}, {"{out}", out()}}) {
      for (size_t at; (at = arguments.find(key)) != std::string::npos;) {
        arguments.replace(at, key.size(), value);
      }
    }
    return RunTool("pack " + arguments, before);
  }
  std::string out() const { return folder_.path("out"); }

  const TempDir folder_;
};

TEST_F(PackTest, AFolderIsWalkedInBytewiseOrderOfItsPaths) {
  Write("a/z", "1");
  Write("a/b/c", "2");
  Write("a-b", "3");
  Write("Z", "4");
  const ToolRun run = Pack("{in} --out {out}");
  EXPECT_THAT(run, Prints(AllOf(HasSubstr("4 documents, 8 tokens"),
                                HasSubstr("fingerprint "))));
  EXPECT_THAT(Texts(out()), ElementsAre(Pair("Z", "4"), Pair("a-b", "3"),
                                        Pair("a/b/c", "2"), Pair("a/z", "1")));
}

TEST_F(PackTest, TheSameTextHasTheSameFingerprintWhereverItLies) {
  Write("x", std::string(100000, 'x'));
  Write("a/y", "y\xff\x00z");
  std::filesystem::copy(folder_.path("in"), folder_.path("copy"),
                        std::filesystem::copy_options::recursive);
  const auto print = [&](const ToolRun& run) {
    EXPECT_EQ(run.exit_code, 0);
    return ValueOf(run.out, "fingerprint ");
  };
  const std::string first = print(Pack("{in} --out {out}"));
  EXPECT_EQ(first.size(), 16u);
  EXPECT_EQ(print(Pack("{in} --out {out}")), first) << "replaced";
  EXPECT_EQ(print(RunTool("pack " + folder_.path("copy/") + " --out " +
                          folder_.path("other"))),
            first);
}

TEST_F(PackTest, GlobsChooseAmongTheFilesOfFolders) {
  Write("a/x.h", "1");
  Write("a/b/y.h", "2");
  Write("a/b/z.c", "3");
  Write("t.txt", "4");
  EXPECT_THAT(Pack("{in} --glob '*.h' --glob '*.c' --out {out}"),
              Prints(HasSubstr("skipped 1 file not matching --glob")));
  EXPECT_THAT(Texts(out()),
              ElementsAre(Pair("a/b/y.h", "2"), Pair("a/b/z.c", "3"),
                          Pair("a/x.h", "1")));
  EXPECT_THAT(Pack("{in} {in}/t.txt --glob 'a/b/*' --out {out}"),
              Prints(HasSubstr("3 documents")));
}

TEST_F(PackTest, LinksAndEmptyFilesAreSkippedAndCounted) {
  Write("x", "1");
  Write("empty", "");
  std::filesystem::create_symlink("x", folder_.path("in/link"));
  std::filesystem::create_directory_symlink("..", folder_.path("in/a/loop"));
  EXPECT_THAT(Pack("{in} --out {out}"),
              Prints(HasSubstr("skipped 1 empty file, 2 symbolic links")));
  EXPECT_THAT(Texts(out()), ElementsAre(Pair("x", "1")));
}

TEST_F(PackTest, FortunesAreCutAtTheirDelimiter) {
  Write("wise", "one\n%\ntwo\nlines\n%\n%\nthree\n");
  EXPECT_THAT(Pack("{in}/wise --delimiter % --out {out}"),
              Prints(HasSubstr("3 documents")));
  EXPECT_THAT(Texts(out()), ElementsAre(Pair("wise#1", "one\n"),
                                        Pair("wise#2", "two\nlines\n"),
                                        Pair("wise#3", "three\n")));
}

TEST_F(PackTest, EntriesAreCutAtBlankLines) {
  Write("dictionary", "aback\n adv.\n\n\nabacus\n n.\n");
  EXPECT_THAT(Pack("{in}/dictionary --split paragraphs --out {out}"),
              Prints(HasSubstr("2 documents")));
  EXPECT_THAT(Texts(out()), ElementsAre(Pair("dictionary#1", "aback\n adv.\n"),
                                        Pair("dictionary#2", "abacus\n n.\n")));
}

TEST_F(PackTest, StandardInputIsStreamed) {
  EXPECT_THAT(Pack("- --out {out}", "printf 'from a pipe' |"),
              Prints(HasSubstr("1 document,")));
  EXPECT_THAT(Texts(out()), ElementsAre(Pair("stdin", "from a pipe")));
}

TEST_F(PackTest, AFifoIsStreamed) {
  ASSERT_EQ(::mkfifo(folder_.path("in/fifo").c_str(), 0600), 0);
  const std::string fifo = folder_.path("in/fifo");
  EXPECT_THAT(Pack(fifo + " --delimiter % --out {out}",
                   "printf 'a\\n%%\\nb' >" + fifo + " &"),
              Prints(HasSubstr("2 documents")));
  EXPECT_THAT(Texts(out()),
              ElementsAre(Pair("fifo#1", "a\n"), Pair("fifo#2", "b")));
}

TEST_F(PackTest, EqualNamesAreToldApart) {
  Write("x", "1");
  Write("a/x", "2");
  Write("a/b/x", "3");
  EXPECT_EQ(Pack("{in}/x {in}/a/x {in}/a/b --out {out}").exit_code, 0);
  EXPECT_THAT(Texts(out()),
              ElementsAre(Pair("x", "1"), Pair("x~2", "2"), Pair("x~3", "3")));
}

TEST_F(PackTest, AStoreBelowTheInputIsNotPackedIntoItself) {
  Write("x", "1");
  const std::string inside = folder_.path("in/store");
  EXPECT_EQ(Pack("{in} --out " + inside).exit_code, 0);
  EXPECT_EQ(Pack("{in} --out " + inside).exit_code, 0);
  EXPECT_THAT(Texts(inside), ElementsAre(Pair("x", "1")));
}

TEST_F(PackTest, CompressedInputIsWarnedOf) {
  Write("x.bz2", "BZh91AY and so on");
  const ToolRun run = Pack("{in} --out {out}");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, AllOf(HasSubstr("warning"), HasSubstr("x.bz2")));
}

// Shards of other projects that nothing tells, archives, UTF-16.
TEST_F(PackTest, BinaryInputIsWarnedOf) {
  Write("x", "plain text");
  Write("ids.bin", std::string("\x10\x27\0\0\x11\x27\0\0", 8));
  const ToolRun run = Pack("{in} --out {out}");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, AllOf(HasSubstr("looks binary"), HasSubstr("1 file, "),
                             HasSubstr("ids.bin"), HasSubstr("--dtype")));
}

TEST_F(PackTest, QuietSaysNothing) {
  Write("x", "1");
  const ToolRun run = Pack("{in} --out {out} --quiet");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out + run.err, IsEmpty());
}

TEST_F(PackTest, TheSummaryComesAsJson) {
  Write("a/x", "12");
  Write("a/y.c", "345");
  Write("empty", "");
  const ToolRun run = Pack("{in} --glob '*[xe]*' --out {out} --json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["path"], folder_.path("out"));
  EXPECT_EQ(json["documents"], 1);
  EXPECT_EQ(json["tokens"], 3);
  EXPECT_EQ(json["input_bytes"], 2);
  EXPECT_EQ(json["files"], 1);
  EXPECT_EQ(json["skipped"]["unmatched"], 1);
  EXPECT_EQ(json["fingerprint"].get<std::string>().size(), 16u);
}

TEST_F(PackTest, WrongUsageIsNamed) {
  EXPECT_THAT(Pack("{in} --out {out} --json --quiet"),
              FailsWith(2, HasSubstr("cannot be combined")));
  EXPECT_THAT(Pack("--out {out}"), FailsWith(2, HasSubstr("no input")));
  EXPECT_THAT(Pack("{in}"), FailsWith(2, HasSubstr("--out is missing")));
  EXPECT_THAT(Pack("{in} --out {out} --spilt files"),
              FailsWith(2, HasSubstr("did you mean '--split'?")));
  EXPECT_THAT(Pack("{in} --out {out} --split lines"),
              FailsWith(2, HasSubstr("files or paragraphs, got 'lines'")));
  EXPECT_THAT(
      Pack("{in} --out {out} --tokenizer gpt2"),
      FailsWith(2, HasSubstr("must be bytes or the file of a SentencePiece "
                             "model, got 'gpt2'")));
  EXPECT_THAT(Pack("{in} --out {out} --split paragraphs --delimiter %"),
              FailsWith(2, HasSubstr("cannot be combined")));
}

TEST_F(PackTest, AMissingInputIsNamedAndNothingIsMade) {
  EXPECT_THAT(Pack("{in}/nowhere --out {out}"),
              FailsWith(1, AllOf(HasSubstr("/in/nowhere'"),
                                 HasSubstr("No such file"))));
  EXPECT_FALSE(std::filesystem::exists(out()));
}

TEST_F(PackTest, AnInputThatCannotBeReadIsNamedAndNothingIsMade) {
  Write("x", "1");
  // Reading this file gives EIO even to root.
  EXPECT_THAT(Pack("{in} /proc/self/mem --out {out}"),
              FailsWith(1, HasSubstr("/proc/self/mem': read")));
  EXPECT_FALSE(std::filesystem::exists(out()));
}

TEST_F(PackTest, NothingToPackIsAnError) {
  EXPECT_THAT(Pack("{in} --out {out}"),
              FailsWith(1, HasSubstr("nothing to pack")));
  Write("empty", "");
  EXPECT_THAT(Pack("{in} --out {out}"),
              FailsWith(1, HasSubstr("1 empty file")));
  Write("x.c", "1");
  EXPECT_THAT(Pack("{in} --out {out} --glob '*.h'"),
              FailsWith(1, HasSubstr("2 files not matching --glob")));
  EXPECT_FALSE(std::filesystem::exists(out()));
}

TEST_F(PackTest, AFileInTheWayOfTheStoreIsNamed) {
  Write("x", "1");
  EXPECT_THAT(Pack("{in} --out {in}/x"),
              FailsWith(1, HasSubstr("is a file; a token store is a folder")));
  EXPECT_THAT(Pack("{in}/x --out /proc/nowhere"),
              FailsWith(1, HasSubstr("/proc/nowhere': make folder")));
}

TEST_F(PackTest, InterruptedItRemovesWhatItWrote) {
  const std::string fifo = folder_.path("in/fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  // The writer of the pipe outlives the reader, which is told to stop once its
  // files are there.
  EXPECT_THAT(Pack(fifo + " --out {out} & pid=$!; until test -e " + out() +
                       "/writer.lock; do sleep 0.05; done; kill -TERM $pid; "
                       "wait $pid",
                   "sleep 30 >" + fifo +
                       " 2>/dev/null & keeper=$!; trap 'kill $keeper' EXIT;"),
              FailsWith(143, AllOf(HasSubstr("interrupted"),
                                   HasSubstr("is unchanged"))));
  EXPECT_FALSE(std::filesystem::exists(out()));
}

TEST_F(PackTest, AnOptionThatWouldChangeNothingIsNamed) {
  Write("x.txt", "{\"text\": \"a\"}\n");
  Write("x.jsonl", "{\"text\": \"a\"}\n");
  for (const char* option : {"--field body", "--skip-bad-lines"}) {
    for (const char* input : {"{in}/x.txt", "-"}) {
      EXPECT_THAT(Pack(std::string(input) + " --out {out} " + option),
                  FailsWith(2, AllOf(HasSubstr(std::string(option, 7)),
                                     HasSubstr("--input-format jsonl"))));
    }
  }
  for (const char* option : {"--delimiter %", "--split paragraphs"}) {
    EXPECT_THAT(Pack("{in}/x.jsonl --out {out} " + std::string(option)),
                FailsWith(2, AllOf(HasSubstr(std::string(option, 7)),
                                   HasSubstr("--input-format text"))));
  }
  EXPECT_FALSE(std::filesystem::exists(out()));
  // Where an input has the kind, or may have it.
  EXPECT_EQ(Pack("{in}/x.jsonl {in}/x.txt --out {out} --split paragraphs "
                 "--skip-bad-lines")
                .exit_code,
            0);
  EXPECT_EQ(Pack("{in} --out {out} --delimiter %").exit_code, 0);
}

TEST_F(PackTest, AFilePastTheLimitOfSizesIsNamed) {
  Write("x", std::string(200000, 'a'));
  EXPECT_THAT(
      Pack("{in} --out {out}", "ulimit -f 64;"),
      FailsWith(1, AllOf(HasSubstr("tokens-1.bin"), HasSubstr("ulimit -f"))));
  EXPECT_FALSE(std::filesystem::exists(out()));
}

// A folder of shards of ids, of which one has the name of a file of a store.
TEST_F(PackTest, FilesOfOthersInTheWayOfTheStoreStay) {
  Write("tokens-1.bin", std::string(64, '\1'));
  Write("tokens-2.bin", std::string(64, '\1'));
  Write("scratch-ideas.txt", "ideas");
  EXPECT_THAT(Pack("{in}/tokens-1.bin {in}/tokens-2.bin --dtype u16 "
                   "--vocab-size 1000 --tokenizer-name words --out {in}"),
              FailsWith(1, AllOf(HasSubstr("tokens-"), HasSubstr("--out"))));
  for (const char* name :
       {"tokens-1.bin", "tokens-2.bin", "scratch-ideas.txt"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_.path("in/") + name)) << name;
  }
}

}  // namespace
}  // namespace poniente::testing
