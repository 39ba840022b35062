/* A whole accelerator in one file: 1 GiB of memory of its own, and no hurry. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TINY_OK = 0, TINY_NO_MEMORY = 2, TINY_BAD_RANGE = 3, TINY_NOT_REGISTERED = 4, TINY_REGISTERED = 5 };

#define TOTAL (1ull << 30)

struct range { uint64_t start, bytes; struct range *next; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *allocated, *registered;
static uint64_t used;

static struct range *holding(struct range *list, uint64_t address) {
  for (; list; list = list->next)
    if (address >= list->start && address - list->start < list->bytes) return list;
  return NULL;
}

static int overlaps(struct range *list, uint64_t start, uint64_t bytes) {
  for (; list; list = list->next)
    if (start < list->start + list->bytes && list->start < start + bytes) return 1;
  return 0;
}

static void add(struct range **list, uint64_t start, uint64_t bytes) {
  struct range *one = malloc(sizeof *one);
  *one = (struct range){start, bytes, *list};
  *list = one;
}

static uint64_t drop(struct range **list, uint64_t start) {
  for (; *list; list = &(*list)->next)
    if ((*list)->start == start) {
      struct range *gone = *list;
      uint64_t bytes = gone->bytes;
      *list = gone->next;
      free(gone);
      return bytes;
    }
  return 0;
}

int tiny_alloc(uint64_t bytes, uint64_t *address) {
  int code = TINY_NO_MEMORY;
  pthread_mutex_lock(&lock);
  if (bytes <= TOTAL - used) {
    void *memory = malloc(bytes);
    if (memory) {
      *address = (uint64_t)(uintptr_t)memory;
      add(&allocated, *address, bytes);
      used += bytes;
      code = TINY_OK;
    }
  }
  pthread_mutex_unlock(&lock);
  return code;
}

int tiny_free(uint64_t address) {
  pthread_mutex_lock(&lock);
  uint64_t bytes = drop(&allocated, address);
  used -= bytes;
  pthread_mutex_unlock(&lock);
  if (bytes) free((void *)(uintptr_t)address);
  return bytes ? TINY_OK : TINY_BAD_RANGE;
}

int tiny_range(uint64_t address, uint64_t *start, uint64_t *bytes) {
  pthread_mutex_lock(&lock);
  struct range *one = holding(allocated, address);
  if (one) { *start = one->start; *bytes = one->bytes; }
  pthread_mutex_unlock(&lock);
  return one ? TINY_OK : TINY_BAD_RANGE;
}

int tiny_register(uint64_t address, uint64_t bytes) {
  pthread_mutex_lock(&lock);
  int code = overlaps(registered, address, bytes) ? TINY_REGISTERED : TINY_OK;
  if (code == TINY_OK) add(&registered, address, bytes);
  pthread_mutex_unlock(&lock);
  return code;
}

int tiny_unregister(uint64_t address) {
  pthread_mutex_lock(&lock);
  uint64_t bytes = drop(&registered, address);
  pthread_mutex_unlock(&lock);
  return bytes ? TINY_OK : TINY_NOT_REGISTERED;
}

void tiny_copy(uint64_t to, uint64_t from, uint64_t bytes) {
  memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
}

void tiny_fill(uint64_t to, int value, uint64_t bytes) { memset((void *)(uintptr_t)to, value, bytes); }

uint64_t tiny_free_bytes(void) { return TOTAL - used; }

uint64_t tiny_total_bytes(void) { return TOTAL; }
