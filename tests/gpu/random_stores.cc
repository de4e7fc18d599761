// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/random_stores.h"

#include <fcntl.h>
#include <unistd.h>

#include <random>
#include <stdexcept>

#include "poniente/mixture_dataset.h"
#include "poniente/token_store.h"
#include "poniente/token_store_writer.h"

namespace poniente::testing {
namespace {

struct RandomStore {
  const char* name;
  uint64_t tokens;
  double weight;
};
constexpr RandomStore kStores[] = {{"large", 5'000'000, 0.6},
                                   {"middle", 1'000'003, 0.3},
                                   {"small", 99'991, 0.1}};

template <class T>
T OrThrow(absl::StatusOr<T> value) {
  if (!value.ok()) throw std::runtime_error(value.status().ToString());
  return *std::move(value);
}

void Write(const std::string& path, uint64_t tokens, std::mt19937_64& random) {
  TokenStoreWriterOptions options;
  options.vocabulary = {"random", 65536};
  options.token_type = TokenType::kU16;
  const auto writer = OrThrow(TokenStoreWriter::Create(path, options));
  std::vector<uint32_t> ids(tokens);
  for (uint32_t& id : ids) id = static_cast<uint32_t>(random() >> 48);
  const absl::Status added = writer->AddDocument(ids, "all");
  if (!added.ok()) throw std::runtime_error(added.ToString());
  OrThrow(writer->Finish());
}

template <class Id>
void Append(const std::vector<uint16_t>& ids, std::vector<std::byte>* bytes) {
  const std::vector<Id> wide(ids.begin(), ids.end());
  const auto* begin = reinterpret_cast<const std::byte*>(wide.data());
  bytes->insert(bytes->end(), begin, begin + wide.size() * sizeof(Id));
}

void Append(const std::vector<uint16_t>& ids, TokenType type,
            std::vector<std::byte>* bytes) {
  switch (type) {
    case TokenType::kU8:
      throw std::runtime_error("16 bits do not fit");
    case TokenType::kU16:
      return Append<uint16_t>(ids, bytes);
    case TokenType::kU32:
    case TokenType::kI32:
      return Append<uint32_t>(ids, bytes);
    case TokenType::kI64:
      return Append<int64_t>(ids, bytes);
  }
}

}  // namespace

RandomStores::RandomStores(uint64_t seed) : seed_(seed) {
  std::mt19937_64 random(seed);
  for (const RandomStore& store : kStores) {
    Write(folder_.path(store.name), store.tokens, random);
  }
}

RandomStores::~RandomStores() {
  for (const auto& [path, file] : files_) ::close(file);
}

DatasetPtr<TokenWindow> RandomStores::Mixture(uint32_t seq_len) const {
  std::vector<MixtureComponent<TokenWindow>> components;
  for (const RandomStore& store : kStores) {
    const auto opened = OrThrow(TokenStore::Open(folder_.path(store.name)));
    components.push_back(
        {store.name, OrThrow(opened->Windows(seq_len)), store.weight});
  }
  MixtureOptions options;
  options.seed = seed_;
  return OrThrow(
      MixtureDataset<TokenWindow>::Create(std::move(components), options));
}

std::vector<std::byte> RandomStores::OnDisk(
    const Batch& batch, const std::vector<LoaderSource>& sources) {
  std::vector<std::byte> bytes;
  bytes.reserve(batch.tensor(BatchTensor::kTokens)->num_bytes());
  std::vector<uint16_t> ids(batch.seq_len());
  const size_t size = ids.size() * sizeof(uint16_t);
  for (size_t i = 0; i < batch.num_samples(); ++i) {
    const SampleProvenance& from = batch.provenance(i);
    const std::string& path = sources.at(from.source).dataset;
    const auto [known, is_new] = files_.try_emplace(path, -1);
    if (is_new) {
      known->second =
          ::open((path + "/tokens-1.bin").c_str(), O_RDONLY | O_CLOEXEC);
    }
    if (::pread(known->second, ids.data(), size,
                static_cast<off_t>(from.item * size)) !=
        static_cast<ssize_t>(size)) {
      throw std::runtime_error("cannot read " + path);
    }
    Append(ids, batch.token_type(), &bytes);
  }
  return bytes;
}

}  // namespace poniente::testing
