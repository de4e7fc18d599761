// SPDX-License-Identifier: Apache-2.0
// Prints rows of text in columns, for people.

#ifndef PONIENTE_CLI_SCREEN_TABLE_H_
#define PONIENTE_CLI_SCREEN_TABLE_H_

#include <iostream>
#include <string>
#include <vector>

namespace poniente::cli {

// Prints a table. The first row is the header. Columns are as wide as their
// widest cell; all but the first are aligned right. OneLine() is applied to
// each cell.
void PrintTable(std::vector<std::vector<std::string>> rows,
                std::ostream& out = std::cout);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_SCREEN_TABLE_H_
