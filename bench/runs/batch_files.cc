// SPDX-License-Identifier: Apache-2.0
#include "bench/runs/batch_files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <utility>

#include "absl/strings/str_format.h"
#include "bench/measure/require.h"
#include "poniente/token_store_writer.h"
#if defined(PONIENTE_HAS_FLATBUFFERS)
#include "tests/formats/arrow_files.h"
#endif

namespace poniente::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kMany = 200;

// Ids and lengths of documents, the same for every kind of file.
class Text {
 public:
  explicit Text(uint64_t seed) : random_(seed) {}

  std::vector<uint16_t> Document(uint64_t max_tokens) {
    const double length = std::clamp(length_(random_), 1.0, 1e6);
    std::vector<uint16_t> ids(
        std::min(max_tokens, static_cast<uint64_t>(length)));
    for (uint16_t& id : ids) id = static_cast<uint16_t>(random_());
    return ids;
  }

 private:
  std::mt19937_64 random_;
  std::lognormal_distribution<double> length_{std::log(600.0), 1.0};
};

void WriteStore(const std::string& path, uint64_t tokens, uint64_t seed) {
  if (fs::exists(path + "/manifest.json")) return;
  TokenStoreWriterOptions options;
  options.vocabulary = {"bench", 65536};
  const auto writer = Require(TokenStoreWriter::Create(path, options));
  Text text(seed);
  while (tokens > 0) {
    const std::vector<uint16_t> ids = text.Document(tokens);
    Require(writer->BeginDocument(""));
    Require(writer->Append(std::vector<uint32_t>(ids.begin(), ids.end())));
    Require(writer->EndDocument());
    tokens -= ids.size();
  }
  Require(writer->Finish().status());
}

template <class T>
void Put(T value, std::ofstream* file) {
  file->write(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Raw ids; with `index`, the pair of files that Megatron writes.
void WriteIds(const std::string& prefix, uint64_t tokens, uint64_t seed,
              bool index) {
  if (fs::exists(prefix + ".bin")) return;
  std::vector<int32_t> lengths;
  {
    std::ofstream file(prefix + ".part", std::ios::binary);
    Text text(seed);
    while (tokens > 0) {
      const std::vector<uint16_t> ids = text.Document(tokens);
      file.write(reinterpret_cast<const char*>(ids.data()),
                 static_cast<std::streamsize>(2 * ids.size()));
      lengths.push_back(static_cast<int32_t>(ids.size()));
      tokens -= ids.size();
    }
  }
  if (index) {
    std::ofstream file(prefix + ".idx", std::ios::binary);
    file.write("MMIDIDX\0\0", 9);
    Put<uint64_t>(1, &file);
    Put<uint8_t>(8, &file);  // uint16
    Put<uint64_t>(lengths.size(), &file);
    Put<uint64_t>(lengths.size() + 1, &file);
    for (const int32_t length : lengths) Put(length, &file);
    int64_t at = 0;
    for (const int32_t length : lengths) {
      Put(at, &file);
      at += 2 * length;
    }
    for (uint64_t i = 0; i <= lengths.size(); ++i) Put<int64_t>(i, &file);
  }
  fs::rename(prefix + ".part", prefix + ".bin");
}

#if defined(PONIENTE_HAS_FLATBUFFERS)
// One stream, in record batches of 1000 rows, as Hugging Face datasets writes.
void WriteArrow(const std::string& path, uint64_t tokens, uint64_t seed) {
  if (fs::exists(path)) return;
  constexpr int kRowsInBatch = 1000;
  std::ofstream file(path + ".part", std::ios::binary);
  testing::ArrowWriter writer;
  const auto flush = [&] {
    file << writer.bytes;
    writer.bytes.clear();
  };
  writer.Schema(
      {testing::ListOf("input_ids", testing::Integers("item", 16, false))});
  Text text(seed);
  while (tokens > 0) {
    std::vector<int32_t> ends = {0};
    std::vector<uint16_t> ids;
    for (int row = 0; row < kRowsInBatch && tokens > 0; ++row) {
      const std::vector<uint16_t> document = text.Document(tokens);
      ids.insert(ids.end(), document.begin(), document.end());
      ends.push_back(static_cast<int32_t>(ids.size()));
      tokens -= document.size();
    }
    writer.Lists(ends, ids);
    flush();
  }
  writer.End();
  flush();
  file.close();
  Require(file.good(), "the Arrow file could not be written");
  fs::rename(path + ".part", path);
}
#endif

}  // namespace

std::vector<Kind> MakeFiles(const std::string& folder, uint64_t tokens) {
  fs::create_directories(folder);
  fs::current_path(folder);
  WriteStore("store", tokens, 1);
  WriteIds("raw", tokens, 1, false);
  WriteIds("megatron", tokens, 1, true);
  std::vector<Kind> kinds = {{"store", "path = 'store'\n"},
                             {"raw file", "path = 'raw.bin'\ndtype = 'u16'\n"},
                             {"megatron", "path = 'megatron'\n"}};
#if defined(PONIENTE_HAS_FLATBUFFERS)
  WriteArrow("ids.arrow", tokens, 1);
  kinds.push_back({"arrow", "path = 'ids.arrow'\n"});
#endif
  Kind stores{"200 stores", "[data.mixture]\n"};
  Kind raws{"200 raw files", "[data.mixture]\n"};
  for (int i = 0; i < kMany; ++i) {
    const std::string store = absl::StrFormat("store-%03d", i);
    const std::string raw = absl::StrFormat("raw-%03d", i);
    WriteStore(store, tokens / kMany, i + 2);
    WriteIds(raw, tokens / kMany, i + 2, false);
    absl::StrAppendFormat(&stores.root, "c%d = {weight = 1, path = '%s'}\n", i,
                          store);
    absl::StrAppendFormat(
        &raws.root, "c%d = {weight = 1, path = '%s.bin', dtype = 'u16'}\n", i,
        raw);
  }
  kinds.push_back(std::move(stores));
  kinds.push_back(std::move(raws));
  return kinds;
}

void BringIntoMemory(const std::string& folder) {
  std::vector<char> buffer(size_t{1} << 20);
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    while (
        file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()))) {
    }
  }
}

}  // namespace poniente::bench
