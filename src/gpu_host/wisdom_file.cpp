#include "gpu_host/wisdom_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "core/problem/mask_rank.hpp"
#include "tapline/error.hpp"
#include "tapline/types.hpp"

namespace tapline::gpu_host {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "tapline wisdom";
constexpr int kFormatVersion = 1;
constexpr std::int64_t kMostBytes = 64 << 20;  // a thousand devices, thoroughly tuned: anything larger is another file

[[noreturn]] void fail(const std::string& what, int error) {
    throw Error(ErrorCode::io, "wisdom: cannot " + what + ": " + std::strerror(error) +
                                   "; set TAPLINE_WISDOM to a file in a folder that can be written");
}

class Descriptor {
public:
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { static_cast<void>(close()); }
    [[nodiscard]] int get() const { return fd_; }
    int close() { return fd_ < 0 ? 0 : ::close(std::exchange(fd_, -1)); }

private:
    int fd_;
};

template <class T>
T number(const Json& json, const char* name, T least, T most) {
    const Json& value = json.at(name);
    const bool fits = std::is_integral_v<T> ? value.is_number_integer() : value.is_number();
    if (!fits || !(value.get<double>() >= static_cast<double>(least) && value.get<double>() <= static_cast<double>(most))) {
        throw Error(ErrorCode::io, std::string(name) + " is " + value.dump());
    }
    return value.get<T>();
}

// Files that were written before there were images have no such entry.
template <class T>
T number_or(const Json& json, const char* name, T least, T most, T otherwise) {
    return json.contains(name) ? number(json, name, least, most) : otherwise;
}

Dtype dtype(const Json& json, const char* name) {
    const auto text = json.at(name).get<std::string>();
    const auto found = dtype_from_string(text);
    if (!found) { throw Error(ErrorCode::io, std::string(name) + " is '" + text + "'"); }
    return *found;
}

// What any rung may have: a rung refuses what it has not.
constexpr std::int32_t kMostVectors = 64;
constexpr std::int32_t kMostThreads = 1024;
constexpr std::int32_t kMostTiles = 1 << 20;
constexpr double kMostSeconds = 1e6;
constexpr std::int64_t kMostTaps = std::int64_t{1} << 62;

WisdomEntry entry_of(const Json& json) {
    WisdomEntry entry;
    entry.rung = json.at("rung").get<std::string>();
    entry.problem.dtype = dtype(json, "dtype");
    entry.problem.taps_dtype = dtype(json, "taps_dtype");
    entry.problem.output_dtype = dtype(json, "output_dtype");
    entry.problem.rank = number_or(json, "rank", 1, 3, 1);
    entry.problem.taps = number<std::int64_t>(json, "taps", 1, kMostTaps);
    entry.problem.taps_y = number_or<std::int64_t>(json, "taps_y", 1, kMostTaps, 1);
    entry.problem.outputs_log2 = number(json, "outputs_log2", 0, 63);
    entry.problem.batch_log2 = number(json, "batch_log2", 0, 63);
    entry.problem.channels = number_or<std::int64_t>(json, "channels", 1, kMostTaps, 1);
    entry.problem.separable = number_or(json, "separable", 0, core::kMaxMaskRank, 0);
    entry.problem.per_row = json.at("per_row").get<bool>();
    entry.problem.strided = json.at("strided").get<bool>();
    entry.problem.narrow_taps = json.value("narrow_taps", false);
    entry.problem.equal_taps = json.value("equal_taps", false);
    const auto accuracy = json.at("accuracy").get<std::string>();
    const auto known = accuracy_from_string(accuracy);
    if (!known) { throw Error(ErrorCode::io, "accuracy is '" + accuracy + "'"); }
    entry.accuracy = *known;
    const Json& policy = json.at("policy");
    entry.policy.vectors_per_thread = number(policy, "vectors_per_thread", 0, kMostVectors);
    entry.policy.threads_per_block = number(policy, "threads_per_block", 0, kMostThreads);
    entry.policy.tiles_per_block = number(policy, "tiles_per_block", -1, kMostTiles);
    entry.policy.windows_per_warp = number(policy, "windows_per_warp", 0, kMostTiles);
    entry.seconds = number(json, "seconds", 0.0, kMostSeconds);
    entry.default_seconds = number(json, "default_seconds", 0.0, kMostSeconds);
    entry.date = json.at("date").get<std::string>();
    return entry;
}

Json json_of(const WisdomEntry& entry) {
    return {{"rung", entry.rung},
            {"dtype", to_string(entry.problem.dtype)},
            {"taps_dtype", to_string(entry.problem.taps_dtype)},
            {"output_dtype", to_string(entry.problem.output_dtype)},
            {"rank", entry.problem.rank},
            {"taps", entry.problem.taps},
            {"taps_y", entry.problem.taps_y},
            {"outputs_log2", entry.problem.outputs_log2},
            {"batch_log2", entry.problem.batch_log2},
            {"channels", entry.problem.channels},
            {"separable", entry.problem.separable},
            {"per_row", entry.problem.per_row},
            {"strided", entry.problem.strided},
            {"narrow_taps", entry.problem.narrow_taps},
            {"equal_taps", entry.problem.equal_taps},
            {"accuracy", to_string(entry.accuracy)},
            {"policy",
             {{"vectors_per_thread", entry.policy.vectors_per_thread},
              {"threads_per_block", entry.policy.threads_per_block},
              {"tiles_per_block", entry.policy.tiles_per_block},
              {"windows_per_warp", entry.policy.windows_per_warp}}},
            {"seconds", entry.seconds},
            {"default_seconds", entry.default_seconds},
            {"date", entry.date}};
}

std::string read_all(int fd, const std::string& path) {
    std::string text;
    char block[65536];
    while (true) {
        const ssize_t got = ::read(fd, block, sizeof(block));
        if (got < 0 && errno == EINTR) { continue; }
        if (got < 0) { fail("read " + path, errno); }
        if (got == 0) { return text; }
        text.append(block, static_cast<std::size_t>(got));
        if (static_cast<std::int64_t>(text.size()) > kMostBytes) { fail("read " + path, EFBIG); }
    }
}

// Empty for a file that does not exist.
std::string read_text(const std::string& path) {
    // Without blocking: the name may be a pipe's.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (file.get() < 0) {
        if (errno == ENOENT || errno == ENOTDIR) { return {}; }
        fail("read " + path, errno);
    }
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) { fail("read " + path, errno); }
    if (S_ISDIR(status.st_mode)) { fail("read " + path, EISDIR); }
    if (!S_ISREG(status.st_mode)) { return {}; }  // /dev/null: a way to have none
    return read_all(file.get(), path);
}

void write_all(int fd, const std::string& text, const std::string& path) {
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t put = ::write(fd, text.data() + at, text.size() - at);
        if (put < 0 && errno == EINTR) { continue; }
        if (put < 0) { fail("write " + path, errno); }
        at += static_cast<std::size_t>(put);
    }
}

// Flushed to the disk before it gets its name, so that after a loss of power the name stands for the old or the new text.
void replace(const std::string& path, const std::string& text) {
    std::random_device random;
    const std::string temporary = path + "." + std::to_string(random()) + ".tmp";
    Descriptor file(::open(temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666));
    if (file.get() < 0) { fail("write " + temporary, errno); }
    try {
        struct stat old {};
        if (::stat(path.c_str(), &old) == 0 && ::fchmod(file.get(), old.st_mode & 07777) != 0) {
            fail("write " + temporary, errno);
        }
        write_all(file.get(), text, temporary);
        if (::fsync(file.get()) != 0) { fail("write " + temporary, errno); }
        if (file.close() != 0 && errno != EINTR) { fail("write " + temporary, errno); }
        if (::rename(temporary.c_str(), path.c_str()) != 0) { fail("write " + path, errno); }
    } catch (...) {
        ::unlink(temporary.c_str());
        throw;
    }
    const Descriptor folder(::open(std::filesystem::path(path).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() >= 0) { static_cast<void>(::fsync(folder.get())); }  // some file systems refuse; the file is whole anyway
}

bool same_fact(const WisdomEntry& a, const WisdomEntry& b) {
    return a.rung == b.rung && a.problem == b.problem && a.accuracy == b.accuracy;
}

void merge(WisdomSections& sections, const WisdomSection& added) {
    const auto found = std::find_if(sections.begin(), sections.end(), [&](const WisdomSection& s) {
        return s.device == added.device && s.driver == added.driver && s.version == added.version;
    });
    if (found == sections.end()) {
        sections.push_back(added);
        return;
    }
    for (const WisdomEntry& entry : added.entries) {
        std::erase_if(found->entries, [&](const WisdomEntry& old) { return same_fact(old, entry); });
        found->entries.push_back(entry);
    }
}

}  // namespace

WisdomSections parse_wisdom(const std::string& text) {
    std::string where;
    try {
        const Json json = Json::parse(text);
        if (!json.is_object() || json.value("format", "") != kFormat) { throw Error(ErrorCode::io, "it is not a wisdom file"); }
        if (const int version = json.value("format_version", 0); version != kFormatVersion) {
            throw Error(ErrorCode::io, "its format is version " + std::to_string(version) + ", this tapline reads version " +
                                           std::to_string(kFormatVersion));
        }
        WisdomSections sections;
        for (const Json& machine : json.at("machines")) {
            where = "machine " + std::to_string(sections.size() + 1) + ": ";
            WisdomSection section{.device = machine.at("device").get<std::string>(),
                                  .driver = number(machine, "driver", 0, 1 << 30),
                                  .version = machine.at("version").get<std::string>(),
                                  .entries = {}};
            for (const Json& entry : machine.at("entries")) {
                where = "machine " + std::to_string(sections.size() + 1) + ", entry " + std::to_string(section.entries.size() + 1) +
                        ": ";
                section.entries.push_back(entry_of(entry));
            }
            sections.push_back(std::move(section));
        }
        return sections;
    } catch (const Json::exception& error) { throw Error(ErrorCode::io, where + error.what()); } catch (const Error& error) {
        throw Error(ErrorCode::io, where + error.what());
    }
}

std::string format_wisdom(const WisdomSections& sections) {
    Json machines = Json::array();
    for (const WisdomSection& section : sections) {
        Json entries = Json::array();
        for (const WisdomEntry& entry : section.entries) { entries.push_back(json_of(entry)); }
        machines.push_back({{"device", section.device},
                            {"driver", section.driver},
                            {"version", section.version},
                            {"entries", std::move(entries)}});
    }
    const Json json = {{"format", kFormat}, {"format_version", kFormatVersion}, {"machines", std::move(machines)}};
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

WisdomSections read_wisdom(const std::string& path) {
    const std::string text = read_text(path);
    return text.empty() ? WisdomSections{} : parse_wisdom(text);
}

void update_wisdom(const std::string& given, const WisdomSection& added) {
    namespace fs = std::filesystem;
    if (given.empty()) {
        throw Error(ErrorCode::io, "wisdom: there is no place for it, since HOME is not set; set TAPLINE_WISDOM to a file's name");
    }
    std::error_code error;
    const fs::path target = fs::weakly_canonical(fs::absolute(given, error), error);  // a link stays a link
    if (error) { fail("write " + given, error.value()); }
    const std::string path = target.string();
    fs::create_directories(target.parent_path(), error);
    if (error) { fail("create the folder " + target.parent_path().string(), error.value()); }
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) {
        if (!S_ISREG(status.st_mode)) { fail("replace " + path, S_ISDIR(status.st_mode) ? EISDIR : EINVAL); }
        if (::access(path.c_str(), W_OK) != 0) { fail("write " + path, errno); }  // a rename would replace even a read-only file
    }
    const Descriptor lock(::open((path + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666));
    if (lock.get() < 0) { fail("write " + path + ".lock", errno); }
    while (::flock(lock.get(), LOCK_EX) != 0) {
        if (errno != EINTR) { fail("lock " + path + ".lock", errno); }
    }
    WisdomSections sections;
    if (const std::string text = read_text(path); !text.empty()) {
        try {
            sections = parse_wisdom(text);
        } catch (const Error&) {  // it may be something that somebody wants back
            if (::rename(path.c_str(), (path + ".damaged").c_str()) != 0) { fail("rename " + path, errno); }
        }
    }
    merge(sections, added);
    replace(path, format_wisdom(sections));
}

}  // namespace tapline::gpu_host
