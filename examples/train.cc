// SPDX-License-Identifier: Apache-2.0
// A small language model, trained on what a Poniente loader serves: an ordinary
// asynchronous program of one file, to copy and to change.
//
//   train --config run.toml --checkpoint run.ckpt --log run.log
//
// The model predicts each token from the eight before it: embeddings, one
// hidden layer, a softmax over the vocabulary; Adam. It computes on one thread
// in a fixed order, so a run repeats to the last bit.
//
// A checkpoint holds the loader's state, a few hundred bytes of text, and the
// model. If the file exists the run goes on from there: Resume() is all that
// the data needs, and refuses data that has changed. The log has one line per
// step, with a hash of the step's token ids and the loss, so that diff compares
// two runs.
//
// Read from the bottom: main() opens the loader, Train() awaits its batches,
// Trainer does one step with each.

#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "poniente/poniente.h"

ABSL_FLAG(std::string, config, "", "TOML file of the run");
ABSL_FLAG(std::string, checkpoint, "", "file to save to and to resume from");
ABSL_FLAG(uint32_t, checkpoint_every, 50, "steps between two checkpoints");
ABSL_FLAG(std::string, log, "", "file that gets one line per step");
ABSL_FLAG(uint32_t, report_every, 50, "steps between two lines on the screen");
ABSL_FLAG(uint64_t, steps, 0, "stop before this step; 0: at the run's end");
ABSL_FLAG(double, learning_rate, 0.01, "times the stage's lr_scale");

namespace {

using Clock = std::chrono::steady_clock;

// --- Arithmetic --------------------------------------------------------------

// c[m, n] += a[m, k] * b[k, n]. All are row-major, but a's element (i, p) is
// a[i * row + p * column], so that a may lie transposed.
void AddProduct(size_t m, size_t k, size_t n, std::span<const float> a,
                size_t row, size_t column, std::span<const float> b,
                std::span<float> c) {
  const auto plainly = [=](size_t i, size_t i_end, size_t j, size_t j_end) {
    for (; i < i_end; ++i) {
      for (size_t p = 0; p < k; ++p) {
        const float x = a[i * row + p * column];
        for (size_t q = j; q < j_end; ++q) c[i * n + q] += x * b[p * n + q];
      }
    }
  };
  // Tiles of 4 rows and 8 columns stay in registers; the rest is plain.
  typedef float Lanes __attribute__((vector_size(16), aligned(4), may_alias));
  const size_t tiled_m = m / 4 * 4, tiled_n = n / 8 * 8;
  for (size_t j = 0; j < tiled_n; j += 8) {
    for (size_t i = 0; i < tiled_m; i += 4) {
      Lanes sum[4][2] = {};
      for (size_t p = 0; p < k; ++p) {
        const float* x = &a[i * row + p * column];
        const Lanes* y = reinterpret_cast<const Lanes*>(&b[p * n + j]);
        for (size_t r = 0; r < 4; ++r) {
          sum[r][0] += x[r * row] * y[0];
          sum[r][1] += x[r * row] * y[1];
        }
      }
      for (size_t r = 0; r < 4; ++r) {
        Lanes* z = reinterpret_cast<Lanes*>(&c[(i + r) * n + j]);
        z[0] += sum[r][0];
        z[1] += sum[r][1];
      }
    }
  }
  plainly(tiled_m, m, 0, tiled_n);
  plainly(0, m, tiled_n, n);
}

// a[m, n] as [n, m].
std::vector<float> Transposed(std::span<const float> a, size_t m, size_t n) {
  std::vector<float> result(m * n);
  for (size_t i = 0; i < m * n; ++i) result[i % n * m + i / n] = a[i];
  return result;
}

// FNV-1a: depends on the values and on their order.
template <class T>
uint64_t Hash(std::span<const T> values) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const T value : values) hash = (hash ^ value) * 0x100000001b3;
  return hash;
}

// --- Model -------------------------------------------------------------------

constexpr size_t kContext = 8;     // tokens that a prediction sees
constexpr size_t kEmbedding = 32;  // numbers for each of them
constexpr size_t kHidden = 128;    // units of the hidden layer
constexpr size_t kInputs = kContext * kEmbedding;

// The model's parameters, or one number for each of them, end to end.
class Parameters {
 public:
  explicit Parameters(size_t vocabulary)
      : vocabulary_(vocabulary), values_(End(kOutputBias)) {}

  enum Part { kEmbeddings, kHiddenWeights, kHiddenBias, kOutputs, kOutputBias };
  std::span<float> operator[](Part part) {
    return std::span(values_).subspan(End(part) - Size(part), Size(part));
  }
  std::span<float> all() { return values_; }

 private:
  size_t Size(int part) const {
    const size_t sizes[] = {
        (vocabulary_ + 1) * kEmbedding,  // the last: "before the sample"
        kInputs * kHidden, kHidden, kHidden * vocabulary_, vocabulary_};
    return sizes[part];
  }
  size_t End(int part) const {
    return part < 0 ? 0 : End(part - 1) + Size(part);
  }

  size_t vocabulary_;
  std::vector<float> values_;
};

// The same random numbers for every run.
void Initialize(Parameters* parameters) {
  uint64_t state = 1;
  const auto fill = [&state](std::span<float> part, double scale) {
    for (float& value : part) {
      state = state * 6364136223846793005 + 1442695040888963407;
      value = static_cast<float>(
          scale * (static_cast<double>(state >> 33) / (1u << 30) - 1));
    }
  };
  fill((*parameters)[Parameters::kEmbeddings], 1);
  fill((*parameters)[Parameters::kHiddenWeights], std::sqrt(3.0 / kInputs));
  fill((*parameters)[Parameters::kOutputs], std::sqrt(0.03 / kHidden));
}

// Predicts every token of `samples`, rows of `length` ids below `vocabulary`.
// Gives the summed loss of each row in nats, and adds the gradient of the mean
// loss to `gradient`.
std::vector<double> LossAndGradient(size_t vocabulary, Parameters& parameters,
                                    std::span<const uint32_t> samples,
                                    size_t length, Parameters& gradient) {
  using P = Parameters;
  const size_t n = samples.size(), v = vocabulary;
  const std::span<float> embeddings = parameters[P::kEmbeddings];
  const std::span<float> by_embeddings = gradient[P::kEmbeddings];
  // Forward. The ids before token i, nearest first, are row i of `context`.
  std::vector<uint32_t> context(n * kContext, static_cast<uint32_t>(v));
  std::vector<float> input(n * kInputs), hidden(n * kHidden), output(n * v);
  for (size_t i = 0; i < n; ++i) {
    for (size_t back = 0; back < std::min(kContext, i % length); ++back) {
      context[i * kContext + back] = samples[i - 1 - back];
    }
    std::ranges::copy(parameters[P::kHiddenBias], &hidden[i * kHidden]);
    std::ranges::copy(parameters[P::kOutputBias], &output[i * v]);
  }
  for (size_t i = 0; i < input.size(); ++i) {
    input[i] =
        embeddings[context[i / kEmbedding] * kEmbedding + i % kEmbedding];
  }
  AddProduct(n, kInputs, kHidden, input, kInputs, 1,
             parameters[P::kHiddenWeights], hidden);
  for (float& value : hidden) value = std::max(value, 0.0f);
  AddProduct(n, kHidden, v, hidden, kHidden, 1, parameters[P::kOutputs],
             output);

  // Softmax and loss. `output` becomes the gradient by the output.
  std::vector<double> loss(n / length);
  const float scale = 1 / static_cast<float>(n);
  for (size_t i = 0; i < n; ++i) {
    const std::span<float> row(&output[i * v], v);
    const float greatest = *std::ranges::max_element(row);
    const float target = row[samples[i]] - greatest;
    float sum = 0;
    for (float& value : row) sum += value = std::exp(value - greatest);
    loss[i / length] += std::log(sum) - target;
    for (float& value : row) value *= scale / sum;
    row[samples[i]] -= scale;
  }

  // Backward, layer by layer.
  std::vector<float> by_hidden(n * kHidden), by_input(n * kInputs);
  AddProduct(kHidden, n, v, hidden, 1, kHidden, output, gradient[P::kOutputs]);
  AddProduct(n, v, kHidden, output, v, 1,
             Transposed(parameters[P::kOutputs], kHidden, v), by_hidden);
  for (size_t i = 0; i < hidden.size(); ++i) {
    if (hidden[i] <= 0) by_hidden[i] = 0;
  }
  AddProduct(kInputs, n, kHidden, input, 1, kInputs, by_hidden,
             gradient[P::kHiddenWeights]);
  AddProduct(n, kHidden, kInputs, by_hidden, kHidden, 1,
             Transposed(parameters[P::kHiddenWeights], kInputs, kHidden),
             by_input);
  const std::vector<float> ones(n, 1);  // sums the rows
  AddProduct(1, n, v, ones, 0, 1, output, gradient[P::kOutputBias]);
  AddProduct(1, n, kHidden, ones, 0, 1, by_hidden, gradient[P::kHiddenBias]);
  for (size_t i = 0; i < by_input.size(); ++i) {
    by_embeddings[context[i / kEmbedding] * kEmbedding + i % kEmbedding] +=
        by_input[i];
  }
  return loss;
}

// --- Checkpoint --------------------------------------------------------------

// All that the steps before `step` have left behind.
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
  std::vector<double> source_loss, source_tokens;
  double reported_loss = 0;

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

// A checkpoint file: this, the loader's state, and the arrays of State as they
// lie in memory.
struct CheckpointHead {
  uint64_t magic = 0x0a324e4941525450;  // "PTRAIN2\n"
  uint64_t shape[4] = {0, kContext, kEmbedding, kHidden};
  uint64_t data_bytes = 0;  // of the loader's state
  uint64_t checksum = 0;    // of the arrays
};

uint64_t Checksum(State* state) {
  uint64_t checksum = 0;
  for (const std::span<std::byte> array : state->Arrays()) {
    checksum = checksum * 31 +
               Hash(std::span(reinterpret_cast<const uint8_t*>(array.data()),
                              array.size()));
  }
  return checksum;
}

absl::Status FileError(const char* what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrFormat("%s '%s'", what, path));
}

// rename() puts the new checkpoint, when it is whole and on the disk, in the
// place of the old one: a kill at any moment leaves one or the other.
absl::Status Save(const std::string& path, const std::string& data,
                  State* state) {
  CheckpointHead head;
  head.shape[0] = state->vocabulary;
  head.data_bytes = data.size();
  head.checksum = Checksum(state);
  const std::string temporary = path + ".tmp";
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) return FileError("cannot create", temporary);
  bool written = std::fwrite(&head, sizeof(head), 1, file) == 1 &&
                 std::fwrite(data.data(), data.size(), 1, file) == 1;
  for (const std::span<std::byte> array : state->Arrays()) {
    written = written && std::fwrite(array.data(), array.size(), 1, file) == 1;
  }
  written = written && std::fflush(file) == 0 && fsync(fileno(file)) == 0;
  const absl::Status status = FileError("cannot write", temporary);
  std::fclose(file);
  if (!written) return status;
  if (std::rename(temporary.c_str(), path.c_str()) == 0) {
    return absl::OkStatus();
  }
  return FileError("cannot replace", path);
}

// Leaves all as it is if there is no such file.
absl::Status Restore(const std::string& path, poniente::Loader* loader,
                     State* state) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return absl::OkStatus();
  const auto refuse = [&path](const std::string& reason) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "checkpoint '%s' %s; go back to what it was made with, or begin anew "
        "with another file",
        path, reason));
  };
  if (!std::filesystem::is_regular_file(path, error)) {
    return refuse("is not a file");
  }
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file) return FileError("cannot read", path);
  CheckpointHead head, here;
  here.shape[0] = state->vocabulary;
  if (bytes.size() >= sizeof(head)) {
    std::memcpy(&head, bytes.data(), sizeof(head));
  }
  if (bytes.size() < sizeof(head) || head.magic != here.magic) {
    return refuse("was not written by this program");
  }
  size_t at = sizeof(head);
  if (bytes.size() - at < head.data_bytes) return refuse("has been cut short");
  const absl::Status resumed =
      loader->Resume(std::string_view(bytes).substr(at, head.data_bytes));
  if (!resumed.ok()) {
    return refuse(
        absl::StrFormat("belongs to other data: %s", resumed.message()));
  }
  at += head.data_bytes;
  if (!std::ranges::equal(head.shape, here.shape)) {
    return refuse(absl::StrFormat(
        "holds a model of another shape: vocabulary %d, context %d, embedding "
        "%d, hidden %d",
        head.shape[0], head.shape[1], head.shape[2], head.shape[3]));
  }
  for (const std::span<std::byte> array : state->Arrays()) {
    if (bytes.size() - at < array.size()) return refuse("has been cut short");
    std::memcpy(array.data(), bytes.data() + at, array.size());
    at += array.size();
  }
  if (Checksum(state) != head.checksum) return refuse("is damaged");
  return absl::OkStatus();
}

// Opens the log to append to it, without its lines of `step` and later: those
// steps are done once more.
absl::StatusOr<std::FILE*> OpenLog(const std::string& path, uint64_t step) {
  std::ifstream old(path);
  size_t keep = 0;
  for (std::string line; std::getline(old, line) && !old.eof();) {
    if (std::strtoull(line.c_str(), nullptr, 10) >= step) break;
    keep += line.size() + 1;
  }
  if (old.is_open() && truncate(path.c_str(), static_cast<off_t>(keep)) != 0) {
    return FileError("cannot shorten", path);
  }
  std::FILE* log = std::fopen(path.c_str(), "a");
  if (log == nullptr) return FileError("cannot open", path);
  return log;
}

// --- Training ----------------------------------------------------------------

// The least loss, in nats per token, of a model that sees no context.
double UnigramEntropy(std::span<const uint64_t> counts) {
  const double total = static_cast<double>(
      std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
  double entropy = 0;
  for (const uint64_t count : counts) {
    const double share = static_cast<double>(count) / total;
    if (count > 0) entropy -= share * std::log(share);
  }
  return entropy;
}

// Does one step with one batch; keeps the log, the screen and the checkpoint.
class Trainer {
 public:
  Trainer(const poniente::Loader& loader, State* state, std::FILE* log)
      : loader_(loader), data_(loader.State()), state_(state), log_(log) {
    absl::PrintF("Loss in nats per token: of all, and of each source\n");
    absl::PrintF("%6s %7s %6s", "step", "unigram", "loss");
    for (const poniente::Source& source : loader.sources()) {
      names_.push_back(source.path.substr(source.path.rfind('/') + 1));
      absl::PrintF(" %5s", names_.back());
    }
    absl::PrintF("\n");
  }

  absl::Status TrainOn(const poniente::Batch& batch) {
    const poniente::StepPlan& plan = batch.plan();
    const std::span<const uint32_t> tokens = batch.tokens<uint32_t>();
    if (plan.is_boundary) {
      absl::PrintF("%6d stage '%s' begins, learning rate times %g\n", plan.step,
                   plan.stage_name, plan.lr_scale);
      if (absl::Status s = SaveCheckpoint(); !s.ok()) return s;
    }
    for (const uint32_t id : tokens) {
      if (id >= state_->vocabulary) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "step %d: token id %d is outside the vocabulary of %d", plan.step,
            id, state_->vocabulary));
      }
      ++state_->token_counts[id];
    }
    Parameters gradient(state_->vocabulary);
    const std::vector<double> losses =
        LossAndGradient(state_->vocabulary, state_->parameters, tokens,
                        batch.seq_len(), gradient);
    Adam(gradient.all(), plan);
    double loss = 0;
    for (size_t i = 0; i < losses.size(); ++i) {
      loss += losses[i];
      state_->source_loss[batch.source(i)] += losses[i];
      state_->source_tokens[batch.source(i)] += batch.seq_len();
    }
    loss /= static_cast<double>(tokens.size());
    return EndStep(Hash(tokens), loss);
  }

  absl::Status Finish() {
    absl::Status status = SaveCheckpoint();  // what Report() is about to clear
    Report();
    const double entropy = UnigramEntropy(state_->token_counts);
    absl::PrintF(
        "after %d steps: loss %.3f nats (%.3f bits) per token, unigram "
        "entropy %.3f (%.3f)\n",
        state_->step, state_->reported_loss,
        state_->reported_loss / std::log(2), entropy, entropy / std::log(2));
    return status;
  }

 private:
  void Adam(std::span<const float> gradient, const poniente::StepPlan& plan) {
    constexpr float kMean = 0.9f, kSquare = 0.99f;
    const double t = static_cast<double>(plan.step) + 1;
    const double mean_scale = 1 / (1 - std::pow(kMean, t));
    const double square_scale = 1 / (1 - std::pow(kSquare, t));
    const double warm_up = std::min(1.0, t / 50);
    const float rate =
        static_cast<float>(absl::GetFlag(FLAGS_learning_rate) * plan.lr_scale *
                           warm_up * mean_scale / std::sqrt(square_scale));
    const std::span<float> mean = state_->mean.all();
    const std::span<float> square = state_->square.all();
    const std::span<float> value = state_->parameters.all();
    for (size_t i = 0; i < value.size(); ++i) {
      const float g = gradient[i];
      mean[i] = kMean * mean[i] + (1 - kMean) * g;
      square[i] = kSquare * square[i] + (1 - kSquare) * g * g;
      value[i] -= rate * mean[i] / (std::sqrt(square[i]) + 1e-8f);
    }
  }

  absl::Status EndStep(uint64_t token_hash, double loss) {
    if (log_ != nullptr) {
      // %a shows the loss to the last bit.
      absl::FPrintF(log_, "%d tokens %016x loss %.9g %a\n", state_->step,
                    token_hash, loss, loss);
      if (std::fflush(log_) != 0) {
        return FileError("cannot write", absl::GetFlag(FLAGS_log));
      }
    }
    ++state_->step;
    data_ = loader_.State();
    if (state_->step % absl::GetFlag(FLAGS_report_every) == 0) Report();
    if (state_->step % absl::GetFlag(FLAGS_checkpoint_every) == 0) {
      return SaveCheckpoint();
    }
    return absl::OkStatus();
  }

  absl::Status SaveCheckpoint() {
    const std::string path = absl::GetFlag(FLAGS_checkpoint);
    return path.empty() ? absl::OkStatus() : Save(path, data_, state_);
  }

  // The loss of each source since the last report; "-" if it gave no sample.
  void Report() {
    const auto sum = [](const std::vector<double>& values) {
      return std::accumulate(values.begin(), values.end(), 0.0);
    };
    if (sum(state_->source_tokens) == 0) return;
    state_->reported_loss =
        sum(state_->source_loss) / sum(state_->source_tokens);
    absl::PrintF("%6d %7.3f %6.3f", state_->step,
                 UnigramEntropy(state_->token_counts), state_->reported_loss);
    for (size_t i = 0; i < names_.size(); ++i) {
      const double loss = std::exchange(state_->source_loss[i], 0);
      const double tokens = std::exchange(state_->source_tokens[i], 0);
      absl::PrintF(" %*s", std::max<int>(5, names_[i].size()),
                   tokens == 0 ? "-" : absl::StrFormat("%.3f", loss / tokens));
    }
    absl::PrintF("\n");
  }

  const poniente::Loader& loader_;
  // After the last step that is done: the batch in hand is none of it.
  std::string data_;
  State* const state_;
  std::FILE* const log_;
  std::vector<std::string> names_;
};

// Awaits one batch after the other. While the trainer computes on this thread,
// the loader reads the next batches on its own.
poniente::Task<> Train(poniente::Loader* loader, Trainer* trainer,
                       uint64_t end) {
  const Clock::time_point start = Clock::now();
  std::chrono::duration<double> waited{0};
  while (end == 0 || loader->next_step() < end) {
    const Clock::time_point asked = Clock::now();
    absl::StatusOr<poniente::Batch> batch = co_await loader->Next();
    if (absl::IsOutOfRange(batch.status())) break;  // the end of the data
    if (!batch.ok()) co_return batch.status();
    waited += Clock::now() - asked;
    absl::Status status = trainer->TrainOn(*batch);
    if (!status.ok()) co_return status;
  }
  const std::chrono::duration<double> took = Clock::now() - start;
  absl::PrintF("trained for %.1f s, of which %.2f s waiting for data\n",
               took.count(), waited.count());
  co_return co_await loader->Close();
}

absl::Status Run() {
  const auto config = poniente::Config::Load(absl::GetFlag(FLAGS_config));
  if (!config.ok()) return config.status();
  const auto opened = config->OpenLoader();
  if (!opened.ok()) return opened.status();
  poniente::Loader& loader = **opened;
  if (config->vocabulary().size > 100'000) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "a vocabulary of %d is too big for this small model, at most 100000",
        config->vocabulary().size));
  }

  State state(config->vocabulary().size, loader.sources().size());
  if (const std::string path = absl::GetFlag(FLAGS_checkpoint); !path.empty()) {
    absl::Status status = Restore(path, &loader, &state);
    if (!status.ok()) return status;
  }
  if (state.step > 0) absl::PrintF("resumes with step %d\n", state.step);
  std::FILE* log = nullptr;
  if (const std::string path = absl::GetFlag(FLAGS_log); !path.empty()) {
    absl::StatusOr<std::FILE*> file = OpenLog(path, state.step);
    if (!file.ok()) return file.status();
    log = *file;
  }

  Trainer trainer(loader, &state, log);
  uint64_t end = absl::GetFlag(FLAGS_steps);
  if (end == 0) end = config->schedule().steps();
  absl::Status result;
  boost::asio::io_context context;
  boost::asio::co_spawn(context, Train(&loader, &trainer, end),
                        [&result](std::exception_ptr error, absl::Status s) {
                          if (error) std::rethrow_exception(error);
                          result = std::move(s);
                        });
  context.run();
  if (log != nullptr) std::fclose(log);
  return result.ok() ? trainer.Finish() : result;
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("trains a small language model");
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // each line as soon as it is whole
  if (rest.size() > 1 || absl::GetFlag(FLAGS_config).empty() ||
      absl::GetFlag(FLAGS_report_every) == 0 ||
      absl::GetFlag(FLAGS_checkpoint_every) == 0) {
    absl::FPrintF(stderr, "usage: train --config FILE ...; see train --help\n");
    return 2;
  }
  const absl::Status status = Run();
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "train: %s\n", status.message());
  return 1;
}
