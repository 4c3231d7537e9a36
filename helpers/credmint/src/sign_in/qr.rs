//! An address as a QR code in the terminal, for the phone in the person's other hand.
//! Text comes in, lines of half blocks go out, two modules a character, or nothing if that would not fit.
//! Touches nothing. ISO/IEC 18004: four light modules around it.

use qrcode::{Color, EcLevel, QrCode};

use crate::out::Style;

/// Draws the code for a terminal of this many columns and lines.
pub(crate) fn lines(text: &str, (columns, rows): (u16, u16), style: Style) -> Option<Vec<String>> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    let side = code.width() + 2 * QUIET;
    let fits = side < usize::from(columns) && side / 2 + 1 < usize::from(rows);
    fits.then(|| (0..side).step_by(2).map(|row| line(&code, row, style)).collect())
}

fn line(code: &QrCode, row: usize, style: Style) -> String {
    let side = code.width() + 2 * QUIET;
    let blocks: String =
        (0..side).map(|column| block(is_light(code, column, row), is_light(code, column, row + 1))).collect();
    match style {
        // Black on white, whatever the colours of the terminal are.
        Style::Colour => format!("\x1b[97;40m{blocks}\x1b[0m"),
        Style::Plain => blocks,
    }
}

/// Blocks are the light modules: most terminals are dark.
const fn block(upper: bool, lower: bool) -> char {
    match (upper, lower) {
        (true, true) => '█',
        (true, false) => '▀',
        (false, true) => '▄',
        (false, false) => ' ',
    }
}

fn is_light(code: &QrCode, column: usize, row: usize) -> bool {
    let inside = QUIET..QUIET + code.width();
    let dark = inside.contains(&column) && inside.contains(&row) && code[(column - QUIET, row - QUIET)] == Color::Dark;
    !dark
}

/// Light modules around the code.
const QUIET: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "https://id.corp.example/device?user_code=WDJB-MJHT";

    #[test]
    fn a_code_has_its_quiet_zone_and_its_three_corners() {
        let lines = lines(ADDRESS, (120, 60), Style::Plain).expect("fits");
        let widths: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
        let side = widths.first().copied().unwrap_or_default();
        assert!(widths.iter().all(|width| *width == side) && lines.len() == side.div_ceil(2), "{widths:?}");
        let all_light = "█".repeat(side);
        assert_eq!(lines.iter().take(3).map(|line| *line == all_light).collect::<Vec<_>>(), [true, true, false]);
        assert!(lines.get(2).is_some_and(|line| line.starts_with("████ ▄▄▄▄▄ ")), "{lines:#?}");
    }

    #[test]
    fn a_small_terminal_gets_none() {
        assert!(lines(ADDRESS, (30, 60), Style::Plain).is_none());
        assert!(lines(ADDRESS, (120, 10), Style::Plain).is_none());
        assert!(lines(&"x".repeat(5_000), (1_000, 1_000), Style::Plain).is_none());
    }
}
