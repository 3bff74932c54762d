// Before main: this program's CUDA engine is the emulated one with four devices, and it has no wisdom.
#include <cstdlib>

namespace {

const bool kSet = [] {
    setenv("TAPLINE_CUDA_LIBRARY", TAPLINE_EMULATED_FOLDER "/libemulated_cuda.so", 1);
    setenv("TAPLINE_EMULATED_DEVICES", "4", 1);
    setenv("TAPLINE_WISDOM", TAPLINE_EMULATED_FOLDER "/no_wisdom.json", 1);
    return true;
}();

}  // namespace
