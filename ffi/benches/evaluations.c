/* What an evaluation costs from C, for the benchmark that runs it: `evaluations LIST.json PODS < COMMANDS`.
 *
 * LIST.json is a cluster whose pods p0, p1 .. wait, PODS of them. Each line `evaluate COUNT` of the input
 * is so many evaluations of the pods in turn, and is answered by a line with the nanoseconds, how many
 * nodes fit the last pod, and the sum of their scores: as ffi/go/internal/calls does from Go.
 */
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "berth.h"

enum { PODS_MAX = 64 };

static long long nanoseconds(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* The whole file, which nobody frees. */
static char *read_file(const char *name, size_t *length) {
    FILE *file = fopen(name, "rb");
    char *text = NULL;
    long end;

    if (file && fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) > 0) {
        rewind(file);
        text = malloc((size_t)end);
        *length = text ? fread(text, 1, (size_t)end, file) : 0;
    }
    if (file) {
        fclose(file);
    }
    return text;
}

int main(int arguments_length, char **arguments) {
    berth_options_t options = {0};
    berth_scheduler_t *s = NULL;
    berth_counts_t counts = {0};
    uint32_t pods[PODS_MAX];
    size_t length = 0, pod_count, rows;
    char *list, name[16];
    uint64_t *bits;
    int64_t *scores;
    long long count;

    if (arguments_length != 3 || !(list = read_file(arguments[1], &length))) {
        return 2;
    }
    pod_count = (size_t)atol(arguments[2]);
    options.size = sizeof options;
    options.fidelity = BERTH_FIDELITY_BEST;
    counts.size = sizeof counts;
    if (pod_count == 0 || pod_count > PODS_MAX
        || berth_scheduler_create(&options, NULL, 0, &s) != BERTH_RESULT_OK
        || berth_load_json(s, list, length, NULL) != BERTH_RESULT_OK) {
        return 2;
    }
    for (size_t i = 0; i < pod_count; i++) {
        snprintf(name, sizeof name, "p%zu", i);
        if (berth_find_pod(s, name, strlen(name), &pods[i]) != BERTH_RESULT_OK) {
            return 2;
        }
    }
    /* How many rows there are is told also where there is no room for them. */
    berth_evaluate(s, pods[0], NULL, 0, NULL, 0, &counts);
    rows = counts.rows;
    bits = calloc(rows / 64 + 1, sizeof *bits);
    scores = calloc(rows + 1, sizeof *scores);
    if (!bits || !scores) {
        return 2;
    }
    while (scanf(" evaluate %lld", &count) == 1) {
        long long began = nanoseconds(), took, sum = 0, fits = 0;

        for (long long i = 0; i < count; i++) {
            if (berth_evaluate(s, pods[(size_t)i % pod_count], bits, rows / 64 + 1, scores, rows, &counts)
                != BERTH_RESULT_OK) {
                return 1;
            }
        }
        took = nanoseconds() - began;
        for (size_t row = 0; row < rows; row++) {
            fits += (long long)(bits[row / 64] >> (row % 64) & 1);
            sum += scores[row];
        }
        printf("%lld %lld %lld\n", took, fits, sum);
        fflush(stdout);
    }
    return berth_scheduler_destroy(s) == BERTH_RESULT_OK ? 0 : 2;
}
