// The wisdom file: what is found in it, what is ignored, and that nothing in it gets lost.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "gpu_host/problem.hpp"
#include "gpu_host/wisdom_file.hpp"
#include "support/errors.hpp"
#include "tapline/error.hpp"
#include "tapline/image.hpp"
#include "tapline/info.hpp"

namespace tapline::gpu_host {
namespace {

namespace fs = std::filesystem;

class Wisdom : public ::testing::Test {
protected:
    Wisdom() {
        std::string name = (fs::temp_directory_path() / "tapline-wisdom-XXXXXX").string();
        folder_ = ::mkdtemp(name.data());
        use(folder_ / "wisdom.json");
    }
    ~Wisdom() override {
        ::unsetenv("TAPLINE_WISDOM");
        forget_wisdom();
        fs::remove_all(folder_);
    }
    void use(const fs::path& path) {
        path_ = path;
        ::setenv("TAPLINE_WISDOM", path.c_str(), 1);
        forget_wisdom();
    }
    void write(const std::string& text) {
        std::ofstream(path_, std::ios::binary) << text;
        forget_wisdom();
    }
    [[nodiscard]] std::string text() const {
        std::ostringstream all;
        all << std::ifstream(path_, std::ios::binary).rdbuf();
        return all.str();
    }
    void edit(const std::string& from, const std::string& to) {
        std::string all = text();
        const auto at = all.find(from);
        ASSERT_NE(at, std::string::npos) << from << " is not in " << all;
        write(all.replace(at, from.size(), to));
    }
    fs::path folder_;
    fs::path path_;
};

cuda_abi::Device device_of(const std::string& name = "NVIDIA H200", std::int32_t driver = 13000) {
    cuda_abi::Device device;
    device.driver_version = driver;
    std::snprintf(device.name, sizeof(device.name), "%s", name.c_str());
    return device;
}

cuda_abi::Problem problem_of(std::int64_t n, std::int64_t k) {
    cuda_abi::Problem p;
    p.x.n = p.x.outputs = n;
    p.x.k = k;
    p.x.in_stride = p.x.out_stride = 1;
    return p;
}

WisdomEntry entry_of(const std::string& rung, const cuda_abi::Problem& problem, std::int32_t threads, double seconds) {
    return {.rung = rung,
            .problem = *class_of(problem),
            .accuracy = problem.accuracy,
            .policy = {.vectors_per_thread = 3, .threads_per_block = threads, .tiles_per_block = -1, .windows_per_warp = 0},
            .seconds = seconds,
            .default_seconds = 2 * seconds,
            .date = "2026-11-21T10:00:00Z"};
}

void remember_one(const cuda_abi::Device& device, const WisdomEntry& entry) { remember(device, std::span(&entry, 1)); }

std::int32_t threads_for(const cuda_abi::Device& device, const cuda_abi::Problem& problem,
                         const std::string& rung = "register_tiled") {
    const auto policy = tuned_policy(device, rung, problem);
    return policy ? policy->threads_per_block : 0;
}

std::string fastest_rung(const cuda_abi::Device& device, const cuda_abi::Problem& problem) {
    const auto entry = tuned_rung(device, problem, [](const std::string&) { return true; });
    return entry ? entry->rung : "";
}

TEST(WisdomClasses, TapsAreExactUpTo64AndThenHalfPowersOfTwo) {
    const auto taps = [](std::int64_t k) { return class_of(problem_of(1 << 20, k))->taps; };
    for (const std::int64_t k : {1, 2, 3, 63, 64, 96, 128, 192, 256}) EXPECT_EQ(taps(k), k);
    EXPECT_EQ(taps(65), 96);
    EXPECT_EQ(taps(97), 128);
    EXPECT_EQ(taps(129), 192);
    EXPECT_EQ(taps(193), 256);
    EXPECT_GT(taps(std::int64_t{1} << 62), 0);
}

TEST(WisdomClasses, TellLayoutsAndFiltersApart) {
    const auto p = problem_of(8192, 4);
    auto batch = p;
    batch.batch.length = 16384;
    auto depthwise = batch;
    depthwise.filters = batch.batch.length;
    auto strided = p;
    strided.x.in_stride = 2;
    EXPECT_NE(class_of(p), class_of(batch));
    EXPECT_NE(class_of(batch), class_of(depthwise));
    EXPECT_NE(class_of(p), class_of(strided));
    EXPECT_EQ(class_of(batch)->batch_log2, 14);
    EXPECT_EQ(class_of(batch)->outputs_log2, 13);
    auto stream = p;
    stream.x.n = kUnknownLength;
    stream.x.outputs = 0;
    EXPECT_FALSE(class_of(stream));
}

cuda_abi::Problem image_of(std::int64_t side, std::int64_t mask, std::int64_t channels = 1) {
    const ImageProblem p{.height = side, .width = side, .channels = channels, .mask_height = mask, .mask_width = mask};
    return to_abi(core::resolve(p), {});
}

TEST(WisdomClasses, TellImagesApart) {
    const ProblemClass grey = *class_of(image_of(1024, 5));
    EXPECT_EQ(grey.rank, 2);
    EXPECT_EQ(grey.outputs_log2, 20);
    EXPECT_EQ(grey.taps_y, 5);
    EXPECT_FALSE(grey.strided);
    EXPECT_NE(class_of(image_of(1024, 5, 3)), grey);
    EXPECT_EQ(class_of(image_of(1024, 5, 3))->channels, 3);
    EXPECT_EQ(class_of(image_of(1024, 5, 5)), class_of(image_of(1024, 5, 8)));
    auto separable = image_of(1024, 5);
    separable.separable = 1;
    EXPECT_NE(class_of(separable), grey);
    auto tall = image_of(1024, 100);
    tall.x.k = 5;
    EXPECT_EQ(class_of(tall)->taps_y, 128);
    EXPECT_EQ(class_of(tall)->taps, 5);
}

TEST_F(Wisdom, ServesImagesAndReadsFilesFromBeforeThem) {
    const auto image = image_of(1024, 5);
    remember_one(device_of(), entry_of("image_rung", image, 64, 1e-5));
    EXPECT_EQ(fastest_rung(device_of(), image), "image_rung");
    EXPECT_EQ(fastest_rung(device_of(), problem_of(1 << 20, 5)), "");
    auto near = image;
    near.y.k = 6;
    EXPECT_EQ(fastest_rung(device_of(), near), "image_rung");
    near.y.k = 9;
    EXPECT_EQ(fastest_rung(device_of(), near), "");
    const auto p = problem_of(1 << 20, 9);
    fs::remove(path_);
    remember_one(device_of(), entry_of("register_tiled", p, 64, 1e-5));
    for (const char* line : {"\"rank\": 1,", "\"taps_y\": 1,", "\"channels\": 1,", "\"separable\": 0,"}) { edit(line, ""); }
    EXPECT_EQ(fastest_rung(device_of(), p), "register_tiled");
}

TEST_F(Wisdom, WithoutAFileThereIsNone) {
    EXPECT_FALSE(tuned_policy(device_of(), "register_tiled", problem_of(1 << 20, 9)));
    EXPECT_EQ(fastest_rung(device_of(), problem_of(1 << 20, 9)), "");
    EXPECT_EQ(wisdom_state().path, path_.string());
    EXPECT_EQ(wisdom_state().reason, "");
    EXPECT_EQ(wisdom_state().entries, 0);
}

TEST_F(Wisdom, WhatIsRememberedIsFound) {
    use(folder_ / "not" / "yet" / "there.json");
    const auto p = problem_of(1 << 20, 9);
    remember_one(device_of(), entry_of("register_tiled", p, 256, 1e-5));
    const auto policy = tuned_policy(device_of(), "register_tiled", p);
    ASSERT_TRUE(policy);
    EXPECT_EQ(policy->vectors_per_thread, 3);
    EXPECT_EQ(policy->threads_per_block, 256);
    EXPECT_EQ(policy->tiles_per_block, -1);
    EXPECT_EQ(wisdom_state().entries, 1);
    EXPECT_FALSE(tuned_policy(device_of(), "another_rung", p));
}

TEST_F(Wisdom, AnotherDeviceDriverOrVersionIsNotUsed) {
    const auto p = problem_of(1 << 20, 9);
    remember_one(device_of(), entry_of("register_tiled", p, 256, 1e-5));
    EXPECT_FALSE(tuned_policy(device_of("NVIDIA H100"), "register_tiled", p));
    EXPECT_FALSE(tuned_policy(device_of("NVIDIA H200", 12040), "register_tiled", p));
    EXPECT_EQ(fastest_rung(device_of("NVIDIA H200", 12040), p), "");
    EXPECT_EQ(threads_for(device_of(), p), 256);
    edit("\"version\": \"" + std::string(version()) + "\"", "\"version\": \"0.0.0\"");
    EXPECT_FALSE(tuned_policy(device_of(), "register_tiled", p));
    EXPECT_EQ(wisdom_state().reason, "");
    // It stays in the file beside what this version adds.
    remember_one(device_of(), entry_of("register_tiled", p, 128, 1e-5));
    EXPECT_EQ(wisdom_state().entries, 2);
    EXPECT_EQ(threads_for(device_of(), p), 128);
}

TEST_F(Wisdom, TheNearestClassWithinReachServes) {
    remember_one(device_of(), entry_of("register_tiled", problem_of(1 << 18, 9), 64, 1e-5));
    remember_one(device_of(), entry_of("register_tiled", problem_of(1 << 22, 9), 128, 1e-5));
    EXPECT_EQ(threads_for(device_of(), problem_of(1 << 17, 9)), 64);
    EXPECT_EQ(threads_for(device_of(), problem_of(1 << 20, 9)), 128) << "equally near: the larger one";
    EXPECT_EQ(threads_for(device_of(), problem_of(1 << 24, 9)), 128);
    EXPECT_EQ(threads_for(device_of(), problem_of(1 << 25, 9)), 0);
    EXPECT_EQ(threads_for(device_of(), problem_of(1 << 15, 9)), 0);
    EXPECT_EQ(threads_for(device_of(), problem_of(1 << 22, 11)), 128);
    EXPECT_EQ(threads_for(device_of(), problem_of(1 << 22, 12)), 0);
    EXPECT_EQ(threads_for(device_of(), problem_of(1 << 22, 8)), 128);
    EXPECT_EQ(threads_for(device_of(), problem_of(1 << 22, 7)), 0);
    auto other = problem_of(1 << 22, 9);
    other.dtype = Dtype::f64;
    EXPECT_EQ(threads_for(device_of(), other), 0);
    other = problem_of(1 << 22, 9);
    other.batch.length = 2;
    EXPECT_EQ(threads_for(device_of(), other), 0) << "one signal says nothing about many";
}

TEST_F(Wisdom, TheFastestRungOfTheSameAccuracyIsTold) {
    const auto p = problem_of(1 << 20, 33);
    auto strict = p;
    strict.accuracy = Accuracy::strict;
    remember_one(device_of(), entry_of("slow", p, 64, 3e-5));
    remember_one(device_of(), entry_of("fast", p, 64, 1e-5));
    remember_one(device_of(), entry_of("middling", p, 64, 2e-5));
    EXPECT_EQ(fastest_rung(device_of(), p), "fast");
    EXPECT_EQ(fastest_rung(device_of(), strict), "");
    EXPECT_EQ(tuned_rung(device_of(), p, [](const std::string& rung) { return rung != "fast"; })->rung, "middling");
    EXPECT_EQ(threads_for(device_of(), strict, "slow"), 64) << "a policy serves every accuracy";
    auto larger = strict;
    larger.x.n = larger.x.outputs = 1 << 21;
    remember_one(device_of(), entry_of("slow", larger, 128, 6e-5));
    EXPECT_EQ(threads_for(device_of(), strict, "slow"), 128) << "but its own accuracy's goes first";
    EXPECT_EQ(threads_for(device_of(), p, "slow"), 64);
    // Measured again, slower now: the new figure replaces the old one.
    remember_one(device_of(), entry_of("fast", p, 64, 5e-5));
    EXPECT_EQ(fastest_rung(device_of(), p), "middling");
    EXPECT_EQ(wisdom_state().entries, 4);
}

// What is the fastest for other taps is not for these, and the other way round.
void expect_own_fastest_rung(const cuda_abi::Problem& p, const cuda_abi::Problem& others) {
    remember_one(device_of(), entry_of("transforms", p, 64, 3e-5));
    EXPECT_EQ(fastest_rung(device_of(), others), "");
    remember_one(device_of(), entry_of("products", others, 64, 1e-5));
    EXPECT_EQ(fastest_rung(device_of(), p), "transforms");
    EXPECT_EQ(fastest_rung(device_of(), others), "products");
}

TEST_F(Wisdom, TapsOfTheSignalsTypeHaveTheirOwnFastestRung) {
    const auto p = problem_of(1 << 24, 511);
    auto narrow = p;
    narrow.narrow_taps = true;
    expect_own_fastest_rung(p, narrow);
    EXPECT_EQ(threads_for(device_of(), narrow, "transforms"), 64) << "a policy serves all taps";
    remember_one(device_of(), entry_of("transforms", narrow, 128, 3e-5));
    EXPECT_EQ(fastest_rung(device_of(), p), "transforms");
    EXPECT_EQ(fastest_rung(device_of(), narrow), "products");
    EXPECT_EQ(threads_for(device_of(), p, "transforms"), 64);
    EXPECT_EQ(threads_for(device_of(), narrow, "transforms"), 128) << "but that of the same kind goes first";
    // A file from before there were such entries.
    edit("\"narrow_taps\": false,", "");
    EXPECT_EQ(fastest_rung(device_of(), p), "transforms");
}

TEST_F(Wisdom, MasksOfEqualTapsHaveTheirOwnFastestRung) {
    const auto p = problem_of(1 << 24, 511);
    auto equal = p;
    equal.equal_taps = true;
    expect_own_fastest_rung(p, equal);
}

TEST_F(Wisdom, ADamagedFileIsIgnoredAndSaysWhy) {
    const auto p = problem_of(1 << 20, 9);
    remember_one(device_of(), entry_of("register_tiled", p, 256, 1e-5));
    const std::string good = text();
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string all = good;
        EXPECT_NE(all.find(from), std::string::npos) << from;
        return all.replace(all.find(from), from.size(), to);
    };
    const std::vector<std::string> damaged{good.substr(0, good.size() / 2),
                                           "{}",
                                           "[]",
                                           "null",
                                           "7",
                                           std::string("\0\1\2\xFF", 4),
                                           "not a wisdom file at all",
                                           with("\"format_version\": 1", "\"format_version\": 2"),
                                           with("\"format_version\": 1", "\"format_version\": \"1\""),
                                           with("\"machines\"", "\"machine\""),
                                           with("\"threads_per_block\": 256", "\"threads_per_block\": 4294967552"),
                                           with("\"threads_per_block\": 256", "\"threads_per_block\": -1"),
                                           with("\"threads_per_block\": 256", "\"threads_per_block\": \"256\""),
                                           with("\"dtype\": \"f32\"", "\"dtype\": \"f33\""),
                                           with("\"taps\": 9", "\"taps\": 1e400"),
                                           with("\"seconds\": ", "\"seconds\": -"),
                                           with("\"rung\"", "\"rungs\"")};
    for (const std::string& text : damaged) {
        write(text);
        EXPECT_FALSE(tuned_policy(device_of(), "register_tiled", p)) << text;
        EXPECT_EQ(fastest_rung(device_of(), p), "") << text;
        EXPECT_NE(wisdom_state().reason, "") << text;
        EXPECT_EQ(wisdom_state().entries, 0) << text;
    }
    write(good);
    EXPECT_EQ(wisdom_state().reason, "");
    EXPECT_EQ(threads_for(device_of(), p), 256);
}

TEST_F(Wisdom, ADamagedFileIsKeptBesideItsSuccessor) {
    write("somebody's notes");
    const auto p = problem_of(1 << 20, 9);
    remember_one(device_of(), entry_of("register_tiled", p, 256, 1e-5));
    EXPECT_EQ(threads_for(device_of(), p), 256);
    EXPECT_EQ(wisdom_state().reason, "");
    path_ += ".damaged";
    EXPECT_EQ(text(), "somebody's notes");
}

TEST_F(Wisdom, AFolderOrNothingInItsPlace) {
    fs::create_directory(folder_ / "folder");
    use(folder_ / "folder");
    EXPECT_EQ(fastest_rung(device_of(), problem_of(1 << 20, 9)), "");
    EXPECT_NE(wisdom_state().reason.find("directory"), std::string::npos) << wisdom_state().reason;
    use("/dev/null");
    EXPECT_EQ(wisdom_state().reason, "");
    const auto entry = entry_of("register_tiled", problem_of(1 << 20, 9), 256, 1e-5);
    EXPECT_THROW(remember_one(device_of(), entry), Error);
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(Wisdom, APlaceThatCannotBeWrittenIsAnErrorWithARemedy) {
    std::ofstream(folder_ / "file") << "x";
    const auto entry = entry_of("register_tiled", problem_of(1 << 20, 9), 256, 1e-5);
    for (const fs::path& path : {folder_ / "file" / "wisdom.json", fs::path("/proc/wisdom.json")}) {
        use(path);
        test::expect_error(ErrorCode::io, "TAPLINE_WISDOM", [&] { remember_one(device_of(), entry); });
    }
}

TEST_F(Wisdom, ALinkStaysALinkAndPermissionsStay) {
    const auto p = problem_of(1 << 20, 9);
    fs::create_directory(folder_ / "real");
    std::ofstream(folder_ / "real" / "file.json").flush();
    ASSERT_EQ(::chmod((folder_ / "real" / "file.json").c_str(), 0640), 0);
    fs::create_symlink("real/file.json", path_);
    remember_one(device_of(), entry_of("register_tiled", p, 256, 1e-5));
    EXPECT_TRUE(fs::is_symlink(path_));
    EXPECT_EQ(fs::status(folder_ / "real" / "file.json").permissions(), static_cast<fs::perms>(0640));
    EXPECT_EQ(threads_for(device_of(), p), 256);
}

TEST_F(Wisdom, SeveralTunersKeepEachOthersEntriesAndReadersSeeWholeFiles) {
    constexpr int kTuners = 4;
    constexpr int kEach = 8;
    std::atomic<bool> done{false};
    std::atomic<int> bad{0};
    std::thread reader([&] {
        std::size_t before = 0;
        while (!done) {
            try {
                std::size_t now = 0;
                for (const WisdomSection& section : read_wisdom(path_.string())) now += section.entries.size();
                if (now < before) ++bad;
                before = now;
            } catch (const Error&) { ++bad; }
        }
    });
    std::vector<std::thread> tuners;
    for (int t = 0; t < kTuners; ++t) {
        tuners.emplace_back([t] {
            for (int i = 0; i < kEach; ++i) {
                remember_one(device_of(), entry_of("rung" + std::to_string(t), problem_of(1 << 20, i + 1), 32 * (i + 1), 1e-5));
            }
        });
    }
    for (std::thread& tuner : tuners) tuner.join();
    done = true;
    reader.join();
    EXPECT_EQ(bad, 0);
    EXPECT_EQ(wisdom_state().entries, kTuners * kEach);
    for (int t = 0; t < kTuners; ++t) {
        for (int i = 0; i < kEach; ++i) {
            EXPECT_EQ(threads_for(device_of(), problem_of(1 << 20, i + 1), "rung" + std::to_string(t)), 32 * (i + 1));
        }
    }
    for (const auto& file : fs::directory_iterator(folder_)) {
        EXPECT_EQ(file.path().extension() == ".tmp", false) << file.path() << " is left over";
    }
}

}  // namespace
}  // namespace tapline::gpu_host
