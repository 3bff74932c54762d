#include "cpu/fft/fft_tables.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <new>
#include <numbers>
#include <tuple>

namespace tapline::cpu {
namespace {

// Up to this many bytes of data a transform is one row: with its twiddle factors (a little more than the data) and its spectrum
// it just fits an L2 cache of 2 MiB. On such a machine one row is 18% faster at 2^16 points of f32 than columns and rows.
constexpr std::int64_t kMaxRowBytes = std::int64_t{512} << 10;
// Rows of larger transforms, where the cache also holds what passes through.
constexpr int kMaxLog2Row = 14;
// Points of one strip: with its lane twiddles 256 KiB in f32.
constexpr std::int64_t kStripPoints = 1 << 14;
constexpr std::int64_t kCacheLine = 64;
// The im array starts at this distance beyond a multiple of 4096 bytes: neither the same cache set as re nor an address
// that a load would take for a recent store (they are compared in the low 12 bits).
constexpr std::int64_t kImSkewBytes = 2048 + kCacheLine;

struct Twiddle {
    double re, im;
};

// exp(-2 pi i index / size), exact at the eighths: the angle is folded into [0, pi/4] first.
Twiddle unit_root(std::int64_t index, std::int64_t size) {
    index %= size;
    const std::int64_t octant = index * 8 / size;
    const std::int64_t folded = (octant & 1) ? (octant + 1) * size - index * 8 : index * 8 - octant * size;  // in eighths of 1/size
    const double angle = 2 * std::numbers::pi * static_cast<double>(folded) / (8 * static_cast<double>(size));
    const double c = std::cos(angle);
    const double s = std::sin(angle);
    const Twiddle octants[] = {{c, -s}, {s, -c}, {-s, -c}, {-c, -s}, {-c, s}, {-s, c}, {s, c}, {c, s}};
    return octants[octant];
}

int tile_bits(int lanes) {
    // Of 8 lanes 8 vectors, of 16 lanes 4.
    return lanes == 1 ? 0 : lanes == 2 ? 2 : lanes == 4 ? 4 : 6;
}

// Radices of `bits` levels (not 1), the eights first: the passes over much data do most levels at once.
int split_radices(int bits, std::array<int, 8>& radices) {
    int count = 0;
    while (bits >= 5 || bits == 3) {
        radices[static_cast<std::size_t>(count++)] = 8;
        bits -= 3;
    }
    while (bits >= 2) {
        radices[static_cast<std::size_t>(count++)] = 4;
        bits -= 2;
    }
    return count;
}

// Counts elements first, writes them in a second run over the same code.
template <class T>
class Writer {
public:
    explicit Writer(T* base) : base_(base) {}
    const T* here() const { return base_ == nullptr ? nullptr : base_ + at_; }
    // count of (root^0, root^stride, ...): re of all, then im of all.
    template <class Index>
    void roots(std::int64_t count, std::int64_t size, const Index& index) {
        if (base_ != nullptr) {
            for (std::int64_t i = 0; i < count; ++i) {
                const Twiddle w = unit_root(index(i), size);
                base_[at_ + i] = static_cast<T>(w.re);
                base_[at_ + count + i] = static_cast<T>(w.im);
            }
        }
        at_ += 2 * count;
    }
    void align() { at_ = (at_ + 15) / 16 * 16; }
    [[nodiscard]] bool counting() const { return base_ == nullptr; }
    void skip(std::int64_t count) { at_ += count; }
    [[nodiscard]] std::int64_t size() const { return at_; }

private:
    T* base_;
    std::int64_t at_ = 0;
};

template <class T>
void write_passes(Writer<T>& writer, FftPass<T>* passes, int count, int lanes) {
    for (int p = 0; p < count; ++p) {
        FftPass<T>& pass = passes[p];
        const std::int64_t block = pass.radix * pass.step;
        writer.align();
        pass.twiddles = writer.here();
        for (std::int64_t j = 0; j < pass.step; j += lanes) {
            for (int m = 1; m < pass.radix; ++m) {
                writer.roots(lanes, block, [&](std::int64_t l) { return (j + l) * m; });
            }
        }
        if (pass.radix != 8) { continue; }
        writer.align();
        pass.chained = writer.here();
        for (std::int64_t j = 0; j < pass.step; j += lanes) {
            for (const int m : {1, 2, 4}) {
                writer.roots(lanes, block, [&](std::int64_t l) { return (j + l) * m; });
            }
            writer.roots(lanes, block, [&](std::int64_t l) { return j + l + block / 8; });
        }
    }
}

template <class T>
void write_tile(Writer<T>& writer, FftTables<T>& tables) {
    writer.align();
    tables.tile = writer.here();
    const int lanes = tables.lanes;
    if (lanes == 16) {
        for (int m = 1; m < 4; ++m) {
            writer.roots(16, 64, [&](std::int64_t l) { return l * m; });
        }
        for (int m = 1; m < 4; ++m) {
            writer.roots(16, 16, [&](std::int64_t l) { return (l % 4) * m; });
        }
    } else {
        for (int m = 1; m < lanes; ++m) {
            writer.roots(lanes, lanes * lanes, [&](std::int64_t l) { return l * m; });
        }
    }
}

// Digits of decimation in frequency: pass p leaves frequency digit m in block m. Returns what is left of `position`, within the
// last pass's blocks, and multiplies `weight` by the radices.
template <class T>
std::int64_t add_digits(const std::array<FftPass<T>, FftTables<T>::kMaxPasses>& passes, int count, std::int64_t position,
                        std::int64_t& weight, std::int64_t& frequency) {
    for (int p = 0; p < count; ++p) {
        const FftPass<T>& pass = passes[static_cast<std::size_t>(p)];
        frequency += position / pass.step * weight;
        position %= pass.step;
        weight *= pass.radix;
    }
    return position;
}

// The frequency that row `row` of a strip holds after the column passes.
template <class T>
std::int64_t row_frequency(const FftTables<T>& tables, std::int64_t row) {
    std::int64_t frequency = 0, weight = 1;
    add_digits(tables.column_pass, tables.column_passes, row, weight, frequency);
    return frequency;
}

template <class T>
void write_columns(Writer<T>& writer, FftTables<T>& tables) {
    write_passes(writer, tables.column_pass.data(), tables.column_passes, 1);
    writer.align();
    tables.lane_twiddles = writer.here();
    for (std::int64_t r = 0; r < tables.rows; ++r) {
        const std::int64_t f = row_frequency(tables, r);
        writer.roots(tables.strip, tables.size, [&](std::int64_t c) { return f * c; });
    }
    tables.strip_twiddles = writer.here();
    if (writer.counting()) {
        writer.skip(2 * tables.rows * (tables.columns / tables.strip));
        return;
    }
    for (std::int64_t c = 0; c < tables.columns; c += tables.strip) {
        for (std::int64_t r = 0; r < tables.rows; ++r) {
            const std::int64_t f = row_frequency(tables, r);
            writer.roots(1, tables.size, [&](std::int64_t) { return f * c; });
        }
    }
}

template <class T>
std::int64_t write_all(T* base, FftTables<T>& tables) {
    Writer<T> writer(base);
    write_passes(writer, tables.row_pass.data(), tables.row_passes, tables.lanes);
    write_tile(writer, tables);
    if (tables.rows > 1) { write_columns(writer, tables); }
    return writer.size();
}

template <class T>
int fill_passes(std::array<FftPass<T>, FftTables<T>::kMaxPasses>& passes, int bits, std::int64_t points) {
    std::array<int, 8> radices{};
    const int count = split_radices(bits, radices);
    for (int p = 0; p < count; ++p) {
        points /= radices[static_cast<std::size_t>(p)];
        passes[static_cast<std::size_t>(p)] = {radices[static_cast<std::size_t>(p)], points, nullptr, nullptr};
    }
    return count;
}

struct AlignedDelete {
    void operator()(void* p) const { ::operator delete (p, std::align_val_t{kCacheLine}); }
};

}  // namespace

template <class T>
std::int64_t frequency_at(const FftTables<T>& tables, std::int64_t row, std::int64_t column) {
    std::int64_t frequency = 0, weight = 1;
    add_digits(tables.column_pass, tables.column_passes, row, weight, frequency);
    const std::int64_t at = add_digits(tables.row_pass, tables.row_passes, column, weight, frequency);
    // Within a tile: vector m3, lane 4 m1 + m2 of 16 hold digit m1 first; other lane counts leave the natural order.
    const std::int64_t in_tile = tables.lanes == 16 ? at / 16 * 16 + at % 4 * 4 + at % 16 / 4 : at;
    return frequency + in_tile * weight;
}

template <class T>
FftTables<T> fft_layout(int log2_size, int lanes) {
    constexpr std::int64_t kLine = kCacheLine / static_cast<std::int64_t>(sizeof(T));
    constexpr std::int64_t kSkew = kImSkewBytes / static_cast<std::int64_t>(sizeof(T));
    FftTables<T> t;
    t.log2_size = log2_size;
    t.lanes = lanes;
    t.size = std::int64_t{1} << log2_size;
    const bool one_row = 2 * t.size * static_cast<std::int64_t>(sizeof(T)) <= kMaxRowBytes;
    const int row_bits = one_row ? log2_size : std::min(kMaxLog2Row, log2_size - 4);  // 16 to 2^12 rows
    t.columns = std::int64_t{1} << row_bits;
    t.rows = t.size / t.columns;
    // A line more than a power of two: the rows of a strip do not all fall into one cache set.
    t.pitch = t.rows == 1 ? t.columns : t.columns + kLine;
    t.im_offset =
        (t.rows * t.pitch * static_cast<std::int64_t>(sizeof(T)) + 4095) / 4096 * 4096 / static_cast<std::int64_t>(sizeof(T)) +
        kSkew;
    t.extent = t.im_offset + t.rows * t.pitch;
    t.row_passes = fill_passes<T>(t.row_pass, row_bits - tile_bits(lanes), t.columns);
    if (t.rows > 1) {
        t.strip = std::clamp<std::int64_t>(kStripPoints / t.rows, kLine, 64);
        t.column_passes = fill_passes<T>(t.column_pass, log2_size - row_bits, t.rows);
        t.scratch_im_offset = t.rows * t.strip + kSkew;
        t.scratch_extent = t.scratch_im_offset + t.rows * t.strip;
    }
    return t;
}

template <class T>
std::size_t fft_table_bytes(int log2_size, int lanes) {
    FftTables<T> layout = fft_layout<T>(log2_size, lanes);
    return static_cast<std::size_t>(write_all<T>(nullptr, layout)) * sizeof(T);
}

template <class T>
std::shared_ptr<const FftTables<T>> fft_tables(int log2_size, int lanes) {
    static std::mutex mutex;
    static std::map<std::tuple<int, int>, std::weak_ptr<const FftTables<T>>> known;
    const std::lock_guard lock(mutex);
    auto& entry = known[{log2_size, lanes}];
    if (auto tables = entry.lock()) { return tables; }
    auto tables = std::make_shared<FftTables<T>>(fft_layout<T>(log2_size, lanes));
    tables->table_bytes = fft_table_bytes<T>(log2_size, lanes);
    std::shared_ptr<void> storage(::operator new (tables->table_bytes, std::align_val_t{kCacheLine}), AlignedDelete{});
    write_all(static_cast<T*>(storage.get()), *tables);
    tables->storage = std::move(storage);
    entry = tables;
    return tables;
}

template std::int64_t frequency_at<float>(const FftTables<float>&, std::int64_t, std::int64_t);
template std::int64_t frequency_at<double>(const FftTables<double>&, std::int64_t, std::int64_t);
template FftTables<float> fft_layout<float>(int, int);
template FftTables<double> fft_layout<double>(int, int);
template std::size_t fft_table_bytes<float>(int, int);
template std::size_t fft_table_bytes<double>(int, int);
template std::shared_ptr<const FftTables<float>> fft_tables<float>(int, int);
template std::shared_ptr<const FftTables<double>> fft_tables<double>(int, int);

}  // namespace tapline::cpu
