// Arrays in stores (Zarr, HDF5): the Python module's work.
#pragma once

namespace tapline::cli {

/// Where the arguments of `tapline convolve` name an array in a store, this process becomes the Python module's (`python3`, or what
/// TAPLINE_PYTHON names) and does not return. Throws Error (unsupported) if there is no such interpreter; one without the module
/// says so itself.
void hand_stores_to_python(int argc, char** argv);

}  // namespace tapline::cli
