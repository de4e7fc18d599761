// SPDX-License-Identifier: Apache-2.0
// A folder that stands for the root, with a made-up /proc and /sys.

#ifndef PONIENTE_TESTS_SUPPORT_MADE_UP_SYSTEM_H_
#define PONIENTE_TESTS_SUPPORT_MADE_UP_SYSTEM_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_dir.h"

namespace poniente::testing {

class MadeUpSystem : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root() + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  const std::string& root() const { return dir_.path(); }

 private:
  TempDir dir_;
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_SUPPORT_MADE_UP_SYSTEM_H_
