/* Every pointer of every function NULL, one at a time; ends with 0 if each call said so and nothing
 * was written or changed. ffi/tests/c.rs checks that no pointer is left out.
 */
#include "expect.h"

#define NULL_AT(function, parameter, arguments) \
    EXPECT(function arguments, BERTH_RESULT_NULL_POINTER)
/* NULL is fine there, with a length of 0. */
#define NULL_OK(function, parameter, arguments) EXPECT(function arguments, BERTH_RESULT_OK)

static void handles(arguments_t *a) {
    berth_scheduler_t *s = NULL;
#define NULL_HANDLE(function, arguments) EXPECT(function arguments, BERTH_RESULT_NULL_POINTER);
    EVERY_CALL(NULL_HANDLE)
}

static void without_handle(void) {
    berth_scheduler_t *s = NULL;
    berth_capacities_t capacities = {0};
    uint64_t bytes = 77;
    size_t length = 77;

    NULL_AT(berth_scheduler_create, out, (NULL, NULL, 0, NULL));
    NULL_AT(berth_scheduler_create, config, (NULL, NULL, 1, &s));
    EXPECT(s == NULL, 1);
    NULL_OK(berth_scheduler_create, options, (NULL, NULL, 0, &s));
    NULL_AT(berth_last_error, buffer, (s, NULL, 1, &length));
    NULL_AT(berth_last_error, out_length, (s, NULL, 0, NULL));
    EXPECT(length, 77);
    EXPECT(berth_scheduler_destroy(s), BERTH_RESULT_OK);
    NULL_AT(berth_capacities_default, out_capacities, (NULL));
    capacities.size = sizeof capacities;
    NULL_AT(berth_memory_needed, out_bytes, (&capacities, NULL));
    NULL_OK(berth_memory_needed, capacities, (NULL, &bytes));
    EXPECT(bytes > 1000000, 1);
    NULL_OK(berth_last_error, scheduler, (NULL, NULL, 0, &length));
    EXPECT(length > 0, 1);
}

static void objects(berth_scheduler_t *s, arguments_t *a) {
    berth_node_t node = a->node_struct;
    berth_class_t spec = a->class_struct;
    berth_pod_t pod = a->pod_struct;

    a->id = 77;
    a->length = 77;
    NULL_AT(berth_load_json, json, (s, NULL, 0, NULL));
    NULL_AT(berth_load_json, json, (s, NULL, 1, NULL));
    NULL_AT(berth_apply_json, json, (s, BERTH_CHANGE_ADDED, NULL, 0, &a->id));
    NULL_AT(berth_notes, buffer, (s, NULL, 1, &a->length));
    NULL_AT(berth_notes, out_length, (s, NULL, 0, NULL));
    NULL_AT(berth_find_pod, name, (s, NULL, 0, &a->id));
    NULL_AT(berth_find_pod, out_id, (s, TEXT("a"), NULL));
    NULL_AT(berth_find_node, name, (s, NULL, 0, &a->id));
    NULL_AT(berth_find_node, out_id, (s, TEXT("n1"), NULL));
    NULL_AT(berth_node_upsert, node, (s, NULL, &a->id));
    NULL_AT(berth_node_name, buffer, (s, a->node, NULL, 1, &a->length));
    NULL_AT(berth_node_name, out_length, (s, a->node, a->text, sizeof a->text, NULL));
    NULL_AT(berth_class_create, spec, (s, NULL, &a->id));
    NULL_AT(berth_class_create, out_id, (s, &spec, NULL));
    NULL_AT(berth_pod_upsert, pod, (s, NULL, &a->id));
    NULL_AT(berth_pod_name, buffer, (s, a->pod, NULL, 1, &a->length));
    NULL_AT(berth_pod_name, out_length, (s, a->pod, a->text, sizeof a->text, NULL));
    NULL_AT(berth_node_list, out_nodes, (s, NULL, 1, &a->length));
    NULL_AT(berth_node_list, out_count, (s, NULL, 0, NULL));
    NULL_AT(berth_pod_list, out_pods, (s, NULL, 1, &a->length));
    NULL_AT(berth_pod_list, out_count, (s, NULL, 0, NULL));
    NULL_AT(berth_pod_node, out_node, (s, a->pod, NULL));
    NULL_AT(berth_pod_class, out_class, (s, a->pod, NULL));

    /* Arrays and strings of structs. */
    node.name.text = NULL;
    NULL_AT(berth_node_upsert, name, (s, &node, &a->id));
    node = a->node_struct;
    node.allocatable_length = 1;
    NULL_AT(berth_node_upsert, allocatable, (s, &node, &a->id));
    node = a->node_struct;
    node.labels_length = 1;
    NULL_AT(berth_node_upsert, labels, (s, &node, &a->id));
    node = a->node_struct;
    node.taints_length = 1;
    NULL_AT(berth_node_upsert, taints, (s, &node, &a->id));
    node = a->node_struct;
    node.images_length = 1;
    NULL_AT(berth_node_upsert, images, (s, &node, &a->id));
    node = a->node_struct;
    node.declared_features_length = 1;
    NULL_AT(berth_node_upsert, declared_features, (s, &node, &a->id));
#define NULL_ARRAY(field)                                            \
    spec = a->class_struct;                                          \
    spec.field##_length = 1;                                         \
    NULL_AT(berth_class_create, field, (s, &spec, &a->id));
    NULL_ARRAY(requests)
    NULL_ARRAY(labels)
    NULL_ARRAY(node_selector)
    NULL_ARRAY(node_terms)
    NULL_ARRAY(tolerations)
    NULL_ARRAY(pod_terms)
    NULL_ARRAY(spread)
    NULL_ARRAY(ports)
    spec = a->class_struct;
    spec.image.length = 1;
    NULL_AT(berth_class_create, image, (s, &spec, &a->id));
    pod.name.text = NULL;
    NULL_AT(berth_pod_upsert, name, (s, &pod, &a->id));
    EXPECT(a->id, 77);
    EXPECT(a->length, 77);
}

static void answers(berth_scheduler_t *s, arguments_t *a) {
    NULL_AT(berth_evaluate, out_bits, (s, a->pod, NULL, 1, NULL, 0, &a->counts));
    NULL_AT(berth_evaluate, out_scores, (s, a->pod, NULL, 0, NULL, 1, &a->counts));
    NULL_AT(berth_evaluate, out_counts, (s, a->pod, NULL, 0, NULL, 0, NULL));
    NULL_AT(berth_schedule_pod, out_decision, (s, a->pod, NULL));
    NULL_AT(berth_schedule_one, out_decision, (s, 1, NULL));
    NULL_AT(berth_schedule_all, out_decisions, (s, 1, NULL, 1, sizeof a->decision, &a->length));
    NULL_AT(berth_schedule_all, out_count, (s, 1, &a->decision, 1, sizeof a->decision, NULL));
    NULL_AT(berth_victims, out_victims, (s, NULL, 1, &a->length));
    NULL_AT(berth_victims, out_count, (s, a->victims, 4, NULL));
    NULL_AT(berth_volumes_json, buffer, (s, a->pod, NULL, 1, &a->length));
    NULL_AT(berth_volumes_json, out_length, (s, a->pod, NULL, 0, NULL));
    NULL_AT(berth_volumes_bound, out_progress, (s, a->pod, 1, NULL));
    NULL_AT(berth_explain_json, buffer, (s, a->pod, NULL, 1, &a->length));
    NULL_AT(berth_explain_json, out_length, (s, a->pod, NULL, 0, NULL));
    NULL_AT(berth_state_size, out_size, (s, NULL));
    NULL_AT(berth_state_save, buffer, (s, NULL, 1, &a->length));
    NULL_AT(berth_state_save, out_length, (s, NULL, 0, NULL));
    NULL_AT(berth_state_load, bytes, (s, NULL, 0));
    NULL_AT(berth_state_load, bytes, (s, NULL, 1));
    NULL_AT(berth_state_hash, out_hash, (s, NULL));
    NULL_AT(berth_register_filter, filter, (s, NULL));
    NULL_AT(berth_register_score, score, (s, NULL));
    NULL_AT(berth_register_reserve, reserve, (s, NULL));
    a->filter.callback = NULL;
    NULL_AT(berth_register_filter, callback, (s, &a->filter));
    a->score.callback = NULL;
    NULL_AT(berth_register_score, callback, (s, &a->score));
    a->reserve.reserve = NULL;
    NULL_AT(berth_register_reserve, reserve_and_unreserve, (s, &a->reserve));
}

static void optional(berth_scheduler_t *s, arguments_t *a) {
    const char *pod = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"c\"},"
                      "\"spec\":{\"containers\":[{\"name\":\"c\"}]}}";

    NULL_OK(berth_load_json, out_loaded, (s, TEXT(pod), NULL));
    NULL_OK(berth_apply_json, out_id, (s, BERTH_CHANGE_DELETED, TEXT(pod), NULL));
    NULL_OK(berth_node_upsert, out_id, (s, &a->node_struct, NULL));
    NULL_OK(berth_pod_upsert, out_id, (s, &a->pod_struct, NULL));
    NULL_OK(berth_advance, out_next_ns, (s, 1, NULL));
    NULL_OK(berth_bind_volumes, out_count, (s, a->pod, NULL));
}

int main(void) {
    arguments_t a;
    berth_scheduler_t *s = start(&a);
    uint64_t before = 0, after = 0;

    without_handle();
    handles(&a);
    EXPECT(berth_state_hash(s, &before), BERTH_RESULT_OK);
    objects(s, &a);
    answers(s, &a);
    EXPECT(berth_state_hash(s, &after), BERTH_RESULT_OK);
    EXPECT(before == after, 1);
    optional(s, &a);
    EXPECT(berth_scheduler_destroy(s), BERTH_RESULT_OK);
    return failures == 0 ? 0 : 1;
}
