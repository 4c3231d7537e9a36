//! A user code in large letters, five lines high, that can be read from across a desk.
//! Text comes in, lines go out; a character without a large form, or too little room, gives none.
//! Touches nothing. The code itself is shown beside it: large letters cannot be copied.

/// Draws a code into this many columns.
pub(crate) fn lines(code: &str, columns: u16) -> Option<Vec<String>> {
    let letters: Option<Vec<[u8; 5]>> = code.chars().map(glyph).collect();
    let letters = letters.filter(|letters| !letters.is_empty() && letters.len() * 7 <= usize::from(columns))?;
    let line = |row: usize| letters.iter().map(|letter| strokes(letter.get(row).copied())).collect::<Vec<_>>();
    Some((0..5).map(|row| line(row).join("  ").trim_end().to_owned()).collect())
}

fn glyph(letter: char) -> Option<[u8; 5]> {
    FONT.iter().find(|(known, _)| letter.eq_ignore_ascii_case(known)).map(|(_, rows)| *rows)
}

fn strokes(row: Option<u8>) -> String {
    let row = row.unwrap_or_default();
    (0..5).map(|column| if row & (0b10000 >> column) == 0 { ' ' } else { '█' }).collect()
}

/// Five rows of five strokes each.
#[rustfmt::skip]
const FONT: [(char, [u8; 5]); 37] = [
    ('A', [0b01110, 0b10001, 0b11111, 0b10001, 0b10001]),
    ('B', [0b11110, 0b10001, 0b11110, 0b10001, 0b11110]),
    ('C', [0b01111, 0b10000, 0b10000, 0b10000, 0b01111]),
    ('D', [0b11110, 0b10001, 0b10001, 0b10001, 0b11110]),
    ('E', [0b11111, 0b10000, 0b11110, 0b10000, 0b11111]),
    ('F', [0b11111, 0b10000, 0b11110, 0b10000, 0b10000]),
    ('G', [0b01111, 0b10000, 0b10011, 0b10001, 0b01111]),
    ('H', [0b10001, 0b10001, 0b11111, 0b10001, 0b10001]),
    ('I', [0b11111, 0b00100, 0b00100, 0b00100, 0b11111]),
    ('J', [0b00111, 0b00010, 0b00010, 0b10010, 0b01100]),
    ('K', [0b10010, 0b10100, 0b11000, 0b10100, 0b10010]),
    ('L', [0b10000, 0b10000, 0b10000, 0b10000, 0b11111]),
    ('M', [0b10001, 0b11011, 0b10101, 0b10001, 0b10001]),
    ('N', [0b10001, 0b11001, 0b10101, 0b10011, 0b10001]),
    ('O', [0b01110, 0b10001, 0b10001, 0b10001, 0b01110]),
    ('P', [0b11110, 0b10001, 0b11110, 0b10000, 0b10000]),
    ('Q', [0b01110, 0b10001, 0b10101, 0b10010, 0b01101]),
    ('R', [0b11110, 0b10001, 0b11110, 0b10010, 0b10001]),
    ('S', [0b01111, 0b10000, 0b01110, 0b00001, 0b11110]),
    ('T', [0b11111, 0b00100, 0b00100, 0b00100, 0b00100]),
    ('U', [0b10001, 0b10001, 0b10001, 0b10001, 0b01110]),
    ('V', [0b10001, 0b10001, 0b10001, 0b01010, 0b00100]),
    ('W', [0b10001, 0b10001, 0b10101, 0b11011, 0b10001]),
    ('X', [0b10001, 0b01010, 0b00100, 0b01010, 0b10001]),
    ('Y', [0b10001, 0b01010, 0b00100, 0b00100, 0b00100]),
    ('Z', [0b11111, 0b00010, 0b00100, 0b01000, 0b11111]),
    ('0', [0b01110, 0b10011, 0b10101, 0b11001, 0b01110]),
    ('1', [0b00100, 0b01100, 0b00100, 0b00100, 0b01110]),
    ('2', [0b11110, 0b00001, 0b01110, 0b10000, 0b11111]),
    ('3', [0b11110, 0b00001, 0b01110, 0b00001, 0b11110]),
    ('4', [0b10010, 0b10010, 0b11111, 0b00010, 0b00010]),
    ('5', [0b11111, 0b10000, 0b11110, 0b00001, 0b11110]),
    ('6', [0b01110, 0b10000, 0b11110, 0b10001, 0b01110]),
    ('7', [0b11111, 0b00010, 0b00100, 0b01000, 0b01000]),
    ('8', [0b01110, 0b10001, 0b01110, 0b10001, 0b01110]),
    ('9', [0b01110, 0b10001, 0b01111, 0b00001, 0b01110]),
    ('-', [0b00000, 0b00000, 0b01110, 0b00000, 0b00000]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_stand_side_by_side() {
        let drawn = lines("L-7", 80).expect("drawn");
        assert_eq!(
            drawn,
            ["█             █████", "█                █", "█       ███     █", "█              █", "█████          █"]
        );
    }

    #[test]
    fn no_two_letters_look_alike_and_what_has_no_form_or_room_gives_none() {
        for (at, (letter, rows)) in FONT.iter().enumerate() {
            assert!(FONT.iter().skip(at + 1).all(|(_, other)| other != rows), "{letter}");
        }
        assert_eq!(lines("ÄB", 80), None);
        assert_eq!(lines("WDJB-MJHT", 62), None);
        assert!(lines("wdjb-mjht", 63).is_some() && lines("", 80).is_none());
    }
}
