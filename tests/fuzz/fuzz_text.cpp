// One-column text, from a file or a pipe.
#include "reading.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tapline;
    io::fuzz::read_everything(data, size, {.format = io::Format::text}, size % 2 == 1);
    return 0;
}
