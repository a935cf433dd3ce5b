/* Plugins: what they are asked and told, what they may not say, and calls from within them. Ends with
 * 0 if all was as it should be.
 */
#include <pthread.h>

#include "expect.h"

/* A plugin that answers and notes. */
typedef struct {
    berth_scheduler_t *scheduler;
    arguments_t *arguments;
    int32_t answer;
    uint64_t refused, stray;
    int64_t score;
    int asked, reserved, forgotten;
    berth_class_id_t class_id;
    int enters;
} rule_t;

#define BUSY(function, arguments) EXPECT(function arguments, BERTH_RESULT_BUSY);

static void enter(berth_scheduler_t *s, arguments_t *a) {
    EVERY_CALL(BUSY)
    BUSY(berth_last_error, (s, a->text, sizeof a->text, &a->length))
}

static void *enter_thread(void *context) {
    rule_t *rule = context;
    enter(rule->scheduler, rule->arguments);
    return NULL;
}

static int32_t filter(void *context, berth_class_id_t class_id, const uint64_t *feasible,
                      uint64_t *kept, size_t words_length) {
    rule_t *rule = context;

    rule->asked++;
    rule->class_id = class_id;
    EXPECT(words_length, 1);
    EXPECT(feasible[0] == kept[0], 1);
    kept[0] = (kept[0] & ~rule->refused) | rule->stray;
    if (rule->enters) {
        pthread_t thread;
        enter(rule->scheduler, rule->arguments);
        EXPECT(pthread_create(&thread, NULL, enter_thread, rule), 0);
        EXPECT(pthread_join(thread, NULL), 0);
    }
    return rule->answer;
}

static int32_t score(void *context, berth_class_id_t class_id, const uint64_t *feasible,
                     size_t words_length, int64_t *scores, size_t scores_length) {
    rule_t *rule = context;

    rule->asked++;
    rule->class_id = class_id;
    EXPECT(words_length == 1 && scores_length == 64, 1);
    for (size_t node = 0; node < scores_length; node++) {
        EXPECT(scores[node], 0);
        /* What is said of other nodes does not matter. */
        scores[node] = feasible[node / 64] >> (node % 64) & 1 ? 0 : 1000;
    }
    scores[1] = rule->score;
    return rule->answer;
}

static int32_t reserve(void *context, berth_pod_id_t pod, berth_node_id_t node) {
    rule_t *rule = context;

    (void)pod, (void)node;
    rule->reserved++;
    return rule->answer;
}

static void unreserve(void *context, berth_pod_id_t pod, berth_node_id_t node) {
    rule_t *rule = context;

    (void)pod, (void)node;
    rule->forgotten++;
}

/* Two nodes with room, and the pod a. */
static berth_scheduler_t *two_nodes(arguments_t *a) {
    static const berth_amount_t amounts[] = {
        {STRING("cpu"), 4000}, {STRING("pods"), 10}, {STRING("memory"), 8ll << 30}};
    berth_scheduler_t *s = start(a);

    a->node_struct.allocatable = amounts;
    a->node_struct.allocatable_length = 3;
    EXPECT(berth_node_upsert(s, &a->node_struct, &a->id), BERTH_RESULT_OK);
    EXPECT(a->id, 1);
    return s;
}

static void filters_and_scores(void) {
    arguments_t a;
    berth_scheduler_t *s = two_nodes(&a);
    rule_t at_filter = {.refused = 1}, at_score = {.score = 100};
    berth_filter_t plugin = a.filter;
    berth_score_t scorer = a.score;
    static const berth_string_t licence = STRING("Licence"), near = STRING("Near"),
                                reason = STRING("node(s) had no licence");

    plugin.name = licence;
    plugin.reason = reason;
    plugin.callback = filter;
    plugin.context = &at_filter;
    scorer.name = near;
    scorer.weight = 7;
    scorer.callback = score;
    scorer.context = &at_score;
    EXPECT(berth_register_filter(s, &plugin), BERTH_RESULT_OK);
    EXPECT(berth_register_filter(s, &plugin), BERTH_RESULT_ALREADY_EXISTS);
    EXPECT(berth_register_score(s, &scorer), BERTH_RESULT_OK);

    /* One is refused: the other is alone and not scored. */
    EXPECT(berth_evaluate(s, a.pod, a.bits, 8, a.scores, 512, &a.counts), BERTH_RESULT_OK);
    EXPECT(a.counts.feasible == 1 && a.counts.scored == 0 && a.bits[0] == 2, 1);
    EXPECT(at_filter.asked == 1 && at_score.asked == 0, 1);
    EXPECT(berth_pod_class(s, a.pod, &a.id), BERTH_RESULT_OK);
    EXPECT(at_filter.class_id == a.id, 1);
    EXPECT(berth_explain_json(s, a.pod, a.text, sizeof a.text - 1, &a.length), BERTH_RESULT_OK);
    a.text[a.length] = 0;
    EXPECT(strstr(a.text, "\"n1\":[\"Licence\",\"node(s) had no licence\"]") != NULL, 1);
    at_filter.refused = 0;
    EXPECT(berth_evaluate(s, a.pod, a.bits, 8, a.scores, 512, &a.counts), BERTH_RESULT_OK);
    EXPECT(a.counts.feasible == 2 && a.counts.scored == 1 && a.scores[1] == a.scores[0] + 700, 1);
    EXPECT(at_score.asked, 1);

    /* What they may not say, each an error of the attempt that changes nothing. */
    rule_t wrong[] = {{.stray = 4}, {.answer = BERTH_PLUGIN_FAILED}, {.answer = 77}};
    uint64_t before = 0, after = 0;
    EXPECT(berth_state_hash(s, &before), BERTH_RESULT_OK);
    for (size_t i = 0; i < 3; i++) {
        at_filter = wrong[i];
        EXPECT(berth_evaluate(s, a.pod, a.bits, 8, a.scores, 512, &a.counts), BERTH_RESULT_OK);
        EXPECT(a.counts.outcome, BERTH_OUTCOME_ERROR);
        EXPECT(berth_schedule_pod(s, a.pod, &a.decision), BERTH_RESULT_OK);
        EXPECT(a.decision.outcome == BERTH_OUTCOME_ERROR && a.decision.node == BERTH_ID_NONE, 1);
    }
    memset(&at_filter, 0, sizeof at_filter);
    const int64_t scores[] = {101, -1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < 4; i++) {
        at_score.score = scores[i];
        EXPECT(berth_schedule_pod(s, a.pod, &a.decision), BERTH_RESULT_OK);
        EXPECT(a.decision.outcome, BERTH_OUTCOME_ERROR);
    }
    EXPECT(berth_state_hash(s, &after), BERTH_RESULT_OK);
    EXPECT(before == after, 1);

    /* Calls from within, and from another thread meanwhile. */
    at_score.score = 0;
    at_filter.enters = 1;
    at_filter.scheduler = s;
    at_filter.arguments = &a;
    EXPECT(berth_evaluate(s, a.pod, NULL, 0, NULL, 0, &a.counts), BERTH_RESULT_OK);
    at_filter.enters = 0;
    EXPECT(berth_scheduler_destroy(s), BERTH_RESULT_OK);
}

static void reserves(void) {
    arguments_t a;
    berth_scheduler_t *s = two_nodes(&a);
    rule_t rule = {0};
    berth_reserve_t plugin = {sizeof plugin, reserve, unreserve, &rule};

    EXPECT(berth_register_reserve(s, &plugin), BERTH_RESULT_OK);
    /* Refused, and failed: told of both. */
    rule.answer = BERTH_PLUGIN_REJECTED;
    EXPECT(berth_schedule_pod(s, a.pod, &a.decision), BERTH_RESULT_OK);
    EXPECT(a.decision.outcome == BERTH_OUTCOME_UNSCHEDULABLE && a.decision.node == BERTH_ID_NONE, 1);
    rule.answer = BERTH_PLUGIN_FAILED;
    EXPECT(berth_schedule_pod(s, a.pod, &a.decision), BERTH_RESULT_OK);
    EXPECT(a.decision.outcome, BERTH_OUTCOME_ERROR);
    EXPECT(rule.reserved == 2 && rule.forgotten == 2, 1);
    /* Placed in a fork that is taken back. */
    rule.answer = BERTH_PLUGIN_OK;
    EXPECT(berth_fork(s), BERTH_RESULT_OK);
    EXPECT(berth_schedule_one(s, 1, &a.decision), BERTH_RESULT_OK);
    EXPECT(a.decision.outcome == BERTH_OUTCOME_SCHEDULED && rule.reserved == 3, 1);
    EXPECT(berth_rollback(s), BERTH_RESULT_OK);
    EXPECT(rule.forgotten, 3);
    /* A binding that fails, one that is written, and a pod that goes while it is bound. */
    EXPECT(berth_schedule_one(s, 1, &a.decision), BERTH_RESULT_OK);
    EXPECT(berth_bound(s, a.pod, BERTH_BIND_FAILED, 1), BERTH_RESULT_OK);
    EXPECT(rule.reserved == 4 && rule.forgotten == 4, 1);
    EXPECT(berth_schedule_one(s, 2000000000, &a.decision), BERTH_RESULT_OK);
    EXPECT(a.decision.attempt == 2 && rule.reserved == 5, 1);
    EXPECT(berth_fork(s), BERTH_RESULT_OK);
    EXPECT(berth_pod_remove(s, a.pod), BERTH_RESULT_OK);
    EXPECT(rule.forgotten, 5);
    EXPECT(berth_rollback(s), BERTH_RESULT_OK);
    EXPECT(rule.reserved, 6);
    EXPECT(berth_bound(s, a.pod, BERTH_BIND_BOUND, 2000000000), BERTH_RESULT_OK);
    EXPECT(berth_bound(s, a.pod, BERTH_BIND_BOUND, 2000000000), BERTH_RESULT_BAD_STATE);
    EXPECT(berth_pod_remove(s, a.pod), BERTH_RESULT_OK);
    EXPECT(rule.forgotten, 5);
    EXPECT(berth_scheduler_destroy(s), BERTH_RESULT_OK);
}

int main(void) {
    filters_and_scores();
    reserves();
    return failures == 0 ? 0 : 1;
}
