// SPDX-License-Identifier: Apache-2.0
// Where the Hugging Face datasets library keeps what it has prepared on this
// machine. Nothing is downloaded.

#ifndef PONIENTE_CONFIG_TREE_HUB_CACHE_H_
#define PONIENTE_CONFIG_TREE_HUB_CACHE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace poniente::internal {

// $HF_DATASETS_CACHE, else $HF_HOME/datasets, else
// $XDG_CACHE_HOME/huggingface/datasets, else ~/.cache/huggingface/datasets.
std::string HubCacheFolder();

// The folder that holds the Arrow files of dataset `name` ("owner/dataset" or
// "dataset"), in configuration `config` ("": the only one there is). In the
// cache: <owner>___<dataset>/<config>/<version>/<hash>/*.arrow, where the
// library writes the dataset's "TinyStories" as "tiny_stories", and of what a
// generator made leaves out the hash.
// Errors: NotFound, saying where it was looked for and how to get it there;
//     InvalidArgument if there are several configurations or versions, which
//     are listed.
absl::StatusOr<std::string> FindInHubCache(std::string_view name,
                                           std::string_view config);

// Of the files in such a folder, those of one split: <name>-<split>.arrow, or
// <name>-<split>-00000-of-00003.arrow and so on.
std::string HubSplitGlob(std::string_view split);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_HUB_CACHE_H_
