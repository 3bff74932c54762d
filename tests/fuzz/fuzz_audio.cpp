// An audio file through libsndfile.
#include "reading.hpp"

// libsndfile 1.2.0 leaks a few KiB of decoder state when it refuses a damaged file; leaks of our own still count.
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libsndfile\nleak:libvorbis\nleak:libogg\nleak:libopus\nleak:libFLAC\nleak:libmpg123\n";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tapline;
    io::fuzz::read_everything(data, size, {.format = io::Format::audio}, size % 8 == 1);
    return 0;
}
