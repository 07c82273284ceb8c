//! The style sheet's colours can be seen, and the texts read.

use super::{CHART_STYLE, DASHES, STYLES};

type Rgb = [f64; 3];

/// The value of a variable in the first block after `from`.
fn colour(from: &str, name: &str) -> Option<Rgb> {
    let start = CHART_STYLE.find(from)?;
    let rest = &CHART_STYLE[start + from.len()..];
    let block = rest.split("\n}").next()?;
    let value = block
        .split(&format!("{name}: #"))
        .nth(1)?
        .split(';')
        .next()?;
    let digits: Vec<f64> = match value.len() {
        3 => value
            .chars()
            .map(|c| c.to_digit(16).map(|d| f64::from(d * 17)))
            .collect::<Option<_>>()?,
        _ => (0..3)
            .map(|i| {
                u8::from_str_radix(&value[2 * i..2 * i + 2], 16)
                    .ok()
                    .map(f64::from)
            })
            .collect::<Option<_>>()?,
    };
    digits.try_into().ok()
}

/// The ratio of WCAG 2.
fn contrast(a: Rgb, b: Rgb) -> f64 {
    let light = |rgb: Rgb| {
        let [r, g, b] = rgb.map(|part| {
            let part = part / 255.0;
            if part <= 0.04045 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let (a, b) = (light(a), light(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// A sheet: its beginning, and that of the sheet for what it leaves out.
const SHEETS: [(&str, &str); 3] = [
    (":root", ":root"),
    ("prefers-color-scheme: dark", "prefers-color-scheme: dark"),
    ("@media print {", ":root"),
];

fn of(sheet: (&str, &str), name: &str) -> Rgb {
    colour(sheet.0, name)
        .or_else(|| colour(sheet.1, name))
        .unwrap_or_else(|| panic!("{name} in {sheet:?}"))
}

#[test]
fn texts_are_readable_on_the_ground_and_on_the_darkest_cell() {
    for sheet in SHEETS {
        let (ground, ink) = (of(sheet, "--ground"), of(sheet, "--ink"));
        for name in ["--ink", "--faint"] {
            let ratio = contrast(of(sheet, name), ground);
            assert!(ratio >= 4.5, "{name} of {sheet:?}: {ratio}");
        }
        // The page writes verdicts in these two.
        for name in ["--s2", "--s8"] {
            assert!(
                contrast(of(sheet, name), ground) >= 4.5,
                "{name} of {sheet:?}"
            );
        }
        let heat = of(sheet, "--heat");
        let cell = [0, 1, 2].map(|i| 0.6 * heat[i] + 0.4 * ground[i]);
        let ratio = contrast(ink, cell);
        assert!(
            ratio >= 4.5,
            "a number on a full cell of {sheet:?}: {ratio}"
        );
    }
}

#[test]
fn curves_stand_out_from_the_ground_and_no_two_colours_are_the_same() {
    for sheet in SHEETS {
        let ground = of(sheet, "--ground");
        let all: Vec<Rgb> = (0..STYLES).map(|n| of(sheet, &format!("--s{n}"))).collect();
        for (n, colour) in all.iter().enumerate() {
            let ratio = contrast(*colour, ground);
            assert!(ratio >= 3.0, "--s{n} of {sheet:?}: {ratio}");
            assert!(!all[..n].contains(colour), "--s{n} of {sheet:?}");
        }
    }
}

#[test]
fn every_colour_and_dash_has_its_class() {
    for n in 0..STYLES {
        assert!(CHART_STYLE.contains(&format!(".c{n} {{ --c: var(--s{n}); }}")));
    }
    let dash = |n: usize| {
        let rule = CHART_STYLE.split(&format!(".d{n} {{ ")).nth(1)?;
        rule.split(';').next()
    };
    let all: Vec<&str> = (1..DASHES).filter_map(dash).collect();
    let distinct: std::collections::HashSet<&&str> = all.iter().collect();
    assert_eq!((all.len(), distinct.len()), (DASHES - 1, DASHES - 1));
}
