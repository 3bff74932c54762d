// A signal that lies in the processes of MPI_COMM_WORLD, convolved: each gets the outputs of its own samples, neighbours exchange
// what the filter reaches, and the bits are those of one process with everything.
//
//     mpirun -n 4 mpi_convolve [SAMPLES] [TAPS]
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <tapline/tapline.hpp>

namespace {

// A sample of the whole signal, the same in every process.
float sample(std::int64_t i) {
    return std::sin(0.001F * static_cast<float>(i % 100'003)) + static_cast<float>(i * 7919 % 1000) * 1e-3F;
}

// Messages of up to 2 GiB as bytes.
class Messages {
public:
    void send(std::int64_t to, const void* data, std::size_t bytes) {
        MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(to), 0, MPI_COMM_WORLD, &requests_.emplace_back());
        sent_ += bytes;
    }
    static void receive(std::int64_t from, void* data, std::size_t bytes) {
        MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(from), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    void wait() {
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
        requests_.clear();
    }
    [[nodiscard]] std::size_t sent() const { return sent_; }

private:
    std::vector<MPI_Request> requests_;
    std::size_t sent_ = 0;
};

bool agree(std::uint64_t fingerprint) {
    std::uint64_t both[2] = {fingerprint, ~fingerprint};
    MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    return both[0] == ~both[1];
}

int run(int argc, char** argv, int rank, int processes) {
    const std::int64_t n = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
    const std::int64_t k = argc > 2 ? std::atoll(argv[2]) : 1'001;
    std::vector<float> taps(static_cast<std::size_t>(k));
    for (std::int64_t t = 0; t < k; ++t) { taps[static_cast<std::size_t>(t)] = 1.0F / static_cast<float>(t + 1); }

    const tapline::Problem problem{.length = n, .taps = k, .mode = tapline::Mode::same, .boundary = tapline::Boundary::wrap};
    if (!agree(tapline::fingerprint(problem, taps.data()))) {
        if (rank == 0) { std::fprintf(stderr, "the processes were asked for different convolutions\n"); }
        return 1;
    }
    const tapline::ShardedPlan plan(problem, taps.data(), {.threads = 1});
    std::vector<std::int64_t> cuts;
    for (int p = 1; p < processes; ++p) { cuts.push_back(n * p / processes); }
    const std::vector<tapline::Part> parts = plan.shard(0, cuts);
    const tapline::Part& own = parts[static_cast<std::size_t>(rank)];

    std::vector<float> in, out(static_cast<std::size_t>(own.outputs.size()));
    for (std::int64_t i = own.samples.first; i < own.samples.last; ++i) { in.push_back(sample(i)); }
    Messages messages;
    tapline::execute_part(out.data(), in.data(), plan, parts, rank,
                          {.send = [&](std::int64_t to, const void* data, std::size_t bytes) { messages.send(to, data, bytes); },
                           .receive = Messages::receive,
                           .finish = [&] { messages.wait(); }});

    // Every process checks its part against one plan over everything.
    std::vector<float> everything, whole(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) { everything.push_back(sample(i)); }
    plan.whole().execute(static_cast<void*>(whole.data()), everything.data());
    int same = std::memcmp(out.data(), whole.data() + own.outputs.first, out.size() * sizeof(float)) == 0 ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    std::uint64_t sent = messages.sent();
    std::uint64_t halos = static_cast<std::uint64_t>(own.halo_samples(rank)) * sizeof(float);
    MPI_Allreduce(MPI_IN_PLACE, &sent, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &halos, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        std::printf("%d processes, %lld samples, %lld taps, %s: %s as one plan; %llu bytes sent, halos are %llu\n", processes,
                    static_cast<long long>(n), static_cast<long long>(k), plan.whole().algorithm().c_str(),
                    same == 1 ? "the same bits" : "NOT the same bits", static_cast<unsigned long long>(sent),
                    static_cast<unsigned long long>(halos));
    }
    return same == 1 && sent == halos ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, processes = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    int status = 1;
    try {
        status = run(argc, argv, rank, processes);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "process %d: %s\n", rank, error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return status;
}
