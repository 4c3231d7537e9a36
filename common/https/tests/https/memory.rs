//! What is left of a key in this process once everything that used it is dropped: nothing.

use std::io::{Read, Seek, SeekFrom};

use credmint_client_identity::KeyAlgorithm;
use credmint_https::{Trust, UpstreamTarget};
use credmint_vocabulary::Hostname;
use http::Request;

use crate::kit::*;

/// Holds what is looked for under a mask, so that the search does not find itself.
struct Needle(Vec<u8>);

const MASK: u8 = 0x5a;

impl Needle {
    fn of(bytes: impl Iterator<Item = u8>) -> Self {
        Self(bytes.map(|byte| byte ^ MASK).collect())
    }

    fn is_at(&self, window: &[u8]) -> bool {
        window.iter().zip(&self.0).all(|(seen, masked)| seen ^ MASK == *masked)
    }

    fn is_in(&self, memory: &[u8]) -> bool {
        memory.windows(self.0.len()).any(|window| self.is_at(window))
    }
}

/// Searches all writable memory of this process.
#[expect(clippy::disallowed_methods, reason = "the test reads its own memory")]
fn finds(needles: &[Needle]) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut memory = std::fs::File::open("/proc/self/mem").unwrap();
    // Wiped when it is given back: a freed copy of what was found would be found again.
    let mut room = zeroize::Zeroizing::new(vec![0_u8; 1 << 20]);
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let (mut at, end) = (u64::from_str_radix(start, 16).unwrap(), u64::from_str_radix(end, 16).unwrap());
        while at < end {
            let length = usize::try_from(end - at).unwrap().min(room.len());
            if memory.seek(SeekFrom::Start(at)).is_err() || memory.read_exact(&mut room[..length]).is_err() {
                break;
            }
            if needles.iter().any(|needle| needle.is_in(&room[..length])) {
                return true;
            }
            at += length as u64;
        }
    }
    false
}

/// Takes the 32 secret bytes of a P-256 or Ed25519 key, as they are, and reversed as a big number lies in memory.
fn needles(der: &[u8], algorithm: KeyAlgorithm) -> [Needle; 2] {
    let at = match algorithm {
        KeyAlgorithm::Ed25519 => der.len() - 32,
        _ => der.windows(5).position(|window| window == [2, 1, 1, 4, 32]).unwrap() + 5,
    };
    let secret = &der[at..at + 32];
    [Needle::of(secret.iter().copied()), Needle::of(secret.iter().rev().copied())]
}

#[tokio::test]
async fn no_key_is_left_when_its_identity_is_dropped() {
    let (ca, clients) = (authority("CA"), authority("Clients"));
    let server = Plan { clients: Some(&clients), ..Plan::new(&ca) }.start().await;
    for algorithm in [KeyAlgorithm::EcdsaP256, KeyAlgorithm::Ed25519] {
        let https = https();
        let identity = identity(&clients, algorithm, now());
        let needles = needles(identity.key_der().expose(), algorithm);
        let trust = Trust { client: Some(identity), ..trust(&ca) };
        let request = Request::get(server.url("/")).body(Vec::new()).unwrap();
        https.send(&trust, request, soon()).await.unwrap();
        let server_name = Hostname::from_comparison_form("localhost").unwrap();
        let target = UpstreamTarget { address: server.url("/").parse().unwrap(), server_name, trust };
        let upstream = https.upstream(target).unwrap();
        let request = Request::get("/").body(http_body_util::Empty::<bytes::Bytes>::new()).unwrap();
        drop(upstream.request(request).await.unwrap());
        assert!(finds(&needles), "the search works");
        drop(upstream);
        https.forget();
        drop(https);
        let mut left = true;
        for _ in 0..50 {
            // Lets the connections' own tasks see that nobody wants them any more.
            tokio::task::yield_now().await;
            left = left && finds(&needles);
        }
        assert!(!left, "{}", algorithm.word());
    }
}
