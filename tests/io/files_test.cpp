// Names, pipes, standard streams, temporaries: what all formats share.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <complex>
#include <functional>
#include <thread>

#include "files.hpp"
#include "io/output_file.hpp"
#include "io/writer.hpp"

namespace tapline::io::test {
namespace {

const std::vector<float> kValues{1, 2.5F, -3, 4, 5, 6, 7};

void write_raw(const std::string& path) {
    const auto writer = Writer::create(path, {.format = Format::raw});
    writer->write(kValues.data(), 7);
    writer->commit();
}

// Runs `action` with descriptor `target` standing for a pipe; what it reads comes from `input`, what it writes is returned.
std::string with_pipe(int target, const std::string& input, const std::function<void()>& action) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const int saved = ::dup(target);
    std::string output;
    const bool reading = target == STDIN_FILENO;
    ::dup2(ends[reading ? 0 : 1], target);
    ::close(ends[reading ? 0 : 1]);
    std::thread other([&] {
        if (reading) {
            for (std::size_t i = 0; i < input.size();) {
                i += static_cast<std::size_t>(::write(ends[1], input.data() + i, input.size() - i));
            }
        } else {
            char block[4096];
            for (ssize_t got = 0; (got = ::read(ends[0], block, sizeof(block))) > 0;) {
                output.append(block, static_cast<std::size_t>(got));
            }
        }
        ::close(ends[reading ? 1 : 0]);
    });
    try {
        action();
    } catch (const std::exception& error) { ADD_FAILURE() << error.what(); }
    ::dup2(saved, target);
    ::close(saved);
    other.join();
    return output;
}

TEST(IoRaw, TypesByNameOrByOption) {
    const Folder folder;
    write_raw(folder.file("x.f32"));
    write_raw(folder.file("x.f64"));
    const std::vector<double> wide(kValues.begin(), kValues.end());
    EXPECT_EQ(bytes_of(folder.file("x.f32")), raw_bytes(kValues));
    EXPECT_EQ(bytes_of(folder.file("x.f64")), raw_bytes(wide));
    EXPECT_EQ(read_values<double>(*Reader::open(folder.file("x.f64")), 3), wide);
    expect_error(ErrorCode::argument, "raw data does not tell", [&] { Reader::open(folder.put("x.raw", "abcd")); });
    const auto reader = Reader::open(folder.put("x.raw", "abcd"), {.raw_dtype = Dtype::i16});
    EXPECT_EQ(reader->info().frames, 2);
    reader->seek(1);
    EXPECT_EQ(read_values<std::int16_t>(*reader), std::vector<std::int16_t>{0x6463});
    expect_error(ErrorCode::io, "7 bytes are not a whole number of f32", [&] { Reader::open(folder.put("y.f32", "1234567")); });
    expect_error(ErrorCode::type, "complex64 elements do not fit",
                 [&] { Writer::create(folder.file("z.f32"), {.dtype = Dtype::complex64}); });
}

TEST(IoFiles, ContentDecidesWithoutAnExtension) {
    const Folder folder;
    const auto format = [&](const std::string& bytes, const OpenOptions& options = {}) {
        return Reader::open(folder.put("x", bytes), options)->info().format;
    };
    EXPECT_EQ(format(npy_bytes(npy_dict("<f4", "(1,)"), "abcd")), Format::npy);
    EXPECT_EQ(format("1\n2\n"), Format::text);
    EXPECT_EQ(format("1234", {.raw_dtype = Dtype::f32}), Format::raw);
    expect_error(ErrorCode::io, "cannot be read as audio", [&] { format("RIFFxxxxWAVE"); });
    expect_error(ErrorCode::io, "neither NumPy, audio nor text", [&] { format(std::string("\1\2\0\3", 4)); });
}

TEST(IoFiles, StandardInputOfEveryFormat) {
    const Folder folder;
    with_pipe(STDIN_FILENO, "1\n2\n3\n", [] {
        const auto reader = Reader::open("-");
        EXPECT_FALSE(reader->info().seekable);
        EXPECT_EQ(read_values<double>(*reader, 2), (std::vector<double>{1, 2, 3}));
        expect_error(ErrorCode::unsupported, "standard input: cannot seek", [&] { reader->rewind(); });
    });
    with_pipe(STDIN_FILENO, npy_bytes(npy_dict("<f4", "(7,)"), raw_bytes(kValues)),
              [] { EXPECT_EQ(read_values<float>(*Reader::open("-"), 3), kValues); });
    with_pipe(STDIN_FILENO, raw_bytes(kValues), [] {
        const auto reader = Reader::open("-", {.raw_dtype = Dtype::f32, .need_seek = true});
        EXPECT_EQ(reader->info().frames, 7);
        EXPECT_EQ(read_values<float>(*reader, 3), kValues);
        reader->rewind();
        EXPECT_EQ(read_values<float>(*reader, 100), kValues);
    });
    const auto writer = Writer::create(folder.file("x.wav"), {.sample_rate = 8000, .frames = 7});
    writer->write(kValues.data(), 7);
    writer->commit();
    with_pipe(STDIN_FILENO, bytes_of(folder.file("x.wav")), [] {
        const auto reader = Reader::open("-");
        EXPECT_EQ(reader->info().frames, 7);
        EXPECT_EQ(read_values<float>(*reader, 3), kValues);
    });
    with_pipe(STDIN_FILENO, npy_bytes(npy_dict("<f4", "(9,)"), raw_bytes(kValues)), [] {
        const auto reader = Reader::open("-");
        expect_error(ErrorCode::io, "promises 9 elements, the file holds 7", [&] { read_values<float>(*reader, 3); });
    });
    with_pipe(STDIN_FILENO, raw_bytes(kValues).substr(1), [] {
        const auto reader = Reader::open("-", {.raw_dtype = Dtype::f32});
        expect_error(ErrorCode::io, "27 bytes are not a whole number", [&] { read_values<float>(*reader, 100); });
    });
}

TEST(IoFiles, StandardOutputOfEveryFormat) {
    const Folder folder;
    for (const Format format : {Format::raw, Format::text, Format::npy, Format::audio}) {
        for (const bool known : {true, false}) {
            const std::string out = with_pipe(STDOUT_FILENO, "", [&] {
                const auto writer =
                    Writer::create("-", {.format = format, .sample_rate = 8000, .frames = known ? 7 : kUnknownLength});
                writer->write(kValues.data(), 3);
                writer->write(kValues.data() + 3, 4);
                writer->commit();
            });
            const char* name = format == Format::npy     ? "x.npy"
                               : format == Format::audio ? "x.wav"
                               : format == Format::raw   ? "x.f32"
                                                         : "x.txt";
            const auto reader = Reader::open(folder.put(name, out));
            if (format == Format::text) {
                EXPECT_EQ(read_values<double>(*reader), std::vector<double>(kValues.begin(), kValues.end()));
            } else {
                EXPECT_EQ(read_values<float>(*reader), kValues) << name << known;
            }
        }
    }
}

TEST(IoFiles, ExtensionOptionOverridesTheName) {
    const std::string raw = with_pipe(STDOUT_FILENO, "", [] {
        const std::vector<double> wide(kValues.begin(), kValues.end());
        const auto writer = Writer::create("-", {.extension = ".f32", .dtype = Dtype::f64});
        writer->write(wide.data(), 7);
        writer->commit();
    });
    EXPECT_EQ(raw, raw_bytes(kValues));
    const Folder folder;
    const auto writer = Writer::create(folder.file("x.wav"), {.extension = ".flac", .sample_rate = 8000});
    writer->write(kValues.data(), 7);
    writer->commit();
    EXPECT_EQ(bytes_of(folder.file("x.wav")).substr(0, 4), "fLaC");
}

TEST(IoFiles, DescriptorsAndDevicesAreWrittenDirectly) {
    const std::string out = with_pipe(STDOUT_FILENO, "", [] { write_raw("/dev/stdout"); });
    EXPECT_EQ(out, raw_bytes(kValues));
    write_raw("/dev/null");
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
    for (const Format format : {Format::raw, Format::text, Format::npy, Format::audio}) {
        expect_error(ErrorCode::io, "cannot write /dev/full: No space left on device; free some space", [&] {
            const auto writer = Writer::create("/dev/full", {.format = format, .sample_rate = 8000});
            writer->write(kValues.data(), 7);
            writer->commit();
        });
    }
}

TEST(IoFiles, WithoutCommitTheOldFileStays) {
    const Folder folder;
    for (const char* name : {"x.npy", "x.wav", "x.f32", "x.txt"}) {
        const std::string path = folder.put(name, "old");
        {
            const auto writer = Writer::create(path, {.sample_rate = 8000});
            writer->write(kValues.data(), 7);
            EXPECT_EQ(folder.count(), 2U);
            EXPECT_EQ(bytes_of(path), "old");
        }
        EXPECT_EQ(bytes_of(path), "old");
        EXPECT_EQ(folder.count(), 1U);
        std::filesystem::remove(path);
    }
}

TEST(IoFiles, PermissionsAndLinksAreKept) {
    const Folder folder;
    const mode_t mask = ::umask(027);
    write_raw(folder.file("new.f32"));
    ::umask(mask);
    struct stat status {};
    ASSERT_EQ(::stat(folder.file("new.f32").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0640U);

    const std::string target = folder.put("target.f32", "old");
    ASSERT_EQ(::chmod(target.c_str(), 0604), 0);
    ASSERT_EQ(::symlink("target.f32", folder.file("link.f32").c_str()), 0);
    write_raw(folder.file("link.f32"));
    EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link.f32")));
    EXPECT_EQ(bytes_of(target), raw_bytes(kValues));
    ASSERT_EQ(::stat(target.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0604U);

    ASSERT_EQ(::symlink("loop.f32", folder.file("loop.f32").c_str()), 0);
    expect_error(ErrorCode::io, "loop.f32", [&] { write_raw(folder.file("loop.f32")); });
}

TEST(IoFiles, TargetsThatCannotBeWritten) {
    const Folder folder;
    expect_error(ErrorCode::io, "Is a directory; name a file", [&] { write_raw(folder.path()); });
    expect_error(ErrorCode::io, "No such file or directory", [&] { write_raw(folder.file("missing/x.f32")); });
    expect_error(ErrorCode::io, "Not a directory", [&] { write_raw(folder.put("f", "") + "/x.f32"); });
    expect_error(ErrorCode::argument, "empty", [&] { write_raw(""); });
    expect_error(ErrorCode::argument, "does not tell a format", [&] { Writer::create(folder.file("x.xyz"), {}); });
    expect_error(ErrorCode::argument, "does not tell a format", [&] { Writer::create("-", {}); });
    expect_error(ErrorCode::argument, "channels: 0", [&] { Writer::create(folder.file("x.npy"), {.channels = 0}); });
    if (::geteuid() != 0) {
        ASSERT_EQ(::chmod(folder.path().c_str(), 0500), 0);
        expect_error(ErrorCode::io, "Permission denied; check the permissions", [&] { write_raw(folder.file("x.f32")); });
        ASSERT_EQ(::chmod(folder.path().c_str(), 0700), 0);
    }
    EXPECT_EQ(folder.count(), 1U);
}

TEST(IoFiles, SourcesThatCannotBeRead) {
    const Folder folder;
    expect_error(ErrorCode::io, "cannot read " + folder.file("x.npy") + ": No such file",
                 [&] { Reader::open(folder.file("x.npy")); });
    expect_error(ErrorCode::io, "Is a directory", [&] { Reader::open(folder.path()); });
    expect_error(ErrorCode::io, "is not a .npy file", [&] { Reader::open(folder.put("x.npy", "1\n2\n3\n4\n5\n6\n")); });
}

// The status of a child that runs `action`; it exits with 0 if nothing was thrown.
int in_child(const std::function<void()>& action) {
    const pid_t child = ::fork();
    if (child == 0) {
        try {
            action();
            ::_exit(0);
        } catch (const Error& error) { ::_exit(error.code() == ErrorCode::io ? 3 : 4); }
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
}

TEST(IoFiles, SignalsRemoveTemporaries) {
    const Folder folder;
    const std::string path = folder.put("x.f32", "old");
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
        const int status = in_child([&] {
            remove_temporaries_on_signals();
            const auto writer = Writer::create(path, {});
            const auto other = Writer::create(folder.file("y.wav"), {.sample_rate = 8000});
            writer->write(kValues.data(), 7);
            ::raise(signal);
        });
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
        EXPECT_EQ(folder.count(), 1U);
        EXPECT_EQ(bytes_of(path), "old");
    }
}

TEST(IoFiles, FullDiskLeavesTheOldFile) {
    const Folder folder;
    for (const char* name : {"x.f32", "x.npy", "x.wav", "x.flac", "x.txt"}) {
        const std::string path = folder.put(name, "old");
        const int status = in_child([&] {
            remove_temporaries_on_signals();
            const rlimit limit{60000, 60000};
            ::setrlimit(RLIMIT_FSIZE, &limit);
            std::vector<float> noise(200000);
            for (std::size_t i = 0; i < noise.size(); ++i) { noise[i] = static_cast<float>(i * 2654435761U % 65521) / 65521.0F; }
            const auto writer = Writer::create(path, {.sample_rate = 8000});
            writer->write(noise.data(), 200000);
            writer->commit();
        });
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3) << name << " " << status;
        EXPECT_EQ(folder.count(), 1U);
        EXPECT_EQ(bytes_of(path), "old");
        std::filesystem::remove(path);
    }
}

}  // namespace
}  // namespace tapline::io::test
