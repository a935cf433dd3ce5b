/* What if a node were drained? Reads a cluster's dump and says for each pod of the node where it would
 * go; the cluster in memory is as before afterwards.
 *
 *     drain NODE FILE...
 *
 * Ends with 1 if some pod would find no place. Pods that are pinned to the node, as those of DaemonSets
 * are, end with it.
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
    long end;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < 0) {
        perror(path);
        exit(2);
    }
    rewind(file);
    *length = (size_t)end;
    text = malloc(*length + 1);
    if (text == NULL || fread(text, 1, *length, file) != *length) {
        exit(2);
    }
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

static void print_name(berth_scheduler_t *scheduler, berth_pod_id_t pod) {
    char name[512];
    size_t length;

    check(scheduler, "pod name", berth_pod_name(scheduler, pod, name, sizeof name, &length));
    printf("%.*s", (int)length, name);
}

/* The pods on a node, to be freed. */
static berth_pod_id_t *pods_on(berth_scheduler_t *scheduler, berth_node_id_t wanted, size_t *count) {
    berth_pod_id_t *pods;
    size_t all = 0;

    check(scheduler, "pods", berth_pod_list(scheduler, NULL, 0, &all));
    pods = malloc((all + 1) * sizeof *pods);
    if (pods == NULL) {
        exit(2);
    }
    check(scheduler, "pods", berth_pod_list(scheduler, pods, all, &all));
    *count = 0;
    for (size_t i = 0; i < all; i++) {
        berth_node_id_t node;
        check(scheduler, "pod", berth_pod_node(scheduler, pods[i], &node));
        if (node == wanted) {
            pods[(*count)++] = pods[i];
        }
    }
    return pods;
}

int main(int count, char **arguments) {
    berth_options_t options = {.size = sizeof options, .abi_version = BERTH_ABI_VERSION};
    berth_scheduler_t *scheduler = NULL;
    berth_node_id_t drained;
    uint64_t before = 0, after = 0;
    berth_pod_id_t *pods;
    size_t pods_count;
    uint32_t moved = 0, stuck = 0;

    if (count < 3) {
        fprintf(stderr, "usage: %s NODE FILE...\n", arguments[0]);
        return 2;
    }
    options.ties = BERTH_TIES_FIRST_NAME;
    check(NULL, "create", berth_scheduler_create(&options, NULL, 0, &scheduler));
    for (int i = 2; i < count; i++) {
        size_t length;
        char *json = read_file(arguments[i], &length);
        check(scheduler, arguments[i], berth_load_json(scheduler, json, length, NULL));
        free(json);
    }
    check(scheduler, "find node",
          berth_find_node(scheduler, arguments[1], strlen(arguments[1]), &drained));
    check(scheduler, "hash", berth_state_hash(scheduler, &before));

    /* From here on everything is tried out. Without the node its pods have none, and are placed anew. */
    check(scheduler, "fork", berth_fork(scheduler));
    pods = pods_on(scheduler, drained, &pods_count);
    check(scheduler, "remove node", berth_node_remove(scheduler, drained));
    for (size_t i = 0; i < pods_count; i++) {
        check(scheduler, "forget", berth_pod_forget(scheduler, pods[i]));
    }
    for (size_t i = 0; i < pods_count; i++) {
        berth_decision_t decision = {.size = sizeof decision};
        check(scheduler, "schedule", berth_schedule_pod(scheduler, pods[i], &decision));
        print_name(scheduler, pods[i]);
        if (decision.outcome == BERTH_OUTCOME_SCHEDULED) {
            char name[256];
            size_t length;
            check(scheduler, "node name",
                  berth_node_name(scheduler, decision.node, name, sizeof name, &length));
            printf(" would go to %.*s, one of %" PRIu32 "\n", (int)length, name, decision.feasible);
            moved++;
        } else if (decision.outcome == BERTH_OUTCOME_UNSCHEDULABLE && decision.evaluated == 0) {
            printf(" is pinned to the node and ends with it\n");
        } else {
            printf(" would find no place\n");
            stuck++;
        }
    }
    free(pods);
    check(scheduler, "rollback", berth_rollback(scheduler));
    check(scheduler, "hash", berth_state_hash(scheduler, &after));
    printf("%" PRIu32 " would move, %" PRIu32 " would not; the state is %s\n", moved, stuck,
           before == after ? "as before" : "another");
    check(NULL, "destroy", berth_scheduler_destroy(scheduler));
    return stuck == 0 && before == after ? 0 : 1;
}
