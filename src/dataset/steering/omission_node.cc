// SPDX-License-Identifier: Apache-2.0
#include "dataset/steering/omission_node.h"

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "index/maps/omission_map.h"
#include "poniente/extend/index_map_dataset.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

class OmissionRecipe final : public NodeRecipe {
 public:
  explicit OmissionRecipe(std::shared_ptr<const Omissions> omissions)
      : omissions_(std::move(omissions)) {}

  std::string_view kind() const override { return "without"; }
  uint64_t fingerprint() const override { return omissions_->fingerprint(); }

  absl::StatusOr<MadeMap> MakeMap(std::span<const LengthState>,
                                  uint64_t) const override {
    return MadeMap{std::make_shared<OmissionMap>(omissions_), true};
  }

  const Omissions& omissions() const { return *omissions_; }

 private:
  const std::shared_ptr<const Omissions> omissions_;
};

}  // namespace

absl::StatusOr<DatasetPtr<TokenWindow>> WithoutItems(
    const DatasetPtr<TokenWindow>& dataset, std::vector<uint64_t> indices) {
  DatasetPtr<TokenWindow> all = dataset;
  uint64_t length = dataset->length_now().readable;
  const auto* const node =
      dynamic_cast<const IndexMapDataset<TokenWindow>*>(dataset.get());
  const auto* const before =
      node == nullptr ? nullptr
                      : dynamic_cast<const OmissionRecipe*>(&node->recipe());
  if (before != nullptr) {
    const Omissions& earlier = before->omissions();
    for (uint64_t& index : indices) index = earlier.Kept(index);
    indices = earlier.With(std::move(indices));
    length = earlier.length();
    all = node->named_children()[0].dataset;
  }
  PONIENTE_RETURN_IF_ERROR(CheckOmissions(indices.size()));
  return IndexMapDataset<TokenWindow>::Create(
      std::make_shared<OmissionRecipe>(
          std::make_shared<const Omissions>(std::move(indices), length)),
      {{"", std::move(all)}});
}

}  // namespace poniente::internal
