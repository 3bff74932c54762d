// Squares of elements in registers. Included once per instruction set, inside HWY_NAMESPACE.

/// Four rows, each 128 bits of them by itself: vector i is element i of every row, in each block of four.
template <class D, class V = hn::Vec<D> >
HWY_INLINE void transpose_blocks(D d, V (&r)[4]) {
    const auto ac = hn::InterleaveLower(d, r[0], r[2]), be = hn::InterleaveLower(d, r[1], r[3]);
    const auto ac_upper = hn::InterleaveUpper(d, r[0], r[2]), be_upper = hn::InterleaveUpper(d, r[1], r[3]);
    r[0] = hn::InterleaveLower(d, ac, be);
    r[1] = hn::InterleaveUpper(d, ac, be);
    r[2] = hn::InterleaveLower(d, ac_upper, be_upper);
    r[3] = hn::InterleaveUpper(d, ac_upper, be_upper);
}
