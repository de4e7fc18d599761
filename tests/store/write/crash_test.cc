// SPDX-License-Identifier: Apache-2.0
// Writers that die or whose disk is full: what stays readable is the old store
// or the new one, whole, and the next writer finds its way.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using testing::Documents;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::ProvenDocuments;
using testing::ReadFile;
using testing::ReadStore;
using testing::StatusIs;
using testing::TempDir;
using testing::WithProvenLoss;
using testing::WriteStore;

// Runs `work` in a child, which then exits with what it gave.
pid_t Fork(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  return child;
}

int Wait(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// The second has a loss mask.
const Documents& Contents(int which) {
  static const auto* contents = new std::vector<Documents>{
      ProvenDocuments({300000, 0, 7, 400000}, 257),
      WithProvenLoss(ProvenDocuments({9, 500000, 100}, 257))};
  return (*contents)[static_cast<size_t>(which)];
}

// Which of the contents is readable, -1 if there is no store. Everything else
// fails the test.
int Readable(const std::string& path) {
  const auto store = TokenStore::Open(path);
  if (absl::IsNotFound(store.status())) return -1;
  EXPECT_THAT(store, IsOk());
  if (!store.ok()) return -2;
  EXPECT_THAT(VerifyTokenStore(**store), IsOk());
  const auto content = ReadStore(**store);
  EXPECT_THAT(content, IsOk());
  if (content.ok() && *content == Contents(0)) return 0;
  if (content.ok() && *content == Contents(1)) return 1;
  ADD_FAILURE() << "neither of the two stores";
  return -2;
}

void ExpectNothingButAStore(const std::string& path, int which) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    ++files;
    EXPECT_NE(entry.path().filename(), "writer.lock");
  }
  EXPECT_EQ(files, which == 1 ? 5u : 4u) << path;
}

double SecondsToWrite(const std::string& path, int which) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(WriteStore(path, Contents(which)), IsOk());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

TEST(CrashTest, KilledAtAnyMomentAFirstWriterLeavesNothingOrAStore) {
  std::mt19937_64 random(testing::TestSeed(34));
  const TempDir folder;
  const double seconds = SecondsToWrite(folder.path("timing"), 0);
  int with_store = 0;
  for (int i = 0; i < 60; ++i) {
    const std::string path = folder.path("s" + std::to_string(i));
    const pid_t child =
        Fork([&] { return WriteStore(path, Contents(0)).ok() ? 0 : 1; });
    ::usleep(static_cast<useconds_t>(
        1e6 * seconds * 1.4 * static_cast<double>(random() % 1000) / 1000));
    ::kill(child, SIGKILL);
    Wait(child);
    const int readable = Readable(path);
    ASSERT_TRUE(readable == -1 || readable == 0) << i;
    with_store += readable == 0;
    ASSERT_THAT(WriteStore(path, Contents(1)), IsOk());
    ASSERT_EQ(Readable(path), 1);
    ExpectNothingButAStore(path, 1);
    std::filesystem::remove_all(path);
  }
  std::printf("%d of 60 had committed\n", with_store);
}

TEST(CrashTest, KilledAtAnyMomentASecondWriterLeavesTheOldStoreOrTheNew) {
  std::mt19937_64 random(testing::TestSeed(35));
  const TempDir folder;
  const std::string path = folder.path("s");
  const double seconds = SecondsToWrite(path, 0);
  int before = 0;
  int replaced = 0;
  for (int i = 0; i < 60; ++i) {
    const pid_t child = Fork(
        [&] { return WriteStore(path, Contents(1 - before)).ok() ? 0 : 1; });
    ::usleep(static_cast<useconds_t>(
        1e6 * seconds * 1.4 * static_cast<double>(random() % 1000) / 1000));
    ::kill(child, SIGKILL);
    Wait(child);
    const int readable = Readable(path);
    ASSERT_TRUE(readable == 0 || readable == 1) << i;
    replaced += readable != before;
    before = readable;
  }
  std::printf("%d of 60 had committed\n", replaced);
  ASSERT_THAT(WriteStore(path, Contents(0)), IsOk());
  ASSERT_EQ(Readable(path), 0);
  ExpectNothingButAStore(path, 0);
}

// Lets a child that writes make `stops` entries to and exits from system calls,
// then kills it. False once it has ended before.
bool KillAtStop(const std::string& path, int which, int stops) {
  const pid_t child = Fork([&] {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return 77;
    ::raise(SIGSTOP);
    return WriteStore(path, Contents(which)).ok() ? 0 : 1;
  });
  int status = 0;
  for (int stop = 0;; ++stop) {
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      return false;
    }
    if (stop > stops) break;
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
  }
  ::kill(child, SIGKILL);
  Wait(child);
  return true;
}

bool CanTrace() {
  const pid_t child = Fork([] {
    return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1;
  });
  return Wait(child) == 0;
}

TEST(CrashTest, KilledAtEachSystemCallAFirstWriterLeavesNothingOrAStore) {
  if (!CanTrace()) GTEST_SKIP() << "ptrace is forbidden";
  const TempDir folder;
  const std::string path = folder.path("s");
  int stops = 0;
  int with_store = 0;
  for (bool killed = true; killed; ++stops) {
    killed = KillAtStop(path, 0, stops);
    const int readable = Readable(path);
    ASSERT_TRUE(readable == -1 || readable == 0) << stops;
    with_store += readable == 0;
    ASSERT_THAT(WriteStore(path, Contents(1)), IsOk());
    ExpectNothingButAStore(path, 1);
    std::filesystem::remove_all(path);
  }
  std::printf("killed %d times, %d after the commit\n", stops, with_store);
  EXPECT_GT(stops, 60);
  EXPECT_GT(with_store, 1);
}

TEST(CrashTest, KilledAtEachSystemCallASecondWriterLeavesTheOldOrTheNew) {
  if (!CanTrace()) GTEST_SKIP() << "ptrace is forbidden";
  const TempDir folder;
  const std::string path = folder.path("s");
  int stops = 0;
  int replaced = 0;
  for (bool killed = true; killed; ++stops) {
    ASSERT_THAT(WriteStore(path, Contents(0)), IsOk());
    killed = KillAtStop(path, 1, stops);
    const int readable = Readable(path);
    ASSERT_TRUE(readable == 0 || readable == 1) << stops;
    replaced += readable == 1;
  }
  std::printf("killed %d times, %d after the commit\n", stops, replaced);
  ExpectNothingButAStore(path, 1);
  EXPECT_GT(stops, 60);
  EXPECT_GT(replaced, 1);
}

// Writes `documents` where no file may grow beyond `limit` bytes, and gives the
// message of the error, "" if there was none.
std::string MessageUnderLimit(const std::string& path,
                              const Documents& documents, uint64_t limit,
                              const std::string& report) {
  const pid_t child = Fork([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const auto writer = TokenStoreWriter::Create(path, testing::ByteOptions());
    if (!writer.ok()) return 1;
    const rlimit bound = {limit, limit};
    ::setrlimit(RLIMIT_FSIZE, &bound);
    absl::Status status;
    for (const testing::TextDocument& document : documents) {
      status = testing::AddTo(writer->get(), document);
      if (!status.ok()) break;
    }
    const auto finished = (*writer)->Finish();
    // The first error stays.
    if (!status.ok() && finished.status() != status) return 2;
    if (finished.ok()) return 0;
    // The limit holds for the report too: the text of a link is no file.
    const std::string message(finished.status().message());
    return ::symlink(message.c_str(), report.c_str()) == 0 ? 3 : 4;
  });
  const int status = Wait(child);
  if (WEXITSTATUS(status) == 0) return "";
  EXPECT_EQ(WEXITSTATUS(status), 3);
  return std::filesystem::read_symlink(report).string();
}

// A limit, and the file whose writing meets it.
struct FullCase {
  const char* name;
  Documents documents;
  uint64_t limit;
  const char* file;
};

class FullDiskTest : public ::testing::TestWithParam<FullCase> {};

TEST_P(FullDiskTest, IsAStatusAndNothingBecomesVisible) {
  const auto& [name, documents, limit, file] = GetParam();
  const TempDir folder;
  EXPECT_THAT(MessageUnderLimit(folder.path("s"), documents, limit,
                                folder.path("report")),
              ::testing::AllOf(::testing::HasSubstr(folder.path("s/") + file),
                               ::testing::HasSubstr("write at byte"),
                               ::testing::HasSubstr("ulimit -f")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("s")));

  ASSERT_THAT(WriteStore(folder.path("old"), Contents(0)), IsOk());
  std::filesystem::remove(folder.path("report"));
  EXPECT_NE(MessageUnderLimit(folder.path("old"), documents, limit,
                              folder.path("report")),
            "");
  EXPECT_EQ(Readable(folder.path("old")), 0);
  ExpectNothingButAStore(folder.path("old"), 0);
}

// Contents(1) is 1003520 bytes of tokens.
INSTANTIATE_TEST_SUITE_P(
    Limits, FullDiskTest,
    ::testing::Values(
        FullCase{"None", Contents(1), 0, "tokens-"},
        FullCase{"OneByte", Contents(1), 1, "tokens-"},
        FullCase{"Block", Contents(1), 65536, "tokens-"},
        FullCase{"OneByteTooFew", Contents(1), 1003519, "tokens-"},
        FullCase{"Documents", Documents(600, {"", {}}), 9000, "documents-"},
        FullCase{"Names", Documents(4, {std::string(1000000, 'n'), {}}), 500000,
                 "scratch-names"},
        FullCase{"Manifest", {}, 300, "manifest.json.tmp"}),
    [](const auto& case_info) { return case_info.param.name; });

TEST(FileLimitTest, RoomEnoughIsEnough) {
  const TempDir folder;
  EXPECT_EQ(MessageUnderLimit(folder.path("s"), Contents(1), 1003520,
                              folder.path("report")),
            "");
  EXPECT_EQ(Readable(folder.path("s")), 1);
}

TEST(CrashTest, AWriterInAnotherProcessHoldsTheLockUntilItDies) {
  const TempDir folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = Fork([&] {
    const auto writer =
        TokenStoreWriter::Create(folder.path("s"), testing::ByteOptions());
    if (::write(ready[1], "x", 1) != 1) return 1;
    ::pause();
    return writer.ok() ? 0 : 1;
  });
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THAT(WriteStore(folder.path("s"), Contents(0)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       ::testing::HasSubstr("writer.lock")));
  ::kill(child, SIGKILL);
  Wait(child);
  EXPECT_THAT(WriteStore(folder.path("s"), Contents(0)), IsOk());
  ExpectNothingButAStore(folder.path("s"), 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace poniente
