// The same test on every instruction set that runs here.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "cpu/targets.hpp"

namespace tapline::test {

/// Forces a target as long as it lives.
class ForcedTarget {
public:
    explicit ForcedTarget(const std::string& name) { cpu::force_target(name); }
    ~ForcedTarget() { cpu::force_target(""); }
    ForcedTarget(const ForcedTarget&) = delete;
    ForcedTarget& operator=(const ForcedTarget&) = delete;
};

/// Ends at the first target where a test fails.
inline void on_every_target(const std::function<void()>& body) {
    for (const cpu::Target target : cpu::runnable_targets()) {
        SCOPED_TRACE(cpu::to_string(target));
        const ForcedTarget forced(cpu::to_string(target));
        body();
        if (testing::Test::HasFailure()) { return; }
    }
}

}  // namespace tapline::test
