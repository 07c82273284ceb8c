//! The result of a formula: a JSON object, or lines for people.

use serde_json::{Map, Value};
use weftline_cli::ui::{OutputOptions, output};

/// Values in the order of display.
#[derive(Debug, Default)]
pub(crate) struct Computed {
    json: Map<String, Value>,
    lines: Vec<String>,
}

impl Computed {
    /// A value under its key, with its meaning for people.
    pub(crate) fn value(&mut self, key: &str, value: impl Into<Value>, what: &str) -> &mut Self {
        let value = value.into();
        let shown = match &value {
            Value::Null => "-".to_owned(),
            Value::Number(number) if number.is_f64() => {
                number.as_f64().map_or_else(String::new, short)
            }
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        self.lines.push(format!("{shown:>14}  {what}"));
        self.hidden(key, value)
    }

    /// A value that is in the JSON only; other lines may show it to people.
    pub(crate) fn hidden(&mut self, key: &str, value: impl Into<Value>) -> &mut Self {
        self.json.insert(key.to_owned(), value.into());
        self
    }

    /// All values of an object, under its own keys.
    pub(crate) fn all(&mut self, object: &impl serde::Serialize) -> &mut Self {
        if let Ok(Value::Object(object)) = serde_json::to_value(object) {
            self.json.extend(object);
        }
        self
    }

    /// A line for people about a value added by [`all`](Self::all).
    pub(crate) fn tell(&mut self, value: f64, what: &str) -> &mut Self {
        self.line(format!("{:>14}  {what}", short(value)))
    }

    /// A line for people.
    pub(crate) fn line(&mut self, text: impl Into<String>) -> &mut Self {
        self.lines.push(text.into());
        self
    }

    pub(crate) fn print(self, output: OutputOptions) {
        if output.json {
            output::print(Value::Object(self.json));
        } else {
            self.lines.iter().for_each(output::print);
        }
    }
}

/// Six significant digits, however large or small.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if (1e-3..1e6).contains(&size) {
        let digits = (5.0 - size.max(1e-3).log10().floor()).clamp(0.0, 8.0);
        format!("{value:.*}", digits as usize)
    } else {
        format!("{value:.5e}")
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn numbers_keep_six_digits() {
        assert_eq!(short(0.0), "0");
        assert_eq!(short(6.868421), "6.86842");
        assert_eq!(short(123456.7), "123457");
        assert_eq!(short(0.0012345678), "0.00123457");
        assert_eq!(short(1.5e-9), "1.50000e-9");
    }
}
