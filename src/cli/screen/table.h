// SPDX-License-Identifier: Apache-2.0
// Rows of text in columns, for people.

#ifndef PONIENTE_CLI_SCREEN_TABLE_H_
#define PONIENTE_CLI_SCREEN_TABLE_H_

#include <iostream>
#include <string>
#include <vector>

namespace poniente::cli {

// Columns are as wide as their widest cell; all but the first go to the right.
// The first row is the header. Cells are printed as OneLine() writes them.
void PrintTable(std::vector<std::vector<std::string>> rows,
                std::ostream& out = std::cout);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_SCREEN_TABLE_H_
