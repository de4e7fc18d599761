// SPDX-License-Identifier: Apache-2.0
// A store has the ids of one version of a tokenizer, whichever runs made it.
#include "pack/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "poniente/token_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::IsOk;
using ::poniente::testing::StatusIs;
using ::poniente::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Interrupts a run, if asked to, once it has packed something.
class InterruptingObserver final : public PackObserver {
 public:
  explicit InterruptingObserver(bool interrupts = false)
      : interrupts_(interrupts) {}

  void StartsAfresh(const std::string& why) override { afresh_ = why; }
  void GoesOn(uint64_t, uint64_t) override { goes_on_ = true; }
  void Begins(uint64_t) override {}
  void Packed(uint64_t bytes) override { has_packed_ = bytes > 0; }
  bool IsInterrupted() override { return interrupts_ && has_packed_; }

  const std::string& afresh() const { return afresh_; }
  bool goes_on() const { return goes_on_; }

 private:
  const bool interrupts_;
  bool has_packed_ = false;
  std::string afresh_;
  bool goes_on_ = false;
};

class PackingTest : public ::testing::Test {
 protected:
  PackingTest() { testing::WriteFile(folder_.path("in"), "some text"); }

  PackRequest Request(const std::string& library) const {
    PackRequest request;
    request.inputs = {folder_.path("in")};
    request.out = folder_.path("out");
    request.vocabulary = {"bytes", 257};
    request.end_of_document = 256;
    request.tokenizer_library = library;
    return request;
  }
  // Leaves a checkpoint of a run with this library.
  void Interrupt(const std::string& library) const {
    InterruptingObserver observer(/*interrupts=*/true);
    ASSERT_OK_AND_ASSIGN(const PackOutcome outcome,
                         Pack(Request(library), &observer));
    ASSERT_EQ(outcome.end, PackOutcome::End::kInterrupted);
    ASSERT_TRUE(outcome.can_go_on);
  }
  std::string LibraryOfStore() const {
    const auto store = TokenStore::Open(folder_.path("out"));
    EXPECT_THAT(store, IsOk());
    return store.ok() ? (*store)->tokenizer_library() : "";
  }

  const TempDir folder_;
};

TEST_F(PackingTest, AnotherVersionOfTheLibraryDoesNotGoOn) {
  Interrupt("lib 1");
  InterruptingObserver observer;
  EXPECT_THAT(Pack(Request("lib 2"), &observer),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("'lib 1'"), HasSubstr("'lib 2'"),
                             HasSubstr("--restart"))));
  EXPECT_THAT(Pack(Request(""), &observer),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("a library that is not known")));
  // What the first one has made is still there for it.
  ASSERT_OK_AND_ASSIGN(const PackOutcome outcome,
                       Pack(Request("lib 1"), &observer));
  EXPECT_TRUE(observer.goes_on());
  EXPECT_EQ(observer.afresh(), "");
  EXPECT_GT(outcome.resumed_bytes, 0u);
  EXPECT_EQ(LibraryOfStore(), "lib 1");
}

TEST_F(PackingTest, RestartTakesAnotherVersion) {
  Interrupt("lib 1");
  PackRequest request = Request("lib 2");
  request.restart = true;
  InterruptingObserver observer;
  ASSERT_OK_AND_ASSIGN(const PackOutcome outcome, Pack(request, &observer));
  EXPECT_EQ(outcome.resumed_bytes, 0u);
  EXPECT_EQ(LibraryOfStore(), "lib 2");
}

// A checkpoint of a tool that did not record the library is the same as one of
// an unknown library.
TEST_F(PackingTest, AnOldCheckpointIsGoneOnWithAndNoLibraryIsClaimed) {
  Interrupt("");
  ASSERT_THAT(testing::ReadFile(folder_.path("out/scratch-checkpoint")),
              ::testing::Not(HasSubstr("tokenizer_library")));
  InterruptingObserver observer;
  ASSERT_OK_AND_ASSIGN(const PackOutcome outcome,
                       Pack(Request("lib 2"), &observer));
  EXPECT_TRUE(observer.goes_on());
  EXPECT_GT(outcome.resumed_bytes, 0u);
  EXPECT_EQ(LibraryOfStore(), "");
}

// Not a line that --skip-bad-lines skips, nor an empty file.
TEST_F(PackingTest, ADamagedBeginOfACompressedFileIsNotSkipped) {
  testing::WriteFile(folder_.path("in"), "{\"text\": \"a\"}\n");
  for (const char* const name :
       {"x.jsonl.gz", "x.jsonl.zst", "x.txt.gz", "x.jsonl.bz2", "x.txt.xz"}) {
    for (const std::string stored : {"", "\x1e\x8b\x08", "{\"text\": \"b\"}"}) {
      testing::WriteFile(folder_.path(name), stored);
      PackRequest request = Request("");
      request.inputs = {folder_.path("in"), folder_.path(name)};
      request.skip_bad_lines = true;
      for (const int threads : {1, 3}) {
        request.threads = threads;
        InterruptingObserver observer;
        EXPECT_THAT(Pack(request, &observer),
                    StatusIs(absl::StatusCode::kDataLoss,
                             AllOf(HasSubstr(name), HasSubstr("is named ."))))
            << stored.size();
      }
    }
  }
}

TEST_F(PackingTest, WhatFollowsANulInJsonlIsABadLine) {
  const std::string good = "{\"text\": \"a\"}";
  testing::WriteFile(folder_.path("in"),
                     good + '\0' + "{\"text\": \"lost\"}\n" + good + "\n" +
                         std::string(3, '\0') + "\n" + good + '\0');
  PackRequest request = Request("");
  request.format = InputFormat::kJsonl;
  InterruptingObserver observer;
  EXPECT_THAT(Pack(request, &observer),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("/in:1: is not JSON: error at byte 14"),
                             HasSubstr("--skip-bad-lines"))));
  request.skip_bad_lines = true;
  ASSERT_OK_AND_ASSIGN(const PackOutcome outcome, Pack(request, &observer));
  EXPECT_EQ(outcome.state.bad_lines, 3u);
  EXPECT_EQ(outcome.facts.documents, 1u);
}

}  // namespace
}  // namespace poniente::internal
