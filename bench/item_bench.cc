// SPDX-License-Identifier: Apache-2.0
// Batches of a user's own struct, of 1 KiB: an ItemLoader beside a plain loop,
// and Map() on two threads beside one.
//
//   item_bench [--rounds N] [--seconds S] [--items N] [--only 'CASE;...']
//
// --items structs (default 262144) lie in memory, twice: in a vector for the
// loop, and in an InMemoryDataset. Both are read in the order of a shuffle. (In
// later epochs, the loader has other orders; the loop repeats the first.) The
// consumer drops each batch. The first 0.3 s of each measurement do not count.
// Cases, in the same rounds:
//   plain N    copies the structs of a batch of N from the vector into a new
//              vector; the order is computed beforehand
//   loader N   takes the same batches from an ItemLoader with default settings
//   next N     the same, awaited by a coroutine
//   call N     calls a function of 100 us for each struct of a plain batch
//   map T N    takes the same from an ItemLoader over a Map() on T threads
// Before, it checks that loader and loop give the same batches, and that the
// function's results are the same for every number of threads.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/measure/flags.h"
#include "bench/measure/require.h"
#include "bench/readers/comparison.h"
#include "bench/readers/measure_batches.h"
#include "poniente/dataset_tree.h"
#include "poniente/in_memory_dataset.h"
#include "poniente/item_loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/transforms.h"

namespace poniente::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kBatchSizes[] = {1, 8, 64, 1024};
constexpr size_t kMapBatchSizes[] = {1, 16, 64};
constexpr std::chrono::microseconds kFunction{100};

struct Image {
  uint64_t label = 0;
  std::array<uint8_t, 1016> pixels = {};

  friend bool operator==(const Image&, const Image&) = default;
};
static_assert(sizeof(Image) == 1024);

struct Options {
  double rounds = 5;
  double seconds = 1;
  double items = 262144;
  std::string only;
};

// The structs, and the order in which they are read.
struct Data {
  std::vector<Image> images;
  std::vector<uint64_t> order;
  DatasetPtr<Image> root;
};

Data MakeData(size_t items) {
  Data data;
  data.images.resize(items);
  uint64_t value = 1;
  for (Image& image : data.images) {
    image.label = value = value * 6364136223846793005 + 1442695040888963407;
    for (size_t i = 0; i < image.pixels.size(); ++i) {
      image.pixels[i] = static_cast<uint8_t>(value >> (i % 57));
    }
  }
  const auto leaf = InMemoryDataset<Image>::Create(data.images);
  const auto shuffled = Require(Shuffle(leaf, 7));
  std::vector<Position> positions(items);
  for (size_t i = 0; i < items; ++i) positions[i].index = i;
  std::vector<LeafPosition> found(items);
  Require(DatasetTree(*shuffled).Resolve(positions, found));
  for (const LeafPosition& one : found) {
    data.order.push_back(one.position.index);
  }
  data.root = Require(Repeat(shuffled));
  return data;
}

// Makes batches of a vector, in the order and in a circle.
class PlainLoop {
 public:
  PlainLoop(const Data* data, size_t batch_size)
      : data_(data), batch_size_(batch_size) {}

  std::vector<Image> Next() {
    std::vector<Image> batch;
    batch.reserve(batch_size_);
    for (size_t i = 0; i < batch_size_; ++i) {
      batch.push_back(data_->images[data_->order[at_]]);
      if (++at_ == data_->order.size()) at_ = 0;
    }
    return batch;
  }

 private:
  const Data* data_;
  const size_t batch_size_;
  size_t at_ = 0;
};

// Calls `batch`, which makes one of `items`, for a while.
template <class MakeBatch>
Sample Measure(const Options& options, size_t items, MakeBatch&& batch) {
  return MeasureBatches(options.seconds, items, batch,
                        std::max<uint64_t>(1, 64 / items));
}

std::unique_ptr<ItemLoader<Image>> OpenLoader(DatasetPtr<Image> root,
                                              size_t batch_size) {
  return Require(
      ItemLoader<Image>::Create(std::move(root), {.batch_size = batch_size}));
}

Sample MeasurePlain(const Options& options, const Data& data, size_t items) {
  PlainLoop loop(&data, items);
  return Measure(options, items, [&] {
    const std::vector<Image> batch = loop.Next();
    asm volatile("" : : "r"(batch.data()) : "memory");
  });
}

Sample MeasureBlocking(const Options& options, DatasetPtr<Image> root,
                       size_t items) {
  const auto loader = OpenLoader(std::move(root), items);
  return Measure(options, items, [&] {
    const std::vector<Image> batch = Require(loader->NextBlocking());
    asm volatile("" : : "r"(batch.data()) : "memory");
  });
}

Task<> TakeSome(ItemLoader<Image>* loader, uint64_t batches) {
  for (uint64_t i = 0; i < batches; ++i) {
    absl::StatusOr<std::vector<Image>> batch = co_await loader->Next();
    if (!batch.ok()) co_return batch.status();
  }
  co_return absl::OkStatus();
}

Sample MeasureAwaited(const Options& options, const Data& data, size_t items) {
  const auto loader = OpenLoader(data.root, items);
  constexpr uint64_t kAtOnce = 256;
  return Measure(options, items * kAtOnce, [&] {
    Require(RunBlocking(TakeSome(loader.get(), kAtOnce)));
  });
}

// Works for 100 us, and depends on the item alone.
Image Decode(Image image) {
  const Clock::time_point end = Clock::now() + kFunction;
  do {
    asm volatile("" : "+r"(image.label));
  } while (Clock::now() < end);
  for (uint8_t& pixel : image.pixels) pixel ^= 0x55;
  return image;
}

DatasetPtr<Image> Decoded(const Data& data, uint32_t threads) {
  return Map<Image>("decode", data.root, Decode, {.parallel = threads});
}

Sample MeasureCalls(const Options& options, const Data& data, size_t items) {
  PlainLoop loop(&data, items);
  return Measure(options, items, [&] {
    std::vector<Image> batch = loop.Next();
    for (Image& image : batch) image = Decode(std::move(image));
    asm volatile("" : : "r"(batch.data()) : "memory");
  });
}

void CheckBatches(const Data& data) {
  for (const size_t items : kBatchSizes) {
    const auto loader = OpenLoader(data.root, items);
    PlainLoop loop(&data, items);
    for (size_t read = 0; read < std::max<size_t>(5000, 3 * items);
         read += items) {
      Require(Require(loader->NextBlocking()) == loop.Next(),
              "the loader gives other items than the loop");
    }
  }
  const auto one = OpenLoader(Decoded(data, 1), 50);
  const auto two = OpenLoader(Decoded(data, 2), 50);
  const auto seven = OpenLoader(Decoded(data, 7), 50);
  for (int step = 0; step < 10; ++step) {
    const std::vector<Image> expected = Require(one->NextBlocking());
    Require(Require(two->NextBlocking()) == expected &&
                Require(seven->NextBlocking()) == expected,
            "the results of Map() depend on the number of threads");
  }
}

int Main(int argc, char** argv) {
  Options options;
  if (!ParseNumbers(argc, argv, 1,
                    {{"--rounds", &options.rounds},
                     {"--seconds", &options.seconds},
                     {"--items", &options.items}},
                    &options.only)) {
    std::fprintf(stderr,
                 "usage: item_bench [--rounds N] [--seconds S] [--items N] "
                 "[--only 'CASE;...']\n");
    return 2;
  }
  const Data data = MakeData(static_cast<size_t>(options.items));
  CheckBatches(data);
  Comparison comparison({.rate = "kitems/s"});
  for (const size_t items : kBatchSizes) {
    const std::string plain = absl::StrCat("plain ", items);
    comparison.Add(plain, plain, [=, &options, &data] {
      return MeasurePlain(options, data, items);
    });
    comparison.Add(absl::StrCat("loader ", items), plain, [=, &options, &data] {
      return MeasureBlocking(options, data.root, items);
    });
    comparison.Add(absl::StrCat("next ", items), plain, [=, &options, &data] {
      return MeasureAwaited(options, data, items);
    });
  }
  for (const size_t items : kMapBatchSizes) {
    const std::string one = absl::StrCat("call ", items);
    comparison.Add(one, one, [=, &options, &data] {
      return MeasureCalls(options, data, items);
    });
    for (const uint32_t threads : {1, 2}) {
      comparison.Add(
          absl::StrCat("map ", threads, " ", items), one, [=, &options, &data] {
            return MeasureBlocking(options, Decoded(data, threads), items);
          });
    }
  }
  comparison.KeepOnly(options.only);
  comparison.Run(static_cast<int>(options.rounds));
  comparison.Print();
  if (!options.only.empty()) return 0;
  std::printf("\n");
  std::vector<Bar> bars;
  for (const char* const way : {"loader ", "next "}) {
    for (const size_t items : kBatchSizes) {
      bars.push_back(comparison.RateBar(absl::StrCat(way, items),
                                        absl::StrCat("plain ", items),
                                        Bar::Limit::kAtLeast, 0.7));
    }
  }
  for (const size_t items : kMapBatchSizes) {
    bars.push_back(comparison.RateBar(absl::StrCat("map 2 ", items),
                                      absl::StrCat("call ", items),
                                      Bar::Limit::kAtLeast, 1.8));
  }
  PrintBars(bars);
  return 0;
}

}  // namespace
}  // namespace poniente::bench

int main(int argc, char** argv) { return poniente::bench::Main(argc, argv); }
