#include "gpu/own_process.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>

namespace tapline::test {
namespace {

constexpr const char* kMarker = "TAPLINE_GPU_OWN_PROCESS";

std::string quoted(const std::string& text) {
    std::string result = "'";
    for (const char c : text) { result += c == '\'' ? std::string("'\\''") : std::string(1, c); }
    return result + "'";
}

}  // namespace

bool in_own_process(const std::vector<std::string>& environment) {
    if (std::getenv(kMarker) != nullptr) { return true; }
    const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
    std::array<char, PATH_MAX> self{};
    if (readlink("/proc/self/exe", self.data(), self.size() - 1) <= 0) {
        ADD_FAILURE() << "/proc/self/exe cannot be read";
        return false;
    }
    // GTEST_OUTPUT is dropped: the child would write over the report of this process; the shard, which its one test need not be in.
    std::string command = std::string("env -u GTEST_OUTPUT -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX ") + kMarker + "=1";
    for (const std::string& variable : environment) { command += " " + quoted(variable); }
    command += " " + quoted(self.data()) + " " +
               quoted(std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name()) + " 2>&1";
    FILE* child = popen(command.c_str(), "r");
    if (child == nullptr) {
        ADD_FAILURE() << "could not start: " << command;
        return false;
    }
    std::string output;
    std::array<char, 4096> chunk{};
    while (const std::size_t got = fread(chunk.data(), 1, chunk.size(), child)) { output.append(chunk.data(), got); }
    const int status = pclose(child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "in a process of its own (status " << status << "):\n" << output;
    EXPECT_NE(output.find("[  PASSED  ] 1 test"), std::string::npos) << output;
    return false;
}

}  // namespace tapline::test
