/*
 * What a native library needs whose exports are answered in Java.
 *
 * A front end includes this once, after it has defined
 *   SHIM_UNBOUND  what an export answers while nobody answers it
 *   SHIM_FORKED   what it answers in a child of fork, where there is no Java any more
 * and lists its exports:
 *   EXPORT(int, cuMemAlloc_v2, (uint64_t *address, size_t bytes), W(address), W(bytes))
 * The prototype is the true one, so that a caller with another one is seen. Each argument becomes a word of 64 bits, signed
 * ones by their sign.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

typedef int64_t (*shim_answerer)(int slot, const uint64_t *words);

struct shim_slot {
  const char *name;
};

/* The linker puts all slots into one array. */
__attribute__((visibility("hidden"))) extern struct shim_slot __start_shim_slots[];
__attribute__((visibility("hidden"))) extern struct shim_slot __stop_shim_slots[];

static shim_answerer shim_java;
static pid_t shim_process;

#define W(argument) ((uint64_t)(argument))

#define EXPORT(result, name, parameters, ...)                                                              \
  __attribute__((used, section("shim_slots"))) static struct shim_slot shim_slot_##name = {#name};         \
  result name parameters {                                                                                 \
    const uint64_t words[] = {0, ##__VA_ARGS__};                                                           \
    if (shim_java == NULL) return (result)(SHIM_UNBOUND);                                                  \
    if (shim_process != getpid()) return (result)(SHIM_FORKED);                                            \
    return (result)shim_java((int)(&shim_slot_##name - __start_shim_slots), words + 1);                    \
  }

/* ---- for Java */

int shim_count(void) { return (int)(__stop_shim_slots - __start_shim_slots); }

const char *shim_name(int slot) { return __start_shim_slots[slot].name; }

/* From now on exports are answered, in this process only; by nobody any more with NULL. */
void shim_bind(shim_answerer answerer) {
  shim_process = getpid();
  shim_java = answerer;
}

/* What a driver does that aborts. */
void shim_abort(void) { abort(); }
