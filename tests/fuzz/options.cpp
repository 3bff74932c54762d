// How the sanitizers run under every fuzzer. Freed memory is kept from reuse for about one input: keeping more costs page faults,
// half of the time of small inputs.
extern "C" const char* __asan_default_options() {
    return "quarantine_size_mb=1:thread_local_quarantine_size_kb=64:allocator_release_to_os_interval_ms=-1:malloc_context_size=10";
}

extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }
