// SPDX-License-Identifier: Apache-2.0
// The test vectors of a page of docs/, so that what a second implementation is
// checked against is what this one does.

#ifndef PONIENTE_TESTS_INDEX_DOC_VECTORS_H_
#define PONIENTE_TESTS_INDEX_DOC_VECTORS_H_

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace poniente::testing {

using Words = std::vector<std::string>;

// "keyword argument ...: expected ..."; a line that begins with two spaces goes
// on with what the one before it expects.
struct DocVector {
  std::string line;
  Words arguments;  // without the keyword
  Words expected;
};

// Reads the blocks marked "vectors" of docs/`page`, by keyword.
inline std::multimap<std::string, DocVector> ReadVectors(
    const std::string& page) {
  std::multimap<std::string, DocVector> vectors;
  std::ifstream document(absl::StrCat(PONIENTE_SOURCE_DIR "/docs/", page));
  auto last = vectors.end();
  bool is_inside = false;
  for (std::string line; std::getline(document, line);) {
    if (line == "```vectors") {
      is_inside = true;
    } else if (line == "```") {
      is_inside = false;
    } else if (is_inside && absl::StartsWith(line, "  ")) {
      for (const auto word : absl::StrSplit(line.substr(2), ' ')) {
        last->second.expected.emplace_back(word);
      }
    } else if (is_inside) {
      const size_t colon = line.find(": ");
      Words left = absl::StrSplit(line.substr(0, colon), ' ');
      const std::string keyword = left.front();
      left.erase(left.begin());
      last = vectors.emplace(
          keyword,
          DocVector{line, left, absl::StrSplit(line.substr(colon + 2), ' ')});
    }
  }
  return vectors;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_INDEX_DOC_VECTORS_H_
