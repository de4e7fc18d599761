// SPDX-License-Identifier: Apache-2.0
// Datasets with loss masks, as other projects' writers lay them out.

#ifndef PONIENTE_TESTS_FORMATS_MASKED_FILES_H_
#define PONIENTE_TESTS_FORMATS_MASKED_FILES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "poniente/open_token_source.h"
#include "tests/formats/expect_source.h"
#include "tests/formats/megatron_files.h"
#include "tests/formats/npy_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::testing {

using Mask = std::vector<uint8_t>;
using Numbers = std::vector<uint64_t>;

// A dataset of documents, and its mask, in memory.
struct Masked {
  std::vector<int64_t> lengths;
  std::vector<uint32_t> ids;
  Mask has_loss;

  Numbers Ids() const { return {ids.begin(), ids.end()}; }
  Numbers Flags() const { return {has_loss.begin(), has_loss.end()}; }
  // The ids of tokens that have loss, `ignored` for all others.
  Numbers Labels(int64_t ignored = -100) const {
    Numbers labels = Ids();
    for (size_t t = 0; t < labels.size(); ++t) {
      if (has_loss[t] == 0) labels[t] = static_cast<uint64_t>(ignored);
    }
    return labels;
  }
};

inline Masked MadeMasked(uint64_t seed, size_t documents = 60) {
  std::mt19937_64 random(TestSeed(seed));
  Masked made;
  for (size_t d = 0; d < documents; ++d) {
    const int64_t length = static_cast<int64_t>(random() % 90);
    made.lengths.push_back(length);
    for (int64_t t = 0; t < length; ++t) {
      made.ids.push_back(static_cast<uint32_t>(random() % 30000));
      made.has_loss.push_back(random() % 3 == 0);
    }
  }
  return made;
}

// Writes prefix.bin and prefix.idx, as Megatron's IndexedDatasetBuilder does.
inline void WriteMegatron(const std::string& prefix, const Numbers& numbers,
                          const std::vector<int64_t>& lengths,
                          const CodedType& type = {4, 4, "i32"}) {
  MegatronIndex index;
  index.code = type.code;
  index.width = type.width;
  index.lengths = lengths;
  index.documents.emplace();
  for (size_t i = 0; i <= lengths.size(); ++i) {
    index.documents->push_back(static_cast<int64_t>(i));
  }
  WriteFile(prefix + ".idx", index.Bytes());
  WriteFile(prefix + ".bin", LittleBytes(numbers, type.width));
}

inline TokenSourceOptions WithMask(const LossMaskFiles& mask) {
  TokenSourceOptions options;
  options.loss_mask = mask;
  return options;
}

inline LossMaskFiles AllBut(const std::string& path, int64_t no_loss) {
  LossMaskFiles mask;
  mask.path = path;
  mask.no_loss = no_loss;
  return mask;
}

// That the source has these tokens and this mask, whatever is read of it.
inline void ExpectMasked(const TokenSource& source, const Masked& made) {
  ExpectTokens(source, made.ids);
  ASSERT_TRUE(source.has_loss_mask());
  ASSERT_OK_AND_ASSIGN(const Mask all, RunBlocking(source.ReadLossMask(
                                           0, made.has_loss.size())));
  EXPECT_EQ(all, made.has_loss);
  std::mt19937_64 random(TestSeed(7));
  for (int turn = 0; turn < 100; ++turn) {
    const uint64_t begin = random() % (made.ids.size() + 1);
    const uint64_t count = random() % (made.ids.size() - begin + 1);
    ASSERT_OK_AND_ASSIGN(const Mask part,
                         RunBlocking(source.ReadLossMask(begin, count)));
    const auto from = made.has_loss.begin() + static_cast<ptrdiff_t>(begin);
    ASSERT_EQ(part, Mask(from, from + static_cast<ptrdiff_t>(count)));
  }
}

// A folder for the files of one dataset.
class MaskedFilesTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return dir_.path(name); }
  absl::Status Error(const std::string& name, const LossMaskFiles& mask) const {
    return OpenTokenSource(path(name), WithMask(mask)).status();
  }

  const TempDir dir_;
  const Masked made_ = MadeMasked(11);
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_FORMATS_MASKED_FILES_H_
