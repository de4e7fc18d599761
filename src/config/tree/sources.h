// SPDX-License-Identifier: Apache-2.0
// The leaves of a configuration: stores, files of other projects, datasets of
// the hub, numbers of tokens.

#ifndef PONIENTE_CONFIG_TREE_SOURCES_H_
#define PONIENTE_CONFIG_TREE_SOURCES_H_

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/spec.h"
#include "config/tree/selections.h"
#include "poniente/async_dataset.h"
#include "poniente/catalog.h"
#include "poniente/config.h"
#include "poniente/token_source.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Opens what a run names, once per path, and makes windows of max_seq_len.
class ConfigSources {
 public:
  ConfigSources(const RunSpec& run, std::string folder)
      : run_(run), folder_(std::move(folder)) {}

  // Everything below `node`, on all cores. The messages of all that cannot be
  // opened (the first hundred) are joined, one per line, with their places;
  // also if no source at all holds a window.
  absl::Status Open(const NodeSpec& node);

  // REQUIRES: opened; the node is a leaf.
  absl::StatusOr<DatasetPtr<TokenWindow>> Windows(const NodeSpec& node,
                                                  SelectionReader* reader);

  // What a leaf that was made here is of; its path is left to the caller.
  ConfigSource SourceOf(const DatasetNode& leaf) const;
  // In tokens. REQUIRES: opened; the node is a leaf.
  uint64_t TokensOf(const NodeSpec& node) const;

 private:
  absl::Status OpenCatalogs();
  // The store of a catalogue that lists `path`; null if none does.
  absl::StatusOr<std::shared_ptr<const TokenSource>> FindInCatalogs(
      const std::string& path) const;
  // Those of `node` and below that are opened, each path once.
  void Gather(const NodeSpec& node, std::vector<const NodeSpec*>* files);
  absl::Status OpenBelow(const NodeSpec& root);
  void FindLongest(const NodeSpec& node);
  absl::StatusOr<std::shared_ptr<const TokenSource>> OpenFiles(
      const NodeSpec& node) const;
  const std::shared_ptr<const TokenSource>& Opened(const NodeSpec& node) const;
  absl::Status CheckSomeWindow() const;
  std::string Located(const std::string& path) const;

  const RunSpec& run_;
  const std::string folder_;
  std::vector<StoreCatalog> catalogs_;
  // By path and what is stated of its files.
  std::map<std::string, std::shared_ptr<const TokenSource>> opened_;
  std::unordered_map<const DatasetNode*, ConfigSource> leaves_;
  bool opens_later_ = false;  // stores, at their first read
  // The most tokens of a source, and what it is called.
  uint64_t most_tokens_ = 0;
  std::string longest_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_SOURCES_H_
