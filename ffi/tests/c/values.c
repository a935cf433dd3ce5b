/* Sizes, numbers, alignment, buffers and states that are wrong: each is said, and nothing changed.
 * Ends with 0 if all were. ffi/tests/c.rs checks that no struct with a size is left out.
 */
#include "expect.h"

/* A struct whose size was not set, is one too small, one of a later version, or of no memory at all:
 * `call` has it at `place`. */
#define WRONG_SIZES(type, place, call)                                              \
    do {                                                                            \
        struct {                                                                    \
            type known;                                                             \
            uint64_t unknown;                                                       \
        } later_ = {place, 0};                                                      \
        type *wrong = &later_.known;                                                \
        wrong->size = 0;                                                            \
        EXPECT(call, BERTH_RESULT_BAD_SIZE);                                        \
        wrong->size = sizeof(type) - 1;                                             \
        EXPECT(call, BERTH_RESULT_BAD_SIZE);                                        \
        wrong->size = SIZE_MAX;                                                     \
        EXPECT(call, BERTH_RESULT_BAD_SIZE);                                        \
        wrong->size = sizeof later_;                                                \
        later_.unknown = 1;                                                         \
        EXPECT(call, expected_with_more);                                           \
        later_.unknown = 0;                                                         \
        EXPECT((call) == BERTH_RESULT_BAD_SIZE, 0);                                 \
        wrong = (type *)((char *)&later_ + 1);                                      \
        EXPECT(call, BERTH_RESULT_BAD_POINTER);                                     \
    } while (0)

static void sizes(berth_scheduler_t *s, arguments_t *a) {
    berth_capacities_t capacities = {0};
    berth_options_t options = {0};
    berth_scheduler_t *other = NULL;
    /* A struct that is read may not ask for what is not known. */
    berth_result_t expected_with_more = BERTH_RESULT_BAD_SIZE;

    WRONG_SIZES(berth_capacities_t, capacities, berth_memory_needed(wrong, &a->number));
    WRONG_SIZES(berth_capacities_t, capacities, berth_capacities_default(wrong));
    options.preemption = 3;
    WRONG_SIZES(berth_options_t, options, berth_scheduler_create(wrong, NULL, 0, &other));
    EXPECT(other == NULL, 1);
    WRONG_SIZES(berth_node_t, a->node_struct, berth_node_upsert(s, wrong, &a->id));
    WRONG_SIZES(berth_class_t, a->class_struct, berth_class_create(s, wrong, &a->id));
    WRONG_SIZES(berth_pod_t, a->pod_struct, berth_pod_upsert(s, wrong, &a->id));
    WRONG_SIZES(berth_reserve_t, a->reserve, berth_register_reserve(s, wrong));
    WRONG_SIZES(berth_filter_t, a->filter, berth_register_filter(s, wrong));
    a->score.name.text = "Other";
    WRONG_SIZES(berth_score_t, a->score, berth_register_score(s, wrong));

    /* One that is written is filled as far as it is known. */
    expected_with_more = BERTH_RESULT_OK;
    WRONG_SIZES(berth_counts_t, a->counts, berth_evaluate(s, a->pod, NULL, 0, NULL, 0, wrong));
    WRONG_SIZES(berth_decision_t, a->decision, berth_schedule_pod(s, a->pod, wrong));
    WRONG_SIZES(berth_decision_t, a->decision, berth_schedule_one(s, 1, wrong));
    expected_with_more = BERTH_RESULT_ALREADY_EXISTS;
    WRONG_SIZES(berth_loaded_t, a->loaded, berth_load_json(s, TEXT(NODE), wrong));
    EXPECT(berth_schedule_all(s, 1, &a->decision, 1, sizeof a->decision - 1, &a->length),
           BERTH_RESULT_BAD_SIZE);
    EXPECT(berth_schedule_all(s, 1, &a->decision, 1, 0, &a->length), BERTH_RESULT_BAD_SIZE);
}

static void options(arguments_t *a) {
    berth_options_t given = {.size = sizeof given, .abi_version = BERTH_ABI_VERSION};
    berth_capacities_t capacities = {.size = sizeof capacities};
    berth_scheduler_t *s = NULL;

#define REFUSED(change, expected)                                            \
    do {                                                                     \
        berth_options_t good_ = given;                                       \
        change;                                                              \
        EXPECT(berth_scheduler_create(&given, NULL, 0, &s), expected);       \
        EXPECT(s == NULL, 1);                                                \
        given = good_;                                                       \
    } while (0)
    REFUSED(given.abi_version = BERTH_ABI_VERSION + 1, BERTH_RESULT_BAD_VERSION);
    REFUSED(given.abi_version = BERTH_ABI_VERSION - 1, BERTH_RESULT_BAD_VERSION);
    EXPECT(berth_last_error(NULL, a->text, sizeof a->text, &a->length), BERTH_RESULT_OK);
    EXPECT(a->length > 20, 1);
    REFUSED(given.fidelity = 2, BERTH_RESULT_BAD_VALUE);
    REFUSED(given.ties = -1, BERTH_RESULT_BAD_VALUE);
    REFUSED(given.ties = 5, BERTH_RESULT_BAD_VALUE);
    REFUSED(given.node_search = 3, BERTH_RESULT_BAD_VALUE);
    REFUSED(given.preemption = 3, BERTH_RESULT_BAD_VALUE);
    given.capacities = &capacities;
    REFUSED(capacities.nodes = UINT32_MAX, BERTH_RESULT_CAPACITY);
    EXPECT(berth_memory_needed(&capacities, &a->number), BERTH_RESULT_CAPACITY);
    capacities.nodes = 0;
    REFUSED(capacities.topology_keys = 257, BERTH_RESULT_CAPACITY);
    EXPECT(berth_scheduler_create(NULL, TEXT("kind: Nothing"), &s), BERTH_RESULT_BAD_CONFIG);
    EXPECT(berth_scheduler_create(NULL, "\xff", 1, &s), BERTH_RESULT_BAD_UTF8);
    EXPECT(berth_scheduler_create(NULL, "x", SIZE_MAX, &s), BERTH_RESULT_BAD_POINTER);
    EXPECT(s == NULL, 1);

    /* N holds N. */
    memset(&capacities, 0, sizeof capacities);
    capacities.size = sizeof capacities;
    capacities.nodes = capacities.pods = 1;
    EXPECT(berth_capacities_default(&capacities), BERTH_RESULT_OK);
    EXPECT(capacities.nodes == 1 && capacities.classes == 65, 1);
    EXPECT(berth_scheduler_create(&given, NULL, 0, &s), BERTH_RESULT_OK);
    EXPECT(berth_node_upsert(s, &a->node_struct, NULL), BERTH_RESULT_OK);
    EXPECT(berth_apply_json(s, BERTH_CHANGE_ADDED, TEXT(NODE), NULL), BERTH_RESULT_CAPACITY);
    EXPECT(berth_scheduler_destroy(s), BERTH_RESULT_OK);
}

static void numbers(berth_scheduler_t *s, arguments_t *a) {
    const berth_string_t key = STRING("key"), cpu = STRING("cpu"), bad = {"\xff", 1};
    berth_amount_t amounts[2] = {{cpu, 1000}, {cpu, 1000}};
    berth_label_t label = {key, bad};
    berth_taint_t taint = {key, key, 4};
    berth_toleration_t toleration = {key, key, 2, 0};
    berth_requirement_t requirement = {key, 7, NULL, 0};
    berth_node_term_t node_term = {&requirement, 1, 0};
    berth_pod_term_t pod_term = {.topology_key = key, .is_anti = 2};
    berth_spread_t spread = {.topology_key = key, .max_skew = 1, .when_unsatisfiable = 2};
    berth_port_t port = {80, 3, {NULL, 0}};
    berth_node_t node = a->node_struct;
    berth_class_t spec = a->class_struct;
    berth_pod_t pod = a->pod_struct;

#define NODE_REFUSED(change, expected)                          \
    change;                                                     \
    EXPECT(berth_node_upsert(s, &node, &a->id), expected);      \
    node = a->node_struct;
    NODE_REFUSED(node.unschedulable = 2, BERTH_RESULT_BAD_VALUE)
    NODE_REFUSED((node.taints = &taint, node.taints_length = 1), BERTH_RESULT_BAD_VALUE)
    NODE_REFUSED((node.labels = &label, node.labels_length = 1), BERTH_RESULT_BAD_UTF8)
    NODE_REFUSED((node.labels = &label, node.labels_length = SIZE_MAX), BERTH_RESULT_BAD_POINTER)
    NODE_REFUSED((node.allocatable = amounts, node.allocatable_length = 2), BERTH_RESULT_BAD_OBJECT)
    NODE_REFUSED(node.name.length = 0, BERTH_RESULT_BAD_OBJECT)
#define CLASS_REFUSED(field, array, expected)                   \
    spec.field = array;                                         \
    spec.field##_length = 1;                                    \
    EXPECT(berth_class_create(s, &spec, &a->id), expected);     \
    spec = a->class_struct;
    amounts[0].amount = -1;
    CLASS_REFUSED(requests, amounts, BERTH_RESULT_BAD_OBJECT)
    CLASS_REFUSED(tolerations, &toleration, BERTH_RESULT_BAD_VALUE)
    toleration.op = BERTH_TOLERATION_EQUAL;
    toleration.effect = -1;
    CLASS_REFUSED(tolerations, &toleration, BERTH_RESULT_BAD_VALUE)
    CLASS_REFUSED(node_terms, &node_term, BERTH_RESULT_BAD_VALUE)
    node_term.weight = 101;
    requirement.op = BERTH_OPERATOR_EXISTS;
    CLASS_REFUSED(node_terms, &node_term, BERTH_RESULT_BAD_OBJECT)
    CLASS_REFUSED(pod_terms, &pod_term, BERTH_RESULT_BAD_VALUE)
    CLASS_REFUSED(spread, &spread, BERTH_RESULT_BAD_VALUE)
    CLASS_REFUSED(ports, &port, BERTH_RESULT_BAD_VALUE)
    port.protocol = BERTH_PROTOCOL_UDP;
    port.port = 65536;
    CLASS_REFUSED(ports, &port, BERTH_RESULT_BAD_OBJECT)
    pod.class_id = 4000000;
    EXPECT(berth_pod_upsert(s, &pod, &a->id), BERTH_RESULT_BAD_VALUE);
    pod = a->pod_struct;
    pod.never_preempts = 2;
    EXPECT(berth_pod_upsert(s, &pod, &a->id), BERTH_RESULT_BAD_VALUE);

    EXPECT(berth_apply_json(s, 0, TEXT(NODE), NULL), BERTH_RESULT_BAD_VALUE);
    EXPECT(berth_apply_json(s, 4, TEXT(NODE), NULL), BERTH_RESULT_BAD_VALUE);
    EXPECT(berth_bound(s, a->pod, 0, 1), BERTH_RESULT_BAD_VALUE);
    EXPECT(berth_bound(s, a->pod, 5, 1), BERTH_RESULT_BAD_VALUE);
    a->score.weight = 0;
    EXPECT(berth_register_score(s, &a->score), BERTH_RESULT_BAD_VALUE);
    a->score.weight = 1000001;
    EXPECT(berth_register_score(s, &a->score), BERTH_RESULT_BAD_VALUE);
    a->filter.name.length = 0;
    EXPECT(berth_register_filter(s, &a->filter), BERTH_RESULT_BAD_VALUE);
    a->filter.name.text = "ImageLocality";
    a->filter.name.length = strlen("ImageLocality");
    EXPECT(berth_register_filter(s, &a->filter), BERTH_RESULT_ALREADY_EXISTS);
}

/* Every id of nothing. */
static void ids(berth_scheduler_t *s, arguments_t *a) {
    const uint32_t none[] = {7, BERTH_ID_NONE};

    for (size_t i = 0; i < 2; i++) {
        uint32_t id = none[i];
        EXPECT(berth_node_name(s, id, NULL, 0, &a->length), BERTH_RESULT_BAD_VALUE);
        EXPECT(berth_node_remove(s, id), BERTH_RESULT_BAD_VALUE);
        EXPECT(berth_class_release(s, id), BERTH_RESULT_BAD_VALUE);
        EXPECT(berth_pod_name(s, id, NULL, 0, &a->length), BERTH_RESULT_BAD_VALUE);
        EXPECT(berth_pod_node(s, id, &a->id), BERTH_RESULT_BAD_VALUE);
        EXPECT(berth_pod_class(s, id, &a->id), BERTH_RESULT_BAD_VALUE);
        EXPECT(berth_pod_remove(s, id), BERTH_RESULT_BAD_VALUE);
        EXPECT(berth_pod_forget(s, id), BERTH_RESULT_BAD_VALUE);
        EXPECT(berth_evaluate(s, id, NULL, 0, NULL, 0, &a->counts), BERTH_RESULT_BAD_VALUE);
        EXPECT(berth_explain_json(s, id, NULL, 0, &a->length), BERTH_RESULT_BAD_VALUE);
        EXPECT(berth_schedule_pod(s, id, &a->decision), BERTH_RESULT_BAD_VALUE);
        EXPECT(berth_bound(s, id, BERTH_BIND_BOUND, 1), BERTH_RESULT_BAD_VALUE);
        EXPECT(berth_preemption_failed(s, id), BERTH_RESULT_BAD_VALUE);
        EXPECT(berth_volumes_json(s, id, NULL, 0, &a->length), BERTH_RESULT_BAD_VALUE);
        EXPECT(berth_volumes_bound(s, id, 1, &a->progress), BERTH_RESULT_BAD_VALUE);
        EXPECT(berth_bind_volumes(s, id, &a->id), BERTH_RESULT_BAD_VALUE);
    }
}

static void states(berth_scheduler_t *s, arguments_t *a) {
    int forks = 0;

    EXPECT(berth_rollback(s), BERTH_RESULT_BAD_STATE);
    EXPECT(berth_commit(s), BERTH_RESULT_BAD_STATE);
    EXPECT(berth_bound(s, a->pod, BERTH_BIND_BOUND, 1), BERTH_RESULT_BAD_STATE);
    EXPECT(berth_pod_forget(s, a->pod), BERTH_RESULT_BAD_STATE);
    while (forks < 10000 && berth_fork(s) == BERTH_RESULT_OK) {
        forks++;
    }
    EXPECT(forks, 64);
    EXPECT(berth_fork(s), BERTH_RESULT_CAPACITY);
    EXPECT(berth_register_reserve(s, &a->reserve), BERTH_RESULT_BAD_STATE);
    while (forks-- > 0) {
        EXPECT(berth_rollback(s), BERTH_RESULT_OK);
    }
    EXPECT(berth_rollback(s), BERTH_RESULT_BAD_STATE);
}

static void buffers(berth_scheduler_t *s, arguments_t *a) {
    char text[2] = {'x', 'y'};
    int64_t score = 77;
    uint64_t unaligned[2] = {0, 0};
    uint64_t *astray = (uint64_t *)((char *)unaligned + 1);

    EXPECT(berth_node_name(s, a->node, text, 1, &a->length), BERTH_RESULT_SMALL_BUFFER);
    EXPECT(a->length == 2 && text[0] == 'x', 1);
    EXPECT(berth_node_name(s, a->node, text, 2, &a->length), BERTH_RESULT_OK);
    EXPECT(text[0] == 'n' && text[1] == '1', 1);
    EXPECT(berth_pod_name(s, a->pod, text, 2, &a->length), BERTH_RESULT_SMALL_BUFFER);
    EXPECT(a->length, strlen("default/a"));
    EXPECT(berth_explain_json(s, a->pod, text, 2, &a->length), BERTH_RESULT_SMALL_BUFFER);
    EXPECT(a->length > 50, 1);
    EXPECT(berth_evaluate(s, a->pod, NULL, 0, &score, 0, &a->counts), BERTH_RESULT_SMALL_BUFFER);
    EXPECT(a->counts.rows == 1 && score == 77, 1);
    EXPECT(berth_evaluate(s, a->pod, NULL, 0, &score, 1, &a->counts), BERTH_RESULT_OK);
    EXPECT(berth_pod_list(s, NULL, 0, &a->length), BERTH_RESULT_OK);
    EXPECT(a->length, 1);
    EXPECT(berth_pod_list(s, a->ids, 0, &a->length), BERTH_RESULT_SMALL_BUFFER);
    EXPECT(berth_node_list(s, a->ids, 4, &a->length), BERTH_RESULT_OK);
    EXPECT(a->length == 1 && a->ids[0] == a->node, 1);
    EXPECT(berth_schedule_all(s, 1, NULL, 0, sizeof a->decision, &a->length),
           BERTH_RESULT_SMALL_BUFFER);
    EXPECT(berth_evaluate(s, a->pod, astray, 1, NULL, 0, &a->counts), BERTH_RESULT_BAD_POINTER);
    EXPECT(berth_evaluate(s, a->pod, a->bits, SIZE_MAX, NULL, 0, &a->counts),
           BERTH_RESULT_BAD_POINTER);
    EXPECT(berth_state_hash(s, astray), BERTH_RESULT_BAD_POINTER);
    EXPECT(berth_advance(s, 1, astray), BERTH_RESULT_BAD_POINTER);
}

static void texts(berth_scheduler_t *s, arguments_t *a) {
    const char *alien = "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"x\"}}";

    EXPECT(berth_load_json(s, TEXT("{"), NULL), BERTH_RESULT_BAD_OBJECT);
    EXPECT(berth_load_json(s, "\xff", 1, NULL), BERTH_RESULT_BAD_UTF8);
    EXPECT(berth_find_pod(s, "\xff", 1, &a->id), BERTH_RESULT_BAD_UTF8);
    EXPECT(berth_load_json(s, TEXT(POD), NULL), BERTH_RESULT_ALREADY_EXISTS);
    EXPECT(berth_last_error(s, a->text, sizeof a->text, &a->length), BERTH_RESULT_OK);
    EXPECT(a->length > 13 && memcmp(a->text, "Pod default/a", 13) == 0, 1);
    EXPECT(berth_apply_json(s, BERTH_CHANGE_ADDED, TEXT(NODE), &a->id),
           BERTH_RESULT_ALREADY_EXISTS);
    EXPECT(berth_find_node(s, TEXT("nowhere"), &a->id), BERTH_RESULT_NOT_FOUND);
    EXPECT(berth_find_pod(s, TEXT("nobody"), &a->id), BERTH_RESULT_NOT_FOUND);
    EXPECT(berth_load_json(s, TEXT(alien), NULL), BERTH_RESULT_OK);
    EXPECT(berth_notes(s, a->text, sizeof a->text, &a->length), BERTH_RESULT_OK);
    EXPECT(a->length > 0, 1);
}

/* A state that was saved is the state again; one that was cut or changed is none. */
static void saved(berth_scheduler_t *s, arguments_t *a) {
    uint8_t bytes[1 << 16];
    size_t size = 0, length = 0;
    uint64_t before = 0, after = 0;
    berth_scheduler_t *other = NULL;

    EXPECT(berth_state_size(s, &size), BERTH_RESULT_OK);
    EXPECT(size > 100 && size < sizeof bytes, 1);
    EXPECT(berth_state_save(s, bytes, size - 1, &length), BERTH_RESULT_SMALL_BUFFER);
    EXPECT(length == size, 1);
    EXPECT(berth_state_save(s, bytes, size, &length), BERTH_RESULT_OK);
    EXPECT(berth_state_hash(s, &before), BERTH_RESULT_OK);
    EXPECT(berth_scheduler_create(NULL, NULL, 0, &other), BERTH_RESULT_OK);
    EXPECT(berth_state_load(other, bytes, size), BERTH_RESULT_OK);
    EXPECT(berth_state_hash(other, &after), BERTH_RESULT_OK);
    EXPECT(before == after, 1);
    EXPECT(berth_find_pod(other, TEXT("a"), &a->id), BERTH_RESULT_OK);
    EXPECT(a->id == a->pod, 1);
    for (size_t cut = 0; cut < size; cut++) {
        EXPECT(berth_state_load(other, bytes, cut), BERTH_RESULT_BAD_FILE);
        bytes[cut] ^= 1;
        EXPECT(berth_state_load(other, bytes, size), BERTH_RESULT_BAD_FILE);
        bytes[cut] ^= 1;
    }
    EXPECT(berth_state_load(other, bytes, SIZE_MAX), BERTH_RESULT_BAD_POINTER);
    EXPECT(berth_fork(other), BERTH_RESULT_OK);
    EXPECT(berth_state_load(other, bytes, size), BERTH_RESULT_BAD_STATE);
    EXPECT(berth_rollback(other), BERTH_RESULT_OK);
    EXPECT(berth_state_hash(other, &after), BERTH_RESULT_OK);
    EXPECT(before == after, 1);
    EXPECT(berth_scheduler_destroy(other), BERTH_RESULT_OK);
}

/* Time does not go back, and has no end to fall off. */
static void times(berth_scheduler_t *s, arguments_t *a) {
    const uint64_t told[] = {0, 1, 0, (uint64_t)1 << 63, 5, UINT64_MAX, UINT64_MAX};

    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        EXPECT(berth_advance(s, told[i], &a->number), BERTH_RESULT_OK);
        EXPECT(berth_schedule_one(s, told[i], &a->decision), BERTH_RESULT_OK);
    }
}

int main(void) {
    arguments_t a;
    berth_scheduler_t *s = start(&a);
    uint64_t before = 0, after = 0;

    EXPECT(berth_abi_version(), BERTH_ABI_VERSION);
    EXPECT(berth_state_hash(s, &before), BERTH_RESULT_OK);
    options(&a);
    numbers(s, &a);
    ids(s, &a);
    states(s, &a);
    buffers(s, &a);
    texts(s, &a);
    saved(s, &a);
    EXPECT(berth_state_hash(s, &after), BERTH_RESULT_OK);
    EXPECT(before == after, 1);
    EXPECT(berth_scheduler_destroy(s), BERTH_RESULT_OK);

    s = start(&a);
    sizes(s, &a);
    times(s, &a);
    EXPECT(berth_scheduler_destroy(s), BERTH_RESULT_OK);
    return failures == 0 ? 0 : 1;
}
