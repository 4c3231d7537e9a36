//! What a program writes to a terminal, as a page that a browser can show.
//!
//! Text with the few control sequences that our executables send comes in: colours (SGR), carriage return, and "erase to the
//! end of the line" (ECMA-48); HTML goes out, in which every character has a cell of its own. Touches nothing. Block
//! characters are drawn and not written, for fonts leave gaps between them, and a camera could not read a QR code then.

/// The columns of the terminal; longer lines go on below, as they do there.
pub const COLUMNS: u16 = 80;

/// Writes the page.
pub fn page(text: &str) -> String {
    let rows: String = Screen::of(text).rows.iter().map(|row| format!("<div>{}</div>\n", html(row))).collect();
    format!("<!doctype html>\n<meta charset=\"utf-8\">\n<style>{STYLE}</style>\n<main>\n{rows}</main>\n")
}

/// A character and how it looks.
#[derive(Clone)]
struct Cell {
    letter: char,
    look: Look,
}

#[derive(Clone, Copy, Default, PartialEq)]
struct Look {
    bold: bool,
    faint: bool,
    ink: Option<u8>,
    paper: Option<u8>,
}

#[derive(Default)]
struct Screen {
    rows: Vec<Vec<Cell>>,
    column: usize,
    look: Look,
}

impl Screen {
    fn of(text: &str) -> Self {
        let mut screen = Self { rows: vec![Vec::new()], ..Self::default() };
        let mut letters = text.trim_end().chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\r' => screen.column = 0,
                '\n' => screen.next_row(),
                '\x1b' => screen.control(&mut letters),
                letter => screen.put(letter),
            }
        }
        screen
    }

    fn next_row(&mut self) {
        self.rows.push(Vec::new());
        self.column = 0;
    }

    fn put(&mut self, letter: char) {
        if self.column == usize::from(COLUMNS) {
            self.next_row();
        }
        let (at, cell) = (self.column, Cell { letter, look: self.look });
        let row = self.rows.last_mut().expect("a screen has a row");
        match row.get_mut(at) {
            Some(old) => *old = cell,
            None => row.push(cell),
        }
        self.column += 1;
    }

    fn control(&mut self, letters: &mut std::str::Chars<'_>) {
        assert_eq!(letters.next(), Some('['), "a control sequence that this screen does not know");
        let mut parameters = String::new();
        let end = letters.find(|&letter| {
            let is_parameter = letter.is_ascii_digit() || letter == ';';
            parameters.extend(is_parameter.then_some(letter));
            !is_parameter
        });
        match end {
            Some('m') => parameters.split(';').for_each(|code| self.look.change(code.parse().unwrap_or(0))),
            Some('K') => self.rows.last_mut().expect("a screen has a row").truncate(self.column),
            other => panic!("a control sequence that this screen does not know: {parameters}{other:?}"),
        }
    }
}

impl Look {
    fn change(&mut self, code: u8) {
        match code {
            0 => *self = Self::default(),
            1 => self.bold = true,
            2 => self.faint = true,
            30..=37 | 90..=97 => self.ink = Some(code),
            40..=47 => self.paper = Some(code),
            other => panic!("a colour that this screen does not know: {other}"),
        }
    }

    fn class(self) -> String {
        let words = [self.bold.then(|| "bold".to_owned()), self.faint.then(|| "faint".to_owned())];
        let colours = [self.ink.map(|code| format!("ink{code}")), self.paper.map(|code| format!("paper{code}"))];
        words.into_iter().chain(colours).flatten().collect::<Vec<_>>().join(" ")
    }
}

/// Writes a row, pieces of one look together.
fn html(row: &[Cell]) -> String {
    let pieces = row.chunk_by(|one, next| one.look == next.look);
    pieces
        .map(|piece| {
            let look = piece.first().map(|cell| cell.look.class()).unwrap_or_default();
            let cells: String = piece.iter().map(|cell| cell_html(cell.letter)).collect();
            format!("<span class=\"{look}\">{cells}</span>")
        })
        .collect()
}

fn cell_html(letter: char) -> String {
    match letter {
        '█' => "<b class=\"whole\"></b>".to_owned(),
        '▀' => "<b class=\"upper\"></b>".to_owned(),
        '▄' => "<b class=\"lower\"></b>".to_owned(),
        '<' => "<b>&lt;</b>".to_owned(),
        '&' => "<b>&amp;</b>".to_owned(),
        letter => format!("<b>{letter}</b>"),
    }
}

/// A cell is twice as high as wide, so that a half block is a square.
const STYLE: &str = "\
body{margin:0;background:#15181d;color:#d6dae0;font:13px/16px 'DejaVu Sans Mono',ui-monospace,monospace}
main{width:640px;padding:12px 16px}
div{height:16px;white-space:pre}
span{display:inline-block;height:16px;vertical-align:top}
b{display:inline-block;width:8px;height:16px;overflow:visible;font-weight:inherit;vertical-align:top}
.whole{background:currentcolor}
.upper{background:linear-gradient(currentcolor 50%,transparent 50%)}
.lower{background:linear-gradient(transparent 50%,currentcolor 50%)}
.bold{font-weight:bold;color:#fff}
.faint{color:#8b949e}
.ink31{color:#ff8a80}
.ink32{color:#56d39b}
.ink97{color:#fff}
.paper40{background:#000}
";

#[cfg(test)]
mod tests {
    use super::{Screen, page};

    fn rows(text: &str) -> Vec<String> {
        let letters = |row: &Vec<super::Cell>| row.iter().map(|cell| cell.letter).collect();
        Screen::of(text).rows.iter().map(letters).collect()
    }

    #[test]
    fn what_was_drawn_over_is_gone_and_long_lines_go_on_below() {
        assert_eq!(rows("a\r\n| waiting\r\x1b[K\r/ done\x1b[K"), ["a", "/ done"]);
        assert_eq!(rows(&"x".repeat(81)), ["x".repeat(80), "x".to_owned()]);
    }

    #[test]
    fn colours_become_classes_and_blocks_are_drawn() {
        let html = page("\x1b[97;40m█▀\x1b[0m<\x1b[1mb\x1b[0m");
        let wanted = "<div><span class=\"ink97 paper40\"><b class=\"whole\"></b><b class=\"upper\"></b></span>\
                      <span class=\"\"><b>&lt;</b></span><span class=\"bold\"><b>b</b></span></div>";
        assert!(html.contains(wanted), "{html}");
    }
}
