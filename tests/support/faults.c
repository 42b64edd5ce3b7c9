/* Fails chosen system calls on files below one folder, for the server process that it is preloaded into.

   Beside the test it maps the file that FAULTS_CONTROL names, a `struct control`. While `armed`, each call that would
   change the disk counts `left` down; if `name` is set, each of that name on that `path`, or on one that begins so where
   it ends with a dot. The one that finds it at zero fails with `error`, and all later ones if it `stays` broken. A write
   that fails has written half of its bytes. `made` says of each call its name and the path below the folder. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { CALLS = 4096, LETTERS = 192 };
struct control {
    volatile int armed, left, error, stays, fired, seen;
    char name[32], path[LETTERS], made[CALLS][LETTERS];
};
static struct control *control;
static const char *home;
static size_t length;

static __attribute__((constructor)) void begin(void) {
    const char *path = getenv("FAULTS_CONTROL");
    home = getenv("FAULTS_BELOW");
    if (!path || !home) return;
    length = strlen(home);
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    int handle = real(path, O_RDWR);
    void *map = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
    if (map != MAP_FAILED) control = map;
}

static int is_meant(const char *name, const char *path) {
    size_t size = strlen(control->path);
    if (strcmp(control->name, name)) return 0;
    return size && control->path[size - 1] == '.' ? !strncmp(path, control->path, size) : !strcmp(path, control->path);
}

static int fails_path(const char *name, const char *path) {
    if (!control || !control->armed || !path || strncmp(path, home, length) != 0) return 0;
    int seen = __sync_fetch_and_add(&control->seen, 1);
    if (seen < CALLS) snprintf(control->made[seen], LETTERS, "%s %s", name, path + length);
    if (control->name[0] && !is_meant(name, path + length)) return 0;
    int left = __sync_fetch_and_sub(&control->left, 1);
    if (left == 0 || (left < 0 && control->stays)) {
        control->fired = 1;
        errno = control->error;
        return left == 0 ? 1 : 2;
    }
    return 0;
}

static int fails_handle(const char *name, int handle) {
    char link[64], path[4096];
    if (!control || !control->armed) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return fails_path(name, path);
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define BY_HANDLE(result, name, parameters, arguments) \
    result name parameters { REAL(name); return fails_handle(#name, handle) ? -1 : real arguments; }
#define BY_PATH(result, name, parameters, arguments) \
    result name parameters { REAL(name); return fails_path(#name, path) ? -1 : real arguments; }

ssize_t write(int handle, const void *data, size_t size) {
    REAL(write);
    int fault = fails_handle("write", handle), error = errno;
    if (!fault) return real(handle, data, size);
    if (fault == 1 && size > 1) { (void)!real(handle, data, size / 2); errno = error; }
    return -1;
}
ssize_t pwrite64(int handle, const void *data, size_t size, off64_t at) {
    REAL(pwrite64);
    int fault = fails_handle("pwrite64", handle), error = errno;
    if (!fault) return real(handle, data, size, at);
    if (fault == 1 && size > 1) { (void)!real(handle, data, size / 2, at); errno = error; }
    return -1;
}
BY_HANDLE(int, fsync, (int handle), (handle))
BY_HANDLE(int, fdatasync, (int handle), (handle))
BY_HANDLE(int, syncfs, (int handle), (handle))
BY_HANDLE(int, ftruncate64, (int handle, off64_t size), (handle, size))
BY_HANDLE(int, futimens, (int handle, const struct timespec times[2]), (handle, times))
BY_PATH(int, unlink, (const char *path), (path))
BY_PATH(int, rmdir, (const char *path), (path))
BY_PATH(int, mkdir, (const char *path, mode_t mode), (path, mode))
BY_PATH(int, rename, (const char *path, const char *to), (path, to))
BY_PATH(int, link, (const char *path, const char *to), (path, to))
int utimensat(int folder, const char *path, const struct timespec times[2], int flags) {
    REAL(utimensat);
    return fails_path("utimensat", path) ? -1 : real(folder, path, times, flags);
}
int linkat(int folder, const char *path, int other, const char *to, int flags) {
    REAL(linkat);
    return fails_path("linkat", path) ? -1 : real(folder, path, other, to, flags);
}
int renameat2(int folder, const char *path, int other, const char *to, unsigned int flags) {
    REAL(renameat2);
    return fails_path("renameat2", path) ? -1 : real(folder, path, other, to, flags);
}

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        static int (*real)(const char *, int, ...); \
        if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name); \
        va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more); \
        return (flags & (O_WRONLY | O_RDWR | O_CREAT)) && fails_path(#name, path) ? -1 : real(path, flags, mode); \
    }
OPENS(open)
OPENS(open64)
