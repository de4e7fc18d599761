// SPDX-License-Identifier: Apache-2.0
// Writes the settings of a node that are tables of options.

#ifndef PONIENTE_CONFIG_WRITE_NODE_OPTIONS_WRITER_H_
#define PONIENTE_CONFIG_WRITE_NODE_OPTIONS_WRITER_H_

#include <string>

#include "poniente/run.h"

namespace poniente::internal {

// Return the value of pack_documents and of fill_in_the_middle. `is_resolved`:
// with all defaults. `index_file`: as it is to be written.
std::string PackingText(const NodePacking& packing, bool is_resolved,
                        const std::string& index_file);
std::string InfillingText(const NodeInfilling& infilling, bool is_resolved);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_WRITE_NODE_OPTIONS_WRITER_H_
