#include "cli/convolve/stores.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tapline/error.hpp"

namespace tapline::cli {
namespace {

// Runs in Python: what is missing is named, with the remedy.
constexpr const char* kProgram =
    "try:\n"
    "    from tapline.zarr import main\n"
    "except ImportError as error:\n"
    "    raise SystemExit('tapline: arrays in Zarr and HDF5 stores are convolved by the Python module tapline.zarr, which this "
    "Python '\n"
    "                     f'cannot import ({error}): pip install tapline zarr h5py, or set TAPLINE_PYTHON')\n"
    "raise SystemExit(main())\n";

// FILE.zarr, FILE.zarr/GROUP/NAME, FILE.h5:/NAME.
bool names_store(std::string_view argument) {
    if (argument.starts_with('-')) { return false; }
    const auto ends_or_goes_on = [&](std::string_view ending, char next) {
        const auto at = argument.rfind(ending);
        if (at == std::string_view::npos || at == 0) { return false; }
        const auto behind = argument.substr(at + ending.size());
        return behind.empty() || behind.front() == next;
    };
    return ends_or_goes_on(".zarr", '/') || ends_or_goes_on(".h5", ':') || ends_or_goes_on(".hdf5", ':');
}

}  // namespace

void hand_stores_to_python(int argc, char** argv) {
    if (argc < 3 || std::string_view(argv[1]) != "convolve" || std::none_of(argv + 2, argv + argc, names_store)) { return; }
    const char* const chosen = std::getenv("TAPLINE_PYTHON");
    std::string python = chosen == nullptr || *chosen == '\0' ? "python3" : chosen;
    std::string option = "-c";
    std::string program = kProgram;
    std::vector<char*> arguments{python.data(), option.data(), program.data()};
    arguments.insert(arguments.end(), argv + 2, argv + argc);
    arguments.push_back(nullptr);
    execvp(python.c_str(), arguments.data());
    throw Error(ErrorCode::unsupported, python +
                                            ": cannot be run; arrays in Zarr and HDF5 stores are convolved by the Python module "
                                            "tapline.zarr: install Python with it, or set TAPLINE_PYTHON");
}

}  // namespace tapline::cli
