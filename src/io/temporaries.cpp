#include "io/temporaries.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "io/output_file.hpp"

namespace tapline::io {

namespace {

// A handler may run between any two instructions of any thread: it reads only lock-free states and complete names.
enum State : int { kFree, kBusy, kActive };

struct Slot {
    std::atomic<int> state{kFree};
    char path[4096];
};
static_assert(std::atomic<int>::is_always_lock_free);

constexpr std::size_t kSlots = 32;
std::array<Slot, kSlots> slots;

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

void unlink_all(int signal) {
    const int saved = errno;
    for (Slot& slot : slots) {
        if (slot.state.load(std::memory_order_acquire) == kActive) ::unlink(slot.path);
    }
    errno = saved;
    ::raise(signal);  // its action is the default one again (SA_RESETHAND); it strikes when this handler returns
}

}  // namespace

int remember_temporary(const std::string& path) noexcept {
    if (path.size() >= sizeof(Slot::path)) return -1;
    for (std::size_t i = 0; i < kSlots; ++i) {
        int expected = kFree;
        if (!slots[i].state.compare_exchange_strong(expected, kBusy, std::memory_order_acquire)) continue;
        std::memcpy(slots[i].path, path.c_str(), path.size() + 1);
        slots[i].state.store(kActive, std::memory_order_release);
        return static_cast<int>(i);
    }
    return -1;
}

void forget_temporary(int slot) noexcept {
    if (slot >= 0) slots[static_cast<std::size_t>(slot)].state.store(kFree, std::memory_order_release);
}

void remove_temporaries_on_signals() {
    for (const int signal : kSignals) {
        struct sigaction old {};
        if (::sigaction(signal, nullptr, &old) != 0 || old.sa_handler == SIG_IGN) continue;
        struct sigaction action {};
        action.sa_handler = &unlink_all;
        action.sa_flags = static_cast<int>(SA_RESETHAND);
        sigfillset(&action.sa_mask);
        ::sigaction(signal, &action, nullptr);
    }
    ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace tapline::io
