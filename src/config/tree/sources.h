// SPDX-License-Identifier: Apache-2.0
// Opens the leaves of a configuration: stores, files of other projects,
// datasets of the Hugging Face hub, and numbers of tokens.

#ifndef PONIENTE_CONFIG_TREE_SOURCES_H_
#define PONIENTE_CONFIG_TREE_SOURCES_H_

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/run_nodes.h"
#include "config/tree/selections.h"
#include "poniente/async_dataset.h"
#include "poniente/catalog.h"
#include "poniente/config.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"
#include "poniente/token_window.h"
#include "store/growing/growing_store.h"

namespace poniente::internal {

// Opens the sources that a run names, each path once, and makes datasets of
// windows of max_seq_len tokens.
class ConfigSources {
 public:
  explicit ConfigSources(const Run& run) : run_(run) {}

  // Says for which lengths sources are packed, each once.
  void SetPackedLengths(std::vector<uint64_t> lengths) {
    packed_lengths_ = std::move(lengths);
  }

  // Opens every source at or below `node`, on all cores. If sources cannot be
  // opened, the message has one line for each (at most the first hundred), with
  // its place in the configuration.
  absl::Status Open(const Node& node);
  // Returns InvalidArgument if no source is as long as a window. REQUIRES:
  // Open() succeeded.
  absl::Status CheckSomeWindow() const;
  // Returns whether the leaf, if it names files, is among what Open() opened.
  bool IsOpen(const Node& node) const;

  // Returns a warning, with its place in the configuration, for each source
  // whose ids were made by another version of the tokenizer than those of
  // another source. REQUIRES: Open() succeeded.
  const std::vector<std::string>& warnings() const { return warnings_; }

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
  // Returns the tokens of a leaf. REQUIRES: the node is a leaf, and open.
  uint64_t TokensOf(const Node& node) const;

 private:
  absl::Status OpenCatalogs();
  // Opens the store at `path` from a catalogue that lists it; null if no
  // catalogue does.
  absl::StatusOr<std::shared_ptr<const TokenSource>> FindInCatalogs(
      const std::string& path) const;
  // Appends the nodes at or below `node` whose files are to be opened, each
  // source once.
  void Gather(const Node& node, std::vector<const Node*>* files);
  absl::Status OpenBelow(const Node& root);
  void WarnOfLibraries(const std::vector<const Node*>& files);
  void FindLongest(const Node& node, bool is_packed);
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
  // Sets `growing` if the store is still being written.
  absl::StatusOr<std::shared_ptr<const TokenSource>> OpenFiles(
      const Node& node, std::shared_ptr<GrowingStore>* growing) const;
  const std::shared_ptr<const TokenSource>& Opened(const Node& node) const;
  // Returns the store if it is still being written; else null.
  std::shared_ptr<GrowingStore> Growing(const Node& node) const;
  // Returns the documents that are read; null for all. `cuts`: whether the
  // budget cuts them.
  absl::StatusOr<std::shared_ptr<const Selection>> DocumentsOf(
      const Node& node, const NodeHoldOut* hold_out, bool cuts,
      SelectionReader* reader) const;
  std::string Located(const std::string& path) const;

  const Run& run_;
  std::vector<StoreCatalog> catalogs_;
  // The key consists of the path and the options stated for its files.
  std::map<std::string, std::shared_ptr<const TokenSource>> opened_;
  // Those that are still being written, under the same keys.
  std::map<std::string, std::shared_ptr<GrowingStore>> growing_;
  std::unordered_map<const void*, ConfigSource> leaves_;  // by KeyOf()
  std::vector<uint64_t> packed_lengths_;
  // Of several lengths: the windows of each, by source, selection and options.
  std::map<std::string, std::vector<DatasetPtr<TokenWindow>>> packed_;
  std::vector<std::string> warnings_;
  bool opens_later_ = false;  // whether stores open their files at first read
  // Tokens of the longest source, and its name in messages.
  uint64_t most_tokens_ = 0;
  std::string longest_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_SOURCES_H_
