// SPDX-License-Identifier: Apache-2.0
#include "formats/core/json_values.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/status_matchers.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::IsOk;
using ::poniente::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Visited(std::string_view text) {
  std::vector<std::string> seen;
  EXPECT_THAT(
      VisitJson("a.json", text,
                [&seen](std::span<const std::string> at, const JsonValue& v) {
                  std::string line = absl::StrJoin(at, "/");
                  switch (v.kind) {
                    case JsonValue::Kind::kOther:
                      line += "=other";
                      break;
                    case JsonValue::Kind::kNumber:
                      line += v.integer ? absl::StrCat("=", *v.integer) : "=x";
                      break;
                    case JsonValue::Kind::kText:
                      absl::StrAppend(&line, "='", Absl(v.text), "'");
                      break;
                    case JsonValue::Kind::kList:
                      line += "=[]";
                      break;
                    case JsonValue::Kind::kObject:
                      line += "={}";
                      break;
                  }
                  seen.push_back(line);
                }),
      IsOk());
  return seen;
}

TEST(JsonValuesTest, ValuesComeInOrderWithTheirKeys) {
  EXPECT_THAT(
      Visited(R"({"a": [1, "x", {"b": null}, []], "c": -1, "d": 1.5,
                          "e": true, "f": 18446744073709551615})"),
      ElementsAre("={}", "a=[]", "a/0=1", "a/1='x'", "a/2={}", "a/2/b=other",
                  "a/3=[]", "c=x", "d=x", "e=other", "f=18446744073709551615"));
  EXPECT_THAT(Visited("7"), ElementsAre("=7"));
}

TEST(JsonValuesTest, WhatIsNestedDeepIsLeftOut) {
  EXPECT_THAT(Visited("[[[[[[[[0,[1]],2]]]]]]]"),
              ElementsAre("=[]", "0=[]", "0/0=[]", "0/0/0=[]", "0/0/0/0=[]",
                          "0/0/0/0/0=[]", "0/0/0/0/0/0=[]", "0/0/0/0/0/0/0=[]",
                          "0/0/0/0/0/0/0/0=0", "0/0/0/0/0/0/0/1=[]",
                          "0/0/0/0/0/0/1=2"));
}

TEST(JsonValuesTest, WhatIsNoJsonIsAnErrorWithItsPlace) {
  for (const char* text : {"", "{", "{\"a\":1,}", "[1]]", "\"\xff\"", "nul"}) {
    const auto none = [](std::span<const std::string>, const JsonValue&) {};
    EXPECT_THAT(VisitJson("a.json", text, none),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr("'a.json': no JSON at byte ")));
  }
}

}  // namespace
}  // namespace poniente::internal
