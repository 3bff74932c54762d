# Sourced: the libraries of a bundle (scripts/gpu_bundle.sh), whose folder is $bundle, for the programs started from now on. GCC's come
# only where the system has none.
export LD_LIBRARY_PATH=$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
{ ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null | grep 'libstdc++\.so\.6 ' >/dev/null || LD_LIBRARY_PATH+=:$bundle/lib/fallback
