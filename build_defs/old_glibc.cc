// What GCC 12 and glibc 2.36 have their headers call, and GCC 10 and glibc 2.31 do not have: for a
// library that is compiled with the former and linked with the latter.
#include <new>

extern "C" {
// Whether reference counts may do without atomic operations. In TensorFlow there are always threads.
extern char __libc_single_threaded;
char __libc_single_threaded = 0;
}

namespace std {

void __throw_bad_array_new_length();
void __throw_bad_array_new_length() { throw bad_array_new_length(); }

}  // namespace std
