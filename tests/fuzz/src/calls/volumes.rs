//! Calls about the volumes of placed pods.

use super::{Calls, OK, text};
use berth::{
    BERTH_VOLUMES_BOUND, BERTH_VOLUMES_TIMED_OUT, berth_bind_claims, berth_bind_volumes,
    berth_result_t, berth_volumes_bound, berth_volumes_json,
};

impl Calls {
    /// The claims that a pod still needs, and how far they are, in two calls that change nothing.
    pub(super) fn volumes(&self, pod: u32) -> berth_result_t {
        let (result, claims) = self.claims(pod);
        let mut progress = 0;
        // SAFETY: the handle is alive, and so is where the progress goes.
        let asked = unsafe { berth_volumes_bound(self.handle, pod, 1, &raw mut progress) };
        assert_eq!(result, asked);
        if result == OK {
            let range = BERTH_VOLUMES_BOUND..=BERTH_VOLUMES_TIMED_OUT;
            assert!(range.contains(&progress), "{progress}");
            assert!(claims > 0 || progress == BERTH_VOLUMES_BOUND, "{progress}");
        }
        result
    }

    /// Binds a pod's claims, which has done all that was to do.
    pub(super) fn bind_volumes(&self, pod: u32) -> berth_result_t {
        let mut count = 0;
        // SAFETY: the handle is alive, and so is where the number goes.
        let result = unsafe { berth_bind_volumes(self.handle, pod, &raw mut count) };
        if result == OK {
            assert_eq!(self.claims(pod), (OK, count as usize));
        }
        result
    }

    pub(super) fn bind_claims(&self) -> berth_result_t {
        // SAFETY: the handle is alive.
        unsafe { berth_bind_claims(self.handle) }
    }

    /// How many claims a pod is placed with.
    fn claims(&self, pod: u32) -> (berth_result_t, usize) {
        let (result, json) = text(|buffer, length, out| {
            // SAFETY: the handle is alive, the buffer is as long as said.
            unsafe { berth_volumes_json(self.handle, pod, buffer, length, out) }
        });
        if result != OK {
            return (result, 0);
        }
        let claims: Vec<serde_json::Value> = serde_json::from_str(&json).expect("a JSON array");
        (result, claims.len())
    }
}
