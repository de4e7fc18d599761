// SPDX-License-Identifier: Apache-2.0
// A store has the ids of one version of a tokenizer, whichever runs made it.
#include "pack/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "pack/pack_file.h"
#include "pack/pack_token_files.h"
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
using ::testing::Not;

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

  void FoundInputs() override {
    if (when_found) when_found();
  }
  std::function<void()> when_found;

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
    Interrupt(Request(library));
  }
  static void Interrupt(const PackRequest& request) {
    InterruptingObserver observer(/*interrupts=*/true);
    ASSERT_OK_AND_ASSIGN(const PackOutcome outcome, Pack(request, &observer));
    ASSERT_EQ(outcome.end, PackOutcome::End::kInterrupted);
    ASSERT_TRUE(outcome.can_go_on);
  }
  // Leaves the checkpoint of a run that has published it.
  void InterruptGrowing() const {
    PackRequest request = Request("lib");
    request.publishes = true;
    Interrupt(request);
    ASSERT_TRUE(HasPublished());
  }
  bool HasPublished() const {
    return std::filesystem::exists(folder_.path("out/scratch-growth.json"));
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

// A stream cannot go on behind what a killed pack has published.
TEST_F(PackingTest, WhatIsPublishedStaysBeforeAStream) {
  InterruptGrowing();
  PackRequest request = Request("lib");
  request.inputs = {"/dev/null"};
  InterruptingObserver observer;
  EXPECT_THAT(Pack(request, &observer),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("published"), HasSubstr("--restart"))));
  EXPECT_TRUE(HasPublished());
  ASSERT_OK_AND_ASSIGN(const PackOutcome outcome,
                       Pack(Request("lib"), &observer));
  EXPECT_GT(outcome.resumed_bytes, 0u);
}

TEST_F(PackingTest, WhatIsPublishedStaysBehindADamagedCheckpoint) {
  for (const char* name : {"scratch-checkpoint", "scratch-ends"}) {
    std::filesystem::remove_all(folder_.path("out"));
    InterruptGrowing();
    testing::FlipBit(folder_.path("out/" + std::string(name)), 1);
    PackRequest request = Request("lib");
    InterruptingObserver observer;
    EXPECT_THAT(
        Pack(request, &observer),
        StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--restart")))
        << name;
    EXPECT_TRUE(HasPublished()) << name;
    request.restart = true;
    EXPECT_THAT(Pack(request, &observer), IsOk()) << name;
  }
}

TEST_F(PackingTest, WhatIsPublishedStaysIfAnotherPackGoesOnAndFails) {
  InterruptGrowing();
  // In the way of a file of the store.
  std::filesystem::create_directory(folder_.path("out/documents-1.bin"));
  InterruptingObserver observer;
  EXPECT_THAT(Pack(Request("lib"), &observer), Not(IsOk()));
  EXPECT_TRUE(observer.goes_on());
  EXPECT_TRUE(HasPublished());
  std::filesystem::remove(folder_.path("out/documents-1.bin"));
  ASSERT_OK_AND_ASSIGN(const PackOutcome outcome,
                       Pack(Request("lib"), &observer));
  EXPECT_GT(outcome.resumed_bytes, 0u);
  EXPECT_FALSE(HasPublished());
}

// Killed right behind the commit, a pack leaves what it had published.
TEST_F(PackingTest, WhatACompleteStoreHadPublishedIsNoObstacle) {
  InterruptGrowing();
  const std::string growth =
      testing::ReadFile(folder_.path("out/scratch-growth.json"));
  InterruptingObserver observer;
  ASSERT_THAT(Pack(Request("lib"), &observer), IsOk());
  testing::WriteFile(folder_.path("out/scratch-growth.json"), growth);
  testing::WriteFile(folder_.path("in"), "other text");
  EXPECT_THAT(Pack(Request("lib"), &observer), IsOk());
}

TEST_F(PackingTest, ACheckpointThatCannotBeReadIsTold) {
  for (const size_t bytes : {size_t{100}, size_t{2} << 20}) {
    Interrupt("lib");
    testing::WriteFile(folder_.path("out/scratch-checkpoint"),
                       std::string(bytes, 'x'));
    InterruptingObserver observer;
    EXPECT_THAT(Pack(Request("lib"), &observer), IsOk());
    EXPECT_THAT(observer.afresh(), HasSubstr("scratch-checkpoint")) << bytes;
    std::filesystem::remove_all(folder_.path("out"));
  }
}

TEST_F(PackingTest, AnInputThatIsReplacedMeanwhileIsNotPacked) {
  for (const std::string text : {"some other, longer text", "some TEXT", "s"}) {
    testing::WriteFile(folder_.path("in"), "some text");
    InterruptingObserver observer;
    observer.when_found = [&] {
      ::usleep(20000);  // a clock of the file system may be coarse
      std::filesystem::remove(folder_.path("in"));
      testing::WriteFile(folder_.path("in"), text);
    };
    EXPECT_THAT(Pack(Request("lib"), &observer),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr(folder_.path("in")),
                               HasSubstr("has changed since the pack began"))))
        << text;
    EXPECT_FALSE(std::filesystem::exists(folder_.path("out")));
  }
}

TEST_F(PackingTest, AnInputThatGrowsWhileItIsReadIsNotPacked) {
  ASSERT_OK_AND_ASSIGN(const TextInputs inputs,
                       FindTextInputs({folder_.path("in")}, {}, ""));
  const std::atomic<bool> stop = false;
  PackFile file(inputs.files.front(), &stop);
  ASSERT_THAT(file.Window(0, 9), IsOk());
  testing::WriteFile(folder_.path("in"), "some text and more");
  std::vector<char> buffer;
  EXPECT_THAT(file.Read(file.Take({0, false}, {5, false}, false), &buffer),
              IsOk());
  EXPECT_THAT(
      file.Read(file.Take({5, false}, {9, false}, true), &buffer),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("now has 18")));
}

// A fingerprint of other projects' files covers samples of the ids only.
TEST_F(PackingTest, OtherTokenFilesOrOptionsAreNotGoneOnWith) {
  const std::string path = folder_.path("ids.bin");
  testing::WriteFile(path, std::string(2000, '\1'));
  TokenSourceOptions options;
  options.dtype = StoredType::kU16;
  options.vocabulary = Vocabulary{"words", 65536};
  const auto request = [&] {
    PackRequest made = Request("lib");
    made.format = InputFormat::kTokenFiles;
    made.vocabulary = *options.vocabulary;
    made.end_of_document = std::nullopt;
    made.source_options = options;
    auto inputs = OpenTokenInputs({path}, options);
    EXPECT_THAT(inputs, IsOk());
    made.token_inputs = *std::move(inputs);
    return made;
  };
  Interrupt(request());
  std::filesystem::last_write_time(
      path, std::filesystem::last_write_time(path) + std::chrono::seconds(3));
  {
    InterruptingObserver observer(/*interrupts=*/true);
    EXPECT_THAT(Pack(request(), &observer), IsOk());
    EXPECT_THAT(observer.afresh(), HasSubstr("the inputs have changed"));
  }
  testing::WriteFile(folder_.path("mask"), std::string(1000, '\1'));
  options.loss_mask = LossMaskFiles{.path = folder_.path("mask")};
  InterruptingObserver observer;
  EXPECT_THAT(Pack(request(), &observer), IsOk());
  EXPECT_THAT(observer.afresh(), HasSubstr("the options"));
}

}  // namespace
}  // namespace poniente::internal
