/*
 * A run-time compiler that compiles nothing: it looks whether it was given the copy kernels and the right options, and its
 * code is a text that the pretended CUDA driver takes for PTX. Answers 6, the code of a failed compilation, otherwise.
 *   -DREFUSES   it never compiles, and says so in its log
 */
#include <stdlib.h>
#include <string.h>

static const char code[] = ".version 8.0\n.visible .entry holdfast_copy_like(\n.visible .entry holdfast_copy_mixed(\n";
static const char words[] = "copy_rows.cu(1): error: not today\nand more";

struct program {
  char *source;
  int compiled;
};

int nvrtcCreateProgram(struct program **program, const char *source, const char *name, int count, const char **headers, const char **names) {
  if (strcmp(name, "copy_rows.cu") || count || headers || names) return 2;
  *program = calloc(1, sizeof **program);
  (*program)->source = strdup(source);
  return 0;
}

int nvrtcCompileProgram(struct program *program, int count, const char **options) {
  int lanes = 0, architecture = 0;
  for (int i = 0; i < count; i++) {
    lanes |= !strcmp(options[i], "-DLANES=32u");
    architecture |= !strcmp(options[i], "--gpu-architecture=compute_90");
  }
#ifdef REFUSES
  lanes = 0;
#endif
  program->compiled = lanes && architecture && strstr(program->source, "holdfast_copy_like(") && strstr(program->source, "holdfast_copy_mixed(");
  return program->compiled ? 0 : 6;
}

int nvrtcGetProgramLogSize(struct program *program, size_t *bytes) {
  *bytes = program->compiled ? 1 : sizeof words;
  return 0;
}

int nvrtcGetProgramLog(struct program *program, char *log) {
  memcpy(log, program->compiled ? "" : words, program->compiled ? 1 : sizeof words);
  return 0;
}

int nvrtcGetPTXSize(struct program *program, size_t *bytes) {
  *bytes = sizeof code;
  return program->compiled ? 0 : 4;
}

int nvrtcGetPTX(struct program *program, char *ptx) {
  memcpy(ptx, code, sizeof code);
  return program->compiled ? 0 : 4;
}

int nvrtcDestroyProgram(struct program **program) {
  free((*program)->source);
  free(*program);
  *program = NULL;
  return 0;
}
