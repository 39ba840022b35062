// What else goes on in an engine's process while host memory is pinned: another thread's small copies, a graph being
// captured, a busy compute stream, children that fork. Each runs on a thread of its own, beside the JVM or the yardstick.
#ifndef HOLDFAST_NEIGHBOUR_H
#define HOLDFAST_NEIGHBOUR_H

#include <stdint.h>

// All of these answer 0, or a driver's code, or -1 with neighbour_problem() set.
const char *neighbour_problem(void);
int neighbour_open(int ordinal);

// Open-loop probe: every period a 4 KiB copy to the device and a wait for it, its latency counted from the tick.
int probe_start(int64_t period_nanos, int64_t most_samples);
// Ends it; the latencies in nanoseconds, in order. Answers how many, or a negative code.
int64_t probe_stop(int64_t *latencies, int64_t capacity);

// A graph capture in global mode, as engines do it: fills of a small buffer are captured, one each millisecond.
int capture_start(void);
// Ends the capture, replays the graph when there is one, and looks at the bytes. Six numbers: the first code that a
// captured call answered, nodes captured, code of the end of capture, of instantiation, of the replay, bytes wrong.
int capture_stop(int64_t answers[6]);

// One registration, on a thread of its own that does not step out of captures, undone again. The driver's code.
int64_t plain_register(void *memory, int64_t bytes);

// Kernels of about that many cycles, one after another, on that many thread blocks, from a PTX text.
int busy_start(const char *ptx, int blocks, int64_t cycles);
// Ends it. Answers the median nanoseconds of a kernel, or a negative code.
int64_t busy_stop(int64_t *kernels);

// Children that several threads fork and that end at once, until that many have ended well or it is stopped.
int forks_start(int64_t children);
int64_t forks_done(void);
// Waits for the rest where asked to. Answers how many forked, ran and ended well.
int64_t forks_stop(int wait_for_rest);

// Children that fork and sleep that many seconds with everything that a fork hands down. Answers how many there are.
int sleepers_start(int children, int seconds);

#endif
