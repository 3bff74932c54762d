// Overlap-save in one kernel, with the transforms that NVIDIA gives kernels (cuFFTDx): the strongest that one writes oneself, as a
// peer of bench/peers.py. Two segments are the real and the imaginary part of one transform: the taps are real, so neither meets
// the other.
//
// Built by scripts/peers_native.sh.
#include <cufftdx.hpp>

namespace {

struct Signal {
    float* out;
    const float* in;
    const float2* spectrum;
    long long samples;
    int taps;
};

template <unsigned kPoints, unsigned kSamplesOfThread>
struct Transform {
    static constexpr unsigned kThreads = kPoints / kSamplesOfThread;
    static constexpr unsigned kTogether = kThreads < 256 ? 256 / kThreads : 1;
    using Both = decltype(cufftdx::Size<kPoints>() + cufftdx::Precision<float>() + cufftdx::Type<cufftdx::fft_type::c2c>() +
                          cufftdx::SM<900>() + cufftdx::Block() + cufftdx::ElementsPerThread<kSamplesOfThread>() +
                          cufftdx::FFTsPerBlock<kTogether>());
    using Forward = decltype(Both() + cufftdx::Direction<cufftdx::fft_direction::forward>());
    using Inverse = decltype(Both() + cufftdx::Direction<cufftdx::fft_direction::inverse>());
};

extern __shared__ __align__(16) unsigned char shared_bytes[];

/// spectrum[f]: of the taps, divided by the number of points.
template <class T>
__launch_bounds__(T::Forward::max_threads_per_block) __global__ void prepare(float2* spectrum, const float* taps, int count) {
    using Complex = typename T::Forward::value_type;
    Complex values[T::Forward::storage_size];
    for (unsigned e = 0; e < T::Forward::elements_per_thread; ++e) {
        const unsigned i = threadIdx.x + e * T::Forward::stride;
        values[e] = Complex{i < count && threadIdx.y == 0 ? taps[i] : 0.0F, 0.0F};
    }
    typename T::Forward().execute(values, reinterpret_cast<Complex*>(shared_bytes));
    constexpr float kScale = 1.0F / cufftdx::size_of<typename T::Forward>::value;
    for (unsigned e = 0; e < T::Forward::elements_per_thread && threadIdx.y == 0; ++e) {
        spectrum[threadIdx.x + e * T::Forward::stride] = {values[e].x * kScale, values[e].y * kScale};
    }
}

template <class T>
__launch_bounds__(T::Forward::max_threads_per_block) __global__ void filter(Signal s) {
    using Forward = typename T::Forward;
    using Complex = typename Forward::value_type;
    constexpr int kPoints = cufftdx::size_of<Forward>::value;
    const int step = kPoints - s.taps + 1;
    const long long pairs = (s.samples + 2LL * step - 1) / (2LL * step);
    for (long long first = blockIdx.x * static_cast<long long>(T::kTogether); first < pairs;
         first += gridDim.x * static_cast<long long>(T::kTogether)) {
        const long long begin = 2 * (first + threadIdx.y) * step;  // of the pair's outputs
        const long long from = begin - s.taps / 2;                 // of its samples
        const bool inside = from >= 0 && from + step + kPoints <= s.samples;
        Complex values[Forward::storage_size];
        for (unsigned e = 0; e < Forward::elements_per_thread; ++e) {
            const long long i = from + threadIdx.x + e * Forward::stride;
            if (inside) {
                values[e] = Complex{__ldg(s.in + i), __ldg(s.in + i + step)};
            } else {
                values[e] = Complex{i >= 0 && i < s.samples ? s.in[i] : 0.0F,
                                    i + step >= 0 && i + step < s.samples ? s.in[i + step] : 0.0F};
            }
        }
        Forward().execute(values, reinterpret_cast<Complex*>(shared_bytes));
        for (unsigned e = 0; e < Forward::elements_per_thread; ++e) {
            const float2 h = __ldg(s.spectrum + threadIdx.x + e * Forward::stride);
            const Complex x = values[e];
            values[e] = Complex{x.x * h.x - x.y * h.y, x.x * h.y + x.y * h.x};
        }
        __syncthreads();
        typename T::Inverse().execute(values, reinterpret_cast<Complex*>(shared_bytes));
        for (unsigned e = 0; e < Forward::elements_per_thread; ++e) {
            const int i = static_cast<int>(threadIdx.x + e * Forward::stride) - (s.taps - 1);
            if (i < 0) { continue; }
            if (begin + i < s.samples) { __stcs(s.out + begin + i, values[e].x); }
            if (begin + step + i < s.samples) { __stcs(s.out + begin + step + i, values[e].y); }
        }
        __syncthreads();
    }
}

struct Choice {
    int points;
    int (*prepare)(float2*, const float*, int, cudaStream_t);
    int (*filter)(const Signal&, bool, cudaStream_t);
};

template <class T>
Choice choice() {
    using Forward = typename T::Forward;
    static_assert(!Forward::requires_workspace && Forward::stride == T::Inverse::stride);
    constexpr unsigned kBytes =
        Forward::shared_memory_size > T::Inverse::shared_memory_size ? Forward::shared_memory_size : T::Inverse::shared_memory_size;
    const auto prepare_taps = [](float2* spectrum, const float* taps, int count, cudaStream_t stream) {
        cudaFuncSetAttribute(prepare<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
        prepare<T><<<1, Forward::block_dim, kBytes, stream>>>(spectrum, taps, count);
        return static_cast<int>(cudaGetLastError());
    };
    const auto filter_all = [](const Signal& s, bool persistent, cudaStream_t stream) {
        cudaFuncSetAttribute(filter<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
        const long long both = 2LL * (cufftdx::size_of<Forward>::value - s.taps + 1);
        long long blocks = ((s.samples + both - 1) / both + T::kTogether - 1) / T::kTogether;
        if (persistent) {
            int held = 0;
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&held, filter<T>, Forward::max_threads_per_block, kBytes);
            int multiprocessors = 0;
            cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
            if (blocks > static_cast<long long>(held) * multiprocessors) {
                blocks = static_cast<long long>(held) * multiprocessors;
            }
        }
        filter<T><<<static_cast<unsigned>(blocks), Forward::block_dim, kBytes, stream>>>(s);
        return static_cast<int>(cudaGetLastError());
    };
    return {static_cast<int>(cufftdx::size_of<Forward>::value), prepare_taps, filter_all};
}

const Choice kChoices[] = {
    choice<Transform<1024, 8>>(),   choice<Transform<1024, 16>>(),  choice<Transform<2048, 8>>(),   choice<Transform<2048, 16>>(),
    choice<Transform<4096, 8>>(),   choice<Transform<4096, 16>>(),  choice<Transform<8192, 16>>(),  choice<Transform<8192, 32>>(),
    choice<Transform<16384, 16>>(), choice<Transform<16384, 32>>(), choice<Transform<32768, 32>>(),
};

}  // namespace

/// How many points the transforms of a choice have; 0 for one that does not exist.
extern "C" int peer_points(int which) {
    return which >= 0 && which < static_cast<int>(sizeof kChoices / sizeof *kChoices) ? kChoices[which].points : 0;
}

/// `spectrum`: as many values as points. Pointers are those of the GPU; an error of CUDA's, or 0.
extern "C" int peer_prepare(int which, float2* spectrum, const float* taps, int count, cudaStream_t stream) {
    return kChoices[which].prepare(spectrum, taps, count, stream);
}

extern "C" int peer_filter(int which, int persistent, float* out, const float* in, long long samples, const float2* spectrum,
                           int taps, cudaStream_t stream) {
    return kChoices[which].filter({out, in, spectrum, samples, taps}, persistent != 0, stream);
}
