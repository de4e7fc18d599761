// SPDX-License-Identifier: Apache-2.0
#include "store/catalog/tokenizer_origin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "poniente/catalog.h"
#include "store/write/store_builder.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

using ::testing::AllOf;
using testing::ByteOptions;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::ProvenDocuments;
using testing::TempDir;

class TokenizerOriginTest : public ::testing::Test {
 protected:
  // A store whose ids this library made, as those of this tokenizer.
  std::string Write(const std::string& name, const std::string& library,
                    const std::string& tokenizer = "t") const {
    TokenStoreWriterOptions options = ByteOptions();
    options.vocabulary.tokenizer = tokenizer;
    options.tokenizer_library = library;
    EXPECT_THAT(testing::WriteStore(folder_.path(name),
                                    ProvenDocuments({9}, 257), options),
                IsOk());
    return folder_.path(name);
  }
  std::shared_ptr<const TokenSource> Open(const std::string& path) const {
    auto store = TokenStore::Open(path);
    EXPECT_THAT(store, IsOk());
    return *std::move(store);
  }
  std::shared_ptr<const TokenSource> Join(const std::string& path) const {
    EXPECT_THAT(StoreCatalog::Write(path), IsOk());
    const auto catalog = StoreCatalog::Open(path);
    EXPECT_THAT(catalog, IsOk());
    auto joined = catalog->OpenJoined();
    EXPECT_THAT(joined, IsOk());
    return *std::move(joined);
  }
  static std::vector<LibraryDifference> Differences(
      const std::vector<std::shared_ptr<const TokenSource>>& sources) {
    std::vector<const TokenSource*> all;
    for (const auto& source : sources) all.push_back(source.get());
    return LibraryDifferences(all);
  }

  const TempDir folder_;
};

TEST_F(TokenizerOriginTest, TwoVersionsOfATokenizerAreOneDifference) {
  const auto a = Open(Write("a", "lib 1"));
  const auto same = Open(Write("same", "lib 1"));
  const auto b = Open(Write("b", "lib 2"));
  const auto c = Open(Write("c", "lib 2"));
  const auto found = Differences({a, same, b, c});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].source, 2u);
  EXPECT_THAT(found[0].text,
              AllOf(HasSubstr("'" + b->path() + "'"), HasSubstr("'lib 2'"),
                    HasSubstr("'" + a->path() + "'"), HasSubstr("'lib 1'"),
                    HasSubstr("tokenizer 't'"), HasSubstr("again")));
}

TEST_F(TokenizerOriginTest, WhatIsNotKnownOrOfAnotherTokenizerIsNotCompared) {
  EXPECT_THAT(Differences({Open(Write("a", "lib 1")), Open(Write("b", "")),
                           Open(Write("c", "lib 2", "other"))}),
              IsEmpty());
}

TEST_F(TokenizerOriginTest, StoresOfACatalogueAreCompared) {
  Write("parts/p", "lib 1");
  Write("parts/q", "lib 2");
  const auto joined = Join(folder_.path("parts"));
  EXPECT_EQ(joined->tokenizer_library(), "");
  const auto found = Differences({Open(Write("a", "lib 1")), joined});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].source, 1u);
  EXPECT_THAT(found[0].text, HasSubstr("parts/q'"));
  Write("parts/q", "lib 1");
  EXPECT_EQ(Join(folder_.path("parts"))->tokenizer_library(), "lib 1");
}

TEST_F(TokenizerOriginTest, TheModelIsReadFromTheManifest) {
  const std::string path = folder_.path("parts/s");
  auto manifest = ManifestToWrite(path, ByteOptions());
  ASSERT_THAT(manifest, IsOk());
  manifest->tokenizer_model = {"/models/m.model", 42};
  auto builder = StoreBuilder::Create(path, *manifest);
  ASSERT_THAT(builder, IsOk());
  ASSERT_THAT((*builder)->Finish(), IsOk());
  const std::shared_ptr<const TokenSource> sources[] = {
      Open(path), Join(folder_.path("parts"))};
  for (const auto& source : sources) {
    const auto found = ModelOf(*source);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->model, (TokenizerModel{"/models/m.model", 42}));
    EXPECT_EQ(found->store, path);
  }
  // A catalogue does not list the model; the sizes are the same all the same.
  EXPECT_EQ(sources[0]->num_bytes(), sources[1]->num_bytes());
  EXPECT_EQ(ModelOf(*Open(Write("a", "lib 1"))), std::nullopt);
}

}  // namespace
}  // namespace poniente::internal
