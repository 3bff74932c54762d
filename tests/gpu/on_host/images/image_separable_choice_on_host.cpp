// The part of the separable rung that chooses among its kernels, a file of its own as in the library.
#include "gpu/on_host/cuda_on_host.hpp"

#include "cuda/families/separable/separable.cpp"
