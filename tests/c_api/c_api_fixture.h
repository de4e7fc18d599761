// SPDX-License-Identifier: Apache-2.0
// A run of two stores behind the C interface, with handles that free
// themselves.

#ifndef PONIENTE_TESTS_C_API_C_API_FIXTURE_H_
#define PONIENTE_TESTS_C_API_C_API_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "poniente/poniente_c.h"
#include "tests/config/small_stores.h"

namespace poniente::testing {

inline constexpr char kRun[] = R"([data]
seed = 42
steps = 30
batch_size = 6
seq_len = 20
[data.mixture]
a = { weight = 0.5, path = "a" }
b = { weight = 0.5, path = "b" }
[[data.stages]]
name = "end"
start_step = 20
lr_scale = 0.5
)";

struct CloseLoader {
  void operator()(poniente_loader* loader) const {
    poniente_loader_close(loader);
  }
};
using LoaderPtr = std::unique_ptr<poniente_loader, CloseLoader>;
struct ReleaseBatch {
  void operator()(poniente_batch* batch) const {
    poniente_batch_release(batch);
  }
};
using BatchPtr = std::unique_ptr<poniente_batch, ReleaseBatch>;

// Fails the test with the library's words unless the call succeeds.
#define ASSERT_DONE(call) \
  ASSERT_EQ(call, PONIENTE_OK) << #call << ": " << poniente_last_error()
#define EXPECT_ERROR(call, code, text)                     \
  do {                                                     \
    EXPECT_STREQ(poniente_code_name(call), #code);         \
    EXPECT_THAT(std::string(poniente_last_error()), text); \
  } while (false)

inline poniente_options Options() {
  poniente_options options;
  EXPECT_EQ(poniente_options_init(&options, sizeof options), PONIENTE_OK);
  return options;
}

inline poniente_tensor Tokens(const poniente_batch* batch) {
  poniente_tensor tensor = {};
  tensor.struct_size = sizeof tensor;
  EXPECT_EQ(poniente_batch_tensor(batch, "tokens", &tensor), PONIENTE_OK);
  return tensor;
}

inline poniente_step StepOf(const poniente_batch* batch) {
  poniente_step step = {};
  step.struct_size = sizeof step;
  EXPECT_EQ(poniente_batch_step(batch, &step), PONIENTE_OK);
  return step;
}

inline std::vector<uint32_t> IdsOf(const poniente_batch* batch) {
  const poniente_tensor tensor = Tokens(batch);
  EXPECT_EQ(tensor.dtype, PONIENTE_U32);
  const auto* const ids = static_cast<const uint32_t*>(tensor.host);
  return {ids, ids + tensor.shape[0] * tensor.shape[1]};
}

class CApiTest : public SmallStores {
 protected:
  int32_t OpenText(const std::string& text, const poniente_options* options,
                   LoaderPtr* loader) {
    poniente_loader* opened = nullptr;
    const int32_t code = poniente_loader_open_text(
        text.c_str(), "run.toml", dir_.path().c_str(), options, &opened);
    loader->reset(opened);
    EXPECT_EQ(opened == nullptr, code != PONIENTE_OK);
    return code;
  }
  LoaderPtr Open(const std::string& text = kRun,
                 const poniente_options* options = nullptr) {
    LoaderPtr loader;
    EXPECT_EQ(OpenText(text, options, &loader), PONIENTE_OK)
        << poniente_last_error();
    return loader;
  }
  BatchPtr Next(const LoaderPtr& loader) {
    poniente_batch* batch = nullptr;
    EXPECT_EQ(poniente_loader_next(loader.get(), &batch), PONIENTE_OK)
        << poniente_last_error();
    return BatchPtr(batch);
  }
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_C_API_C_API_FIXTURE_H_
