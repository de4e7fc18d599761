// SPDX-License-Identifier: Apache-2.0
// A small transformer in libtorch, trained on what a Poniente loader serves. A
// killed run resumes with the same losses. docs/libtorch.md explains the parts.
//
//   libtorch_train TOML CHECKPOINT
#include <ATen/DLConvertor.h>
#include <fcntl.h>
#include <poniente/poniente.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

namespace nn = torch::nn;
using poniente::BatchTensor;
using torch::Tensor;

constexpr int64_t kWidth = 64, kHeads = 4;
constexpr double kLearningRate = 3e-3;
constexpr uint64_t kSaveEvery = 10;  // steps

// libtorch throws exceptions, so this program does too.
void OrThrow(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}
template <class T>
T OrThrow(absl::StatusOr<T> result) {
  OrThrow(result.status());
  return *std::move(result);
}

// Returns a tensor that shares the memory of the batch.
Tensor Share(const poniente::Batch& batch, BatchTensor name) {
  const bool on_gpu = batch.device().type == poniente::DeviceType::kCuda;
  poniente::DlpackTensor shared =
      OrThrow(on_gpu ? poniente::DeviceDlpack(batch, name, /*stream=*/nullptr)
                     : poniente::HostDlpack(batch, name));
  return at::fromDLPack(shared.release());
}

// Returns [n, 1, L, L] of bool: true where the token of the row may look at the
// token of the column, which is in the same document and not later.
Tensor AttentionMask(const Tensor& document_ids) {
  const Tensor same = document_ids.unsqueeze(2) == document_ids.unsqueeze(1);
  return same.tril().unsqueeze(1);
}

// A transformer of one layer.
struct Model : nn::Module {
  Model(int64_t ids, int64_t max_length)
      : token(register_module("token", nn::Embedding(ids, kWidth))),
        position(
            register_module("position", nn::Embedding(max_length, kWidth))),
        attention(register_module("attention", nn::Linear(kWidth, 3 * kWidth))),
        expand(register_module("expand", nn::Linear(kWidth, 4 * kWidth))),
        contract(register_module("contract", nn::Linear(4 * kWidth, kWidth))),
        logits(register_module("logits", nn::Linear(kWidth, ids))) {}

  // Returns the logits of the next token, [n, L, ids].
  Tensor forward(const poniente::Batch& batch) {
    Tensor x = token(Share(batch, BatchTensor::kTokens)) +
               position(Share(batch, BatchTensor::kPositions));
    const Tensor mask = AttentionMask(Share(batch, BatchTensor::kDocumentIds));
    x = x + Attend(torch::layer_norm(x, {kWidth}), mask);
    x = x + contract(torch::gelu(expand(torch::layer_norm(x, {kWidth}))));
    return logits(torch::layer_norm(x, {kWidth}));
  }

  Tensor Attend(const Tensor& x, const Tensor& mask) {
    // Returns [n, heads, L, width / heads].
    const auto by_head = [&x](const Tensor& t) {
      return t.view({x.size(0), x.size(1), kHeads, -1}).transpose(1, 2);
    };
    const std::vector<Tensor> qkv = attention(x).chunk(3, /*dim=*/2);
    const Tensor scores = by_head(qkv[0] / std::sqrt(kWidth / kHeads))
                              .matmul(by_head(qkv[1]).transpose(2, 3));
    const Tensor weights = scores.masked_fill(~mask, -INFINITY).softmax(3);
    return weights.matmul(by_head(qkv[2])).transpose(1, 2).reshape(x.sizes());
  }

  nn::Embedding token, position;
  nn::Linear attention, expand, contract, logits;
};

// Returns the mean loss of all labels of the batch, and adds the mean loss of
// each sample to `by_source`, weighted by its number of labels.
Tensor Loss(const poniente::Batch& batch, Model& model,
            poniente::SourceLosses& by_source) {
  namespace F = nn::functional;
  const Tensor labels = Share(batch, BatchTensor::kLabels);
  const Tensor losses =  // of the tokens; 0 where the label is kIgnoredLabel
      F::cross_entropy(model.forward(batch).flatten(0, 1), labels.flatten(),
                       F::CrossEntropyFuncOptions().reduction(torch::kNone))
          .view_as(labels);
  const Tensor sums = losses.sum(1);
  const Tensor counts = (labels != poniente::kIgnoredLabel).sum(1);

  const Tensor means = (sums / counts.clamp_min(1)).detach().cpu();
  const Tensor weights = counts.to(torch::kCPU, torch::kFloat);
  const auto span = [](const Tensor& t) {
    return std::span<const float>(t.data_ptr<float>(), t.numel());
  };
  OrThrow(by_source.Add(batch, span(means), span(weights)));
  return sums.sum() / counts.sum().clamp_min(1);
}

// Replaces the file at `path`. A kill leaves the old checkpoint or the new one.
void Save(const std::string& path, const Model& model,
          const torch::optim::Optimizer& optimizer,
          const poniente::Loader& loader) {
  torch::serialize::OutputArchive all, weights, moments;
  model.save(weights);
  optimizer.save(moments);
  all.write("model", weights);
  all.write("optimizer", moments);
  all.write("loader", torch::IValue(loader.State()));
  const std::string next = path + ".tmp";
  all.save_to(next);
  const int file = open(next.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 || fsync(file) != 0 || close(file) != 0 ||
      std::rename(next.c_str(), path.c_str()) != 0) {
    OrThrow(absl::ErrnoToStatus(errno, "cannot write " + path));
  }
}

// Continues where the checkpoint was saved.
void Load(const std::string& path, Model& model,
          torch::optim::Optimizer& optimizer, poniente::Loader& loader) {
  torch::serialize::InputArchive all, weights, moments;
  torch::IValue state;
  all.load_from(path);
  all.read("model", weights);
  all.read("optimizer", moments);
  all.read("loader", state);
  OrThrow(loader.Resume(state.toStringRef()));
  model.load(weights);
  optimizer.load(moments);
}

void Run(const std::string& toml, const std::string& checkpoint) {
  const auto config = OrThrow(poniente::Config::Load(toml));
  poniente::LoaderOptions options = config.loader_options();
  options.token_type = poniente::TokenType::kI64;
  options.tensors = {BatchTensor::kLabels, BatchTensor::kDocumentIds,
                     BatchTensor::kPositions};
  const auto loader = OrThrow(config.OpenLoader(options));

  torch::manual_seed(1);
  Model model(config.vocabulary().size, loader->schedule().max_seq_len());
  if (options.device.type == poniente::DeviceType::kCuda) {
    OrThrow(poniente::CheckDevice(options.device));
    model.to(torch::Device(torch::kCUDA, options.device.ordinal));
  }
  torch::optim::AdamW optimizer(model.parameters());
  if (std::filesystem::exists(checkpoint)) {
    Load(checkpoint, model, optimizer, *loader);
    std::printf("resumes at step %" PRIu64 "\n", loader->next_step());
  }
  poniente::SourceLosses by_source(*loader);
  for (const auto& batch : poniente::Batches(*loader)) {
    OrThrow(batch.status());
    const Tensor loss = Loss(*batch, model, by_source);
    optimizer.param_groups()[0].options().set_lr(kLearningRate *
                                                 batch->plan().lr_scale);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    const uint64_t done = batch->step() + 1;
    if (done % kSaveEvery != 0) continue;
    std::printf("step %" PRIu64 "  loss %.9g", done, loss.item<float>());
    for (const poniente::SourceLoss& source : by_source.Report()) {
      std::printf("  %s %.4f", source.name.c_str(), source.loss);
    }
    std::printf("\n");
    by_source.Reset();
    Save(checkpoint, model, optimizer, *loader);
  }
  Save(checkpoint, model, optimizer, *loader);
}

int main(int argc, char** argv) {
  if (argc != 3) return std::puts("usage: libtorch_train TOML CHECKPOINT"), 2;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // each line as soon as it is whole
  torch::set_num_threads(1);  // several may add floats in another order
  try {
    Run(argv[1], argv[2]);
    return 0;
  } catch (const c10::Error& error) {
    std::fprintf(stderr, "libtorch_train: %s\n",
                 error.what_without_backtrace());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "libtorch_train: %s\n", error.what());
  }
  return 1;
}
