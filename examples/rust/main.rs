//! Counts words of standard input in a pool that outlives the program, through the C API.
//!
//!     rustc --edition 2021 -O main.rs -L native=/usr/local/lib -o words
//!     words POOL [--die] < TEXT      # --die: ends by SIGKILL, nothing closed
//!
//! Prints how many words it read, and the five that the pool has seen most.
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::io::{self, BufRead, Write};
use std::os::unix::ffi::OsStrExt;

/// What of durahash.h this program uses.
mod ffi {
    use super::*;

    #[repr(C)]
    pub struct Pool {
        opaque: [u8; 0],
    }
    /// durahash_cursor.
    #[repr(C)]
    #[derive(Default)]
    pub struct Cursor {
        pub position: u64,
        pub done: u64,
    }
    pub type Visit = extern "C" fn(*mut c_void, *const c_void, usize, *const c_void, usize);

    #[link(name = "durahash")]
    extern "C" {
        pub fn durahash_bytes_open(
            path: *const c_char,
            how: *const c_void,
            opened: *mut *mut Pool,
        ) -> c_int;
        pub fn durahash_close(pool: *mut Pool) -> c_int;
        pub fn durahash_last_message() -> *const c_char;
        pub fn durahash_bytes_fetch_add(
            pool: *mut Pool,
            key: *const c_void,
            key_length: usize,
            delta: u64,
            previous: *mut u64,
        ) -> c_int;
        pub fn durahash_bytes_get(
            pool: *const Pool,
            key: *const c_void,
            key_length: usize,
            buffer: *mut c_void,
            capacity: usize,
            length: *mut usize,
        ) -> c_int;
        pub fn durahash_bytes_scan(
            pool: *const Pool,
            at: *mut Cursor,
            limit: usize,
            visit: Visit,
            context: *mut c_void,
        ) -> c_int;
    }
}

const OK: c_int = 0;
const NOT_FOUND: c_int = 1;
const MISMATCH: c_int = 3;

/// The sentence of the failure that this thread has just had.
fn last_message() -> io::Error {
    let text = unsafe { CStr::from_ptr(ffi::durahash_last_message()) };
    io::Error::new(io::ErrorKind::Other, text.to_string_lossy().into_owned())
}

/// An answer of the table, or a failure.
fn answer(status: c_int) -> io::Result<c_int> {
    if status <= MISMATCH { Ok(status) } else { Err(last_message()) }
}

/// Counters by name, in a pool.
struct Counters(*mut ffi::Pool);

// Every function of the C API may be called from any thread.
unsafe impl Send for Counters {}
unsafe impl Sync for Counters {}

impl Counters {
    fn open(path: &std::path::Path) -> io::Result<Counters> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        let mut pool = std::ptr::null_mut();
        match unsafe { ffi::durahash_bytes_open(path.as_ptr(), std::ptr::null(), &mut pool) } {
            OK => Ok(Counters(pool)),
            _ => Err(last_message()),
        }
    }

    fn add(&self, name: &[u8], delta: u64) -> io::Result<u64> {
        let mut before = 0;
        let done = unsafe {
            ffi::durahash_bytes_fetch_add(self.0, name.as_ptr().cast(), name.len(), delta, &mut before)
        };
        answer(done)?;
        Ok(before)
    }

    fn get(&self, name: &[u8]) -> io::Result<Option<u64>> {
        let mut count = 0u64;
        let found = unsafe {
            ffi::durahash_bytes_get(
                self.0,
                name.as_ptr().cast(),
                name.len(),
                (&mut count as *mut u64).cast(),
                std::mem::size_of::<u64>(),
                std::ptr::null_mut(), // exactly 8 bytes, or a mismatch
            )
        };
        match answer(found)? {
            OK => Ok(Some(count)),
            NOT_FOUND => Ok(None),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "a value of this pool is no counter")),
        }
    }

    fn all(&self) -> io::Result<Vec<(u64, Vec<u8>)>> {
        extern "C" fn keep(
            context: *mut c_void,
            key: *const c_void,
            key_length: usize,
            value: *const c_void,
            value_length: usize,
        ) {
            let all = unsafe { &mut *context.cast::<Vec<(u64, Vec<u8>)>>() };
            let key = unsafe { std::slice::from_raw_parts(key.cast::<u8>(), key_length) };
            let value = unsafe { std::slice::from_raw_parts(value.cast::<u8>(), value_length) };
            if let Ok(count) = value.try_into() {
                all.push((u64::from_le_bytes(count), key.to_vec()));
            }
        }
        let mut all = Vec::new();
        let mut at = ffi::Cursor::default();
        while at.done == 0 {
            let context = (&mut all as *mut Vec<(u64, Vec<u8>)>).cast();
            answer(unsafe { ffi::durahash_bytes_scan(self.0, &mut at, 1000, keep, context) })?;
        }
        Ok(all)
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        unsafe { ffi::durahash_close(self.0) };
    }
}

fn main() -> io::Result<()> {
    let path = std::env::args_os().nth(1).expect("usage: words POOL [--die]");
    let dies = std::env::args().any(|word| word == "--die");
    let counters = Counters::open(path.as_ref())?;

    let mut words = 0;
    for line in io::stdin().lock().lines() {
        for word in line?.split_whitespace() {
            counters.add(word.as_bytes(), 1)?;
            words += 1;
        }
    }
    println!("{words} words");
    let mut all = counters.all()?;
    all.sort_by(|a, b| b.cmp(a));
    for (count, word) in all.iter().take(5) {
        assert_eq!(counters.get(word)?, Some(*count));
        println!("{count:6} {}", String::from_utf8_lossy(word));
    }
    io::stdout().flush()?;
    if dies {
        std::process::Command::new("kill").arg("-9").arg(std::process::id().to_string()).status()?;
    }
    Ok(())
}
