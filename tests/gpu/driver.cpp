#include "gpu/driver.hpp"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace tapline::test {
namespace {

// Of libcuda.so.1, whose binary interface does not change: CUresult and CUdevice are int, the rest are pointers.
struct Driver {
    int (*init)(unsigned) = nullptr;
    int (*retain)(void** context, int device) = nullptr;
    int (*set_context)(void* context) = nullptr;
    int (*begin_capture)(void* stream, int mode) = nullptr;
    int (*end_capture)(void* stream, void** graph) = nullptr;
    int (*instantiate)(void** exec, void* graph, unsigned long long flags) = nullptr;
    int (*launch)(void* exec, void* stream) = nullptr;
    int (*destroy_exec)(void* exec) = nullptr;
    int (*destroy_graph)(void* graph) = nullptr;
    bool usable = false;
};

template <class F>
bool find(void* library, const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(library, name));
    return function != nullptr;
}

Driver load() {
    Driver d;
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) { return d; }
    const bool all = find(library, "cuInit", d.init) && find(library, "cuDevicePrimaryCtxRetain", d.retain) &&
                     find(library, "cuCtxSetCurrent", d.set_context) && find(library, "cuStreamBeginCapture_v2", d.begin_capture) &&
                     find(library, "cuStreamEndCapture", d.end_capture) &&
                     find(library, "cuGraphInstantiateWithFlags", d.instantiate) && find(library, "cuGraphLaunch", d.launch) &&
                     find(library, "cuGraphExecDestroy", d.destroy_exec) && find(library, "cuGraphDestroy", d.destroy_graph);
    d.usable = all && d.init(0) == 0;
    return d;
}

const Driver& driver() {
    static const Driver instance = load();
    return instance;
}

void check(int result, const char* what) {
    if (result != 0) { throw std::runtime_error(std::string(what) + ": CUDA driver error " + std::to_string(result)); }
}

void use_first_device() {
    void* context = nullptr;
    check(driver().retain(&context, 0), "cuDevicePrimaryCtxRetain");
    check(driver().set_context(context), "cuCtxSetCurrent");
}

}  // namespace

bool has_driver() { return driver().usable; }

void CapturedGraph::begin(void* stream) {
    constexpr int kThreadLocal = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: unsafe calls of this thread are errors
    use_first_device();
    check(driver().begin_capture(stream, kThreadLocal), "cuStreamBeginCapture");
}

CapturedGraph CapturedGraph::finish(void* stream) {
    void* graph = nullptr;
    check(driver().end_capture(stream, &graph), "cuStreamEndCapture");
    void* exec = nullptr;
    const int result = driver().instantiate(&exec, graph, 0);
    driver().destroy_graph(graph);
    check(result, "cuGraphInstantiate");
    CapturedGraph captured;
    captured.exec_.reset(exec);
    return captured;
}

void CapturedGraph::launch(void* stream) const { check(driver().launch(exec_.get(), stream), "cuGraphLaunch"); }

void CapturedGraph::Destroy::operator()(void* exec) const { driver().destroy_exec(exec); }

}  // namespace tapline::test
