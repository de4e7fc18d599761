// SPDX-License-Identifier: Apache-2.0
#include "poniente/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/store/small_stores.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::Documents;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::Not;
using testing::OpenDescriptors;
using testing::ProvenDocuments;
using testing::ReadStore;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteStore;
using Kind = CatalogFinding::Kind;

// Stores "a", "deep/er/b" and "deep-c", and what was written to them.
class CatalogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Add("a", {40, 0, 3});
    Add("deep/er/b", {1000});
    Add("deep-c", {});
  }

  void Add(const std::string& name, const std::vector<uint64_t>& lengths) {
    contents_[name] = ProvenDocuments(lengths, 257);
    ASSERT_THAT(WriteStore(path(name), contents_[name]), IsOk());
  }

  std::string path() const { return folder_.path(); }
  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string file() const { return path(StoreCatalog::kFileName); }

  StoreCatalog WriteAndOpen() const {
    EXPECT_THAT(StoreCatalog::Write(path()), IsOk());
    auto catalog = StoreCatalog::Open(path());
    EXPECT_THAT(catalog, IsOk());
    return *std::move(catalog);
  }

  const TempDir folder_;
  std::map<std::string, Documents> contents_;
};

std::vector<std::string> PathsIn(const StoreCatalog& catalog) {
  std::vector<std::string> paths;
  for (const CatalogEntry& entry : catalog.entries()) {
    paths.push_back(entry.path);
  }
  return paths;
}

TEST_F(CatalogTest, SaysWhatTheStoresSay) {
  ASSERT_OK_AND_ASSIGN(const auto written, StoreCatalog::Write(path() + "//"));
  EXPECT_EQ(written.stores, 3u);
  EXPECT_EQ(written.tokens, 1043u);
  EXPECT_EQ(written.documents, 4u);
  EXPECT_THAT(written.others, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const StoreCatalog catalog,
                       StoreCatalog::Open(path() + "/"));
  EXPECT_EQ(catalog.folder(), path());
  // '-' sorts before '/'.
  EXPECT_THAT(PathsIn(catalog), ElementsAre("a", "deep-c", "deep/er/b"));
  uint64_t bytes = 0;
  for (const CatalogEntry& entry : catalog.entries()) {
    ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(path(entry.path)));
    EXPECT_EQ(entry.vocabulary, store->vocabulary());
    EXPECT_EQ(entry.token_type, store->token_type());
    EXPECT_EQ(entry.end_of_document, store->end_of_document());
    EXPECT_EQ(entry.tokens, store->num_tokens());
    EXPECT_EQ(entry.documents, store->num_documents());
    EXPECT_EQ(entry.bytes, store->num_bytes());
    EXPECT_EQ(entry.fingerprint, store->fingerprint());
    EXPECT_EQ(catalog.Find(entry.path), &entry);
    bytes += entry.bytes;
  }
  EXPECT_EQ(written.bytes, bytes);
  EXPECT_EQ(catalog.Find("deep"), nullptr);
  EXPECT_EQ(catalog.Find("./a"), nullptr);
}

TEST_F(CatalogTest, StoresOpenWithoutALookAtThemAndReadTheSame) {
  const StoreCatalog catalog = WriteAndOpen();
  fs::rename(path("a"), path("elsewhere"));
  const size_t descriptors = OpenDescriptors();
  ASSERT_OK_AND_ASSIGN(const auto a, catalog.OpenStore("a"));
  ASSERT_OK_AND_ASSIGN(const auto all, catalog.OpenAll());
  EXPECT_EQ(OpenDescriptors(), descriptors);
  EXPECT_EQ(a->path(), path("a"));
  EXPECT_EQ(a->num_tokens(), 43u);
  ASSERT_OK_AND_ASSIGN(const auto windows, a->Windows(10));
  EXPECT_EQ(*windows->CurrentLength(), 4u);
  EXPECT_THAT(ReadStore(*a), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      HasSubstr("no manifest.json")));
  fs::rename(path("elsewhere"), path("a"));
  ASSERT_EQ(all.size(), 3u);
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_OK_AND_ASSIGN(const Documents read, ReadStore(*all[i]));
    EXPECT_EQ(read, contents_.at(catalog.entries()[i].path));
    EXPECT_THAT(VerifyTokenStore(*all[i]), IsOk());
  }
  EXPECT_THAT(ReadStore(*a), IsOk()) << "a later read tries again";
}

TEST_F(CatalogTest, AStoreThatItDoesNotListIsNotFound) {
  const StoreCatalog catalog = WriteAndOpen();
  for (const char* none : {"", "b", "a/", "deep", "../a", "zzz"}) {
    EXPECT_THAT(catalog.OpenStore(none),
                StatusIs(absl::StatusCode::kNotFound,
                         AllOf(HasSubstr("poniente catalog " + path()))))
        << none;
    EXPECT_THAT(catalog.CheckStore(none),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("lists 3")));
  }
}

TEST_F(CatalogTest, OnlyWholeStoresAreListed) {
  fs::create_directory(path("unfinished"));
  testing::WriteFile(path("unfinished/tokens-1.bin"), "xxxx");
  fs::create_directories(path("web/inside"));
  testing::WriteFile(path("web/manifest.json"), R"({"name":"app"})");
  fs::create_directories(path("large"));
  testing::WriteFile(path("large/manifest.json"), std::string(100'000, ' '));
  Add("web/inside/store", {5});
  fs::create_directory_symlink(path("a"), path("link"));
  fs::create_directory_symlink(path(), path("deep/circle"));
  fs::create_directory_symlink(path("nowhere"), path("broken"));
  ASSERT_OK_AND_ASSIGN(const auto written, StoreCatalog::Write(path()));
  EXPECT_THAT(written.others, ElementsAre("large", "web"));
  ASSERT_OK_AND_ASSIGN(const StoreCatalog catalog, StoreCatalog::Open(path()));
  EXPECT_THAT(PathsIn(catalog), ElementsAre("a", "deep-c", "deep/er/b", "link",
                                            "web/inside/store"));
}

TEST_F(CatalogTest, NamesOfAnyBytesAreKept) {
  const std::vector<std::string> names = {"tab\there", "line\nbreak", "back\\s",
                                          "cr\rx",     "\xff\xfe",    " b "};
  for (const std::string& name : names) Add(name, {7});
  const StoreCatalog catalog = WriteAndOpen();
  for (const std::string& name : names) {
    ASSERT_OK_AND_ASSIGN(const auto store, catalog.OpenStore(name));
    EXPECT_THAT(ReadStore(*store), IsOk()) << name;
  }
}

TEST_F(CatalogTest, DamagedStoresAreAllNamedAndNothingIsWritten) {
  ASSERT_THAT(StoreCatalog::Write(path()), IsOk());
  const std::string before = testing::ReadFile(file());
  fs::resize_file(path("a/tokens-1.bin"), 100);
  fs::remove(path("deep/er/b/documents-1.bin"));
  testing::WriteFile(path("deep-c/manifest.json"), "");
  EXPECT_THAT(StoreCatalog::Write(path()),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("a/tokens-1.bin' has 100 bytes"),
                             HasSubstr("deep/er/b' is missing"),
                             HasSubstr("deep-c/manifest.json'"))));
  EXPECT_EQ(testing::ReadFile(file()), before);
  // Nor is anything left.
  for (const auto& entry : fs::directory_iterator(path())) {
    EXPECT_THAT(entry.path().string(), Not(HasSubstr(".tmp")));
  }
}

TEST_F(CatalogTest, FoldersThatCannotHoldOneSaySo) {
  EXPECT_THAT(StoreCatalog::Write(path("a")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is itself a token store")));
  EXPECT_THAT(StoreCatalog::Write(path("none")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(StoreCatalog::Write(path("a/manifest.json")), Not(IsOk()));
  EXPECT_THAT(
      StoreCatalog::Open(path()),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("`poniente catalog ")));
  EXPECT_FALSE(StoreCatalog::IsIn(path()));
  fs::create_directory(file());
  EXPECT_THAT(StoreCatalog::Open(path()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no catalogue")));
  EXPECT_THAT(StoreCatalog::Write(path()), Not(IsOk()));
}

// An empty one would hide whatever else the folder holds.
TEST_F(CatalogTest, AFolderWithoutStoresGetsNoCatalogue) {
  fs::create_directory(path("empty"));
  EXPECT_THAT(StoreCatalog::Write(path("empty")),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("no token store below '"),
                             HasSubstr("poniente pack"))));
  EXPECT_TRUE(fs::is_empty(path("empty")));
  ASSERT_THAT(StoreCatalog::Write(path()), IsOk());
  const std::string before = testing::ReadFile(file());
  for (const auto& entry : fs::directory_iterator(path())) {
    if (entry.is_directory()) fs::remove_all(entry.path());
  }
  EXPECT_THAT(StoreCatalog::Write(path()),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("or remove '" + file() + "', if those")));
  EXPECT_EQ(testing::ReadFile(file()), before);
}

TEST_F(CatalogTest, MissingPartsOfACorpusAreNamed) {
  for (const char* store :
       {"web/part-00000-of-00004", "web/part-00003-of-00004",
        "web/part-x-of-00002", "web/part-00001-of-00001",
        "all/part-00000-of-00002", "all/part-00001-of-00002"}) {
    Add(store, {4});
  }
  ASSERT_OK_AND_ASSIGN(const auto written, StoreCatalog::Write(path()));
  EXPECT_THAT(written.missing_parts,
              ElementsAre("2 of 4 parts are missing, the first is "
                          "'web/part-00001-of-00004'"));
}

// A disk that is full, as far as this process is concerned.
class NoRoom {
 public:
  NoRoom() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    old_ = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit none = {100, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~NoRoom() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, old_);
  }
  NoRoom(const NoRoom&) = delete;
  NoRoom& operator=(const NoRoom&) = delete;

 private:
  rlimit before_ = {};
  void (*old_)(int) = nullptr;
};

TEST_F(CatalogTest, OneThatCannotBeWrittenLeavesTheOneBefore) {
  ASSERT_THAT(StoreCatalog::Write(path()), IsOk());
  const std::string before = testing::ReadFile(file());
  Add("new", {4});
  absl::Status written;
  {
    const NoRoom no_room;
    written = StoreCatalog::Write(path()).status();
  }
  EXPECT_THAT(written, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("poniente-catalog.tsv")));
  EXPECT_EQ(testing::ReadFile(file()), before);
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(path())) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files, 1u);
}

// ---- Stores that are not what the catalogue says.

struct StaleCase {
  const char* name;
  // What happens to store "a" of `folder`.
  std::function<void(const std::string& folder)> change;
  absl::StatusCode code;
  const char* words;
  Kind kind = Kind::kStale;
};

void Touch(const std::string& path) {
  fs::last_write_time(path,
                      fs::last_write_time(path) + std::chrono::seconds(5));
}

void Replace(const std::string& folder, const Documents& documents) {
  ASSERT_THAT(WriteStore(folder + "/a", documents), IsOk());
}

// Puts another store there, made anew, whose times are those of the old files.
void ReplaceUnseen(const std::string& folder, const Documents& documents) {
  std::map<std::string, fs::file_time_type> times;
  for (const auto& entry : fs::directory_iterator(folder + "/a")) {
    times[entry.path().filename()] = entry.last_write_time();
  }
  fs::remove_all(folder + "/a");
  Replace(folder, documents);
  for (const auto& [name, time] : times) {
    fs::last_write_time(folder + "/a/" + name, time);
  }
}

class StaleCatalogTest : public CatalogTest,
                         public ::testing::WithParamInterface<StaleCase> {};

TEST_P(StaleCatalogTest, IsFoundAtTheFirstReadAndNotBefore) {
  const StaleCase& tested = GetParam();
  ASSERT_NO_FATAL_FAILURE(WriteAndOpen());
  tested.change(path());
  ASSERT_OK_AND_ASSIGN(const StoreCatalog catalog, StoreCatalog::Open(path()));
  const auto stale = AllOf(HasSubstr(path("a")), HasSubstr(tested.words),
                           HasSubstr("run `poniente catalog " + path() + "`"));
  // Tokens, and documents, whichever is read first.
  ASSERT_OK_AND_ASSIGN(const auto tokens, catalog.OpenStore("a"));
  EXPECT_THAT(RunBlocking(tokens->ReadTokens(0, 5)),
              StatusIs(tested.code, stale));
  ASSERT_OK_AND_ASSIGN(const auto documents, catalog.OpenStore("a"));
  EXPECT_THAT(documents->DocumentRange(0), StatusIs(tested.code, stale));
  EXPECT_THAT(catalog.CheckStore("a"), StatusIs(tested.code, stale));
  ASSERT_OK_AND_ASSIGN(const auto findings, catalog.Compare());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].path, "a");
  EXPECT_EQ(findings[0].kind, tested.kind);
  EXPECT_THAT(findings[0].status, StatusIs(tested.code, stale));
  // The others are as they were.
  ASSERT_OK_AND_ASSIGN(const auto b, catalog.OpenStore("deep/er/b"));
  EXPECT_THAT(ReadStore(*b), IsOk());
}

const Documents& SameLengths() {
  static const auto* const documents = [] {
    auto* made = new Documents(ProvenDocuments({40, 0, 3}, 257));
    std::reverse(made->front().ids.begin(), made->front().ids.end());
    return made;
  }();
  return *documents;
}

INSTANTIATE_TEST_SUITE_P(
    Changes, StaleCatalogTest,
    ::testing::Values(
        StaleCase{"ReplacedByAWriter",
                  [](const std::string& folder) {
                    Replace(folder, ProvenDocuments({9}, 257));
                  },
                  absl::StatusCode::kFailedPrecondition,
                  "it has 9 tokens, not 43"},
        StaleCase{
            "ReplacedByOneOfEqualSize",
            [](const std::string& folder) { Replace(folder, SameLengths()); },
            absl::StatusCode::kFailedPrecondition, "its fingerprint is"},
        StaleCase{"ReplacedByOneOfEqualSizeAndTimes",
                  [](const std::string& folder) {
                    ReplaceUnseen(folder, SameLengths());
                  },
                  absl::StatusCode::kFailedPrecondition, "its fingerprint is"},
        StaleCase{"WrittenAgainTheSame",
                  [](const std::string& folder) {
                    Replace(folder, ProvenDocuments({40, 0, 3}, 257));
                  },
                  absl::StatusCode::kFailedPrecondition,
                  "manifest.json was written"},
        StaleCase{"ManifestTouched",
                  [](const std::string& folder) {
                    Touch(folder + "/a/manifest.json");
                  },
                  absl::StatusCode::kFailedPrecondition,
                  "manifest.json was written"},
        StaleCase{"ManifestFormattedAnew",
                  [](const std::string& folder) {
                    const std::string path = folder + "/a/manifest.json";
                    testing::WriteFile(path, testing::ReadFile(path) + "\n\n");
                  },
                  absl::StatusCode::kFailedPrecondition,
                  "the fingerprint is the same"},
        StaleCase{"TokensTouched",
                  [](const std::string& folder) {
                    Touch(folder + "/a/tokens-1.bin");
                  },
                  absl::StatusCode::kFailedPrecondition,
                  "tokens-1.bin was written"},
        StaleCase{"DocumentsTouched",
                  [](const std::string& folder) {
                    Touch(folder + "/a/documents-1.bin");
                  },
                  absl::StatusCode::kFailedPrecondition,
                  "documents-1.bin was written"},
        StaleCase{"ChecksumsTouched",
                  [](const std::string& folder) {
                    Touch(folder + "/a/checksums-1.bin");
                  },
                  absl::StatusCode::kFailedPrecondition,
                  "checksums-1.bin was written"},
        StaleCase{"TokensCutShort",
                  [](const std::string& folder) {
                    fs::resize_file(folder + "/a/tokens-1.bin", 10);
                  },
                  absl::StatusCode::kDataLoss, "cut short"},
        StaleCase{"DocumentsGrown",
                  [](const std::string& folder) {
                    fs::resize_file(folder + "/a/documents-1.bin", 10'000);
                  },
                  absl::StatusCode::kDataLoss, "10000 bytes"},
        StaleCase{"ChecksumsMissing",
                  [](const std::string& folder) {
                    fs::remove(folder + "/a/checksums-1.bin");
                  },
                  absl::StatusCode::kDataLoss, "is missing"},
        StaleCase{
            "Removed",
            [](const std::string& folder) { fs::remove_all(folder + "/a"); },
            absl::StatusCode::kFailedPrecondition, "no manifest.json any more",
            Kind::kMissing}),
    [](const ::testing::TestParamInfo<StaleCase>& tested) {
      return tested.param.name;
    });

TEST_F(CatalogTest, CompareNamesWhatIsStaleMissingAndNewInOrder) {
  const StoreCatalog catalog = WriteAndOpen();
  ASSERT_OK_AND_ASSIGN(const auto none, catalog.Compare());
  EXPECT_THAT(none, IsEmpty());
  Touch(path("deep/er/b/manifest.json"));
  fs::remove_all(path("a"));
  Add("c", {1});
  ASSERT_OK_AND_ASSIGN(const auto findings, catalog.Compare());
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].path, "a");
  EXPECT_EQ(findings[0].kind, Kind::kMissing);
  EXPECT_EQ(findings[1].path, "c");
  EXPECT_EQ(findings[1].kind, Kind::kNew);
  EXPECT_THAT(findings[1].status,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is not in the catalogue")));
  EXPECT_EQ(findings[2].path, "deep/er/b");
  EXPECT_EQ(findings[2].kind, Kind::kStale);
}

TEST_F(CatalogTest, AnOpenedStoreGoesOnWhenAWriterReplacesIt) {
  const StoreCatalog catalog = WriteAndOpen();
  ASSERT_OK_AND_ASSIGN(const auto store, catalog.OpenStore("a"));
  ASSERT_OK_AND_ASSIGN(const Documents before, ReadStore(*store));
  Replace(path(), ProvenDocuments({9}, 257));
  EXPECT_EQ(*ReadStore(*store), before);
}

TEST_F(CatalogTest, ManyThreadsMayReadStoresFirst) {
  const StoreCatalog catalog = WriteAndOpen();
  for (int round = 0; round < 20; ++round) {
    ASSERT_OK_AND_ASSIGN(const auto all, catalog.OpenAll());
    std::vector<absl::StatusOr<Documents>> read(8, absl::UnknownError(""));
    {
      std::vector<std::jthread> threads;
      for (size_t t = 0; t < read.size(); ++t) {
        threads.emplace_back(
            [&, t] { read[t] = ReadStore(*all[t % all.size()]); });
      }
    }
    for (size_t t = 0; t < read.size(); ++t) {
      ASSERT_THAT(read[t], IsOk());
      EXPECT_EQ(*read[t], contents_.at(catalog.entries()[t % 3].path));
    }
  }
}

// ---- OpenStores().

TEST_F(CatalogTest, OpenStoresGivesThemInTheOrderOfTheirPaths) {
  const std::vector<std::string> paths = {path("deep-c"), path("a"),
                                          path("deep/er/b"), path("a")};
  const size_t descriptors = OpenDescriptors();
  ASSERT_OK_AND_ASSIGN(const auto stores, OpenStores(paths));
  EXPECT_EQ(OpenDescriptors(), descriptors);
  ASSERT_EQ(stores.size(), 4u);
  EXPECT_EQ(*ReadStore(*stores[1]), contents_["a"]);
  EXPECT_EQ(*ReadStore(*stores[2]), contents_["deep/er/b"]);
  EXPECT_EQ(stores[0]->path(), path("deep-c"));
  ASSERT_OK_AND_ASSIGN(const auto none, OpenStores({}));
  EXPECT_THAT(none, IsEmpty());
}

TEST_F(CatalogTest, OpenStoresTellsOfAllThatFail) {
  testing::WriteFile(path("deep-c/manifest.json"), "{");
  const std::vector<std::string> paths = {path("none"), path("a"),
                                          path("deep-c")};
  EXPECT_THAT(OpenStores(paths),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("no token store at '" + path("none")),
                             HasSubstr("\n"), HasSubstr("deep-c"))));
  const std::vector<std::string> many(250, path("none"));
  EXPECT_THAT(OpenStores(many), StatusIs(absl::StatusCode::kNotFound,
                                         HasSubstr("and 247 more like these")));
}

TEST_F(CatalogTest, OpenStoresLeavesFilesToTheFirstRead) {
  const std::vector<std::string> paths = {path("a"), path("deep/er/b")};
  ASSERT_OK_AND_ASSIGN(const auto stores, OpenStores(paths));
  fs::resize_file(path("a/tokens-1.bin"), 10);
  Replace(path("deep") + "/er/b/..", ProvenDocuments({1}, 257));
  EXPECT_THAT(
      ReadStore(*stores[0]),
      StatusIs(absl::StatusCode::kDataLoss,
               AllOf(HasSubstr("cut short"), Not(HasSubstr("catalog")))));
  ASSERT_THAT(WriteStore(path("deep/er/b"), contents_["a"]), IsOk());
  EXPECT_THAT(
      ReadStore(*stores[1]),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("was opened"), HasSubstr("open it again"))));
}

// ---- Ten thousand.

TEST_F(CatalogTest, TenThousandStoresOpenFromOneFile) {
  constexpr int kStores = 10'000;
  fs::create_directory(path("many"));
  for (int i = 0; i < kStores; ++i) {
    const std::string to = path(absl::StrCat("many/", i));
    fs::create_directory(to);
    for (const char* name : {"/manifest.json", "/tokens-1.bin",
                             "/documents-1.bin", "/checksums-1.bin"}) {
      fs::create_hard_link(path("a") + name, to + name);
    }
  }
  ASSERT_OK_AND_ASSIGN(const auto written, StoreCatalog::Write(path("many")));
  EXPECT_EQ(written.stores, static_cast<uint64_t>(kStores));
  const size_t descriptors = OpenDescriptors();
  ASSERT_OK_AND_ASSIGN(const auto catalog, StoreCatalog::Open(path("many")));
  ASSERT_OK_AND_ASSIGN(const auto stores, catalog.OpenAll());
  ASSERT_EQ(stores.size(), static_cast<size_t>(kStores));
  EXPECT_EQ(OpenDescriptors(), descriptors);
  EXPECT_EQ(stores[2]->path(), path("many/10"));  // bytewise: 0, 1, 10, 100
  for (size_t i = 0; i < stores.size(); i += 997) {
    EXPECT_EQ(*ReadStore(*stores[i]), contents_["a"]);
  }
}

}  // namespace
}  // namespace poniente
