// SPDX-License-Identifier: Apache-2.0
// toml++, as the distribution's package configures it (its shared library).

#ifndef PONIENTE_CONFIG_PARSE_TOML_H_
#define PONIENTE_CONFIG_PARSE_TOML_H_

#include <toml++/toml.h>

#endif  // PONIENTE_CONFIG_PARSE_TOML_H_
