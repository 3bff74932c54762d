// A .npy file, from a file or (odd last byte) a pipe; then the header's dict alone.
#include "io/npy/header.hpp"
#include "reading.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tapline;
    const bool through_pipe = size > 0 && data[size - 1] % 2 == 1;
    io::fuzz::read_everything(data, size, {.format = io::Format::npy}, through_pipe);
    try {
        const io::NpyHeader header = io::parse_npy_header({reinterpret_cast<const char*>(data), size}, "fuzz");
        const std::string again = io::format_npy_header(header.dtype, header.shape, header.fortran);
        const io::NpyHeader same = io::parse_npy_header(std::string_view(again).substr(10), "fuzz");
        io::fuzz::require(same.shape == header.shape && same.dtype == header.dtype && same.fortran == header.fortran);
    } catch (const Error&) { /* malformed */
    }
    return 0;
}
