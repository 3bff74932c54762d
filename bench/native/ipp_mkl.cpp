// tapline beside Intel's IPP and MKL, thread for thread: signals of one row, mode same, and images under small masks.
//
//   ipp_mkl FOLDER [SECONDS [signal|image|f32|f64]]      FOLDER: where libippcore.so.*, libipps*.so.*, libippi*.so.* and
//   libmkl_rt.so.* are
//
// One JSON object a line: the case, and for everybody who gave the right result the median time of a call in seconds. Everybody
// prepares what can be prepared and writes where there is room. IPP's functions run on one thread; on two, the halves of the
// signal (or image) run side by side, the second by a thread that waits for its next half in a loop. Of each library the fastest of
// its functions and algorithms counts: FIRSR and Convolve, chosen by themselves, direct and by FFT. MKL divides by itself.

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tapline/tapline.h"

namespace {

using Call = std::function<void()>;
using Bytes = std::shared_ptr<char>;

// Direct sums are left out where a call would take about this long.
constexpr double kMostSeconds = 1.0, kProductsASecond = 1.5e10;
constexpr std::uint32_t kConstantBorder = 6, kRowsAbove = 0x10, kRowsBelow = 0x20;  // IPP's IppiBorderType

Bytes aligned(std::size_t bytes) {
    auto* memory = static_cast<char*>(std::aligned_alloc(64, (bytes + 64) / 64 * 64));
    std::memset(memory, 0, (bytes + 64) / 64 * 64);
    return {memory, [](char* p) { std::free(p); }};
}

struct Library {
    explicit Library(const std::string& path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
        if (handle == nullptr) { throw std::runtime_error(dlerror()); }
    }

    template <class F>
    F* function(const std::string& name) const {
        auto* found = reinterpret_cast<F*>(dlsym(handle, name.c_str()));
        if (found == nullptr) { throw std::runtime_error("no " + name); }
        return found;
    }

    void* handle;
};

std::string in_folder(const std::string& folder, const std::string& begin) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().filename().string().starts_with(begin)) { return entry.path().string(); }
    }
    throw std::runtime_error("no " + begin + "* in " + folder);
}

void checked(int status, const char* name) {
    if (status != 0) { throw std::runtime_error(std::string(name) + ": status " + std::to_string(status)); }
}

// Two calls side by side: the second runs on a thread that spins for its next one, and sleeps when none comes for a while.
class Side {
public:
    Side() : thread_([this] { work(); }) {}
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;
    ~Side() {
        stop_ = true;
        given_.fetch_add(1);
        given_.notify_one();
        thread_.join();
    }

    void run(const Call& first, const Call& second) {
        call_ = &second;
        const unsigned ticket = given_.fetch_add(1) + 1;
        given_.notify_one();
        first();
        while (done_.load(std::memory_order_acquire) != ticket) {}
    }

private:
    void work() {
        unsigned seen = 0;
        while (true) {
            for (int spin = 0; spin < 20000 && given_.load(std::memory_order_acquire) == seen; ++spin) {}
            given_.wait(seen);
            seen = given_.load(std::memory_order_acquire);
            if (stop_) { return; }
            (*call_)();
            done_.store(seen, std::memory_order_release);
        }
    }

    std::atomic<unsigned> given_{0}, done_{0};
    std::atomic<bool> stop_{false};
    const Call* call_ = nullptr;
    std::thread thread_;
};

Side& side() {
    static Side it;
    return it;
}

Call in_halves(Call first, Call second) {
    return [first = std::move(first), second = std::move(second)] { side().run(first, second); };
}

// A competitor: its call, and its result, which may lie in two parts.
template <class T>
struct Entry {
    Call call;
    std::function<T(std::int64_t)> output;
};

struct Size {
    int width, height;
};

template <class T>
constexpr int kType = std::is_same_v<T, float> ? 13 : 19;
template <class T>
constexpr const char* kSuffix = std::is_same_v<T, float> ? "32f" : "64f";

struct Intel {
    Library core, signals, images, mkl;
};

template <class T>
Entry<T> ipp_fir(const Intel& intel, const std::vector<T>& x, const std::vector<T>& h, int algorithm, int threads) {
    const int n = static_cast<int>(x.size()), k = static_cast<int>(h.size()), later = k - 1 - k / 2;
    auto longer = aligned(sizeof(T) * (x.size() + h.size())), out = aligned(sizeof(T) * (x.size() + h.size()));
    std::copy(x.begin(), x.end(), reinterpret_cast<T*>(longer.get()));
    auto* filter =
        intel.signals.function<int(const T*, T*, int, void*, const T*, T*, void*)>(std::string("ippsFIRSR_") + kSuffix<T>);
    const int total = n + later;
    auto part = [=, &intel](int first, int count) -> Call {
        int spec_bytes = 0, work_bytes = 0;
        checked(intel.signals.function<int(int, int, int*, int*)>("ippsFIRSRGetSize")(k, kType<T>, &spec_bytes, &work_bytes),
                "size");
        auto spec = aligned(spec_bytes), work = aligned(work_bytes);
        checked(intel.signals.function<int(const T*, int, int, void*)>(std::string("ippsFIRSRInit_") + kSuffix<T>)(
                    h.data(), k, algorithm, spec.get()),
                "ippsFIRSRInit");
        const T* in = reinterpret_cast<const T*>(longer.get()) + first;
        T* to = reinterpret_cast<T*>(out.get()) + first;
        return [=, longer = longer, out = out] {
            filter(in, to, count, spec.get(), first == 0 ? nullptr : in - (k - 1), nullptr, work.get());
        };
    };
    Call call;
    if (threads == 1) {
        call = part(0, total);
    } else {
        const int half = std::max(k, total / 2);
        if (half >= total) { throw std::runtime_error("too short for two halves"); }
        call = in_halves(part(0, half), part(half, total - half));
    }
    return {call, [out, later](std::int64_t i) { return reinterpret_cast<const T*>(out.get())[i + later]; }};
}

template <class T>
Entry<T> ipp_convolve(const Intel& intel, const std::vector<T>& x, const std::vector<T>& h, int algorithm, int threads) {
    const int n = static_cast<int>(x.size()), k = static_cast<int>(h.size()), later = k - 1 - k / 2;
    auto samples = aligned(sizeof(T) * x.size());
    std::copy(x.begin(), x.end(), reinterpret_cast<T*>(samples.get()));
    auto* convolve =
        intel.signals.function<int(const T*, int, const T*, int, T*, int, void*)>(std::string("ippsConvolve_") + kSuffix<T>);
    auto part = [=, &intel](int first, int count) {
        int work_bytes = 0;
        checked(intel.signals.function<int(int, int, int, int, int*)>("ippsConvolveGetBufferSize")(count, k, kType<T>, algorithm,
                                                                                                   &work_bytes),
                "size");
        auto work = aligned(work_bytes), out = aligned(sizeof(T) * (static_cast<std::size_t>(count) + h.size()));
        const T* in = reinterpret_cast<const T*>(samples.get()) + first;
        const T* taps = h.data();
        Call call = [=, samples = samples] {
            convolve(in, count, taps, k, reinterpret_cast<T*>(out.get()), algorithm, work.get());
        };
        return std::pair{call, out};
    };
    if (threads == 1) {
        auto [call, out] = part(0, n);
        return {call, [out, later](std::int64_t i) { return reinterpret_cast<const T*>(out.get())[i + later]; }};
    }
    // outputs [0, half) by the first, which reads `later`'s complement behind them; the others by the second
    const int half = n / 2, end = std::min(n, half + k / 2), begin = std::max(0, half - later);
    auto [call, out] = part(0, end);
    auto [call2, out2] = part(begin, n - begin);
    return {in_halves(call, call2), [=](std::int64_t i) {
                return i < half ? reinterpret_cast<const T*>(out.get())[i + later]
                                : reinterpret_cast<const T*>(out2.get())[i - begin + later];
            }};
}

template <class T>
Entry<T> mkl_convolve(const Intel& intel, const std::vector<T>& x, const std::vector<T>& h, int threads) {
    const std::string letter = std::is_same_v<T, float> ? "s" : "d";
    const int n = static_cast<int>(x.size()), k = static_cast<int>(h.size()), start = k - 1 - k / 2;
    void* task = nullptr;
    checked(intel.mkl.function<int(void**, int, int, int, int)>("vsl" + letter + "ConvNewTask1D")(&task, 0, n, k, n),
            "vslConvNewTask1D");
    checked(intel.mkl.function<int(void*, const int*)>("vslConvSetStart")(task, &start), "vslConvSetStart");
    auto* run = intel.mkl.function<int(void*, const T*, int, const T*, int, T*, int)>("vsl" + letter + "ConvExec1D");
    auto* set = intel.mkl.function<void(int)>("MKL_Set_Num_Threads");
    auto out = aligned(sizeof(T) * x.size());
    auto* at = reinterpret_cast<T*>(out.get());
    return {[=, &x, &h, out = out] {
                set(threads);
                run(task, x.data(), 1, h.data(), 1, at, 1);
            },
            [out, at](std::int64_t i) { return at[i]; }};
}

Entry<float> ipp_filter(const Intel& intel, const std::vector<float>& x, int height, int width, const std::vector<float>& h,
                        int side_taps, int threads) {
    auto out = aligned(sizeof(float) * x.size());
    auto* at = reinterpret_cast<float*>(out.get());
    auto* run = intel.images.function<int(const float*, int, float*, int, Size, std::uint32_t, const float*, void*, void*)>(
        "ippiFilterBorder_32f_C1R");
    auto part = [=, &intel, &x, &h](int first, int rows, std::uint32_t border) -> Call {
        int spec_bytes = 0, work_bytes = 0;
        const Size mask{side_taps, side_taps}, region{width, rows};
        checked(intel.images.function<int(Size, Size, int, int, int, int*, int*)>("ippiFilterBorderGetSize")(
                    mask, region, 13, 13, 1, &spec_bytes, &work_bytes),
                "ippiFilterBorderGetSize");
        auto spec = aligned(spec_bytes), work = aligned(work_bytes);
        checked(intel.images.function<int(const float*, Size, int, int, int, void*)>("ippiFilterBorderInit_32f")(h.data(), mask, 13,
                                                                                                                 1, 2, spec.get()),
                "ippiFilterBorderInit");
        const float* in = x.data() + static_cast<std::int64_t>(first) * width;
        float* to = at + static_cast<std::int64_t>(first) * width;
        return [=, out = out] {
            const float zero = 0;
            run(in, width * 4, to, width * 4, region, border, &zero, spec.get(), work.get());
        };
    };
    const int half = height / 2;
    Call call = threads == 1 ? part(0, height, kConstantBorder)
                             : in_halves(part(0, half, kConstantBorder | kRowsBelow),
                                         part(half, height - half, kConstantBorder | kRowsAbove));
    return {call, [out, at](std::int64_t i) { return at[i]; }};
}

template <class T>
Entry<T> ours(tapline_problem problem, const std::vector<T>& x, const std::vector<T>& h, int threads) {
    problem.dtype = std::is_same_v<T, float> ? TAPLINE_F32 : TAPLINE_F64;
    problem.mode = TAPLINE_SAME;
    tapline_plan_options options;
    tapline_plan_options_init(&options);
    options.device = "cpu";
    options.threads = threads;
    tapline_plan* made = nullptr;
    if (tapline_plan_create(&made, &problem, h.data(), &options) != TAPLINE_OK) { throw std::runtime_error(tapline_last_error()); }
    const std::shared_ptr<tapline_plan> plan(made, tapline_plan_destroy);
    const std::size_t bytes = tapline_plan_workspace_bytes(made);
    auto work = aligned(bytes), out = aligned(sizeof(T) * x.size());
    auto* at = reinterpret_cast<T*>(out.get());
    return {[=, &x] { tapline_plan_execute(plan.get(), at, x.data(), work.get(), bytes, nullptr); },
            [out, at](std::int64_t i) { return at[i]; }};
}

template <class T>
std::vector<T> drawn(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<T> normal;
    std::vector<T> values(count);
    std::generate(values.begin(), values.end(), [&] { return normal(random); });
    return values;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Medians of calls that take turns: each round runs each call for about `slice` seconds.
std::map<std::string, double> in_turns(const std::vector<std::pair<std::string, Call>>& calls, double seconds) {
    std::map<std::string, std::vector<double>> times;
    std::map<std::string, std::int64_t> repeats;
    for (const auto& [name, call] : calls) {
        call();
        const double begin = now();
        call();
        repeats[name] = std::max<std::int64_t>(1, std::llround(2e-3 / std::max(1e-7, now() - begin)));
    }
    const double end = now() + seconds;
    for (int round = 0; round < 5 || (round < 200 && now() < end); ++round) {
        for (const auto& [name, call] : calls) {
            call();
            const double begin = now();
            for (std::int64_t i = 0; i < repeats[name]; ++i) { call(); }
            times[name].push_back((now() - begin) / static_cast<double>(repeats[name]));
        }
    }
    std::map<std::string, double> medians;
    for (auto& [name, each] : times) {
        std::nth_element(each.begin(), each.begin() + static_cast<std::ptrdiff_t>(each.size() / 2), each.end());
        medians[name] = each[each.size() / 2];
    }
    return medians;
}

// Runs everybody who is right and prints a line. `makers` make entries; `exact` gives output i in double.
template <class T>
void compare(const std::string& head, const std::vector<std::pair<std::string, std::function<Entry<T>()>>>& makers,
             std::int64_t outputs, const std::function<double(std::int64_t)>& exact, double size, double seconds) {
    std::vector<std::pair<std::string, Call>> calls;
    std::vector<Entry<T>> entries;
    std::string left;
    const double tolerance = (std::is_same_v<T, float> ? 1e-5 : 1e-12) * size;
    for (const auto& [name, make] : makers) {
        try {
            auto entry = make();
            entry.call();
            double worst = 0;
            for (int i = 0; i < 64; ++i) {  // both ends, the middle, where halves meet, and between
                const std::int64_t at = i < 16   ? i
                                        : i < 32 ? outputs - 1 - (i - 16)
                                        : i < 48 ? outputs / 2 - 8 + (i - 32)
                                                 : outputs / 64 * (i - 16) + 1;
                if (at >= 0 && at < outputs) {
                    worst = std::max(worst, std::abs(static_cast<double>(entry.output(at)) - exact(at)));
                }
            }
            if (!(worst <= tolerance)) { throw std::runtime_error("wrong"); }
            calls.emplace_back(name, entry.call);
            entries.push_back(std::move(entry));
        } catch (const std::exception& failure) {
            left += (left.empty() ? "" : ", ") + ("\"" + name + ": " + failure.what() + "\"");
        }
    }
    std::string text;
    for (const auto& [name, time] : in_turns(calls, seconds)) {
        char figure[64];
        std::snprintf(figure, sizeof figure, ": %.4g", time);
        text += (text.empty() ? "" : ", ") + ("\"" + name + "\"" + figure);
    }
    std::printf("{%s, \"seconds\": {%s}, \"left_out\": [%s]}\n", head.c_str(), text.c_str(), left.c_str());
    std::fflush(stdout);
}

template <class T>
void signals(const Intel& intel, int bits, int k, int threads, double seconds) {
    const std::int64_t n = std::int64_t{1} << bits;
    const auto x = drawn<T>(static_cast<std::size_t>(n), 1), h = drawn<T>(static_cast<std::size_t>(k), 2);
    std::vector<std::pair<std::string, std::function<Entry<T>()>>> makers;
    tapline_problem problem;
    tapline_problem_init(&problem);
    problem.length = n;
    problem.taps = k;
    makers.emplace_back("tapline", [&, problem] { return ours<T>(problem, x, h, threads); });
    const bool direct = static_cast<double>(n) * k / kProductsASecond / threads < kMostSeconds;
    for (const auto& [algorithm, name] : {std::pair{0, "auto"}, std::pair{1, "direct"}, std::pair{2, "FFT"}}) {
        if (algorithm == 1 && !direct) { continue; }
        makers.emplace_back(std::string("IPP FIRSR ") + name, [&, a = algorithm] { return ipp_fir<T>(intel, x, h, a, threads); });
        makers.emplace_back(std::string("IPP Convolve ") + name,
                            [&, a = algorithm] { return ipp_convolve<T>(intel, x, h, a, threads); });
    }
    makers.emplace_back("MKL", [&] { return mkl_convolve<T>(intel, x, h, threads); });
    auto exact = [&](std::int64_t i) {
        double sum = 0;
        for (std::int64_t t = 0; t < k; ++t) {
            const std::int64_t at = i + k - 1 - k / 2 - t;
            sum += at >= 0 && at < n ? static_cast<double>(x[static_cast<std::size_t>(at)]) * h[static_cast<std::size_t>(t)] : 0.0;
        }
        return sum;
    };
    char head[160];
    std::snprintf(head, sizeof head, "\"kind\": \"signal\", \"dtype\": \"%s\", \"length\": %lld, \"taps\": %d, \"threads\": %d",
                  std::is_same_v<T, float> ? "f32" : "f64", static_cast<long long>(n), k, threads);
    compare<T>(head, makers, n, exact, std::sqrt(k), seconds);
}

void images(const Intel& intel, int size, int mask, int threads, double seconds) {
    const auto x = drawn<float>(static_cast<std::size_t>(size) * size, 1),
               h = drawn<float>(static_cast<std::size_t>(mask) * mask, 2);
    tapline_problem problem;
    tapline_problem_init_image(&problem, size, size, 1, mask, mask);
    problem.operation = TAPLINE_CONVOLUTION;
    std::vector<std::pair<std::string, std::function<Entry<float>()>>> makers;
    makers.emplace_back("tapline", [&] { return ours<float>(problem, x, h, threads); });
    const std::vector<float> turned(h.rbegin(), h.rend());  // IPP's filter correlates
    makers.emplace_back("IPP FilterBorder", [&] { return ipp_filter(intel, x, size, size, turned, mask, threads); });
    auto exact = [&](std::int64_t i) {
        const std::int64_t row = i / size, column = i % size, center = mask - 1 - mask / 2;
        double sum = 0;
        for (std::int64_t a = 0; a < mask; ++a) {
            for (std::int64_t b = 0; b < mask; ++b) {
                const std::int64_t y = row + center - a, z = column + center - b;
                if (y >= 0 && y < size && z >= 0 && z < size) {
                    sum +=
                        static_cast<double>(x[static_cast<std::size_t>(y * size + z)]) * h[static_cast<std::size_t>(a * mask + b)];
                }
            }
        }
        return sum;
    };
    char head[160];
    std::snprintf(head, sizeof head, "\"kind\": \"image\", \"dtype\": \"f32\", \"length\": %d, \"taps\": %d, \"threads\": %d", size,
                  mask, threads);
    compare<float>(head, makers, static_cast<std::int64_t>(size) * size, exact, mask, seconds);
}

bool has(const char* flag) {
    return std::string(flag) == "avx512" ? __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0
                                         : __builtin_cpu_supports("avx2") != 0;
}

}  // namespace

int main(int count, char** words) {
    if (count < 2) {
        std::fprintf(stderr, "usage: ipp_mkl FOLDER [SECONDS [signal|image|f32|f64]]\n");
        return 2;
    }
    const std::string folder = words[1], only = count > 3 ? words[3] : "";
    const double seconds = count > 2 ? std::atof(words[2]) : 0.3;
    try {
        const std::string set = has("avx512") ? "k0" : has("avx2") ? "l9" : "y8";
        const Library core(in_folder(folder, "libippcore.so"));
        core.function<int()>("ippInit")();
        const Intel intel{core, Library(in_folder(folder, "libipps" + set + ".so")),
                          Library(in_folder(folder, "libippi" + set + ".so")), Library(in_folder(folder, "libmkl_rt.so"))};
        for (const int threads : {1, 2}) {
            for (const int size : {64, 256, 512, 1024, 2048, 4096}) {
                for (const int mask : {3, 7}) {
                    if (only.empty() || only == "image") { images(intel, size, mask, threads, seconds); }
                }
            }
            for (const int bits : {12, 14, 16, 18, 20, 22, 24}) {
                for (const int k : {3, 9, 16, 33, 64, 127, 511, 2047, 8191, 65535}) {
                    if (k > (1 << bits)) { continue; }
                    if (only.empty() || only == "signal" || only == "f32") { signals<float>(intel, bits, k, threads, seconds); }
                    if (only.empty() || only == "signal" || only == "f64") { signals<double>(intel, bits, k, threads, seconds); }
                }
            }
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "error: %s\n", failure.what());
        return 1;
    }
    return 0;
}
