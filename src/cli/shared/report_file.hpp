// The JSON file of a measuring command, and where its table goes meanwhile.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "io/output_file.hpp"

namespace tapline::cli {

class ReportFile {
public:
    /// "-" is standard output, "" no file. A name that cannot be written fails here, before the work.
    explicit ReportFile(const std::string& path) : path_(path) {
        if (!path.empty()) { file_.create(path, false); }
    }

    /// Standard output, or standard error where the file is standard output.
    [[nodiscard]] std::FILE* table() const { return path_ == "-" ? stderr : stdout; }

    /// One object a line, at once where there is no file to be renamed.
    void write_line(const nlohmann::ordered_json& json) {
        if (path_.empty()) { return; }
        write(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
        if (file_.direct()) { file_.flush(); }
    }
    void write(const std::string& text) {
        if (!path_.empty()) { file_.write(text.data(), text.size()); }
    }
    void commit() {
        if (!path_.empty()) { file_.commit(); }
    }

private:
    std::string path_;
    io::OutputFile file_;
};

}  // namespace tapline::cli
