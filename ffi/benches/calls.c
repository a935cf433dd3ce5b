/* What a call costs from C: `calls COUNT` prints the nanoseconds of each, the median of 21 rounds of
 * COUNT calls, as `NAME NANOSECONDS` a line.
 */
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "berth.h"

enum { ROUNDS = 21 };

static double seconds(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int by_size(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Prints the median time of `call`, made `count` times a round. */
#define MEASURE(name, call)                                                 \
    do {                                                                    \
        double rounds[ROUNDS];                                              \
        for (int round = 0; round < ROUNDS; round++) {                      \
            double began = seconds();                                       \
            for (long i = 0; i < count; i++) {                              \
                call;                                                       \
            }                                                               \
            rounds[round] = (seconds() - began) * 1e9 / (double)count;      \
        }                                                                   \
        qsort(rounds, ROUNDS, sizeof *rounds, by_size);                     \
        printf("%s %.2f\n", name, rounds[ROUNDS / 2]);                      \
    } while (0)

int main(int arguments_length, char **arguments) {
    static const char node[] = "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\"}}";
    static const char pod[] = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},"
                              "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\"}]}}";
    long count = arguments_length > 1 ? atol(arguments[1]) : 1;
    berth_scheduler_t *s = NULL;
    uint32_t node_id = 0, pod_id = 0, of_pod = 77;
    uint64_t sum = 0;

    if (berth_scheduler_create(NULL, NULL, 0, &s) != BERTH_RESULT_OK
        || berth_apply_json(s, BERTH_CHANGE_ADDED, node, strlen(node), &node_id) != BERTH_RESULT_OK
        || berth_apply_json(s, BERTH_CHANGE_ADDED, pod, strlen(pod), &pod_id) != BERTH_RESULT_OK) {
        return 2;
    }
    MEASURE("no-op", sum += berth_abi_version());
    MEASURE("node-of-pod", sum += (uint64_t)berth_pod_node(s, pod_id, &of_pod));
    /* Every no-op said its number, every other call BERTH_RESULT_OK. */
    if (sum != (uint64_t)BERTH_ABI_VERSION * ROUNDS * (uint64_t)count || of_pod != node_id) {
        return 1;
    }
    return berth_scheduler_destroy(s) == BERTH_RESULT_OK ? 0 : 2;
}
