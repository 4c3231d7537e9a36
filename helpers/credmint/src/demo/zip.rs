//! A ZIP archive in memory, entries stored and not compressed: what a registry module travels in.
//! File names and contents come in, the bytes of the archive go out.
//! Touches no file. PKWARE APPNOTE 6.3, §4.3.7 (local header), §4.3.12 (directory), §4.3.16 (its end).

/// Writes an archive.
pub(crate) fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let at = length(bytes.len());
        let common = common_header(name, content.as_bytes());
        put(&mut bytes, &[b"PK\x03\x04", &common, &[0, 0], name.as_bytes(), content.as_bytes()]);
        let rest = [[0; 6].as_slice(), &0o100_644_u32.wrapping_shl(16).to_le_bytes(), &at.to_le_bytes()].concat();
        put(&mut directory, &[b"PK\x01\x02", &[20, 3], &common, &[0, 0], &rest, name.as_bytes()]);
    }
    let count = u16::try_from(files.len()).unwrap_or(u16::MAX).to_le_bytes();
    let (size, start) = (length(directory.len()).to_le_bytes(), length(bytes.len()).to_le_bytes());
    put(&mut bytes, &[&directory, b"PK\x05\x06", &[0; 4], &count, &count, &size, &start, &[0, 0]]);
    bytes
}

/// Version, flags, method, time, date (1 January 1980), CRC, both sizes, length of the name.
fn common_header(name: &str, content: &[u8]) -> Vec<u8> {
    let size = length(content.len()).to_le_bytes();
    let name = u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes();
    [[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0].as_slice(), &crc32(content).to_le_bytes(), &size, &size, &name].concat()
}

fn put(bytes: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
}

fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// CRC-32 of ISO 3309, bit by bit: the archive is small.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_is_the_one_of_the_standard() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn archive_begins_and_ends_as_unzip_expects() {
        let bytes = archive(&[("main.tf", "x = 1\n"), ("README.md", "")]);
        assert!(bytes.starts_with(b"PK\x03\x04"));
        let end = &bytes[bytes.len() - 22..];
        assert_eq!((&end[..4], end[8], end[10]), (b"PK\x05\x06".as_slice(), 2, 2));
        let start = u32::from_le_bytes(end[16..20].try_into().expect("four"));
        let directory = &bytes[start as usize..bytes.len() - 22];
        assert_eq!(directory.len(), 2 * 46 + "main.tf".len() + "README.md".len());
        assert_eq!((&directory[..4], &directory[46..53]), (b"PK\x01\x02".as_slice(), b"main.tf".as_slice()));
    }
}
