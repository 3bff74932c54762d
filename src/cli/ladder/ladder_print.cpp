#include "cli/ladder/ladder_output.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "cli/ladder/ladder_format.hpp"
#include "cli/shared/numbers.hpp"

namespace tapline::cli {
namespace {

constexpr int kWide = 100;

struct Column {
    const char* title;
    int width;
    bool left = false;
};

std::vector<Column> columns_of(bool warm) {
    std::vector<Column> columns = {{"rung", 24, true}, {"of", 2, true}, {"time", 7}};
    if (warm) columns.push_back({"warm L2", 8});
    for (const Column& column : {Column{"naive", 7}, {"prev", 6}, {"GB/s", 5}, {"copy", 6}, {"GFLOP/s", 7}, {"error", 7}}) {
        columns.push_back(column);
    }
    return columns;
}

void print_cells(std::FILE* to, const std::vector<Column>& columns, const std::vector<std::string>& cells, int gap) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const auto width = static_cast<std::size_t>(columns[i].width);
        const std::string fill(cells[i].size() < width ? width - cells[i].size() : 0, ' ');
        if (i > 0) line.append(static_cast<std::size_t>(gap), ' ');
        line += columns[i].left ? cells[i] + fill : fill + cells[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::fprintf(to, "%s\n", line.c_str());
}

/// Words of `text` in lines of at most `columns`, the first after `head`, the others indented by `indent`.
void print_wrapped(std::FILE* to, const std::string& head, const std::string& text, int columns, int indent) {
    std::string line = head;
    bool empty = true;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find(' ', start), text.size());
        const std::string word = text.substr(start, end - start);
        start = end + 1;
        if (!empty && line.size() + 1 + word.size() > static_cast<std::size_t>(columns)) {
            std::fprintf(to, "%s\n", line.c_str());
            line.assign(static_cast<std::size_t>(indent), ' ');
            empty = true;
        }
        line += (empty ? "" : " ") + word;
        empty = false;
    }
    std::fprintf(to, "%s\n", line.c_str());
}

void print_copy(std::FILE* to, const LadderTable& table, const std::vector<Column>& columns, bool warm, int gap) {
    std::vector<std::string> cells = {copy_label(table), "", format_seconds(table.copy.time.median)};
    if (warm) cells.push_back(format_seconds(table.copy.warm->median));
    for (const auto& cell : {std::string(), std::string(), format_giga(table.copy.bytes_per_second), std::string("100%")}) {
        cells.push_back(cell);
    }
    print_cells(to, columns, cells, gap);
}

}  // namespace

int terminal_columns(std::FILE* file) {
    constexpr int kDefault = 80;
    constexpr int kLeast = 40;
    if (const char* text = std::getenv("COLUMNS"); text != nullptr) {
        const auto columns = parse_count(text);
        if (columns && *columns >= kLeast && *columns <= 10000) return static_cast<int>(*columns);
    }
    winsize size{};
    if (ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col >= kLeast) return size.ws_col;
    return kDefault;
}

void print_device(std::FILE* to, const LadderDevice& device, const std::string& missing, int columns) {
    std::string text = device.description;
    for (const auto& [name, value] : device.facts) text.append(", ").append(name).append(" ").append(value);
    print_wrapped(to, device.name + ": ", text, columns, 2);
    if (!missing.empty()) print_wrapped(to, "  no lessons: ", missing, columns, 4);
}

void print_table(std::FILE* to, const LadderTable& table, int columns) {
    const bool warm = table.copy.warm.has_value() && columns >= kWide;
    const int gap = columns >= kWide ? 2 : 1;
    const auto layout = columns_of(warm);
    std::fputc('\n', to);
    print_wrapped(to, table.contest.key + ": ", table.contest.title, columns, 2);
    print_wrapped(to, "", format_problem(table.contest), columns, 2);
    std::vector<std::string> titles;
    titles.reserve(layout.size());
    for (const auto& column : layout) titles.emplace_back(column.title);
    print_cells(to, layout, titles, gap);
    for (const auto& row : table.rows) {
        std::vector<std::string> cells = {row.lesson.label(), row.lesson.origin};
        if (!row.failure.empty()) {
            cells.emplace_back(row.verdict);
        } else {
            cells.push_back(format_seconds(row.time.median));
            if (warm) cells.push_back(row.warm ? format_seconds(row.warm->median) : "");
            for (auto& cell : compared(row)) cells.push_back(std::move(cell));
        }
        print_cells(to, layout, cells, gap);
    }
    print_copy(to, table, layout, warm, gap);
    for (const auto& row : table.rows) {
        if (!row.failure.empty())
            print_wrapped(to, std::string("  ") + row.verdict + ": " + row.lesson.label() + ": ", row.failure, columns, 4);
        if (row.kind == RowKind::autotuned && row.failure.empty()) print_wrapped(to, "  autotuned is ", row.detail, columns, 4);
    }
    for (const auto& group : group_skipped(table.skipped)) {
        print_wrapped(to, "  not here: ", group.labels + ": " + group.reason, columns, 4);
    }
    std::fflush(to);
}

}  // namespace tapline::cli
