// SPDX-License-Identifier: Apache-2.0
// What every AsyncDataset must do, checked on any that gives uint64_t.

#ifndef PONIENTE_TESTS_SUPPORT_DATASET_CONFORMANCE_H_
#define PONIENTE_TESTS_SUPPORT_DATASET_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "poniente/async_dataset.h"

namespace poniente::testing {

struct DatasetCase {
  std::string name;
  std::function<DatasetPtr<uint64_t>()> make;
  // Final length; nullopt: endless.
  std::optional<uint64_t> length;
};

inline void PrintTo(const DatasetCase& c, std::ostream* out) { *out << c.name; }

class DatasetConformanceTest : public ::testing::TestWithParam<DatasetCase> {
 protected:
  // Some indices that exist.
  uint64_t readable() const {
    return std::min<uint64_t>(GetParam().length.value_or(1000), 1000);
  }
};

inline std::string CaseName(const ::testing::TestParamInfo<DatasetCase>& info) {
  return info.param.name;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_SUPPORT_DATASET_CONFORMANCE_H_
