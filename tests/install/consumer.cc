// SPDX-License-Identifier: Apache-2.0
// Uses the installed headers and libraries, from the writer to the loader.

#include <poniente/poniente.h>

#include <iostream>

int main(int argc, char** argv) {
  const std::string store = argc > 1 ? argv[1] : "consumer-store";
  poniente::TokenStoreWriterOptions options;
  options.vocabulary = {"numbers", 1000};
  auto writer = poniente::TokenStoreWriter::Create(store, options);
  if (!writer.ok()) {
    std::cerr << writer.status() << "\n";
    return 1;
  }
  const std::vector<uint32_t> document(64, 7);
  if (!(*writer)->AddDocument(document, "seven").ok()) return 1;
  if (!(*writer)->Finish().ok()) return 1;

  const std::string toml =
      "[data]\nseq_len = 16\nbatch_size = 4\npath = '" + store + "'\n";
  const auto config = poniente::Config::Parse(toml, "consumer.toml", "");
  if (!config.ok()) {
    std::cerr << config.status() << "\n";
    return 1;
  }
  const auto loader = config->OpenLoader();
  if (!loader.ok()) return 1;
  const auto batch = (*loader)->NextBlocking();
  if (!batch.ok() || batch->tokens<uint32_t>(3)[15] != 7) return 1;
  std::cout << "poniente " << poniente::Version() << ": "
            << batch->num_samples() << " samples\n";
  return 0;
}
