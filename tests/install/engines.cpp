// Prints the engines and why one of them is not available: which CUDA engine the library finds.
#include <cstdio>
#include <tapline/tapline.hpp>

int main() {
    for (const tapline::EngineInfo& engine : tapline::engines()) {
        std::printf("engine %s: %s\n", engine.name.c_str(), engine.available ? "available" : engine.reason.c_str());
    }
}
