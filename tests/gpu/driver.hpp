// The few driver calls that the engine's table has no use for: capturing a stream in a graph. By name at run time, so that the
// tests need neither nvcc nor the driver's headers.
#pragma once

#include <memory>

namespace tapline::test {

/// Whether a CUDA driver is behind the engine (it is not with the emulated engine of tests/support).
bool has_driver();

/// What a stream was given between begin and end, to be launched any number of times.
class CapturedGraph {
public:
    /// Calls on this thread's captured streams only are recorded; a call that may not be captured makes finish() throw.
    static void begin(void* stream);
    static CapturedGraph finish(void* stream);
    void launch(void* stream) const;

private:
    struct Destroy {
        void operator()(void* exec) const;
    };
    std::unique_ptr<void, Destroy> exec_;
};

}  // namespace tapline::test
