// The kernels of words, one for each size of samples.
#include "cuda/families/direct/rows/direct_words.cuh"

namespace tapline::cuda::words {

Kernel kernel_of(Dtype dtype) {
    switch (dtype) {
        case kI8:
        case kU8:
            return &direct_words_kernel<std::uint8_t>;
        case kI16:
        case kU16:
        case kF16:
        case kBf16:
            return &direct_words_kernel<std::uint16_t>;
        case kF32:
            return &direct_words_kernel<float>;
        default:
            return nullptr;
    }
}

}  // namespace tapline::cuda::words
