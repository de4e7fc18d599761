// SPDX-License-Identifier: Apache-2.0
#include <poniente/poniente.h>

#include <iostream>

int main(int argc, char** argv) {
  auto config = poniente::Config::Load(argc > 1 ? argv[1] : "mixture.toml");
  if (!config.ok()) return std::cerr << config.status() << '\n', 1;
  auto loader = config->OpenLoader();
  if (!loader.ok()) return std::cerr << loader.status() << '\n', 1;
  for (int step = 0; step < 3; ++step) {
    auto batch = (*loader)->NextBlocking();  // or co_await (*loader)->Next()
    if (!batch.ok()) return std::cerr << batch.status() << '\n', 1;
    for (size_t i = 0; i < batch->num_samples(); ++i) {
      std::cout << "step " << batch->step() << "  "
                << (*loader)->sources()[batch->source(i)].path << "\t";
      for (uint32_t id : batch->tokens<uint32_t>(i)) {
        std::cout << (id < 32 || id > 126 ? '~' : static_cast<char>(id));
      }
      std::cout << '\n';
    }
  }
}
