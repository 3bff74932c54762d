#include "core/stream/stream_state.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "tapline/error.hpp"

namespace tapline::core {

namespace {

constexpr std::array<char, 8> kMagic{'t', 'a', 'p', 'l', 's', 't', 'r', 'm'};
constexpr std::uint32_t kFormat = 1;
constexpr std::uint32_t kByteOrderMark = 0x01020304;

[[noreturn]] void refuse_state(const std::string& reason) {
    throw Error(ErrorCode::argument,
                "state: " + reason + "; give bytes that Stream::save() returned for the same problem, taps and options");
}

// Multiplication by an odd constant carries low bits up, the rotation brings high bits down (MurmurHash3's finaliser constants).
std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    hash ^= word * 0xff51afd7ed558ccdULL;
    hash = std::rotl(hash, 29) * 0xc4ceb9fe1a85ec53ULL;
    return hash ^ (hash >> 32);
}

void put_bytes(std::vector<std::byte>& out, const void* source, std::size_t count) {
    const auto* first = static_cast<const std::byte*>(source);
    out.insert(out.end(), first, first + count);
}

template <class T>
void put(std::vector<std::byte>& out, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        out.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff));
    }
}

void put_text(std::vector<std::byte>& out, const std::string& text) {
    put(out, static_cast<std::uint32_t>(text.size()));
    put_bytes(out, text.data(), text.size());
}

class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

    std::span<const std::byte> take(std::size_t count) {
        if (count > rest_.size()) { refuse_state("ends too early"); }
        const auto part = rest_.first(count);
        rest_ = rest_.subspan(count);
        return part;
    }

    template <class T>
    T number() {
        std::uint64_t value = 0;
        const auto part = take(sizeof(T));
        for (std::size_t i = 0; i < sizeof(T); ++i) { value |= std::to_integer<std::uint64_t>(part[i]) << (8 * i); }
        return static_cast<T>(value);
    }

    std::string text() {
        const auto part = take(number<std::uint32_t>());
        return {reinterpret_cast<const char*>(part.data()), part.size()};
    }

    std::span<const std::byte> frames(std::int64_t count, std::size_t frame_bytes) {
        if (count < 0 || static_cast<std::uint64_t>(count) > rest_.size() / frame_bytes) {
            refuse_state("announces " + std::to_string(count) + " frames that it does not hold");
        }
        return take(static_cast<std::size_t>(count) * frame_bytes);
    }

    [[nodiscard]] bool at_end() const { return rest_.empty(); }

private:
    std::span<const std::byte> rest_;
};

void expect_text(Reader& reader, const char* what, const std::string& expected) {
    if (reader.text() != expected) {
        refuse_state(std::string("saved with another ") + what + "; the stream's is \"" + expected + "\"");
    }
}

void expect_hash(Reader& reader, const char* what, std::uint64_t expected) {
    if (reader.number<std::uint64_t>() != expected) { refuse_state(std::string("saved with another ") + what); }
}

// Magic, format, byte order and the hash at the end, which the result leaves out.
Reader open_envelope(std::span<const std::byte> bytes) {
    if (bytes.size() < kMagic.size() + 2 * sizeof(std::uint32_t) + sizeof(std::uint64_t) ||
        std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
        refuse_state("not the state of a stream");
    }
    const auto content = bytes.first(bytes.size() - sizeof(std::uint64_t));
    Reader reader(content);
    reader.take(kMagic.size());
    const auto format = reader.number<std::uint32_t>();
    if (format != kFormat) { refuse_state("format " + std::to_string(format) + ", this library reads " + std::to_string(kFormat)); }
    std::uint32_t mark = 0;
    std::memcpy(&mark, reader.take(sizeof(mark)).data(), sizeof(mark));
    if (mark != kByteOrderMark) { refuse_state("saved on a machine with another byte order"); }
    if (Reader(bytes.last(sizeof(std::uint64_t))).number<std::uint64_t>() != hash_bytes(content.data(), content.size())) {
        refuse_state("damaged (its checksum differs)");
    }
    return reader;
}

}  // namespace

std::uint64_t hash_bytes(const void* bytes, std::size_t count, std::uint64_t seed) {
    const auto* p = static_cast<const std::byte*>(bytes);
    std::uint64_t hash = mix(seed, count);
    for (; count >= sizeof(std::uint64_t); count -= sizeof(std::uint64_t), p += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, p, sizeof(word));
        hash = mix(hash, word);
    }
    std::uint64_t rest = 0;
    if (count > 0) { std::memcpy(&rest, p, count); }
    return mix(hash, rest);
}

std::uint64_t hash_problem(const Problem& problem) {
    std::uint64_t hash = 0;
    const auto add = [&hash](auto value) { hash = mix(hash, static_cast<std::uint64_t>(value)); };
    const auto add_real = [&hash](double value) { hash = mix(hash, std::bit_cast<std::uint64_t>(value)); };
    add(problem.length);
    add(problem.taps);
    add(problem.batch);
    add(problem.filters);
    if (problem.filter_count != 0) { add(problem.filter_count); }
    add(problem.mode);
    add(problem.boundary);
    add_real(problem.constant.real());
    add_real(problem.constant.imag());
    add(problem.origin.has_value());
    add(problem.origin.value_or(0));
    add(problem.operation);
    add(problem.dtype);
    add(problem.complex_taps);
    add(output_dtype(problem));
    add_real(problem.scale);
    add_real(problem.bias);
    add(problem.clamp.has_value());
    add_real(problem.clamp ? problem.clamp->low : 0);
    add_real(problem.clamp ? problem.clamp->high : 0);
    add(problem.overflow);
    add(problem.up);
    add(problem.down);
    add(problem.dilation);
    return hash;
}

StreamStateWriter::StreamStateWriter(const StreamIdentity& identity, const StreamCounters& counters, std::size_t payload_bytes) {
    const std::size_t texts =
        identity.version.size() + identity.instruction_set.size() + identity.algorithm.size() + identity.description.size();
    bytes_.reserve(texts + payload_bytes + 256);  // 256: more than the fixed fields
    put_bytes(bytes_, kMagic.data(), kMagic.size());
    put(bytes_, kFormat);
    put_bytes(bytes_, &kByteOrderMark, sizeof(kByteOrderMark));
    put_text(bytes_, identity.version);
    put_text(bytes_, identity.instruction_set);
    put_text(bytes_, identity.algorithm);
    put_text(bytes_, identity.description);
    for (const std::uint64_t hash : {identity.problem, identity.taps, identity.tail}) { put(bytes_, hash); }
    for (const std::int64_t counter :
         {counters.received, counters.computed, counters.taken, counters.flushed, counters.history_first, counters.head}) {
        put(bytes_, counter);
    }
}

std::vector<std::byte> StreamStateWriter::finish() {
    put(bytes_, hash_bytes(bytes_.data(), bytes_.size()));
    return std::move(bytes_);
}

StreamStateView parse_stream_state(std::span<const std::byte> bytes, const StreamIdentity& identity, std::size_t in_frame_bytes,
                                   std::size_t out_frame_bytes) {
    Reader reader = open_envelope(bytes);
    expect_text(reader, "library version", identity.version);
    expect_text(reader, "instruction set", identity.instruction_set);
    expect_text(reader, "algorithm", identity.algorithm);
    expect_text(reader, "algorithm's description", identity.description);
    expect_hash(reader, "problem", identity.problem);
    expect_hash(reader, "filter", identity.taps);
    expect_hash(reader, "tail", identity.tail);

    StreamStateView view;
    StreamCounters& c = view.counters;
    for (std::int64_t* counter : {&c.received, &c.computed, &c.taken, &c.flushed, &c.history_first, &c.head}) {
        *counter = reader.number<std::int64_t>();
        // No count of frames reaches 2^60, so that differences cannot overflow.
        if (*counter < 0 || *counter >= std::int64_t{1} << 60) { refuse_state("a counter is out of range"); }
    }
    view.history = reader.frames(c.received - c.history_first, in_frame_bytes);
    view.head = reader.frames(c.head, in_frame_bytes);
    view.waiting = reader.frames(c.computed - c.taken, out_frame_bytes);
    if (!reader.at_end()) { refuse_state("has bytes after its end"); }
    return view;
}

}  // namespace tapline::core
