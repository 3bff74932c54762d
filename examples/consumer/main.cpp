// With CMake: CMakeLists.txt beside this file. Without:
//     g++ -std=c++20 main.cpp $(pkg-config --cflags --libs tapline)
#include <cstdio>
#include <vector>

#include "tapline/tapline.hpp"

int main() {
    const std::vector<float> signal{1, 2, 3};
    const std::vector<float> taps{1, 2};
    try {
        const std::vector<float> out = tapline::convolve(signal, taps);
        std::printf("tapline %s:", tapline::version());
        for (const float value : out) { std::printf(" %g", static_cast<double>(value)); }
        std::printf("\n");
    } catch (const tapline::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
