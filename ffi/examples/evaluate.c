/* Where could a pod go? Reads a cluster's dump (`kubectl get nodes,pods -A -o json`) and says of
 * every node whether the pod fits and what it scores.
 *
 *     evaluate NAMESPACE/NAME FILE...
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "berth.h"

/* The whole file, to be freed; ends the program if it cannot be read. */
static char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0, read = 0;

    *length = 0;
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    do {
        if (*length == room) {
            room = room ? room * 2 : 1 << 16;
            text = realloc(text, room);
            if (text == NULL) {
                exit(2);
            }
        }
        read = fread(text + *length, 1, room - *length, file);
        *length += read;
    } while (read > 0);
    fclose(file);
    return text;
}

/* Ends the program with Berth's words if a call failed. */
static void check(berth_scheduler_t *scheduler, const char *call, berth_result_t result) {
    char text[4096];
    size_t length = 0;

    if (result == BERTH_RESULT_OK) {
        return;
    }
    if (berth_last_error(scheduler, text, sizeof text, &length) != BERTH_RESULT_OK) {
        length = 0;
    }
    fprintf(stderr, "%s: result %d: %.*s\n", call, (int)result, (int)length, text);
    exit(2);
}

int main(int count, char **arguments) {
    berth_scheduler_t *scheduler = NULL;
    berth_counts_t counts = {.size = sizeof counts};
    berth_pod_id_t pod = BERTH_ID_NONE;
    uint64_t *bits;
    int64_t *scores;

    if (count < 3) {
        fprintf(stderr, "usage: %s NAMESPACE/NAME FILE...\n", arguments[0]);
        return 2;
    }
    if (berth_abi_version() != BERTH_ABI_VERSION) {
        fprintf(stderr, "the library and its header differ\n");
        return 2;
    }
    check(NULL, "create", berth_scheduler_create(NULL, NULL, 0, &scheduler));
    for (int i = 2; i < count; i++) {
        size_t length;
        char *json = read_file(arguments[i], &length);
        check(scheduler, arguments[i], berth_load_json(scheduler, json, length, NULL));
        free(json);
    }
    check(scheduler, "find",
          berth_find_pod(scheduler, arguments[1], strlen(arguments[1]), &pod));

    /* Ask for the number of rows, then for bits and scores. */
    check(scheduler, "evaluate", berth_evaluate(scheduler, pod, NULL, 0, NULL, 0, &counts));
    size_t words = (counts.rows + 63) / 64;
    bits = malloc(words * sizeof *bits + 1);
    scores = malloc(counts.rows * sizeof *scores + 1);
    if (bits == NULL || scores == NULL) {
        return 2;
    }
    check(scheduler, "evaluate",
          berth_evaluate(scheduler, pod, bits, words, scores, counts.rows, &counts));

    printf("%s fits on %" PRIu32 " of the nodes\n", arguments[1], counts.feasible);
    for (uint32_t node = 0; node < counts.rows; node++) {
        char name[256];
        size_t length;
        if (berth_node_name(scheduler, node, name, sizeof name, &length) != BERTH_RESULT_OK) {
            continue; /* No node has this id. */
        }
        if (!(bits[node / 64] >> (node % 64) & 1)) {
            printf("%.*s: no\n", (int)length, name);
        } else if (counts.scored) {
            printf("%.*s: yes, score %" PRId64 "\n", (int)length, name, scores[node]);
        } else {
            printf("%.*s: yes, the only one\n", (int)length, name);
        }
    }
    free(scores);
    free(bits);
    check(NULL, "destroy", berth_scheduler_destroy(scheduler));
    return counts.feasible > 0 ? 0 : 1;
}
