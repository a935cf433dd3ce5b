/* Handles that are none: destroyed, made up, destroyed twice. Ends with 0 if all were found out. */
#include "expect.h"

#define BAD_HANDLE(function, arguments) EXPECT(function arguments, BERTH_RESULT_BAD_HANDLE);

static void each(berth_scheduler_t *s, arguments_t *a) {
    EVERY_CALL(BAD_HANDLE)
    BAD_HANDLE(berth_last_error, (s, a->text, sizeof a->text, &a->length))
}

int main(void) {
    arguments_t a, other;
    berth_scheduler_t *stale = start(&a);

    EXPECT(berth_scheduler_destroy(stale), BERTH_RESULT_OK);
    each(stale, &a);
    /* The next one is another handle, so that the old one stays dead. */
    berth_scheduler_t *alive = start(&other);
    each(stale, &a);
    each((berth_scheduler_t *)&a, &a);
    each((berth_scheduler_t *)((char *)alive + 1), &a);
    each((berth_scheduler_t *)UINTPTR_MAX, &a);
    EXPECT(berth_scheduler_destroy(alive), BERTH_RESULT_OK);
    return failures == 0 ? 0 : 1;
}
