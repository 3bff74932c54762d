// Files for the tests of src/io: a folder of its own for each test, bytes written by hand.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "io/reader.hpp"
#include "support/errors.hpp"

namespace tapline::io::test {

class Folder {
public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "tapline-io-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
    [[nodiscard]] std::string put(const std::string& name, const std::string& bytes) const {
        std::ofstream(file(name), std::ios::binary) << bytes;
        return file(name);
    }
    [[nodiscard]] std::size_t count() const {
        return static_cast<std::size_t>(
            std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
    }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

/// What a pipe holds, at most 64 KiB of it, under a name that can be opened.
class Pipe {
public:
    explicit Pipe(const std::string& bytes) {
        EXPECT_EQ(::pipe(ends_), 0);
        EXPECT_EQ(::write(ends_[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
        ::close(ends_[1]);
    }
    ~Pipe() { ::close(ends_[0]); }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(ends_[0]); }

private:
    int ends_[2] = {-1, -1};
};

inline std::string bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

template <class T>
std::string raw_bytes(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// A .npy file around a header dict, as `version` says.
inline std::string npy_bytes(const std::string& dict, const std::string& data, int version = 1) {
    std::string text = dict;
    const std::size_t prefix = version == 1 ? 10 : 12;
    text.resize((prefix + dict.size() + 64) / 64 * 64 - prefix, ' ');
    text.back() = '\n';
    std::string head = "\x93NUMPY";
    head += static_cast<char>(version);
    head += '\0';
    for (std::size_t i = 0; i < prefix - 8; ++i) { head += static_cast<char>(text.size() >> (8 * i) & 0xff); }
    return head + text + data;
}

inline std::string npy_dict(const std::string& descr, const std::string& shape, bool fortran = false) {
    return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}

/// All frames, read `chunk` at a time into a buffer that starts as NaN bytes.
template <class T>
std::vector<T> read_values(Reader& reader, std::int64_t chunk = 7) {
    EXPECT_EQ(size_of(reader.info().dtype), sizeof(T));
    std::vector<T> all;
    const auto channels = static_cast<std::size_t>(reader.info().channels);
    while (true) {
        std::vector<T> part(static_cast<std::size_t>(chunk) * channels);
        std::memset(static_cast<void*>(part.data()), 0xff, part.size() * sizeof(T));
        const auto got = static_cast<std::size_t>(reader.read(part.data(), chunk));
        all.insert(all.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(got * channels));
        if (got < static_cast<std::size_t>(chunk)) return all;
    }
}

using tapline::test::expect_error;

}  // namespace tapline::io::test
