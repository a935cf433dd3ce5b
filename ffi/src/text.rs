//! Texts to objects and configurations, and texts out.

use crate::pointer::{Buffer, Out, borrow};
use crate::result::{Failure, berth_result_t};
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::decode::{Decoded, Value};
use std::ffi::c_char;

/// A string: UTF-8 without a terminator. NULL with length 0 is empty.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_string_t {
    /// Its first byte.
    pub text: *const c_char,
    /// Its bytes.
    pub length: usize,
}

/// A string of a struct of the caller, owned.
macro_rules! string {
    ($name:expr, $given:expr) => {{
        let given: $crate::text::berth_string_t = $given;
        let text = $crate::pointer::borrow!(Text(given.text, given.length));
        text.optional($name, given.length)?
            .unwrap_or_default()
            .to_owned()
    }};
}

/// The strings of an array.
///
/// # Safety
/// The array is NULL or readable for its length, and so are the strings in it.
pub unsafe fn strings(
    name: &str,
    start: *const berth_string_t,
    length: usize,
) -> Result<Vec<String>, Failure> {
    let mut strings = Vec::new();
    for given in borrow!(Slice(start, length)).read(name)? {
        strings.push(string!(name, *given));
    }
    Ok(strings)
}

/// Levels of maps and lists in a configuration; real ones have ten.
const DEPTH_MAX: usize = 128;

/// A configuration from YAML, of which JSON is a part.
pub fn config(text: &str) -> Result<KubeSchedulerConfiguration, Failure> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            flow_nesting_limit: DEPTH_MAX,
            max_depth: DEPTH_MAX,
        },
        legacy_octal_numbers: true,
        strict_booleans: false,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| Failure::new(berth_result_t::BERTH_RESULT_BAD_CONFIG, error))
}

/// A document from JSON. One that is JSON but not all objects is read part by part, so that all
/// that is wrong with it can be told.
pub fn document(text: &str) -> Result<Decoded, Failure> {
    serde_json::from_str(text).or_else(|error| {
        serde_json::from_str::<Value>(text)
            .map(Decoded::from_value)
            .map_err(|_| Failure::new(berth_result_t::BERTH_RESULT_BAD_OBJECT, error))
    })
}

/// Hands out a text: its length in any case, and the text itself unless the buffer is NULL.
pub fn write(
    text: &str,
    mut buffer: Buffer<'_, c_char>,
    mut length: Out<'_, usize>,
) -> Result<(), Failure> {
    buffer.check("buffer")?;
    length.check("out_length")?;
    length.write(text.len());
    if buffer.is_null() {
        return Ok(());
    }
    if buffer.length() < text.len() {
        let reason = format_args!(
            "buffer has {} bytes, {} are needed",
            buffer.length(),
            text.len()
        );
        return Err(Failure::new(
            berth_result_t::BERTH_RESULT_SMALL_BUFFER,
            reason,
        ));
    }
    let bytes = text.bytes().map(|byte| byte as c_char);
    buffer.write_all(bytes.enumerate());
    Ok(())
}
