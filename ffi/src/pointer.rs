//! C's pointers, checked. All unsafe code of the crate is here, but for the calls of C's functions in
//! `callback`.
//!
//! An exported function is `unsafe extern "C"`: its caller promises what the header says of each
//! pointer. It turns them by [`borrow!`] into these types, which check what can be checked and are
//! safe from there on, for the length of the call.

use crate::result::{Failure, berth_result_t};
use std::ffi::c_char;
use std::marker::PhantomData;
use std::mem::size_of;

/// Turns raw arguments of an exported function into checked ones.
macro_rules! borrow {
    ($type:ident($($argument:expr),+)) => {
        // SAFETY: the caller of this exported function promises what the header says of the
        // pointer: NULL, or valid for the length beside it until the function returns.
        unsafe { $crate::pointer::$type::borrow($($argument),+) }
    };
}
pub(crate) use borrow;

/// A string that is read.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    bytes: Option<&'a [u8]>,
    is_fitting: bool,
}

impl Text<'_> {
    /// # Safety
    /// NULL, or `length` readable bytes that nothing writes to for the length of the borrow.
    pub unsafe fn borrow(start: *const c_char, length: usize) -> Self {
        let is_fitting = isize::try_from(length).is_ok();
        let bytes = (!start.is_null() && is_fitting)
            // SAFETY: not NULL, not beyond what memory can hold; the rest is promised.
            .then(|| unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) });
        Self { bytes, is_fitting }
    }
}

impl<'a> Text<'a> {
    /// The text; `None` is NULL with length 0.
    pub fn optional(self, name: &str, length: usize) -> Result<Option<&'a str>, Failure> {
        if self.bytes.is_none() && length == 0 {
            return Ok(None);
        }
        self.required(name).map(Some)
    }

    /// The text, which must be there.
    pub fn required(self, name: &str) -> Result<&'a str, Failure> {
        if !self.is_fitting {
            return Err(too_long(name));
        }
        let bytes = self.bytes.ok_or_else(|| null(name))?;
        std::str::from_utf8(bytes).map_err(|error| {
            let text = format!("{name}: {error}");
            Failure::new(berth_result_t::BERTH_RESULT_BAD_UTF8, text)
        })
    }
}

/// A place that a number is written to.
pub struct Out<'a, T> {
    place: *mut T,
    borrowed: PhantomData<&'a mut T>,
}

impl<T: Copy> Out<'_, T> {
    /// # Safety
    /// NULL, not aligned, or writable for the length of the borrow.
    pub unsafe fn borrow(place: *mut T) -> Self {
        Self {
            place,
            borrowed: PhantomData,
        }
    }

    /// Fails unless it can be written to.
    pub fn check(&self, name: &str) -> Result<(), Failure> {
        if self.place.is_null() {
            return Err(null(name));
        }
        self.check_optional(name)
    }

    /// The same where NULL is fine.
    pub fn check_optional(&self, name: &str) -> Result<(), Failure> {
        if self.place.is_aligned() {
            Ok(())
        } else {
            Err(not_aligned(name))
        }
    }

    /// Writes, unless it is NULL or not aligned.
    pub fn write(&mut self, value: T) {
        if !self.place.is_null() && self.place.is_aligned() {
            // SAFETY: neither NULL nor unaligned; `borrow`'s caller promises that it is writable.
            unsafe { self.place.write(value) }
        }
    }
}

/// Room for several numbers.
pub struct Buffer<'a, T> {
    start: *mut T,
    length: usize,
    borrowed: PhantomData<&'a mut [T]>,
}

impl<T: Copy> Buffer<'_, T> {
    /// # Safety
    /// NULL, not aligned, or `length` places that are writable for the length of the borrow.
    pub unsafe fn borrow(start: *mut T, length: usize) -> Self {
        Self {
            start,
            length,
            borrowed: PhantomData,
        }
    }

    /// Fails unless it can be written to, or is NULL with length 0.
    pub fn check(&self, name: &str) -> Result<(), Failure> {
        let bytes = self.length.checked_mul(size_of::<T>());
        if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(too_long(name));
        }
        if self.start.is_null() && self.length > 0 {
            return Err(null(name));
        }
        if self.start.is_aligned() {
            Ok(())
        } else {
            Err(not_aligned(name))
        }
    }

    /// Whether nothing is to be written.
    pub const fn is_null(&self) -> bool {
        self.start.is_null()
    }

    /// How many places there are; 0 for NULL.
    pub const fn length(&self) -> usize {
        if self.start.is_null() { 0 } else { self.length }
    }

    /// Writes to a place, unless the buffer has not got it.
    pub fn write(&mut self, index: usize, value: T) {
        self.write_all(std::iter::once((index, value)));
    }

    /// Writes to many places, but for those that the buffer has not got.
    pub fn write_all(&mut self, values: impl Iterator<Item = (usize, T)>) {
        // Out of the struct, which the compiler must read again after each write if it stays there.
        let start = self.start;
        let length = if start.is_aligned() { self.length() } else { 0 };
        for (index, value) in values {
            if index < length {
                // SAFETY: neither NULL nor unaligned nor out of bounds; `borrow`'s caller promises
                // that all places are writable.
                unsafe { start.add(index).write(value) }
            }
        }
    }
}

/// Room for several numbers, or structs without a size of their own, that are read.
#[derive(Clone, Copy)]
pub struct Slice<'a, T> {
    start: *const T,
    length: usize,
    borrowed: PhantomData<&'a [T]>,
}

impl<'a, T: Copy> Slice<'a, T> {
    /// # Safety
    /// NULL, not aligned, or `length` places that are readable, and written to by nobody for the
    /// length of the borrow.
    pub unsafe fn borrow(start: *const T, length: usize) -> Self {
        Self {
            start,
            length,
            borrowed: PhantomData,
        }
    }

    /// The places, which must be there.
    pub fn required(self, name: &str) -> Result<&'a [T], Failure> {
        if self.start.is_null() {
            return Err(null(name));
        }
        self.read(name)
    }

    /// The places; none for NULL with length 0.
    pub fn read(self, name: &str) -> Result<&'a [T], Failure> {
        let bytes = self.length.checked_mul(size_of::<T>());
        if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(too_long(name));
        }
        if self.start.is_null() {
            return if self.length == 0 {
                Ok(&[])
            } else {
                Err(null(name))
            };
        }
        if !self.start.is_aligned() {
            return Err(not_aligned(name));
        }
        // SAFETY: neither NULL nor unaligned nor longer than memory; `borrow`'s caller promises
        // that all places are readable and stay as they are.
        Ok(unsafe { std::slice::from_raw_parts(self.start, self.length) })
    }
}

/// Bytes of a struct at most, so that a size that was not set is found out.
const STRUCT_BYTES_MAX: usize = 4096;

/// A struct of C that begins with its size and may be longer than ours in later versions.
pub trait Versioned: Copy {
    /// Name of the type.
    const NAME: &'static str;

    /// The size that the struct says it has.
    fn size(&self) -> usize;
}

/// A struct that is read or written.
pub struct Struct<'a, T> {
    place: *mut T,
    borrowed: PhantomData<&'a mut T>,
}

impl<T: Versioned> Struct<'_, T> {
    /// # Safety
    /// NULL, not aligned, or a `size_t` that is initialised and says how many bytes there are, all
    /// readable and writable for the length of the borrow. They are not written to but by
    /// [`Self::write`].
    pub unsafe fn borrow(place: *const T) -> Self {
        Self {
            place: place.cast_mut(),
            borrowed: PhantomData,
        }
    }

    /// The size that it says it has; fails if it is not there or too small.
    pub fn check(&self) -> Result<usize, Failure> {
        if self.place.is_null() {
            return Err(null(T::NAME));
        }
        if !self.place.is_aligned() {
            return Err(not_aligned(T::NAME));
        }
        // SAFETY: neither NULL nor unaligned; every such struct begins with its size, as `T` has
        // it first by `repr(C)`, and `borrow`'s caller promises that it is initialised.
        let size = unsafe { self.place.cast::<usize>().read() };
        if !(size_of::<T>()..=STRUCT_BYTES_MAX).contains(&size) {
            let text = format!("{}: size is {size}, expected {}", T::NAME, size_of::<T>());
            return Err(Failure::new(berth_result_t::BERTH_RESULT_BAD_SIZE, text));
        }
        Ok(size)
    }

    /// The struct; `None` is NULL.
    pub fn read(&self) -> Result<Option<T>, Failure> {
        if self.place.is_null() {
            return Ok(None);
        }
        self.required().map(Some)
    }

    /// The struct, which must be there. What a later version has behind ours must be 0: it would
    /// ask for something that is not known here.
    pub fn required(&self) -> Result<T, Failure> {
        let size = self.check()?;
        let ours = size_of::<T>();
        // SAFETY: checked, and as long as it says; `borrow`'s caller promises that it is readable.
        let unknown = unsafe {
            let behind = self.place.cast::<u8>().add(ours).cast_const();
            std::slice::from_raw_parts(behind, size - ours)
        };
        if unknown.iter().any(|byte| *byte != 0) {
            let name = T::NAME;
            let text = format!("{name}: a field is set that this version of the library lacks");
            return Err(Failure::new(berth_result_t::BERTH_RESULT_BAD_SIZE, text));
        }
        // SAFETY: as above.
        Ok(unsafe { self.place.read() })
    }

    /// Writes what we know of; fails as [`Self::check`].
    pub fn write(&mut self, value: impl FnOnce(usize) -> T) -> Result<(), Failure> {
        let value = value(self.check()?);
        debug_assert!(value.size() >= size_of::<T>());
        // SAFETY: checked, and as long as it says; `borrow`'s caller promises that it is writable.
        unsafe { self.place.write(value) }
        Ok(())
    }
}

fn null(name: &str) -> Failure {
    let result = berth_result_t::BERTH_RESULT_NULL_POINTER;
    Failure::new(result, format_args!("{name} is NULL"))
}

fn not_aligned(name: &str) -> Failure {
    let result = berth_result_t::BERTH_RESULT_BAD_POINTER;
    Failure::new(result, format_args!("{name} is not aligned"))
}

fn too_long(name: &str) -> Failure {
    let result = berth_result_t::BERTH_RESULT_BAD_POINTER;
    Failure::new(result, format_args!("{name} is longer than memory"))
}
