// The ladder's tables on a terminal.
#pragma once

#include <cstdio>
#include <string>

#include "cli/ladder/ladder_model.hpp"

namespace tapline::cli {

/// Columns of the terminal: COLUMNS, else what the system knows of `file`, else 80.
int terminal_columns(std::FILE* file);

/// `missing`: why the lessons are not there; empty if they are.
void print_device(std::FILE* to, const LadderDevice& device, const std::string& missing, int columns);

/// With 100 columns or more the time with a warm cache has one of its own.
void print_table(std::FILE* to, const LadderTable& table, int columns);

}  // namespace tapline::cli
