// The C library has strlcpy from glibc 2.38 on, which libbson in libmongocrypt's package was compiled with.
#include <string.h>

size_t strlcpy(char *to, const char *from, size_t size)
{
	size_t length = strlen(from), copied = length < size ? length : size - 1;

	if (size > 0) {
		memcpy(to, from, copied);
		to[copied] = '\0';
	}
	return length;
}
