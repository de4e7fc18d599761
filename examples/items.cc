// SPDX-License-Identifier: Apache-2.0
// Batches of a struct of one's own: images and labels are put together, decoded
// on two threads, shuffled, and collated into one array for each batch. The run
// is stopped and goes on, on two ranks. docs/items.md explains it.
#include <poniente/poniente.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// An item.
struct Image {
  std::vector<float> pixels;
  int label = 0;
};

// What a training step takes: the images of a batch, one after the other.
struct ImageBatch {
  std::vector<float> pixels;
  std::vector<int> labels;
};

namespace {

using poniente::DatasetPtr;

constexpr size_t kPixels = 4;

// Here they are made up. A file or a server would be a dataset of your own.
DatasetPtr<std::string> CompressedImages(size_t count) {
  std::vector<std::string> images;
  for (size_t i = 0; i < count; ++i) {
    images.push_back(std::string(1, static_cast<char>(i % 251)));
  }
  return poniente::InMemoryDataset<std::string>::Create(std::move(images),
                                                        {.name = "images"});
}

DatasetPtr<int> Labels(size_t count) {
  std::vector<int> labels(count);
  for (size_t i = 0; i < count; ++i) labels[i] = static_cast<int>(i % 10);
  return poniente::InMemoryDataset<int>::Create(std::move(labels),
                                                {.name = "labels"});
}

absl::StatusOr<Image> Decode(std::tuple<std::string, int> pair) {
  const auto& [bytes, label] = pair;
  if (bytes.empty()) return absl::DataLossError("the image is empty");
  Image image;
  image.pixels.assign(kPixels, static_cast<unsigned char>(bytes[0]) / 255.0f);
  image.label = label;
  return image;
}

absl::StatusOr<DatasetPtr<Image>> MakeTree() {
  auto pairs = poniente::Zip(
      poniente::NamedDataset<std::string>{"image", CompressedImages(1000)},
      poniente::NamedDataset<int>{"label", Labels(1000)});
  if (!pairs.ok()) return pairs.status();
  auto shuffled = poniente::Shuffle(*std::move(pairs), /*seed=*/42);
  if (!shuffled.ok()) return shuffled.status();
  auto images = poniente::Map<Image>("decode", *std::move(shuffled), Decode,
                                     {.parallel = 2});
  return poniente::Repeat(std::move(images), /*times=*/3);
}

absl::StatusOr<ImageBatch> Collate(std::vector<Image> images) {
  ImageBatch batch;
  for (const Image& image : images) {
    if (image.pixels.size() != kPixels) {
      return absl::InvalidArgumentError("an image of another size");
    }
    batch.pixels.insert(batch.pixels.end(), image.pixels.begin(),
                        image.pixels.end());
    batch.labels.push_back(image.label);
  }
  return batch;
}

using ImageLoader = poniente::ItemLoader<Image, ImageBatch>;

absl::StatusOr<std::unique_ptr<ImageLoader>> OpenLoader(uint32_t rank,
                                                        uint32_t ranks) {
  auto root = MakeTree();
  if (!root.ok()) return root.status();
  return ImageLoader::Create(
      *std::move(root),
      {.batch_size = 32, .rank = rank, .ranks = ranks, .collate = Collate});
}

// The labels of each step, with those of all ranks in order.
using Steps = std::vector<std::vector<int>>;

// Reads the steps before `end_step`, or all, and appends their labels.
absl::Status Read(ImageLoader& loader, uint64_t end_step, Steps* steps) {
  while (loader.next_step() < end_step) {
    const uint64_t step = loader.next_step();
    absl::StatusOr<ImageBatch> batch = loader.NextBlocking();
    if (absl::IsOutOfRange(batch.status())) break;  // the end of the run
    if (!batch.ok()) return batch.status();
    if (steps->size() <= step) steps->resize(step + 1);
    (*steps)[step].insert((*steps)[step].end(), batch->labels.begin(),
                          batch->labels.end());
  }
  return absl::OkStatus();
}

absl::Status Run() {
  auto loader = OpenLoader(0, 1);
  if (!loader.ok()) return loader.status();
  Steps whole;
  absl::Status status = Read(**loader, UINT64_MAX, &whole);
  if (!status.ok()) return status;

  // The same run, stopped after 40 steps.
  Steps stopped;
  auto first = OpenLoader(0, 1);
  if (!first.ok()) return first.status();
  status = Read(**first, 40, &stopped);
  if (!status.ok()) return status;
  const std::string state = (*first)->State();

  // The other steps, on two ranks. In training, each is a process.
  for (uint32_t rank = 0; rank < 2; ++rank) {
    auto resumed = OpenLoader(rank, 2);
    if (!resumed.ok()) return resumed.status();
    status = (*resumed)->Resume(state);
    if (status.ok()) status = Read(**resumed, UINT64_MAX, &stopped);
    if (!status.ok()) return status;
  }
  if (stopped != whole) return absl::DataLossError("the images differ");
  std::cout << whole.size() << " steps, the last one with "
            << whole.back().size()
            << " images: the same with and without a stop\n";
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (status.ok()) return 0;
  std::cerr << "items: " << status.message() << '\n';
  return 1;
}
