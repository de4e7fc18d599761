// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer: on every file of a corpus, and on
// mutations of them.
//
//   fuzz_NAME FOLDER [MUTATIONS [SEED]]
//
// Fails if the corpus is empty, or if an input makes the target hold more than
// 64 MB beyond its size.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "bench/measure/heap_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;

constexpr size_t kMaxBytes = 64'000'000;
constexpr size_t kMaxInput = size_t{1} << 20;

bool Run(const Input& input, const std::string& what) {
  poniente::bench::ResetHeapPeak();
  const size_t before = poniente::bench::HeapBytes();
  LLVMFuzzerTestOneInput(input.data(), input.size());
  const size_t held = poniente::bench::HeapPeak() - before;
  if (held <= input.size() + kMaxBytes) return true;
  std::fprintf(stderr, "%s: %zu bytes of input made it hold %zu\n",
               what.c_str(), input.size(), held);
  return false;
}

// One to eight changes: bits, bytes, numbers, cuts, copies of parts.
Input Mutated(const Input& from, const std::vector<Input>& corpus,
              std::mt19937_64& random) {
  Input input = from;
  const uint64_t changes = 1 + random() % 8;
  for (uint64_t c = 0; c < changes; ++c) {
    const size_t at = input.empty() ? 0 : random() % input.size();
    const auto place = input.begin() + static_cast<ptrdiff_t>(at);
    switch (random() % 7) {
      case 0:
        if (!input.empty()) *place ^= static_cast<uint8_t>(1u << random() % 8);
        break;
      case 1:
        if (!input.empty()) *place = static_cast<uint8_t>(random());
        break;
      case 2:
        input.resize(at);
        break;
      case 3:
        input.insert(place, 1 + random() % 9, static_cast<uint8_t>(random()));
        break;
      case 4: {
        // A number that parsers stumble over, of 4 or 8 bytes.
        constexpr uint64_t kNumbers[] = {0,
                                         1,
                                         0x7fffffff,
                                         0x80000000,
                                         0xffffffff,
                                         uint64_t{1} << 62,
                                         uint64_t{1} << 63,
                                         UINT64_MAX};
        const uint64_t number = kNumbers[random() % std::size(kNumbers)];
        const size_t width = random() % 2 == 0 ? 4 : 8;
        for (size_t i = 0; i < width && at + i < input.size(); ++i) {
          input[at + i] = static_cast<uint8_t>(number >> (8 * i));
        }
        break;
      }
      case 5: {
        const Input& other = corpus[random() % corpus.size()];
        if (other.empty()) break;
        const size_t begin = random() % other.size();
        const size_t count = random() % (other.size() - begin) + 1;
        input.insert(place, other.begin() + static_cast<ptrdiff_t>(begin),
                     other.begin() + static_cast<ptrdiff_t>(begin + count));
        break;
      }
      default:
        if (!input.empty()) {
          const size_t count = random() % (input.size() - at) + 1;
          input.erase(place, place + static_cast<ptrdiff_t>(count));
        }
    }
    if (input.size() > kMaxInput) input.resize(kMaxInput);
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s FOLDER [MUTATIONS [SEED]]\n", argv[0]);
    return 2;
  }
  const uint64_t mutations =
      argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100000;
  const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    if (entry.is_regular_file()) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Input> corpus;
  bool good = !paths.empty();
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file),
                        std::istreambuf_iterator<char>());
    good = Run(corpus.back(), path) && good;
  }
  std::printf("%zu files\n", corpus.size());
  if (corpus.empty()) return 1;
  std::printf("%llu mutations, seed %llu\n",
              static_cast<unsigned long long>(mutations),
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  std::mt19937_64 random(seed);
  for (uint64_t i = 0; i < mutations; ++i) {
    const Input input =
        Mutated(corpus[random() % corpus.size()], corpus, random);
    good = Run(input, "mutation " + std::to_string(i)) && good;
  }
  return good ? 0 : 1;
}
