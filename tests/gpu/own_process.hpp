// Tests that must not share a process with others: they lose or reset the device, or need another environment.
#pragma once

#include <string>
#include <vector>

namespace tapline::test {

/// In the test's first call: starts this program again with `environment` ("NAME=value") and this one test in it, fails the
/// test with the child's output unless it passes, and returns false. In the child: true, and the test goes on.
///
///     if (!in_own_process({"TAPLINE_CUDA_MEMORY_LIMIT=25165824"})) { return; }
bool in_own_process(const std::vector<std::string>& environment = {});

}  // namespace tapline::test
