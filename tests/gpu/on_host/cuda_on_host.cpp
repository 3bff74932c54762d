#include "gpu/on_host/cuda_on_host.hpp"

#include <ucontext.h>

#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

namespace tapline::test::on_host {
namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;

// Threads that wait for each other.
struct Group {
    int alive = 0;
    int arrived = 0;
    unsigned long generation = 0;
    void release_if_complete() {
        if (arrived > 0 && arrived == alive) {
            arrived = 0;
            ++generation;
        }
    }
};

struct Fiber {
    ucontext_t context{};
    uint3 index{};
    unsigned number = 0;  // of the thread in its block
    bool done = false;
};

struct Machine {
    std::vector<std::unique_ptr<char[]>> stacks;
    std::vector<Fiber> fibers;
    Fiber* running = nullptr;
    ucontext_t scheduler{};
    Group block;
    std::vector<Group> warps;
    char slots[1024][64] = {};
    std::vector<char> votes = std::vector<char>(1024);
    uint3 block_index{};
    dim3 block_size, grid_size;
    const std::function<void()>* body = nullptr;
    std::string failure;
};

Machine& machine() {
    static Machine instance;
    return instance;
}

void yield() {
    Machine& m = machine();
    swapcontext(&m.running->context, &m.scheduler);
}

void wait_in(Group& group) {
    const unsigned long generation = group.generation;
    ++group.arrived;
    group.release_if_complete();
    while (group.generation == generation) { yield(); }
}

Group& own_warp() { return machine().warps[machine().running->number / 32]; }

void enter() {
    Machine& m = machine();
    Fiber* const self = m.running;
    try {
        (*m.body)();
    } catch (const std::exception& error) { m.failure = error.what(); }
    self->done = true;
    for (Group* group : {&m.block, &m.warps[self->number / 32]}) {
        --group->alive;
        group->release_if_complete();
    }
    swapcontext(&self->context, &m.scheduler);
}

void run_block(int threads, std::mt19937_64& random) {
    Machine& m = machine();
    m.fibers.assign(static_cast<std::size_t>(threads), {});
    while (m.stacks.size() < m.fibers.size()) { m.stacks.push_back(std::make_unique_for_overwrite<char[]>(kStackBytes)); }
    m.block = {threads, 0, 0};
    m.warps.assign(static_cast<std::size_t>((threads + 31) / 32), {});
    std::vector<int> order(m.fibers.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (int t = 0; t < threads; ++t) {
        Fiber& fiber = m.fibers[static_cast<std::size_t>(t)];
        fiber.number = static_cast<unsigned>(t);
        fiber.index = {fiber.number % m.block_size.x, fiber.number / m.block_size.x, 0};
        ++m.warps[static_cast<std::size_t>(t) / 32].alive;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = m.stacks[static_cast<std::size_t>(t)].get();
        fiber.context.uc_stack.ss_size = kStackBytes;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, enter, 0);
    }
    for (int left = threads; left > 0;) {
        for (const int t : order) {
            Fiber& fiber = m.fibers[static_cast<std::size_t>(t)];
            if (fiber.done) { continue; }
            m.running = &fiber;
            swapcontext(&m.scheduler, &fiber.context);
            if (fiber.done) { --left; }
        }
    }
    if (!m.failure.empty()) { throw std::runtime_error(std::exchange(m.failure, {})); }
}

}  // namespace

const uint3& thread_index() { return machine().running->index; }
const uint3& block_index() { return machine().block_index; }
const dim3& block_size() { return machine().block_size; }
const dim3& grid_size() { return machine().grid_size; }

void sync_threads() { wait_in(machine().block); }
void sync_warp() { wait_in(own_warp()); }

bool sync_threads_or(bool value) {
    Machine& m = machine();
    m.votes[m.running->number] = value ? 1 : 0;
    sync_threads();
    const bool any = std::any_of(m.votes.begin(), m.votes.begin() + static_cast<std::ptrdiff_t>(m.fibers.size()),
                                 [](char vote) { return vote != 0; });
    sync_threads();
    return any;
}

void share_in_warp(const void* value, std::size_t bytes, char (&all)[32][64]) {
    Machine& m = machine();
    const unsigned thread = m.running->number;
    std::memcpy(m.slots[thread], value, bytes);
    sync_warp();
    std::memcpy(all, m.slots[thread / 32 * 32], sizeof all);
    sync_warp();
}

namespace {

struct Registered {
    char* shared;
    std::function<void(void**)> call;
};
std::map<const void*, Registered>& registered() {
    static std::map<const void*, Registered> kernels;
    return kernels;
}
std::mt19937_64& order() {
    static std::mt19937_64 random;
    return random;
}

}  // namespace

void set_seed(std::uint64_t seed) { order().seed(seed); }

void add_kernel(const void* kernel, char* shared, std::function<void(void**)> call) {
    registered()[kernel] = {shared, std::move(call)};
}

void run_kernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes) {
    Machine& m = machine();
    const Registered& found = registered().at(kernel);
    if (shared_bytes > kSharedBytes) { throw std::runtime_error("more shared memory than a block has"); }
    const std::function<void()> body = [&] { found.call(arguments); };
    m.body = &body;
    m.block_size = block;
    m.grid_size = grid;
    for (unsigned y = 0; y < grid.y; ++y) {
        for (unsigned x = 0; x < grid.x; ++x) {
            m.block_index = {x, y, 0};
            if (found.shared != nullptr) { std::memset(found.shared, 0xFF, kSharedBytes); }
            run_block(static_cast<int>(block.x * block.y), order());
            const auto is_used = [](char c) { return static_cast<unsigned char>(c) != 0xFF; };
            if (found.shared != nullptr && std::any_of(found.shared + shared_bytes, found.shared + kSharedBytes, is_used)) {
                throw std::runtime_error("a block wrote behind its shared memory");
            }
        }
    }
}

}  // namespace tapline::test::on_host
