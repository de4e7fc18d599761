// SPDX-License-Identifier: Apache-2.0
// What the example trainers keep between two runs: the model with its
// optimizer, and what the loader wants to find again.

#ifndef PONIENTE_EXAMPLES_CHECKPOINT_H_
#define PONIENTE_EXAMPLES_CHECKPOINT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "poniente/poniente.h"
#include "small_model.h"

namespace example {

// All that the steps before `step` have left behind; the same on every rank.
struct State {
  State(size_t vocabulary_size, size_t sources)
      : vocabulary(vocabulary_size),
        parameters(vocabulary),
        mean(vocabulary),
        square(vocabulary),
        token_counts(vocabulary),
        source_loss(sources),
        source_tokens(sources) {
    Initialize(&parameters);
  }

  const size_t vocabulary;
  uint64_t step = 0;
  Parameters parameters;
  Parameters mean, square;  // Adam's, of the gradient
  std::vector<uint64_t> token_counts;
  // Since the last report: sums in nats, and tokens.
  std::vector<double> source_loss;
  std::vector<uint64_t> source_tokens;
  double reported_loss = 0;

  size_t sources() const { return source_loss.size(); }
  void Resize(size_t sources) {
    source_loss.resize(sources);
    source_tokens.resize(sources);
  }

  std::vector<std::span<std::byte>> Arrays() {
    return {std::as_writable_bytes(std::span(&step, 1)),
            std::as_writable_bytes(parameters.all()),
            std::as_writable_bytes(mean.all()),
            std::as_writable_bytes(square.all()),
            std::as_writable_bytes(std::span(token_counts)),
            std::as_writable_bytes(std::span(source_loss)),
            std::as_writable_bytes(std::span(source_tokens)),
            std::as_writable_bytes(std::span(&reported_loss, 1))};
  }
};

// FNV-1a: depends on the values and on their order.
template <class T>
uint64_t Hash(std::span<const T> values, uint64_t hash = 0xcbf29ce484222325) {
  for (const T value : values) hash = (hash ^ value) * 0x100000001b3;
  return hash;
}

// "what 'path': " and what errno says.
absl::Status FileError(const char* what, const std::string& path);

// Replaces the file in one step: a kill at any moment leaves the old checkpoint
// or the new one. The loader's next step must be the state's.
absl::Status Save(const std::string& path, const poniente::Loader& loader,
                  State* state);

// Takes the loader and the state to where the checkpoint was saved; leaves them
// as they are if there is no such file. Any number of ranks may do so, whatever
// their number was then.
absl::Status Restore(const std::string& path, poniente::Loader* loader,
                     State* state);

}  // namespace example

#endif  // PONIENTE_EXAMPLES_CHECKPOINT_H_
