/* Bugs on purpose, by number: whoever watches the other tests must see them.
 *
 *     planted overflow|undefined|leak|lie
 */
#include <limits.h>
#include <stdlib.h>

#include "expect.h"

int main(int count, char **arguments) {
    arguments_t a;
    berth_scheduler_t *s = start(&a);
    const char *bug = count > 1 ? arguments[1] : "";
    volatile int one = count;

    if (strcmp(bug, "overflow") == 0) {
        char *text = malloc((size_t)one);
        memset(text, 0, (size_t)one);
        failures += text[one];
        free(text);
    } else if (strcmp(bug, "undefined") == 0) {
        int large = INT_MAX;
        failures += large + one;
    } else if (strcmp(bug, "leak") == 0) {
        /* Several: the last one's address may stay somewhere on the stack, and then it is not lost. */
        for (int at = 0; at < 16; at++) {
            char *volatile lost = malloc(100);
            lost[0] = 1;
            lost = NULL;
        }
    } else if (strcmp(bug, "lie") == 0) {
        /* The library is told of more room than there is, and fills it; by its own code, not by
         * memcpy, which watchers look at in any library. */
        int64_t *scores = malloc(1);
        failures += (int)berth_evaluate(s, a.pod, NULL, 0, scores, 1, &a.counts);
        free(scores);
    }
    return berth_scheduler_destroy(s) == BERTH_RESULT_OK ? 0 : 1;
}
