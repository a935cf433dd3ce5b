/* Places pods one by one and prints the record of each, and the claims that are bound for it, as a golden
 * test compares them.
 *
 *     replay LIST.json CONFIG.json < PODS
 *
 * PODS has a `NAMESPACE/NAME` a line. Every node is looked at, and the first name wins a tie.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "berth.h"

#define CHECK(call)                                                  \
    do {                                                             \
        berth_result_t result_ = (call);                             \
        if (result_ != BERTH_RESULT_OK) {                            \
            fprintf(stderr, "%s: result %d\n", #call, (int)result_); \
            exit(2);                                                 \
        }                                                            \
    } while (0)

static char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    char *text;
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

int main(int count, char **arguments) {
    berth_options_t options = {.size = sizeof options};
    berth_scheduler_t *scheduler = NULL;
    berth_loaded_t loaded = {.size = sizeof loaded};
    char name[1024];
    size_t length;

    if (count != 3) {
        return 2;
    }
    options.ties = BERTH_TIES_FIRST_NAME;
    options.node_search = BERTH_NODE_SEARCH_ALL;
    char *config = read_file(arguments[2], &length);
    CHECK(berth_scheduler_create(&options, config, length, &scheduler));
    free(config);
    char *list = read_file(arguments[1], &length);
    CHECK(berth_load_json(scheduler, list, length, &loaded));
    free(list);

    while (fgets(name, sizeof name, stdin) != NULL) {
        berth_pod_id_t pod;
        berth_decision_t decision = {.size = sizeof decision};
        name[strcspn(name, "\n")] = 0;
        CHECK(berth_find_pod(scheduler, name, strlen(name), &pod));

        CHECK(berth_explain_json(scheduler, pod, NULL, 0, &length));
        char *record = malloc(length);
        if (record == NULL) {
            return 2;
        }
        CHECK(berth_explain_json(scheduler, pod, record, length, &length));
        printf("%.*s\n", (int)length, record);
        free(record);

        CHECK(berth_schedule_pod(scheduler, pod, &decision));
        CHECK(berth_bind_volumes(scheduler, pod, NULL));
        CHECK(berth_volumes_json(scheduler, pod, NULL, 0, &length));
        char *volumes = malloc(length);
        if (volumes == NULL) {
            return 2;
        }
        CHECK(berth_volumes_json(scheduler, pod, volumes, length, &length));
        printf("%.*s\n", (int)length, volumes);
        free(volumes);
    }
    CHECK(berth_scheduler_destroy(scheduler));
    return 0;
}
