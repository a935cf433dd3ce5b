/* Tables that fill. Ends with 0 if all was as it should be. */
#include "expect.h"

/* Without capacities tables grow, under the same ids; with them they do not. */
static void grows(arguments_t *a) {
    berth_capacities_t capacities = {.size = sizeof capacities, .nodes = 600, .pods = 10};
    berth_options_t given = {.size = sizeof given, .capacities = &capacities};
    berth_scheduler_t *s = NULL;
    berth_class_id_t held = 77, again = 78;
    char name[16];

    EXPECT(berth_scheduler_create(NULL, NULL, 0, &s), BERTH_RESULT_OK);
    EXPECT(berth_class_create(s, &a->class_struct, &held), BERTH_RESULT_OK);
    EXPECT(berth_register_filter(s, &a->filter), BERTH_RESULT_OK);
    for (uint32_t i = 0; i < 1200; i++) {
        berth_node_t node = a->node_struct;
        node.name.text = name;
        node.name.length = (size_t)snprintf(name, sizeof name, "grown-%u", (unsigned)i);
        EXPECT(berth_node_upsert(s, &node, &a->id), BERTH_RESULT_OK);
        EXPECT(a->id, i);
    }
    EXPECT(berth_class_create(s, &a->class_struct, &again), BERTH_RESULT_OK);
    EXPECT(again == held, 1);
    for (uint32_t i = 0; i < 20000; i++) {
        berth_pod_t pod = a->pod_struct;
        pod.class_id = held;
        pod.name.text = name;
        pod.name.length = (size_t)snprintf(name, sizeof name, "pod-%u", (unsigned)i);
        EXPECT(berth_pod_upsert(s, &pod, &a->id), BERTH_RESULT_OK);
    }
    EXPECT(berth_pod_class(s, a->id, &again), BERTH_RESULT_OK);
    EXPECT(again == held, 1);
    EXPECT(berth_register_filter(s, &a->filter), BERTH_RESULT_ALREADY_EXISTS);
    /* In a fork too; the way back leads to the tables and pods that were. */
    uint64_t before = 0, after = 0;
    EXPECT(berth_state_hash(s, &before), BERTH_RESULT_OK);
    EXPECT(berth_fork(s), BERTH_RESULT_OK);
    for (uint32_t i = 0; i < 20000; i++) {
        berth_pod_t pod = a->pod_struct;
        pod.class_id = held;
        pod.name.text = name;
        pod.name.length = (size_t)snprintf(name, sizeof name, "more-%u", (unsigned)i);
        EXPECT(berth_pod_upsert(s, &pod, &a->id), BERTH_RESULT_OK);
    }
    EXPECT(berth_rollback(s), BERTH_RESULT_OK);
    EXPECT(berth_state_hash(s, &after), BERTH_RESULT_OK);
    EXPECT(after == before, 1);
    EXPECT(berth_find_pod(s, "more-0", 6, &a->id), BERTH_RESULT_NOT_FOUND);
    EXPECT(berth_scheduler_destroy(s), BERTH_RESULT_OK);

    EXPECT(berth_scheduler_create(&given, NULL, 0, &s), BERTH_RESULT_OK);
    EXPECT(berth_class_create(s, &a->class_struct, &held), BERTH_RESULT_OK);
    berth_result_t result = BERTH_RESULT_OK;
    for (uint32_t i = 0; i < 11 && result == BERTH_RESULT_OK; i++) {
        berth_pod_t pod = a->pod_struct;
        pod.class_id = held;
        pod.name.text = name;
        pod.name.length = (size_t)snprintf(name, sizeof name, "pod-%u", (unsigned)i);
        result = berth_pod_upsert(s, &pod, &a->id);
    }
    EXPECT(result, BERTH_RESULT_CAPACITY);
    EXPECT(berth_scheduler_destroy(s), BERTH_RESULT_OK);
}

int main(void) {
    arguments_t a;
    berth_scheduler_t *s = start(&a);

    EXPECT(berth_scheduler_destroy(s), BERTH_RESULT_OK);
    grows(&a);
    return failures == 0 ? 0 : 1;
}
