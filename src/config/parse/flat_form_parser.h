// SPDX-License-Identifier: Apache-2.0
// Parses KempnerForge's form of [data]: one mixture of datasets, and phases.
// Such files are read unchanged; their other tables belong to the trainer.

#ifndef PONIENTE_CONFIG_PARSE_FLAT_FORM_PARSER_H_
#define PONIENTE_CONFIG_PARSE_FLAT_FORM_PARSER_H_

#include "config/parse/node_parser.h"
#include "config/parse/toml_reader.h"
#include "config/run_nodes.h"

namespace poniente::internal {

// Returns whether [data] is in this form.
bool IsFlatForm(TableReader& data);

// Reads the seed and sizes that [train] states, to be used where [data] does
// not state them. Adds a warning for each table that may be misspelt.
void ParseTrainer(const toml::table& root, TableReader& top, Run* run,
                  std::vector<std::string>* warnings);

// Reads the mixture and its stages. REQUIRES: IsFlatForm(data); the sizes of
// `run` have been read.
void ParseFlatForm(TableReader& data, NodeParser* nodes, Run* run,
                   std::vector<std::string>* warnings);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_FLAT_FORM_PARSER_H_
