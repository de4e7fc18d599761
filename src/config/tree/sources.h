// SPDX-License-Identifier: Apache-2.0
// Opens the leaves of a configuration: stores, files of other projects,
// datasets of the Hugging Face hub, and numbers of tokens.

#ifndef PONIENTE_CONFIG_TREE_SOURCES_H_
#define PONIENTE_CONFIG_TREE_SOURCES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/run_nodes.h"
#include "poniente/catalog.h"
#include "poniente/token_source.h"
#include "store/growing/growing_store.h"

namespace poniente::internal {

// Opens the sources that a run names, each path once. The run must outlive it.
class ConfigSources {
 public:
  explicit ConfigSources(const Run& run) : run_(run) {}

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

  // Returns the opened files of a leaf. REQUIRES: the leaf names files, and is
  // open.
  const std::shared_ptr<const TokenSource>& Opened(const Node& node) const;
  // Returns the store of a leaf if it is still being written; else null.
  std::shared_ptr<GrowingStore> Growing(const Node& node) const;
  // Returns the tokens of a leaf. REQUIRES: the node is a leaf, and open.
  uint64_t TokensOf(const Node& node) const;

  // Returns the path below the run's folder; an absolute path as it is.
  std::string Located(const std::string& path) const;

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
  // Sets `growing` if the store is still being written.
  absl::StatusOr<std::shared_ptr<const TokenSource>> OpenFiles(
      const Node& node, std::shared_ptr<GrowingStore>* growing) const;

  const Run& run_;
  std::vector<StoreCatalog> catalogs_;
  // The key consists of the path and the options stated for its files.
  std::map<std::string, std::shared_ptr<const TokenSource>> opened_;
  // Those that are still being written, under the same keys.
  std::map<std::string, std::shared_ptr<GrowingStore>> growing_;
  std::vector<std::string> warnings_;
  bool opens_later_ = false;  // whether stores open their files at first read
  // Tokens of the longest source, and its name in messages.
  uint64_t most_tokens_ = 0;
  std::string longest_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_SOURCES_H_
