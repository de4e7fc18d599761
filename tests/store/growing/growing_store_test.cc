// SPDX-License-Identifier: Apache-2.0
// Stores that are read while they are written: what can be read is what the
// finished store has there.
#include "store/growing/growing_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/inotify.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/token_store.h"
#include "poniente/token_store_writer.h"
#include "store/growing/folder_follower.h"
#include "store/posix_file.h"
#include "tests/store/small_stores.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using internal::GrowingStore;
using internal::GrowthTimes;
using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::AllOf;
using testing::Documents;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::StatusIs;
using testing::TempDir;
using testing::TextDocument;

constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr uint64_t kLength = 100;

TokenStoreWriterOptions Published() {
  TokenStoreWriterOptions options = testing::ByteOptions();
  options.publishes = true;
  return options;
}

std::unique_ptr<TokenStoreWriter> Begin(const std::string& path) {
  auto writer = TokenStoreWriter::Create(path, Published());
  EXPECT_THAT(writer, IsOk());
  return *std::move(writer);
}

void Add(TokenStoreWriter* writer, const Documents& documents) {
  for (const TextDocument& document : documents) {
    ASSERT_THAT(testing::AddTo(writer, document), IsOk());
  }
}

// Windows that are told of changes, or look for them now and then.
absl::StatusOr<DatasetPtr<TokenWindow>> Told(const std::string& path,
                                             GrowthTimes times = {
                                                 milliseconds(300), hours(1)}) {
  auto store = GrowingStore::Open(path, {}, times);
  if (!store.ok()) return store.status();
  return internal::WindowsOfGrowing(*std::move(store), kLength);
}

// Waits until there are so many windows, or an error says `what`; on a busy
// machine, others may be seen before.
absl::Status WaitSoon(const DatasetPtr<TokenWindow>& growing, uint64_t length,
                      const std::string& what) {
  absl::Status status;
  for (int tries = 0; tries < 2000; ++tries) {
    status = RunBlocking(growing->WaitForLength(length)).status();
    const bool is_it = what.empty()
                           ? status.ok()
                           : status.message().find(what) != std::string::npos;
    if (is_it) break;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return status;
}

// Everything that can be asked of window `i` is as in the finished store.
void ExpectSameWindow(const DatasetPtr<TokenWindow>& growing,
                      const DatasetPtr<TokenWindow>& whole, uint64_t i) {
  const Position position = {.index = i};
  const auto got = RunBlocking(growing->GetAt({&position, 1}));
  ASSERT_THAT(got, IsOk());
  EXPECT_EQ((*got)[0].tokens,
            (*RunBlocking(whole->GetAt({&position, 1})))[0].tokens)
      << i;
  const PiecewiseItems& here = *PiecesOf(*growing);
  const PiecewiseItems& there = *PiecesOf(*whole);
  const auto pieces = here.Pieces(position);
  ASSERT_THAT(pieces, IsOk());
  EXPECT_EQ(*pieces, *there.Pieces(position)) << i;
  EXPECT_EQ(here.padding_id(), there.padding_id());
  bool goes_on = false, goes_on_there = false;
  PieceEnds ends, ends_there;
  EXPECT_THAT(here.FindGoesOn(pieces->back(), true, &goes_on),
              IsOkAndHolds(true));
  EXPECT_THAT(there.FindGoesOn(pieces->back(), true, &goes_on_there),
              IsOkAndHolds(true));
  EXPECT_EQ(goes_on, goes_on_there) << i;
  EXPECT_THAT(here.FindEnds(pieces->back(), true, &ends), IsOkAndHolds(true));
  EXPECT_THAT(there.FindEnds(pieces->back(), true, &ends_there),
              IsOkAndHolds(true));
  EXPECT_EQ(ends, ends_there) << i;
  const uint64_t document = pieces->front().document;
  const auto items = here.ItemsOf(document);
  ASSERT_THAT(items, IsOk());
  const auto all = *there.ItemsOf(document);
  EXPECT_TRUE(std::includes(
      all.begin(), all.end(), items->begin(), items->end(),
      [](const auto& a, const auto& b) { return a.item < b.item; }));
}

TEST(GrowingStoreTest, WhatIsReadableIsWhatTheFinishedStoreHas) {
  std::mt19937_64 random(testing::TestSeed(7));
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE(round);
    const TempDir folder;
    std::vector<uint64_t> lengths(60 + random() % 100);
    for (uint64_t& length : lengths) {
      length = random() % 5 == 0 ? 0 : random() % 2000;
    }
    const Documents documents = testing::ProvenDocuments(lengths, 257);
    ASSERT_THAT(testing::WriteStore(folder.path("whole"), documents), IsOk());
    const auto whole = *TokenStore::Open(folder.path("whole"));
    const auto windows = *whole->Windows(kLength);

    const auto writer = Begin(folder.path("s"));
    ASSERT_OK_AND_ASSIGN(const auto growing, Told(folder.path("s")));
    EXPECT_EQ(growing->length_now(), LengthState::Growing(0));
    EXPECT_EQ(growing->item_tokens(), kLength);
    uint64_t added = 0, before = 0;
    while (added < documents.size()) {
      const uint64_t more =
          std::min<uint64_t>(1 + random() % 20, documents.size() - added);
      Add(writer.get(),
          {documents.begin() + added, documents.begin() + added + more});
      added += more;
      ASSERT_THAT(writer->Publish(), IsOk());
      uint64_t tokens = 0;
      for (uint64_t d = 0; d < added; ++d) tokens += documents[d].ids.size();
      // All but the block that is begun, and one token.
      const uint64_t least =
          tokens < 2048 ? 0 : (tokens / 2048 * 2048 - 1) / kLength;
      ASSERT_THAT(RunBlocking(growing->WaitForLength(least)), IsOk());
      const uint64_t now = growing->length_now().readable;
      EXPECT_GE(now, std::max(before, least));
      EXPECT_LE(now * kLength, tokens);
      for (int i = 0; i < 20 && now > 0; ++i) {
        ExpectSameWindow(growing, windows, random() % now);
      }
      if (now > 0) ExpectSameWindow(growing, windows, now - 1);
      EXPECT_EQ(growing->ranges(), nullptr);
      before = now;
    }
    ASSERT_THAT(writer->Finish(), IsOk());
    EXPECT_THAT(RunBlocking(growing->FinalLength()),
                IsOkAndHolds(*windows->CurrentLength()));
    EXPECT_EQ(growing->length_now(), windows->length_now());
    EXPECT_EQ(growing->fingerprint(), windows->fingerprint());
    EXPECT_NE(growing->ranges(), nullptr);
    for (uint64_t i = 0; i < *windows->CurrentLength(); ++i) {
      ExpectSameWindow(growing, windows, i);
    }
    // One that is opened now is that of a store.
    EXPECT_THAT(GrowingWindows(folder.path("s"), kLength), IsOk());
    EXPECT_FALSE(std::filesystem::exists(folder.path("s/scratch-growth.json")));
  }
}

TEST(GrowingStoreTest, NamesOfDocumentsAreThere) {
  const TempDir folder;
  const Documents documents = testing::ProvenDocuments({10, 0, 3000, 7}, 257);
  const auto writer = Begin(folder.path("s"));
  Add(writer.get(), documents);
  ASSERT_THAT(writer->Publish(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store,
                       GrowingStore::Open(folder.path("s"), {}));
  const auto state = store->Now();
  ASSERT_FALSE(state->is_final);
  const TokenSource& source = *state->source;
  ASSERT_EQ(source.num_documents(), 4u);
  EXPECT_EQ(source.num_tokens(), 3017u);
  for (uint64_t d = 0; d < 4; ++d) {
    EXPECT_THAT(source.DocumentName(d), IsOkAndHolds(documents[d].name));
    ASSERT_OK_AND_ASSIGN(const TokenRange range, source.DocumentRange(d));
    // Also in the block that is begun.
    EXPECT_THAT(RunBlocking(source.ReadTokens(range.begin, range.size())),
                IsOkAndHolds(documents[d].ids));
  }
  EXPECT_THAT(source.DocumentName(4),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("4 so far")));
}

TEST(GrowingStoreTest, ReadersWaitUntilTheyAreTold) {
  const internal::OwnedFd inotify(::inotify_init1(IN_CLOEXEC));
  if (!inotify.is_open()) GTEST_SKIP() << "no inotify on this machine";
  const TempDir folder;
  const auto writer = Begin(folder.path("s"));
  ASSERT_OK_AND_ASSIGN(const auto growing,
                       Told(folder.path("s"), {hours(1), hours(1)}));
  std::vector<std::thread> readers;
  for (int r = 0; r < 4; ++r) {
    readers.emplace_back([&growing, r] {
      const auto window = growing->GetBlocking(static_cast<uint64_t>(r) * 20);
      EXPECT_THAT(window, IsOk());
    });
  }
  for (int d = 0; d < 5; ++d) {
    Add(writer.get(), testing::ProvenDocuments({3000}, 257));
    ASSERT_THAT(writer->Publish(), IsOk());
  }
  for (std::thread& reader : readers) reader.join();
}

ptrdiff_t NumWatchers() {
  return std::count_if(
      std::filesystem::directory_iterator("/proc/self/fd"),
      std::filesystem::directory_iterator(), [](const auto& one) {
        std::error_code gone;  // the iterator's own
        return std::filesystem::read_symlink(one, gone) == "anon_inode:inotify";
      });
}

ptrdiff_t NumThreads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

// A thread is listed for a moment after it has ended, and a follower's ends a
// moment after the last look.
void ExpectSoon(const std::function<bool()>& is_so) {
  for (int i = 0; i < 5000 && !is_so(); ++i) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_TRUE(is_so());
}

TEST(GrowingStoreTest, AllStoresShareAThreadAndAWatcher) {
  const internal::OwnedFd inotify(::inotify_init1(IN_CLOEXEC));
  if (!inotify.is_open()) GTEST_SKIP() << "no inotify on this machine";
  constexpr size_t kStores = 20;
  const TempDir folder;
  const ptrdiff_t threads = NumThreads();
  const ptrdiff_t watchers = NumWatchers();
  std::vector<std::unique_ptr<TokenStoreWriter>> writers;
  std::vector<DatasetPtr<TokenWindow>> stores;
  for (size_t i = 0; i < kStores; ++i) {
    const std::string path = folder.path(absl::StrCat("s", i));
    writers.push_back(Begin(path));
    // The first twice: both are told, and one that goes takes nothing along.
    for (size_t time = 0; time < (i == 0 ? 2 : 1); ++time) {
      ASSERT_OK_AND_ASSIGN(auto store, Told(path, {hours(1), hours(1)}));
      stores.push_back(std::move(store));
    }
  }
  EXPECT_EQ(NumThreads(), threads + 1);
  EXPECT_EQ(NumWatchers(), watchers + 1);
  const auto read_all = [&](uint64_t window) {
    for (size_t i = 0; i < kStores; ++i) {
      Add(writers[i].get(), testing::ProvenDocuments({9000}, 257));
      ASSERT_THAT(writers[i]->Publish(), IsOk());
    }
    for (const DatasetPtr<TokenWindow>& store : stores) {
      ASSERT_THAT(store->GetBlocking(window), IsOk());
    }
  };
  read_all(20);
  stores.erase(stores.begin());
  read_all(110);
  // With the last store that grows, not with the last dataset.
  for (const auto& writer : writers) ASSERT_THAT(writer->Finish(), IsOk());
  ExpectSoon(
      [&] { return NumThreads() == threads && NumWatchers() == watchers; });
  // And again.
  const auto late = Begin(folder.path("late"));
  ASSERT_OK_AND_ASSIGN(auto store, Told(folder.path("late")));
  EXPECT_EQ(NumThreads(), threads + 1);
  stores.clear();
  EXPECT_EQ(NumThreads(), threads + 1);
  store.reset();
  ExpectSoon([&] { return NumThreads() == threads; });
}

TEST(GrowingStoreTest, FollowingGivesBackItsDescriptors) {
  const TempDir folder;
  const auto writer = Begin(folder.path("s"));
  const auto before = testing::OpenDescriptors();
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto store, Told(folder.path("s")));
  }
  ExpectSoon([&] { return testing::OpenDescriptors() == before; });
}

// Looks that go and come while another thread follows them.
TEST(FolderFollowerTest, LooksComeAndGo) {
  class CountedLook final : public internal::FolderLook {
   public:
    explicit CountedLook(int most) : most_(most) {}
    std::optional<milliseconds> Look() override {
      if (++count_ < most_) return milliseconds(count_ % 2);
      return std::nullopt;
    }
    int count() const { return count_; }

   private:
    const int most_;
    std::atomic<int> count_ = 0;
  };
  const TempDir folder;
  const auto wait_for = [](const CountedLook& look, int count) {
    while (look.count() < count) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  };
  const auto follower = internal::FolderFollower::OfProcess();
  EXPECT_EQ(follower, internal::FolderFollower::OfProcess());
  CountedLook often(1'000'000);
  CountedLook once(1);
  ASSERT_THAT(follower->Add(&often, folder.path("nowhere")), IsOk());
  ASSERT_THAT(follower->Add(&once, folder.path("")), IsOk());
  wait_for(often, 5);
  wait_for(once, 1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        CountedLook look(3);
        ASSERT_THAT(follower->Add(&look, folder.path("")), IsOk());
        if (i % 2 == 0) wait_for(look, 1);
        follower->Remove(&look);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  follower->Remove(&often);
  const int after = often.count();
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(often.count(), after);
  EXPECT_EQ(once.count(), 1);
  follower->Remove(&once);  // which has ended
}

TEST(GrowingStoreTest, PastTheFinalLengthIsOutOfRange) {
  const TempDir folder;
  const auto writer = Begin(folder.path("s"));
  ASSERT_OK_AND_ASSIGN(const auto growing, Told(folder.path("s")));
  Add(writer.get(), testing::ProvenDocuments({250}, 257));
  std::thread later([&] { EXPECT_THAT(writer->Finish(), IsOk()); });
  EXPECT_THAT(growing->GetBlocking(2),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("2 items")));
  later.join();
  EXPECT_THAT(growing->GetBlocking(1), IsOk());
}

TEST(GrowingStoreTest, WithoutAStoreThereIsAnErrorWithARemedy) {
  const TempDir folder;
  EXPECT_THAT(GrowingWindows(folder.path("none"), kLength),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("none"), HasSubstr("--growing"))));
  // A writer that does not publish.
  const auto writer =
      *TokenStoreWriter::Create(folder.path("s"), testing::ByteOptions());
  EXPECT_THAT(GrowingWindows(folder.path("s"), kLength),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("--growing")));
  EXPECT_THAT(writer->Publish(),
              StatusIs(kFailedPrecondition, HasSubstr("publishes")));
  const auto published = Begin(folder.path("p"));
  EXPECT_THAT(
      GrowingWindows(folder.path("p"), 0),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("length")));
}

TEST(GrowingStoreTest, AStoreThatIsGivenUpIsAnError) {
  const TempDir folder;
  auto writer = Begin(folder.path("s"));
  Add(writer.get(), testing::ProvenDocuments({3000}, 257));
  ASSERT_THAT(writer->Publish(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto growing, Told(folder.path("s")));
  writer.reset();
  EXPECT_THAT(RunBlocking(growing->WaitForLength(100)),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("is gone"), HasSubstr("3000"))));
  EXPECT_THAT(growing->GetBlocking(3), IsOk());  // what was there
}

TEST(GrowingStoreTest, AStoreThatIsBegunAnewIsAnError) {
  const TempDir folder;
  auto writer = Begin(folder.path("s"));
  Add(writer.get(), testing::ProvenDocuments({3000}, 257));
  ASSERT_THAT(writer->Publish(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto growing, Told(folder.path("s")));
  writer.reset();
  writer = Begin(folder.path("s"));
  Add(writer.get(), testing::ProvenDocuments({9000}, 250));
  ASSERT_THAT(writer->Publish(), IsOk());
  EXPECT_THAT(WaitSoon(growing, 50, "anew"),
              StatusIs(kFailedPrecondition, HasSubstr("anew")));
  ASSERT_THAT(writer->Finish(), IsOk());
  EXPECT_THAT(WaitSoon(growing, 50, "anew"),
              StatusIs(kFailedPrecondition, HasSubstr("anew")));
}

TEST(GrowingStoreTest, WithoutAWriterForLongIsAnErrorUntilItGoesOn) {
  const TempDir folder, other;
  auto writer = Begin(folder.path("s"));
  Add(writer.get(), testing::ProvenDocuments({3000}, 257));
  ASSERT_THAT(writer->Publish(), IsOk());
  // As after a kill: the files are there, but nobody holds the lock.
  std::filesystem::copy(folder.path("s"), other.path("s"));
  ASSERT_OK_AND_ASSIGN(
      const auto growing,
      Told(other.path("s"), {milliseconds(5), milliseconds(60)}));
  EXPECT_THAT(
      RunBlocking(growing->WaitForLength(50)),
      StatusIs(kFailedPrecondition, AllOf(HasSubstr("no process writes it"),
                                          HasSubstr("3000 tokens so far"))));
  // Another writer, which holds the lock, and is about to publish.
  const internal::OwnedFd lock =
      *internal::OpenFd(other.path("s/writer.lock"), O_RDWR | O_CREAT);
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  std::this_thread::sleep_for(milliseconds(100));
  std::thread later([&] {
    Add(writer.get(), testing::ProvenDocuments({6000}, 257));
    ASSERT_THAT(writer->Publish(), IsOk());
    for (const char* name : {"tokens-1.bin", "checksums-1.bin", "scratch-ends",
                             "scratch-name-ends", "scratch-names"}) {
      // Into the same file.
      std::ofstream(other.path("s/" + std::string(name)),
                    std::ios::in | std::ios::binary)
          << testing::ReadFile(folder.path("s/" + std::string(name)));
    }
    std::filesystem::copy(folder.path("s/scratch-growth.json"),
                          other.path("s/new"));
    std::filesystem::rename(other.path("s/new"),
                            other.path("s/scratch-growth.json"));
  });
  EXPECT_THAT(WaitSoon(growing, 50, ""), IsOk());
  later.join();
}

TEST(GrowingStoreTest, DamagedBlocksAreAnError) {
  const TempDir folder;
  const auto writer = Begin(folder.path("s"));
  Add(writer.get(), testing::ProvenDocuments({20000}, 257));
  ASSERT_THAT(writer->Publish(), IsOk());
  testing::FlipBit(folder.path("s/tokens-1.bin"), 2 * 5000);  // block 2
  ASSERT_OK_AND_ASSIGN(const auto growing, Told(folder.path("s")));
  EXPECT_THAT(growing->GetBlocking(50),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("tokens-1.bin"), HasSubstr("block 2"),
                             HasSubstr("offset 8192"))));
  EXPECT_THAT(growing->GetBlocking(5), IsOk());
  TokenStoreOptions off;
  off.io.verify = VerifyChecksums::kOff;
  ASSERT_OK_AND_ASSIGN(const auto unchecked,
                       GrowingWindows(folder.path("s"), kLength, off));
  EXPECT_THAT(unchecked->GetBlocking(50), IsOk());
}

TEST(GrowingStoreTest, DamagedStatesAreErrors) {
  const TempDir folder;
  const auto writer = Begin(folder.path("s"));
  Add(writer.get(), testing::ProvenDocuments({3000, 5000}, 257));
  ASSERT_THAT(writer->Publish(), IsOk());
  const std::string path = folder.path("s/scratch-growth.json");
  const std::string text = testing::ReadFile(path);
  for (size_t cut = 0; cut < text.size() - 1; cut += 7) {
    testing::WriteFile(path, text.substr(0, cut));
    EXPECT_THAT(
        GrowingWindows(folder.path("s"), kLength),
        StatusIs(absl::StatusCode::kDataLoss, HasSubstr("scratch-growth.json")))
        << cut;
  }
  for (size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] ^= 0x10;
    testing::WriteFile(path, changed);
    const auto opened = GrowingWindows(folder.path("s"), kLength);
    // White space between members may be any.
    EXPECT_TRUE(!opened.ok() || std::isspace(text[at])) << at;
  }
  testing::WriteFile(path, text);
  // What it promises is not there.
  for (const char* name : {"scratch-ends", "tokens-1.bin", "checksums-1.bin"}) {
    const std::string file = folder.path("s/" + std::string(name));
    const std::string bytes = testing::ReadFile(file);
    std::filesystem::resize_file(file, bytes.size() / 2);
    const auto opened = GrowingWindows(folder.path("s"), kLength);
    if (opened.ok()) {
      EXPECT_THAT((*opened)->GetBlocking(60), ::testing::Not(IsOk())) << name;
    }
    testing::WriteFile(file, bytes);
  }
}

TEST(GrowingStoreTest, AStoreWithALossMaskIsNotPublished) {
  const TempDir folder;
  const auto writer = Begin(folder.path("s"));
  const Documents documents =
      testing::WithProvenLoss(testing::ProvenDocuments({3000}, 257));
  Add(writer.get(), documents);
  EXPECT_THAT(writer->Publish(),
              StatusIs(kFailedPrecondition, HasSubstr("--loss-mask drop")));
  EXPECT_THAT(writer->Finish(), IsOk());
  EXPECT_THAT(testing::ReadStore(folder.path("s")), IsOkAndHolds(documents));
}

TEST(GrowingStoreTest, PublishingChangesNoByteOfTheStore) {
  const TempDir folder;
  const Documents documents =
      testing::ProvenDocuments({3000, 0, 5, 70000, 1}, 257);
  ASSERT_THAT(testing::WriteStore(folder.path("plain"), documents), IsOk());
  const auto writer = Begin(folder.path("s"));
  for (const TextDocument& document : documents) {
    Add(writer.get(), {document});
    ASSERT_THAT(writer->Publish(), IsOk());
  }
  ASSERT_THAT(writer->Finish(), IsOk());
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder.path("s"))) {
    names.push_back(entry.path().filename());
    EXPECT_EQ(testing::ReadFile(entry.path()),
              testing::ReadFile(folder.path("plain/" + names.back())))
        << names.back();
  }
  EXPECT_EQ(names.size(), 4u);
}

TEST(GrowingStoreTest, BlocksThatPublishingCannotServeAreRefused) {
  const TempDir folder;
  TokenStoreWriterOptions options = Published();
  options.block_bytes = 1 << 17;
  EXPECT_THAT(TokenStoreWriter::Create(folder.path("s"), options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("65536")));
}

}  // namespace
}  // namespace poniente
