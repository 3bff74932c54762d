// The first byte chooses raw data of some type, or sniffing by content; odd: through a pipe. Audio has a fuzzer of its own.
#include "reading.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tapline;
    if (size == 0) return 0;
    const int choice = data[0] / 2;
    io::OpenOptions options;
    options.need_seek = choice >= 64;
    const int type = choice % 32;
    if (type <= static_cast<int>(Dtype::bf16)) options.raw_dtype = static_cast<Dtype>(type);
    if (type % 3 == 0) options.format = io::Format::raw;
    io::fuzz::read_everything(data + 1, size - 1, options, data[0] % 2 == 1);
    return 0;
}
