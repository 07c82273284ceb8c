//! The results of points.

use std::collections::HashMap;

use serde_json::Value;

use super::Point;

/// A value that a figure needs is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// A point has not been run.
    #[error("not run yet: {0}")]
    Point(String),
    /// A point's result has no such number: the command and the figure do not match.
    #[error("no number at `{key}` in the output of: {point}")]
    Key {
        /// The point's command.
        point: String,
        /// The path of the number.
        key: String,
    },
}

/// Results by the commands of their points.
#[derive(Clone, Debug, Default)]
pub struct Values(HashMap<String, Value>);

impl Values {
    /// Keeps a result.
    pub fn insert(&mut self, command: String, value: Value) {
        self.0.insert(command, value);
    }

    /// Whether this point has been run.
    pub fn has(&self, point: &Point) -> bool {
        self.0.contains_key(&point.to_string())
    }

    /// The object that a point printed.
    ///
    /// # Errors
    /// It has not been run.
    pub fn object(&self, point: &Point) -> Result<&Value, Missing> {
        let command = point.to_string();
        self.0.get(&command).ok_or(Missing::Point(command))
    }

    /// A number of a point's object: keys and indices with a slash between them, such as
    /// `runs/0/result/mean`.
    ///
    /// # Errors
    /// The point has not been run, or there is no number.
    pub fn number(&self, point: &Point, key: &str) -> Result<f64, Missing> {
        let found = self.object(point)?.pointer(&format!("/{key}"));
        found.and_then(Value::as_f64).ok_or_else(|| Missing::Key {
            point: point.to_string(),
            key: key.to_owned(),
        })
    }

    /// An array of numbers of a point's object.
    ///
    /// # Errors
    /// As for [`number`](Self::number).
    pub fn numbers(&self, point: &Point, key: &str) -> Result<Vec<f64>, Missing> {
        let found = self.object(point)?.pointer(&format!("/{key}"));
        let numbers = found
            .and_then(Value::as_array)
            .map(|all| all.iter().filter_map(Value::as_f64).collect());
        numbers.ok_or_else(|| Missing::Key {
            point: point.to_string(),
            key: key.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_path_and_what_is_missing_is_named() {
        let (here, absent) = (Point::lab("theory bianchi"), Point::lab("theory rest"));
        let mut values = Values::default();
        let object = serde_json::json!({ "runs": [{ "mean": 2.5 }], "all": [1, 2] });
        values.insert(here.to_string(), object);
        assert_eq!(values.number(&here, "runs/0/mean"), Ok(2.5));
        assert_eq!(values.numbers(&here, "all"), Ok(vec![1.0, 2.0]));
        let error = values.number(&here, "runs/1/mean").unwrap_err();
        assert!(error.to_string().contains("`runs/1/mean`"), "{error}");
        assert!(values.has(&here) && !values.has(&absent));
        let error = values.number(&absent, "x").unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("weftline-lab theory rest --json"),
            "{error}"
        );
    }
}
