// MatX's conv1d, mode same, as a peer of bench/peers.py: the sum itself, or one transform of the whole signal.
//
// Built by scripts/peers_native.sh.
#include <matx.h>

/// Pointers are those of the GPU. 0, or -1 if MatX refuses.
extern "C" int peer_matx_convolve(float* out, const float* in, long long samples, const float* taps, long long count,
                                  int by_transform, cudaStream_t stream) {
    try {
        auto y = matx::make_tensor<float>(out, {samples});
        auto x = matx::make_tensor<float>(const_cast<float*>(in), {samples});
        auto h = matx::make_tensor<float>(const_cast<float*>(taps), {count});
        const auto method = by_transform != 0 ? matx::MATX_C_METHOD_FFT : matx::MATX_C_METHOD_DIRECT;
        (y = matx::conv1d(x, h, matx::MATX_C_MODE_SAME, method)).run(matx::cudaExecutor{stream});
        return cudaGetLastError() == cudaSuccess ? 0 : -1;
    } catch (const std::exception&) { return -1; }
}
