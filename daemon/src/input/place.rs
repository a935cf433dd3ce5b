//! Where something stands, and what is wrong with it.

use std::fmt;
use std::path::Path;
use std::rc::Rc;

/// A place in the input; unknown parts are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// `-` is stdin.
    pub file: Option<Rc<Path>>,
    /// From 1: which document of the file.
    pub document: Option<u32>,
    /// From 1: which entry of a List.
    pub item: Option<u32>,
    /// From 1.
    pub line: Option<u32>,
}

impl Place {
    pub fn file(path: &Path) -> Self {
        Self {
            file: Some(Rc::from(path)),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn at_line(self, line: u32) -> Self {
        Self {
            line: Some(line),
            ..self
        }
    }

    /// The place of line `line`, from 1, of a text that begins here.
    #[must_use]
    pub fn line_below(&self, line: u32) -> Self {
        let first = self.line.unwrap_or(1);
        self.clone()
            .at_line(first.saturating_add(line.saturating_sub(1)))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) if **file == *Path::new("-") => f.write_str("stdin")?,
            Some(file) => write!(f, "{}", file.display())?,
            None => return f.write_str("input"),
        }
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        match (self.document, self.item) {
            (Some(document), Some(item)) => write!(f, " (document {document}, item {item})"),
            (Some(document), None) => write!(f, " (document {document})"),
            (None, _) => Ok(()),
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub place: Place,
    /// Kind and name, as far as they are known.
    pub object: Option<String>,
    /// Path of the field.
    pub field: Option<String>,
    /// What is wrong and what was expected.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place != Place::default() {
            write!(f, "{}: ", self.place)?;
        }
        if let Some(object) = &self.object {
            write!(f, "{object}: ")?;
        }
        if let Some(field) = &self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// Everything that is wrong, in the order in which it was found.
#[derive(Clone, Debug, Default)]
pub struct Problems(Vec<Problem>);

impl Problems {
    pub fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// Something wrong with a place as a whole.
    pub fn add(&mut self, place: Place, message: impl Into<String>) {
        self.push(Problem::of_place(place, message));
    }

    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Problem {
    pub fn of_place(place: Place, message: impl Into<String>) -> Self {
        Self {
            place,
            object: None,
            field: None,
            message: message.into(),
        }
    }
}
