// SPDX-License-Identifier: Apache-2.0
// Finds datasets that the Hugging Face datasets library has prepared in its
// cache on this machine. Nothing is downloaded.

#ifndef PONIENTE_CONFIG_TREE_HUB_CACHE_H_
#define PONIENTE_CONFIG_TREE_HUB_CACHE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace poniente::internal {

// Returns the cache's folder: $HF_DATASETS_CACHE, else $HF_HOME/datasets, else
// $XDG_CACHE_HOME/huggingface/datasets, else ~/.cache/huggingface/datasets.
std::string HubCacheFolder();

// Returns the folder that holds the Arrow files of dataset `name`
// ("owner/dataset" or "dataset") in configuration `config` ("": the only one).
// In the cache, it is <owner>___<dataset>/<config>/<version>/<hash>. The
// library writes a dataset named "TinyStories" as "tiny_stories", and leaves
// out <hash> if a generator made the dataset.
// Errors: NotFound, saying where the dataset was looked for and how to get it;
//     InvalidArgument, listing them, if there are several configurations or
//     versions.
absl::StatusOr<std::string> FindInHubCache(std::string_view name,
                                           std::string_view config);

// Returns the pattern (fnmatch) that matches the files of one split in such a
// folder: <name>-<split>.arrow, or <name>-<split>-00000-of-00003.arrow and so
// on.
std::string HubSplitGlob(std::string_view split);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_HUB_CACHE_H_
