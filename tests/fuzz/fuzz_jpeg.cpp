// A JPEG file, from a file or (odd size) a pipe.
#include "images.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tapline::io::fuzz::decode(data, size, size % 2 == 1);
    return 0;
}
