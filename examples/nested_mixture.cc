// SPDX-License-Identifier: Apache-2.0
// A tree three levels deep, built in C++ and read by coroutines: the same data
// as examples/mixture.toml, with one level more.
//
//   mixture ─┬─ fables                      weight 0.7, from sample 400 on 0.2
//            └─ small (flat) ─┬─ recipes    weight 0.3, from sample 400 on 0.8
//                             └─ rest (concat) ── riddles, and fables again
//
// usage: nested_mixture FOLDER   (with the stores fables, recipes and riddles)

#include <poniente/poniente.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <iostream>
#include <map>
#include <numeric>
#include <string>
#include <vector>

using poniente::DatasetPtr;
using poniente::TokenWindow;

namespace {

constexpr uint64_t kSeqLen = 32;

absl::StatusOr<DatasetPtr<TokenWindow>> Windows(const std::string& path) {
  auto store = poniente::TokenStore::Open(path);
  if (!store.ok()) return store.status();
  return (*store)->Windows(kSeqLen);
}

absl::StatusOr<DatasetPtr<TokenWindow>> BuildTree(const std::string& folder) {
  auto fables = Windows(folder + "/fables");
  if (!fables.ok()) return fables.status();
  auto recipes = Windows(folder + "/recipes");
  if (!recipes.ok()) return recipes.status();
  auto riddles = Windows(folder + "/riddles");
  if (!riddles.ok()) return riddles.status();

  auto few_fables = poniente::Take(*fables, 10);
  if (!few_fables.ok()) return few_fables.status();
  auto rest = poniente::Concat<TokenWindow>(
      {{"riddles", *riddles}, {"few_fables", *few_fables}});
  if (!rest.ok()) return rest.status();
  auto small = poniente::FlatMixture<TokenWindow>::Create(
      {{"recipes", *recipes}, {"rest", *rest}});
  if (!small.ok()) return small.status();

  poniente::MixtureOptions options;
  options.seed = 42;
  options.block_size = 100;
  options.stages = {{400, {{"fables", 0.2}, {"small", 0.8}}}};
  return poniente::MixtureDataset<TokenWindow>::Create(
      {{"fables", *fables, 0.7}, {"small", *small, 0.3}}, options);
}

// Reads samples [begin, begin + 100) and says where they come from.
poniente::Task<> Show(DatasetPtr<TokenWindow> dataset, uint64_t begin) {
  std::vector<poniente::Index> indices(100);
  std::iota(indices.begin(), indices.end(), begin);
  auto windows = co_await dataset->GetBatch(indices);
  if (!windows.ok()) co_return windows.status();
  auto again = dataset->GetBatchBlocking(indices);  // the same for plain code
  if (!again.ok()) co_return again.status();

  const poniente::DatasetTree tree(*dataset);
  std::vector<poniente::Position> positions(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) positions[i].index = indices[i];
  std::vector<poniente::LeafPosition> leaves(indices.size());
  absl::Status resolved = tree.Resolve(positions, leaves);
  if (!resolved.ok()) co_return resolved;
  std::map<std::string, int> counts;
  for (const auto& leaf : leaves) ++counts[tree.leaves()[leaf.leaf].path];
  std::cout << "samples " << begin << " to " << begin + 99 << ":";
  for (const auto& [path, count] : counts) {
    std::cout << "  " << path << " " << count;
  }
  std::cout << (*windows == *again ? "" : "  BLOCKING CALL DIFFERS") << '\n';

  // And back: the sample that reads this item of this leaf, in this epoch.
  auto found = tree.Find(leaves[7]);
  if (!found.ok()) co_return found.status();
  std::cout << "  " << tree.leaves()[leaves[7].leaf].path << " item "
            << leaves[7].position.index << " of epoch "
            << leaves[7].position.epoch << " is sample " << (*found)->index
            << '\n';
  co_return absl::OkStatus();
}

poniente::Task<> ShowAll(DatasetPtr<TokenWindow> dataset) {
  for (const uint64_t begin : {0, 300, 400, 1000}) {
    absl::Status shown = co_await Show(dataset, begin);
    if (!shown.ok()) co_return shown;
  }
  co_return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: nested_mixture FOLDER\n";
    return 2;
  }
  auto dataset = BuildTree(argv[1]);
  if (!dataset.ok()) {
    std::cerr << "nested_mixture: " << dataset.status().message() << '\n';
    return 1;
  }
  absl::Status result;
  boost::asio::io_context context{1};
  boost::asio::co_spawn(context, ShowAll(*dataset),
                        [&](std::exception_ptr thrown, absl::Status status) {
                          if (thrown) std::rethrow_exception(thrown);
                          result = std::move(status);
                        });
  context.run();
  if (!result.ok()) {
    std::cerr << "nested_mixture: " << result.message() << '\n';
    return 1;
  }
}
