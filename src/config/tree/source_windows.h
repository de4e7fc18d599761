// SPDX-License-Identifier: Apache-2.0
// Makes the datasets of windows of the sources that a configuration names.

#ifndef PONIENTE_CONFIG_TREE_SOURCE_WINDOWS_H_
#define PONIENTE_CONFIG_TREE_SOURCE_WINDOWS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "config/run_nodes.h"
#include "config/tree/selections.h"
#include "config/tree/sources.h"
#include "poniente/async_dataset.h"
#include "poniente/config.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Makes datasets of windows of max_seq_len tokens, or of packed windows, and
// keeps which source each of them reads. The run and the sources must outlive
// it.
class SourceWindows {
 public:
  SourceWindows(const Run& run, const ConfigSources& sources)
      : run_(run), sources_(sources) {}

  // Says for which lengths sources are packed, each once.
  void SetPackedLengths(std::vector<uint64_t> lengths) {
    packed_lengths_ = std::move(lengths);
  }

  // Returns the windows of a leaf. `reader` reads the selection and the order
  // of documents, if the leaf has them. REQUIRES: the node is a leaf, and open.
  // `packing`: how its documents are packed, for windows of `packed_tokens`,
  // one of the lengths; null if they are not. `hold_out`: what is held out of
  // it; null if nothing is.
  absl::StatusOr<DatasetPtr<TokenWindow>> Windows(const Node& node,
                                                  const PackingOptions* packing,
                                                  uint64_t packed_tokens,
                                                  const NodeHoldOut* hold_out,
                                                  SelectionReader* reader);

  // Returns the source of a leaf that Windows() made, or of one in a dataset of
  // the program's own. The caller sets its path.
  ConfigSource SourceOf(const DatasetNode& leaf) const;

 private:
  absl::StatusOr<DatasetPtr<TokenWindow>> Packed(const TokenSource& source,
                                                 const PackingOptions& packing,
                                                 uint64_t tokens,
                                                 const Selection* documents);
  // Returns windows that are cut from documents end to end; null for all of
  // them. Errors of an order of documents begin with its place.
  absl::StatusOr<DatasetPtr<TokenWindow>> Cut(const Node& node,
                                              const TokenSource& source,
                                              const Selection* documents,
                                              const NodeHoldOut* hold_out,
                                              SelectionReader* reader);
  // Returns the documents that are read; null for all. `cuts`: whether the
  // budget cuts them.
  absl::StatusOr<std::shared_ptr<const Selection>> DocumentsOf(
      const Node& node, const NodeHoldOut* hold_out, bool cuts,
      SelectionReader* reader) const;

  const Run& run_;
  const ConfigSources& sources_;
  std::unordered_map<const void*, ConfigSource> leaves_;  // by KeyOf()
  std::vector<uint64_t> packed_lengths_;
  // Of several lengths: the windows of each, by source, selection and options.
  std::map<std::string, std::vector<DatasetPtr<TokenWindow>>> packed_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_SOURCE_WINDOWS_H_
