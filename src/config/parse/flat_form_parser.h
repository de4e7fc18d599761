// SPDX-License-Identifier: Apache-2.0
// KempnerForge's form of [data]: one mixture of datasets, and phases. Read
// unchanged; the other tables of such a file are the trainer's.

#ifndef PONIENTE_CONFIG_PARSE_FLAT_FORM_PARSER_H_
#define PONIENTE_CONFIG_PARSE_FLAT_FORM_PARSER_H_

#include "config/parse/node_parser.h"
#include "config/parse/toml_reader.h"
#include "config/spec.h"

namespace poniente::internal {

bool IsFlatForm(TableReader& data);

// Sizes from [train], where [data] does not state them; warnings for tables
// that may be misspelt.
void ParseTrainer(const toml::table& root, TableReader& top, RunSpec* run);

// The mixture and its stages. REQUIRES: IsFlatForm(data); run's sizes are read.
void ParseFlatForm(TableReader& data, NodeParser* nodes, RunSpec* run);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_FLAT_FORM_PARSER_H_
